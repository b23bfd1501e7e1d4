/* Pictures moved by parts of a pixel, and how far a camera has moved: against pictures whose shift
 * is known. */
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

/* What a picture shows: still texture, and an object with another texture. */
struct view {
    double x, y;                  /* how far the scene has moved */
    double fine;                  /* how much finer the picture is than one of 240 rows */
    int noise;                    /* largest, grey levels */
    double gain, add;             /* light */
    bool blank;                   /* the scene has no texture */
    int left, top, right, bottom; /* the object; none if empty */
    int object_x, object_y;       /* how far its texture has moved */
    uint32_t seed, noise_seed;
    int other_left; /* the scene is another up to this column */
    int sky;        /* no texture above this row */
};

static double texture(double x, double y, uint32_t seed)
{
    int64_t u = llround(x * 256), v = llround(y * 256);
    return bd_synth_noise(u, v, 12, seed) * 0.45 + bd_synth_noise(u, v, 10, seed + 1) * 0.45;
}

/* Rows are `spare` bytes longer than they need be, and those are not touched. */
static struct bd_frame make_frame(int width, int height, enum bd_pixel_format format, int spare)
{
    struct bd_frame frame = { .width = width, .height = height, .format = format };
    frame.stride = (int64_t)width * format + spare;
    frame.data = malloc((size_t)frame.stride * (size_t)height);
    assert_non_null(frame.data);
    memset(frame.data, 0xa5, (size_t)frame.stride * (size_t)height);
    return frame;
}

static void draw(struct bd_frame *frame, const struct view *view)
{
    double fine = view->fine > 0 ? view->fine : 1, gain = view->gain > 0 ? view->gain : 1;
    for (int y = 0; y < frame->height; y++)
        for (int x = 0; x < frame->width; x++) {
            double value = 128;
            uint32_t seed = x < view->other_left ? view->seed + 77 : view->seed;
            if (x >= view->left && x < view->right && y >= view->top && y < view->bottom)
                value = texture((x - view->object_x) / fine, (y - view->object_y) / fine, 99);
            else if (!view->blank && y - view->y >= view->sky)
                value = texture((x - view->x) / fine, (y - view->y) / fine, seed);
            value = gain * value + view->add;
            if (view->noise)
                value += (int)(bd_synth_hash((uint32_t)x, (uint32_t)y, view->noise_seed) %
                               (uint32_t)(2 * view->noise + 1)) -
                         view->noise;
            uint8_t byte = (uint8_t)fmin(255, fmax(0, round(value)));
            memset(frame->data + y * frame->stride + (int64_t)x * frame->format, byte,
                   frame->format);
        }
}

static void bad_input(void **state)
{
    (void)state;
    struct bd_global_motion *motion;
    struct bd_warper *warper;
    assert_int_equal(bd_global_motion_create(&motion, 0, 10, BD_GRAY8), BD_ERROR_ARGUMENT);
    assert_null(motion);
    assert_int_equal(bd_global_motion_create(&motion, 10, -1, BD_GRAY8), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_global_motion_create(&motion, 10, 10, BD_RGBA32), BD_ERROR_ARGUMENT);
    bd_global_motion_destroy(&motion);
    assert_int_equal(bd_warper_create(&warper, 10, 0, 1, 3), BD_ERROR_ARGUMENT);
    assert_null(warper);
    assert_int_equal(bd_warper_create(&warper, 10, 10, 0, 1), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_warper_create(&warper, 10, 10, 5, 3), BD_ERROR_ARGUMENT);
    bd_warper_destroy(&warper);
}

/* The shift found of `view` against the same at 0, 0. */
static enum bd_global_motion_verdict find(struct bd_frame *frame, const struct view *view,
                                          struct bd_similarity *shift)
{
    struct bd_global_motion *motion = NULL;
    struct view first = *view;
    first.x = first.y = 0;
    first.gain = first.add = 0;
    first.noise_seed++;
    assert_int_equal(bd_global_motion_create(&motion, frame->width, frame->height, frame->format),
                     BD_OK);
    draw(frame, &first);
    bd_global_motion_begin(motion, frame);
    draw(frame, view);
    enum bd_global_motion_verdict verdict = bd_global_motion_find(motion, frame, shift);
    bd_global_motion_destroy(&motion);
    return verdict;
}

