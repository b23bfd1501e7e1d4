/* Rotation and zoom: pictures under known similarity transforms, what is measured of them, and
 * their correction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/quick.h"
#include "video/motion/global_motion.h"
#include "video/motion/warp.h"
#include "video/synth/paint.h"

enum { width = 320, height = 240, most_path = 7 };

/* The camera's motion while a picture is exposed, and an object before the scene. */
struct view {
    struct bd_similarity path[most_path];
    int exposures;
    int left, right; /* columns of the object; none if empty */
    double object_x; /* how far its texture has moved */
    double tear;     /* tiles of the scene move apart by up to this, pixels */
    uint32_t noise;
};

static double texture(struct bd_point p, uint32_t seed)
{
    int64_t u = llround(p.x * 256), v = llround(p.y * 256);
    return bd_synth_noise(u, v, 12, seed) * 0.45 + bd_synth_noise(u, v, 10, seed + 1) * 0.45;
}

/* The mean over the exposure, with noise of up to 3 grey levels. */
static void draw(struct bd_frame *frame, const struct view *view)
{
    struct bd_similarity back[most_path];
    for (int i = 0; i < view->exposures; i++)
        back[i] = bd_similarity_inverse(view->path[i]);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            struct bd_point p = { x - (width - 1) / 2.0, y - (height - 1) / 2.0 };
            double value = 0;
            uint32_t tile = bd_synth_hash((uint32_t)x / 40, (uint32_t)y / 40, 8);
            if (x >= view->left && x < view->right)
                value = texture((struct bd_point){ p.x - view->object_x, p.y }, 99);
            else
                for (int i = 0; i < view->exposures; i++) {
                    struct bd_point at = bd_similarity_apply(back[i], p);
                    at.x += view->tear * ((tile & 255) / 127.5 - 1);
                    at.y += view->tear * ((tile >> 8 & 255) / 127.5 - 1);
                    value += texture(at, 5) / view->exposures;
                }
            value += bd_synth_hash((uint32_t)x, (uint32_t)y, view->noise) % 7 - 3.0;
            frame->data[y * frame->stride + x] = (uint8_t)fmax(0, fmin(255, round(value)));
        }
}

/* How far two motions are apart: root mean square over the picture, pixels. */
static double apart(struct bd_similarity a, struct bd_similarity b)
{
    double sum = 0;
    for (int j = -3; j <= 3; j++)
        for (int i = -4; i <= 4; i++) {
            struct bd_point p = { i * width / 8.0, j * height / 6.0 };
            struct bd_point u = bd_similarity_apply(a, p), v = bd_similarity_apply(b, p);
            sum += (u.x - v.x) * (u.x - v.x) + (u.y - v.y) * (u.y - v.y);
        }
    return sqrt(sum / 63);
}

static struct bd_similarity motion_of(double x, double y, double degrees, double zoom)
{
    double angle = degrees * 3.14159265358979323846 / 180;
    return (struct bd_similarity){ x, y, (1 + zoom) * sin(angle), (1 + zoom) * cos(angle) - 1 };
}

static void transforms_compose(void **state)
{
    (void)state;
    struct bd_similarity a = motion_of(5, -3, 2, 0.03), b = motion_of(-7, 1.5, -1.2, -0.02);
    struct bd_point p = { 120, -77 }, q = bd_similarity_apply(a, bd_similarity_apply(b, p));
    struct bd_point both = bd_similarity_apply(bd_similarity_after(a, b), p);
    assert_true(fabs(q.x - both.x) < 1e-9 && fabs(q.y - both.y) < 1e-9);
    assert_true(apart(bd_similarity_between(a, a), (struct bd_similarity){ 0 }) < 1e-9);
    assert_true(apart(bd_similarity_after(bd_similarity_between(a, b), a), b) < 1e-9);
    assert_true(bd_similarity_is_none((struct bd_similarity){ 0 }));
    assert_false(bd_similarity_is_none((struct bd_similarity){ .turn = 1e-9 }));
    /* a corner under half a degree */
    struct bd_similarity turn = motion_of(1, 2, 0.5, 0);
    assert_true(fabs(bd_similarity_size(turn, width, height) - 2 - 160 * turn.turn) < 0.01);
}

static enum bd_global_motion_verdict find(const struct view *view, struct bd_similarity *found)
{
    struct bd_global_motion *motion = NULL;
    struct bd_frame frame = { 0 };
    struct view first = {
        .exposures = 1, .left = view->left, .right = view->right, .noise = view->noise + 1
    };
    assert_int_equal(bd_frame_create(&frame, width, height, BD_GRAY8), BD_OK);
    assert_int_equal(bd_global_motion_create(&motion, width, height, BD_GRAY8), BD_OK);
    draw(&frame, &first);
    bd_global_motion_begin(motion, &frame);
    draw(&frame, view);
    enum bd_global_motion_verdict verdict = bd_global_motion_find(motion, &frame, found);
    bd_global_motion_destroy(&motion);
    bd_frame_destroy(&frame);
    return verdict;
}