/* To a tenth of a pixel, of large pictures to a twentieth of one of 240 rows. */
static void known_shifts_are_found(void **state)
{
    (void)state;
    static const struct {
        int width, height, fine;
        enum bd_pixel_format format;
    } sizes[] = { { 320, 240, 1, BD_RGB24 },
                  { 321, 241, 1, BD_GRAY8 },
                  { 240, 400, 1, BD_GRAY8 },
                  { 640, 480, 2, BD_RGB24 },
                  { 1920, 1080, 4, BD_GRAY8 } };
    static const struct bd_point shifts[] = { { 0, 0 },       { 0.25, -0.5 },   { -1.1, 0.7 },
                                              { 3.3, -7.75 }, { -11.5, 11.25 }, { 8, 8 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes - (test_quick() ? 2 : 0); i++) {
        struct bd_frame frame = make_frame(sizes[i].width, sizes[i].height, sizes[i].format, 7);
        double worst = 0;
        for (size_t j = 0; j < sizeof shifts / sizeof *shifts; j++) {
            struct bd_similarity shift;
            struct view view = { .x = shifts[j].x * sizes[i].fine,
                                 .y = shifts[j].y * sizes[i].fine,
                                 .fine = sizes[i].fine,
                                 .noise = 4,
                                 .seed = (uint32_t)j };
            assert_int_equal(find(&frame, &view, &shift), BD_MOTION_FOUND);
            worst = fmax(worst, fmax(fabs(shift.x - view.x), fabs(shift.y - view.y)));
        }
        print_message("%d x %d: worst error %.3f\n", frame.width, frame.height, worst);
        assert_true(worst <= (sizes[i].fine > 2 ? 0.05 * sizes[i].fine : 0.1));
        free(frame.data);
    }
}

/* Light, noise, and shifts that are too far. */
static void what_else_changes_does_not_matter(void **state)
{
    (void)state;
    struct bd_frame frame = make_frame(320, 240, BD_GRAY8, 0);
    struct bd_similarity shift;
    struct view dark = { .x = 2.5, .y = -4.25, .gain = 0.6, .add = 15, .noise = 3 };
    assert_int_equal(find(&frame, &dark, &shift), BD_MOTION_FOUND);
    assert_true(fabs(shift.x - 2.5) <= 0.1 && fabs(shift.y + 4.25) <= 0.1);
    struct view noisy = { .x = -1.5, .y = 5.75, .noise = 25 };
    assert_int_equal(find(&frame, &noisy, &shift), BD_MOTION_FOUND);
    assert_true(fabs(shift.x + 1.5) <= 0.15 && fabs(shift.y - 5.75) <= 0.15);
    struct view mast = { .x = -3, .y = 2.5, .sky = 110 };
    assert_int_equal(find(&frame, &mast, &shift), BD_MOTION_FOUND);
    assert_true(fabs(shift.x + 3) <= 0.1 && fabs(shift.y - 2.5) <= 0.1);
    struct view far = { .x = 40, .y = 3 };
    assert_int_not_equal(find(&frame, &far, &shift), BD_MOTION_FOUND);
    assert_true(shift.x == 0 && shift.y == 0);
    struct view other = { .other_left = 320 };
    struct bd_global_motion *motion = NULL;
    struct view first = { .noise = 2 };
    assert_int_equal(bd_global_motion_create(&motion, 320, 240, BD_GRAY8), BD_OK);
    draw(&frame, &first);
    bd_global_motion_begin(motion, &frame);
    draw(&frame, &other);
    assert_int_equal(bd_global_motion_find(motion, &frame, &shift), BD_MOTION_LOST);
    bd_global_motion_destroy(&motion);
    free(frame.data);
}

/* An object of a third of the picture goes by, over a scene with texture and over a blank wall; it
 * is there from the first picture on, so that blocks lie on it. */
static void what_moves_is_no_shake(void **state)
{
    (void)state;
    static const struct view objects[] = {
        { .left = 40, .top = 0, .right = 147, .bottom = 240 },             /* a third */
        { .left = 0, .top = 80, .right = 320, .bottom = 160 },             /* across */
        { .left = 60, .top = 50, .right = 250, .bottom = 185 },            /* a bus */
        { .left = 30, .top = 60, .right = 257, .bottom = 173, .blank = 1 } /* before a wall */
    };
    struct bd_frame frame = make_frame(320, 240, BD_GRAY8, 3);
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        struct bd_global_motion *motion = NULL;
        int found = 0, frames = 40;
        assert_int_equal(bd_global_motion_create(&motion, 320, 240, BD_GRAY8), BD_OK);
        for (int t = 0; t < frames; t++) {
            struct bd_similarity shift;
            struct view view = objects[i];
            view.object_x = (int)lround(9 * sin(t * 0.35));
            view.object_y = t / 8;
            view.left += view.object_x;
            view.right += view.object_x;
            view.noise = 3;
            view.noise_seed = (uint32_t)t;
            draw(&frame, &view);
            found += bd_global_motion_find(motion, &frame, &shift) == BD_MOTION_FOUND;
            assert_true(fabs(shift.x) <= 0.1 && fabs(shift.y) <= 0.1);
        }
        print_message("object %d: found in %d of %d\n", (int)i, found, frames);
        assert_true(objects[i].blank || found == frames);
        bd_global_motion_destroy(&motion);
    }
    free(frame.data);
}

static void without_texture_there_is_no_shift(void **state)
{
    (void)state;
    static const struct view views[] = { { .blank = true }, { .blank = true, .noise = 30 } };
    struct bd_frame frame = make_frame(320, 240, BD_RGB24, 0);
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        struct bd_global_motion *motion = NULL;
        assert_int_equal(bd_global_motion_create(&motion, 320, 240, BD_RGB24), BD_OK);
        for (int t = 0; t < 20; t++) {
            struct bd_similarity shift;
            struct view view = views[i];
            view.noise_seed = (uint32_t)t;
            draw(&frame, &view);
            enum bd_global_motion_verdict verdict = bd_global_motion_find(motion, &frame, &shift);
            assert_true(fabs(shift.x) <= 1e-6 && fabs(shift.y) <= 1e-6);
            assert_true(t == 0 || verdict != BD_MOTION_FOUND);
        }
        /* once there is texture, it is used */
        enum bd_global_motion_verdict verdict = BD_MOTION_UNSURE;
        struct bd_similarity shift = { 0 };
        for (int t = 0; t < 40 && views[i].noise == 0; t++) {
            struct view view = { .x = t < 30 ? 0 : 3.5, .noise = 2, .noise_seed = (uint32_t)t };
            draw(&frame, &view);
            verdict = bd_global_motion_find(motion, &frame, &shift);
        }
        assert_true(views[i].noise || (verdict == BD_MOTION_FOUND && fabs(shift.x - 3.5) <= 0.1));
        bd_global_motion_destroy(&motion);
    }
    free(frame.data);
}

/* Half of the scene becomes another on the way, and blocks there are replaced; all the time the
 * camera shakes. Errors must not add up. */
static void shifts_do_not_drift(void **state)
{
    (void)state;
    struct bd_frame frame = make_frame(320, 240, BD_GRAY8, 0);
    struct bd_global_motion *motion = NULL;
    int frames = test_quick() ? 150 : 700, before = 0;
    double worst = 0;
    assert_int_equal(bd_global_motion_create(&motion, 320, 240, BD_GRAY8), BD_OK);
    for (int t = 0; t < frames; t++) {
        struct bd_similarity shift;
        struct view view = { .x = 5 * sin(t * 0.31), .y = 4 * sin(t * 0.47), .noise = 5 };
        view.noise_seed = (uint32_t)t;
        view.other_left = t < frames / 3 ? 0 : 140;
        draw(&frame, &view);
        assert_int_equal(bd_global_motion_find(motion, &frame, &shift), BD_MOTION_FOUND);
        worst = fmax(worst, fmax(fabs(shift.x - view.x), fabs(shift.y - view.y)));
        if (t == frames / 3)
            before = bd_global_motion_agreeing(motion);
    }
    print_message("worst error %.3f; %d blocks agreed after the change, %d of %d in the end\n",
                  worst, before, bd_global_motion_agreeing(motion),
                  bd_global_motion_blocks(motion));
    assert_true(worst <= 0.1);
    assert_true(test_quick() || bd_global_motion_agreeing(motion) > before + 8);
    bd_global_motion_destroy(&motion);
    free(frame.data);
}