/* From one picture to the next, without help from others before. */
static void known_transforms_are_found(void **state)
{
    (void)state;
    static const double cases[][4] = { { 0, 0, 1, 0 },
                                       { 0, 0, 0, 0.01 },
                                       { 2.5, -4, -1, 0 },
                                       { -6, 5, 1.5, 0.01 },
                                       { 9, 8, -2, -0.02 } };
    for (int object = 0; object < 2; object++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            struct bd_similarity found;
            const double *c = cases[i];
            struct view view = { .path = { motion_of(c[0], c[1], c[2], c[3]) },
                                 .exposures = 1,
                                 .left = 60,
                                 .right = object ? 60 + width / 3 : 0,
                                 .object_x = -7,
                                 .noise = (uint32_t)i };
            assert_int_equal(find(&view, &found), BD_MOTION_FOUND);
            double error = apart(found, view.path[0]);
            print_message("%s %g degrees, zoom %g: off by %.3f\n",
                          object ? "behind an object," : "", c[2], c[3], error);
            assert_true(error <= 0.1);
        }
}

/* What may be an error of a shift is one. */
static void small_angles_are_none(void **state)
{
    (void)state;
    struct bd_similarity found;
    struct view view = { .path = { motion_of(3.25, -1.5, 0.15, 0) }, .exposures = 1 };
    assert_int_equal(find(&view, &found), BD_MOTION_FOUND);
    assert_true(found.turn == 0 && found.grow == 0);
    assert_true(fabs(found.x - 3.25) <= 0.1 && fabs(found.y + 1.5) <= 0.1);
}

/* Tiles of the scene that move apart have no motion in common. */
static void what_tears_is_no_motion(void **state)
{
    (void)state;
    struct bd_similarity found;
    struct view view = { .path = { motion_of(0, 0, 1, 0) }, .exposures = 1, .tear = 9 };
    assert_int_not_equal(find(&view, &found), BD_MOTION_FOUND);
    assert_true(bd_similarity_is_none(found));
    /* nor has a rotation that no camera makes from one picture to the next */
    view = (struct view){ .path = { motion_of(0, 0, 25, 0) }, .exposures = 1 };
    assert_int_not_equal(find(&view, &found), BD_MOTION_FOUND);
    assert_true(bd_similarity_is_none(found));
}

/* Where the camera is at a time, in pictures: up to eight pixels on from one to the next. */
static struct bd_similarity hand(double t)
{
    if (t <= 0)
        return (struct bd_similarity){ 0 };
    return motion_of(5.5 * sin(t * 1.2) + 1.5 * sin(t * 0.37), 4 * sin(t * 1.1 + 1), sin(t * 0.8),
                     0.008 * sin(t * 0.5));
}

/* A camera that shakes with motion blur over nine tenths of the time between pictures, while an
 * object hides a third of the scene and more and more of its blocks. */
static void a_hand_held_camera_is_followed(void **state)
{
    (void)state;
    struct bd_global_motion *motion = NULL;
    struct bd_frame frame = { 0 };
    int frames = test_quick() ? 12 : 60, found = 0;
    double square = 0, turn = 0, grow = 0;
    assert_int_equal(bd_frame_create(&frame, width, height, BD_GRAY8), BD_OK);
    assert_int_equal(bd_global_motion_create(&motion, width, height, BD_GRAY8), BD_OK);
    for (int t = 0; t < frames; t++) {
        struct bd_similarity seen;
        struct view view = { .exposures = t ? most_path : 1,
                             .left = 20 + 2 * t,
                             .right = 20 + 2 * t + width / 3,
                             .object_x = 2 * t,
                             .noise = (uint32_t)t };
        struct bd_similarity middle = { 0 };
        for (int i = 0; i < view.exposures; i++) {
            view.path[i] = hand(t + (i - (view.exposures - 1) / 2.0) * 0.13);
            middle.x += view.path[i].x / view.exposures;
            middle.y += view.path[i].y / view.exposures;
            middle.turn += view.path[i].turn / view.exposures;
            middle.grow += view.path[i].grow / view.exposures;
        }
        draw(&frame, &view);
        if (bd_global_motion_find(motion, &frame, &seen) != BD_MOTION_FOUND)
            continue;
        double error = apart(seen, middle);
        found++;
        square += error * error;
        turn += (seen.turn - middle.turn) * (seen.turn - middle.turn);
        grow += (seen.grow - middle.grow) * (seen.grow - middle.grow);
    }
    double error = sqrt(square / found);
    print_message("%d of %d found, off by %.3f pixels, turn by %.5f, grow by %.5f\n", found, frames,
                  error, sqrt(turn / found), sqrt(grow / found));
    assert_int_equal(found, frames);
    assert_true(error <= 0.35);
    assert_true(sqrt(turn / found) <= 0.0015 && sqrt(grow / found) <= 0.0015);
    bd_global_motion_destroy(&motion);
    bd_frame_destroy(&frame);
}