static void any_size_will_do(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 1, 1 },    { 3, 3 },    { 1, 400 }, { 400, 1 },
                                    { 25, 700 }, { 700, 25 }, { 64, 48 }, { 101, 77 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int format = BD_GRAY8; format <= BD_RGB24; format += 2) {
            struct bd_global_motion *motion = NULL;
            struct bd_frame frame =
                make_frame(sizes[i][0], sizes[i][1], (enum bd_pixel_format)format, 5);
            assert_int_equal(
                bd_global_motion_create(&motion, frame.width, frame.height, frame.format), BD_OK);
            assert_true(bd_global_motion_reach(motion) == 12 * bd_global_motion_scale(motion));
            for (int t = 0; t < 12; t++) {
                struct view view = { .x = t, .y = -t };
                struct bd_similarity shift;
                draw(&frame, &view);
                if (bd_global_motion_find(motion, &frame, &shift) == BD_MOTION_FOUND)
                    assert_true(fabs(shift.x - t) <= 0.3 && fabs(shift.y + t) <= 0.3);
                else
                    assert_true(shift.x == 0 && shift.y == 0);
            }
            bd_global_motion_destroy(&motion);
            free(frame.data);
        }
}

static int at(const struct bd_frame *frame, int x, int y, int c)
{
    x = x < 0 ? 0 : x >= frame->width ? frame->width - 1 : x;
    y = y < 0 ? 0 : y >= frame->height ? frame->height - 1 : y;
    return frame->data[y * frame->stride + (int64_t)x * frame->format + c];
}

/* Whole pixels are copied, halves are what the cubic says, and what was there stays where the
 * picture does not reach. */
static void pictures_are_moved(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 1, 1 }, { 3, 3 }, { 2, 9 }, { 37, 23 } };
    static const double shifts[][2] = { { 0, 0 },    { 1, -2 },      { -5, 3 },
                                        { 40, 0 },   { -1e9, 1e9 },  { 0.5, 0 },
                                        { 0, -0.5 }, { 2.25, 1.75 }, { NAN, 0 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int channels = 1; channels <= 3; channels += 2) {
            enum bd_pixel_format format = (enum bd_pixel_format)channels;
            struct bd_frame in = make_frame(sizes[i][0], sizes[i][1], format, 4);
            struct bd_frame out = make_frame(sizes[i][0], sizes[i][1], format, 9);
            struct bd_warper *warper = NULL;
            assert_int_equal(bd_warper_create(&warper, in.width, in.height, 3, 1), BD_OK);
            for (int k = 0; k < in.height * in.width * channels; k++)
                in.data[k / (in.width * channels) * in.stride + k % (in.width * channels)] =
                    (uint8_t)bd_synth_hash((uint32_t)k, 1, 2);
            for (size_t j = 0; j < sizeof shifts / sizeof *shifts; j++) {
                struct bd_similarity by = { .x = shifts[j][0], .y = shifts[j][1] };
                for (int border = BD_WARP_REPLICATE; border <= BD_WARP_KEEP; border++) {
                    memset(out.data, 0xa5, (size_t)(out.stride * out.height));
                    bd_warp_picture(warper, out.data, out.stride, in.data, in.stride, channels, by,
                                    (enum bd_warp_border)border);
                    double sx = isnan(by.x) ? 0 : fmax(-in.width, fmin(in.width, by.x));
                    double sy = fmax(-in.height, fmin(in.height, by.y));
                    int px = (int)floor(sx), py = (int)floor(sy);
                    for (int y = 0; y < in.height; y++) {
                        for (int x = 0; x < in.width * channels; x++) {
                            int column = x / channels, c = x % channels;
                            int got = out.data[y * out.stride + x];
                            double u = floor(column + sx + 0.5), v = floor(y + sy + 0.5);
                            bool seen = u >= 0 && u < in.width && v >= 0 && v < in.height;
                            if (border == BD_WARP_KEEP && !seen) {
                                assert_int_equal(got, 0xa5);
                                continue;
                            }
                            const double t[2] = { sx - px, sy - py };
                            double want = 0, w[2][4];
                            for (int a = 0; a < 2; a++) {
                                w[a][0] = (-t[a] + 2 * t[a] * t[a] - t[a] * t[a] * t[a]) / 2;
                                w[a][3] = (t[a] * t[a] * t[a] - t[a] * t[a]) / 2;
                                w[a][1] = 1 - 2.5 * t[a] * t[a] + 1.5 * t[a] * t[a] * t[a];
                                w[a][2] = 1 - w[a][0] - w[a][1] - w[a][3];
                            }
                            for (int b = 0; b < 16; b++)
                                want += w[0][b % 4] * w[1][b / 4] *
                                        at(&in, column + px + b % 4 - 1, y + py + b / 4 - 1, c);
                            want = fmin(255, fmax(0, want));
                            bool whole = t[0] == 0 && t[1] == 0;
                            assert_true(fabs(got - want) <= (whole ? 0 : 1.01));
                        }
                        for (int k = 0; k < 9; k++)
                            assert_int_equal(out.data[y * out.stride + in.width * channels + k],
                                             0xa5);
                    }
                }
            }
            bd_warper_destroy(&warper);
            free(in.data);
            free(out.data);
        }
}

static void masks_are_moved(void **state)
{
    (void)state;
    enum { width = 31, height = 17 };
    static uint8_t in[height * width], out[height * width];
    static const double shifts[][2] = { { 0, 0 },      { 3, -2 },    { -40, 0 },
                                        { 0.25, 0.5 }, { -2.75, 0 }, { 1e9, -1e9 } };
    struct bd_warper *warper = NULL;
    assert_int_equal(bd_warper_create(&warper, width, height, 1, 3), BD_OK);
    for (int i = 0; i < height * width; i++)
        in[i] = bd_synth_hash((uint32_t)i, 5, 6) & 1 ? 255 : 0;
    for (size_t j = 0; j < sizeof shifts / sizeof *shifts; j++) {
        double sx = fmax(-width, fmin(width, shifts[j][0]));
        double sy = fmax(-height, fmin(height, shifts[j][1]));
        bd_warp_mask(warper, out, width, in, width,
                     (struct bd_similarity){ .x = shifts[j][0], .y = shifts[j][1] });
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                double sum = 0, fx = sx - floor(sx), fy = sy - floor(sy);
                for (int b = 0; b < 4; b++) {
                    int u = (int)fmax(0, fmin(width - 1, x + floor(sx) + b % 2));
                    int below = b / 2;
                    int v = (int)fmax(0, fmin(height - 1, y + floor(sy) + below));
                    sum += (b % 2 ? fx : 1 - fx) * (b / 2 ? fy : 1 - fy) * (in[v * width + u] != 0);
                }
                assert_int_equal(out[y * width + x], sum >= 0.5 ? 255 : 0);
            }
    }
    bd_warper_destroy(&warper);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_input),
        cmocka_unit_test(known_shifts_are_found),
        cmocka_unit_test(what_else_changes_does_not_matter),
        cmocka_unit_test(what_moves_is_no_shake),
        cmocka_unit_test(without_texture_there_is_no_shift),
        cmocka_unit_test(shifts_do_not_drift),
        cmocka_unit_test(any_size_will_do),
        cmocka_unit_test(pictures_are_moved),
        cmocka_unit_test(masks_are_moved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