/* A picture is moved back to what it was, to the bit where it does not reach, and a mask to its
 * outline. */
static void transforms_are_undone(void **state)
{
    (void)state;
    static const double cases[][4] = {
        { 3.5, -2.25, 1, 0.01 }, { -6, 4, -1.5, -0.01 }, { 0, 0, 3.5, 0 }, { 0, 0, 0, 0.06 }
    };
    struct bd_warper *warper = NULL;
    struct bd_frame first = { 0 }, moved = { 0 }, out = { 0 };
    struct view still = { .exposures = 1 };
    static uint8_t mask[width * height], outline[width * height];
    assert_int_equal(bd_warper_create(&warper, width, height, 1, 3), BD_OK);
    assert_int_equal(bd_frame_create(&first, width, height, BD_GRAY8), BD_OK);
    assert_int_equal(bd_frame_create(&moved, width, height, BD_GRAY8), BD_OK);
    assert_int_equal(bd_frame_create(&out, width, height, BD_GRAY8), BD_OK);
    draw(&first, &still);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double *c = cases[i];
        struct view view = { .path = { motion_of(c[0], c[1], c[2], c[3]) }, .exposures = 1 };
        struct bd_similarity by = view.path[0];
        draw(&moved, &view);
        memset(out.data, 77, (size_t)(out.stride * height));
        for (int k = 0; k < width * height; k++)
            mask[k] = moved.data[k / width * moved.stride + k % width] >= 128 ? 255 : 0;
        bd_warp_picture(warper, out.data, out.stride, moved.data, moved.stride, 1, by,
                        BD_WARP_KEEP);
        bd_warp_mask(warper, outline, width, mask, width, by);
        double sum = 0;
        int seen = 0, wrong = 0;
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                struct bd_point p = { x - (width - 1) / 2.0, y - (height - 1) / 2.0 };
                p = bd_similarity_apply(by, p);
                double border = fmin(width / 2.0 - fabs(p.x), height / 2.0 - fabs(p.y));
                int got = out.data[y * out.stride + x], want = first.data[y * first.stride + x];
                if (border < -0.01)
                    assert_int_equal(got, 77);
                if (border < 2)
                    continue;
                seen++;
                sum += abs(got - want);
                wrong += abs(want - 128) > 12 && (outline[y * width + x] == 255) != (want >= 128);
            }
        print_message("%g degrees, zoom %g: %.2f grey levels, %d of %d wrong in the mask\n", c[2],
                      c[3], sum / seen, wrong, seen);
        assert_true(sum / seen <= 3); /* 2.3 is the noise of both */
        assert_true(wrong * 500 <= seen);
    }
    bd_warper_destroy(&warper);
    bd_frame_destroy(&first);
    bd_frame_destroy(&moved);
    bd_frame_destroy(&out);
}

/* More than a camera's shake is limited, whatever the picture's shape. */
static void absurd_transforms_do_no_harm(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 1, 1 }, { 3, 400 }, { 400, 3 }, { 61, 47 } };
    static const struct bd_similarity absurd[] = { { 1e9, -1e9, 3, -2 },
                                                   { NAN, 0, NAN, NAN },
                                                   { -1e9, 1e9, -0.0625, 0.0625 },
                                                   { 5, 5, INFINITY, -INFINITY } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t j = 0; j < sizeof absurd / sizeof *absurd; j++) {
            struct bd_warper *warper = NULL;
            int w = sizes[i][0], h = sizes[i][1];
            size_t pixels = (size_t)w * (size_t)h;
            uint8_t *in = malloc(3 * pixels), *out = malloc(3 * pixels);
            assert_non_null(in);
            assert_non_null(out);
            memset(in, 200, 3 * pixels);
            assert_int_equal(bd_warper_create(&warper, w, h, 3, 1), BD_OK);
            bd_warp_picture(warper, out, w * 3, in, w * 3, 3, absurd[j], BD_WARP_REPLICATE);
            for (int k = 0; k < w * h * 3; k++)
                assert_in_range(out[k], 199, 201);
            bd_warp_picture(warper, out, w * 3, in, w * 3, 3, absurd[j], BD_WARP_KEEP);
            memset(in, 255, pixels);
            bd_warp_mask(warper, out, w, in, w, absurd[j]);
            for (int k = 0; k < w * h; k++)
                assert_int_equal(out[k], 255);
            bd_warper_destroy(&warper);
            free(in);
            free(out);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transforms_compose),
        cmocka_unit_test(known_transforms_are_found),
        cmocka_unit_test(small_angles_are_none),
        cmocka_unit_test(what_tears_is_no_motion),
        cmocka_unit_test(a_hand_held_camera_is_followed),
        cmocka_unit_test(transforms_are_undone),
        cmocka_unit_test(absurd_transforms_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
