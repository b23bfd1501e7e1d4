/* The rendered scenes: the same bytes everywhere, in any order, with a truth that fits them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "video/synth/synth.h"
#include "video/synth/world.h"

/* The scenes whose background moves. */
static const char *const moving_scenes[] = { "tree", "water", "rain", "night", "jitter" };

enum { MOVING_SCENES = sizeof moving_scenes / sizeof *moving_scenes };

static const struct bd_synth_scene *scene(const char *name)
{
    const struct bd_synth_scene *found = bd_synth_find(name);
    assert_non_null(found);
    return found;
}

static void render(const struct bd_synth_scene *of, uint64_t seed, int64_t index,
                   struct bd_frame *picture, struct bd_frame *truth)
{
    assert_int_equal(bd_synth_render(of, 0, 0, seed, index, picture, truth), BD_OK);
}

/* FNV-1a of the pixels, row by row without the padding. */
static uint32_t checksum(const struct bd_frame *frame)
{
    uint32_t sum = 2166136261u;
    for (int y = 0; y < frame->height; y++)
        for (int x = 0; x < frame->width * (int)frame->format; x++)
            sum = (sum ^ frame->data[y * frame->stride + x]) * 16777619u;
    return sum;
}

static int count(const struct bd_frame *truth, int value)
{
    int n = 0;
    for (int y = 0; y < truth->height; y++)
        for (int x = 0; x < truth->width; x++)
            n += truth->data[y * truth->stride + x] == value;
    return n;
}

static double mean(const struct bd_frame *picture)
{
    double sum = 0;
    for (int y = 0; y < picture->height; y++)
        for (int x = 0; x < 3 * picture->width; x++)
            sum += picture->data[y * picture->stride + x];
    return sum / (3.0 * picture->width * picture->height);
}

static void test_table(void **state)
{
    (void)state;
    int n = 0;
    for (const struct bd_synth_scene *s = bd_synth_scenes; s->name; s++, n++) {
        struct bd_frame picture = { 0 }, truth = { 0 };
        assert_ptr_equal(bd_synth_find(s->name), s);
        assert_true(s->description && s->description[0]);
        render(s, 1, 70, &picture, &truth);
        assert_int_equal(picture.width, s->width);
        assert_int_equal(truth.height, s->height);
        assert_int_equal(picture.format, BD_RGB24);
        assert_int_equal(truth.format, BD_GRAY8);
        assert_int_equal(picture.index, 70);
        assert_int_equal(picture.pts, 70);
        assert_int_equal(picture.duration, 1);
        int pixels = s->width * s->height;
        int moving = count(&truth, 255), shadow = count(&truth, 50), still = count(&truth, 0);
        assert_int_equal(moving + shadow + still, pixels);
        /* A walker is about 1 % of the picture, a car 3 %. */
        assert_in_range(moving, pixels / 100, pixels / 5);
        assert_int_equal(shadow > 0, s->shadows);
        bd_frame_destroy(&picture);
        bd_frame_destroy(&truth);
    }
    assert_true(n >= 16);
}

/* Sums taken on x86-64 with gcc 12: another machine or compiler must give the same bytes. */
static void test_checksums(void **state)
{
    static const struct {
        const char *name;
        int64_t index;
        uint32_t picture, truth;
    } known[] = {
        { "easy", 100, 0x4862df1a, 0x4fab5e36 },   { "street", 150, 0x565f5a7c, 0xce528fb6 },
        { "switch", 210, 0xd2b681b3, 0x88c38f2b }, { "shake", 120, 0x1cfff2b2, 0xc9cb8c96 },
        { "tree", 300, 0x57cc5d1d, 0x668f2b6c },   { "water", 130, 0x8054240d, 0xd4fc3f5f },
        { "rain", 130, 0x36c10400, 0x1028a095 },   { "night", 300, 0x8bd157fd, 0x8117aa54 },
        { "jitter", 320, 0x4377856c, 0x7236551b }, { "crossing", 75, 0xec374185, 0x9f41d253 },
        { "sun", 100, 0x8306bbd3, 0xd4f68628 }
    };
    (void)state;
    struct bd_frame picture = { 0 }, truth = { 0 };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        render(scene(known[i].name), 1, known[i].index, &picture, &truth);
        print_message("%s %d: 0x%08x 0x%08x\n", known[i].name, (int)known[i].index,
                      checksum(&picture), checksum(&truth));
        assert_int_equal(checksum(&picture), known[i].picture);
        assert_int_equal(checksum(&truth), known[i].truth);
    }
    bd_frame_destroy(&picture);
    bd_frame_destroy(&truth);
}

/* The scene moves in the picture by what bd_synth_shake says, and never further than it may. */
static void test_the_camera_shakes(void **state)
{
    (void)state;
    struct bd_synth_scene empty = *scene("shake");
    struct bd_frame first = { 0 }, later = { 0 };
    int32_t most = 0, reach = (int32_t)empty.shake * 256;
    empty.objects = 0;
    empty.noise = 0;
    for (int i = 0; i < 3000; i++) {
        struct bd_synth_point moved = bd_synth_shake(&empty, 240, i);
        assert_in_range(moved.x + reach, 0, 2 * reach);
        assert_in_range(moved.y + reach, 0, 2 * reach);
        most = abs(moved.x) > most ? abs(moved.x) : most;
    }
    assert_true(most > reach / 2);
    render(&empty, 1, 3, &first, NULL);
    struct bd_synth_point from = bd_synth_shake(&empty, first.height, 3);
    for (int i = 10; i < 40; i += 10) {
        struct bd_synth_point to = bd_synth_shake(&empty, first.height, i);
        int dx = (to.x - from.x + 128) >> 8, dy = (to.y - from.y + 128) >> 8;
        int64_t still = 0, moved = 0;
        render(&empty, 1, i, &later, NULL);
        for (int y = 16; y < first.height - 16; y++)
            for (int x = 3 * 16; x < 3 * (first.width - 16); x++) {
                int now = later.data[y * later.stride + x];
                still += abs(now - first.data[y * first.stride + x]);
                moved += abs(now - first.data[(y - dy) * first.stride + x - 3 * dx]);
            }
        assert_true(abs(dx) + abs(dy) >= 2 && moved < still * 2 / 3);
    }
    bd_frame_destroy(&first);
    bd_frame_destroy(&later);
}

static void test_order_and_seed(void **state)
{
    (void)state;
    enum { N = 12 };
    uint32_t forward[N], truths[N];
    struct bd_frame picture = { 0 }, truth = { 0 };
    for (int i = 0; i < N; i++) {
        render(scene("street"), 7, 115 + i, &picture, &truth);
        forward[i] = checksum(&picture);
        truths[i] = checksum(&truth);
    }
    for (int i = N - 1; i >= 0; i--) { /* backwards, and each frame alone */
        render(scene("street"), 7, 115 + i, &picture, NULL);
        assert_int_equal(checksum(&picture), forward[i]);
        render(scene("street"), 7, 115 + i, NULL, &truth);
        assert_int_equal(checksum(&truth), truths[i]);
    }
    assert_int_not_equal(forward[0], forward[1]);
    render(scene("street"), 8, 115, &picture, &truth);
    assert_int_not_equal(checksum(&picture), forward[0]);
    bd_frame_destroy(&picture);
    bd_frame_destroy(&truth);
}

/* Outside objects nothing moves but by the noise; inside, the object differs from the ground. */
static void test_background_and_contrast(void **state)
{
    (void)state;
    struct bd_synth_scene empty = *scene("easy"), quiet = empty;
    empty.objects = 0;
    empty.noise = quiet.noise = 0;
    struct bd_frame ground = { 0 }, noisy = { 0 }, clean = { 0 }, truth = { 0 }, none = { 0 };
    render(&empty, 1, 0, &ground, &none);
    assert_int_equal(count(&none, 0), empty.width * empty.height);
    double square = 0;
    int64_t still = 0, moving = 0, seen = 0;
    for (int f = 0; f < 200; f += 20) {
        render(scene("easy"), 1, f, &noisy, &truth);
        render(&quiet, 1, f, &clean, NULL);
        for (int y = 0; y < truth.height; y++) {
            for (int x = 0; x < truth.width; x++) {
                int worst = 0;
                for (int c = 0; c < 3; c++) {
                    int64_t at = y * ground.stride + 3 * (int64_t)x + c;
                    int d = abs(clean.data[at] - ground.data[at]),
                        n = noisy.data[at] - clean.data[at];
                    worst = d > worst ? d : worst;
                    if (clean.data[at] > 20 && clean.data[at] < 235) {
                        square += n * n;
                        still++;
                    }
                }
                if (truth.data[y * truth.stride + x] == 255) {
                    moving++;
                    seen += worst >= 25;
                }
            }
        }
    }
    assert_true(moving > 10000);
    /* Arms, legs and windows cross all tones of the ground: a few pixels cannot but match it. */
    print_message("seen %.4f of the objects' pixels\n", (double)seen / (double)moving);
    assert_true((double)seen > 0.96 * (double)moving);
    double variance = square / (double)still; /* sigma^2 and a twelfth for rounding */
    assert_true(variance > 0.95 * 4 && variance < 1.05 * (4 + 1.0 / 12));
    bd_frame_destroy(&ground);
    bd_frame_destroy(&noisy);
    bd_frame_destroy(&clean);
    bd_frame_destroy(&truth);
    bd_frame_destroy(&none);
}

/* Every pixel that objects changed by half or more of their coverage is in the truth: outside it
 * and its rim of one pixel, a picture with objects is the picture without. */
static void test_truth_is_complete(void **state)
{
    (void)state;
    struct bd_synth_scene with = *scene("easy");
    with.noise = 0;
    struct bd_synth_scene without = with;
    without.objects = 0;
    struct bd_frame a = { 0 }, b = { 0 }, truth = { 0 };
    render(&without, 3, 0, &b, NULL);
    for (int f = 0; f < 300; f += 50) {
        render(&with, 3, f, &a, &truth);
        for (int y = 1; y < truth.height - 1; y++) {
            for (int x = 1; x < truth.width - 1; x++) {
                int near = 0;
                for (int dy = -1; dy <= 1; dy++)
                    for (int dx = -1; dx <= 1; dx++)
                        near |= truth.data[(y + dy) * truth.stride + x + dx];
                int64_t at = y * a.stride + 3 * (int64_t)x;
                if (!near)
                    assert_memory_equal(a.data + at, b.data + at, 3);
            }
        }
    }
    bd_frame_destroy(&a);
    bd_frame_destroy(&b);
    bd_frame_destroy(&truth);
}

/* The one object of a scene stands still for the whole stop, and moves before and after. */
static void test_stop(void **state)
{
    (void)state;
    struct bd_synth_scene one = *scene("stop");
    one.objects = 1;
    struct bd_frame truth = { 0 };
    render(&one, 1, one.stop_from, NULL, &truth);
    uint32_t standing = checksum(&truth);
    assert_true(count(&truth, 255) > one.width * one.height / 200);
    int x0 = one.width, x1 = 0;
    for (int y = 0; y < truth.height; y++)
        for (int x = 0; x < truth.width; x++)
            if (truth.data[y * truth.stride + x]) {
                x0 = x < x0 ? x : x0;
                x1 = x > x1 ? x : x1;
            }
    assert_in_range((x0 + x1) / 2, one.width / 2 - 15, one.width / 2 + 15);
    for (int f = one.stop_from + 1; f <= one.stop_to; f += 20) {
        render(&one, 1, f, NULL, &truth);
        assert_int_equal(checksum(&truth), standing);
    }
    render(&one, 1, one.stop_from - 1, NULL, &truth);
    assert_int_not_equal(checksum(&truth), standing);
    render(&one, 1, one.stop_to + 1, NULL, &truth);
    assert_int_not_equal(checksum(&truth), standing);
    bd_frame_destroy(&truth);
}

static double brightness(const struct bd_synth_scene *of, int64_t index)
{
    struct bd_frame picture = { 0 };
    render(of, 1, index, &picture, NULL);
    double value = mean(&picture);
    bd_frame_destroy(&picture);
    return value;
}

static void test_light(void **state)
{
    (void)state;
    struct bd_synth_scene lit = *scene("switch");
    lit.objects = 0;
    double before = brightness(&lit, lit.light_switch - 1);
    double after = brightness(&lit, lit.light_switch);
    assert_true(after < 0.75 * before && after > 0.6 * before);
    assert_true(brightness(&lit, 0) > before - 0.1 && brightness(&lit, 0) < before + 0.1);

    struct bd_synth_scene drifting = *scene("drift");
    drifting.objects = 0;
    double low = 255, high = 0, last = brightness(&drifting, 0);
    for (int f = 0; f < drifting.frame_count; f += 10) {
        double now = brightness(&drifting, f);
        assert_true(now - last < 0.04 * last && last - now < 0.04 * last); /* slowly */
        low = now < low ? now : low;
        high = now > high ? now : high;
        last = now;
    }
    assert_true(high > 1.25 * low && high < 1.6 * low);
}

/* Leaves move in a scene that sways, and only in the tree's part of the picture. */
static void test_sway(void **state)
{
    (void)state;
    struct bd_synth_scene calm = *scene("sway");
    calm.objects = 0;
    calm.noise = 0;
    struct bd_frame a = { 0 }, b = { 0 };
    render(&calm, 1, 0, &a, NULL);
    render(&calm, 1, 37, &b, NULL);
    int moved = 0;
    for (int y = 0; y < a.height; y++) {
        for (int x = 0; x < a.width; x++) {
            int64_t at = y * a.stride + 3 * (int64_t)x;
            int differs = memcmp(a.data + at, b.data + at, 3) != 0;
            moved += differs;
            if (x < a.width / 2 || y > a.height / 2)
                assert_false(differs);
        }
    }
    assert_in_range(moved, a.width * a.height / 50, a.width * a.height / 5);
    calm.sway = false;
    render(&calm, 1, 0, &a, NULL);
    render(&calm, 1, 37, &b, NULL);
    assert_int_equal(checksum(&a), checksum(&b));
    bd_frame_destroy(&a);
    bd_frame_destroy(&b);
}

/* Any size, the same scene: the share of moving pixels hardly depends on it. */
static void test_sizes(void **state)
{
    static const int sizes[][2] = { { 1, 1 },    { 1, 300 },   { 301, 1 },  { 17, 9 },
                                    { 63, 241 }, { 641, 479 }, { 160, 120 } };
    (void)state;
    struct bd_frame picture = { 0 }, truth = { 0 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(
            bd_synth_render(scene("street"), sizes[i][0], sizes[i][1], 5, 60, &picture, &truth),
            BD_OK);
        assert_int_equal(picture.width, sizes[i][0]);
        assert_int_equal(truth.height, sizes[i][1]);
    }
    for (int k = 0; k < MOVING_SCENES; k++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            assert_int_equal(bd_synth_render(scene(moving_scenes[k]), sizes[i][0], sizes[i][1], 5,
                                             60 + INT32_MAX / 2, &picture, &truth),
                             BD_OK);
    double share[2];
    for (int i = 0; i < 2; i++) {
        bd_synth_render(scene("easy"), 160 << i, 120 << i, 5, 60, &picture, &truth);
        share[i] = (double)count(&truth, 255) / (160 * 120 << 2 * i);
    }
    assert_true(share[0] > 0.95 * share[1] && share[0] < 1.05 * share[1]);
    bd_frame_destroy(&picture);
    bd_frame_destroy(&truth);
}

/* The largest difference of a pixel's three values. */
static int difference(const struct bd_frame *a, const struct bd_frame *b, int x, int y)
{
    int most = 0;
    for (int c = 0; c < 3; c++) {
        int d = abs(a->data[y * a->stride + 3 * x + c] - b->data[y * b->stride + 3 * x + c]);
        most = d > most ? d : most;
    }
    return most;
}

/* The background moves in each of them: so many pixels differ from those of a second before. */
static void test_backgrounds_move(void **state)
{
    static const double least[MOVING_SCENES] = { 0.10, 0.15, 0.05, 0.02, 0.05 };
    (void)state;
    struct bd_frame a = { 0 }, b = { 0 }, truth = { 0 };
    for (int i = 0; i < MOVING_SCENES; i++) {
        struct bd_synth_scene empty = *scene(moving_scenes[i]);
        empty.objects = 0;
        empty.noise = 0;
        int64_t moved = 0, pixels = 0;
        for (int f = 25; f < 300; f += 50) {
            render(&empty, 1, f - 25, &b, NULL);
            render(&empty, 1, f, &a, &truth);
            assert_int_equal(count(&truth, 0), empty.width * empty.height);
            for (int y = 0; y < a.height; y++)
                for (int x = 0; x < a.width; x++, pixels++)
                    moved += difference(&a, &b, x, y) > 20;
        }
        print_message("%s: %.3f of the background moves\n", empty.name,
                      (double)moved / (double)pixels);
        assert_true((double)moved > least[i] * (double)pixels);
    }
    bd_frame_destroy(&a);
    bd_frame_destroy(&b);
    bd_frame_destroy(&truth);
}

/* What the truth calls an object differs from what would be there without objects. Where no
 * reflection or light comes with them, nothing else does, but for a rim of a pixel and of the blur,
 * and slivers between leaves that fill less than half of a pixel. */
static void test_truth_of_moving_scenes(void **state)
{
    static const struct {
        double seen; /* share of the objects' pixels that differ by 20 levels */
        int rim;     /* 0: objects change their surroundings */
        double slivers;
    } wanted[MOVING_SCENES] = {
        { 0.98, 1, 0.005 }, { 0.98, 0, 0 }, { 0.93, 0, 0 }, { 0.8, 0, 0 }, { 0.95, 6, 0 }
    };
    (void)state;
    struct bd_frame a = { 0 }, b = { 0 }, truth = { 0 };
    for (int i = 0; i < MOVING_SCENES; i++) {
        struct bd_synth_scene with = *scene(moving_scenes[i]);
        with.noise = 0;
        struct bd_synth_scene without = with;
        without.objects = 0;
        int64_t seen = 0, all = 0, slivers = 0;
        int rim = wanted[i].rim;
        for (int f = 10; f < with.frame_count; f += 60) {
            render(&with, 1, f, &a, &truth);
            render(&without, 1, f, &b, NULL);
            for (int y = rim; y < a.height - rim; y++)
                for (int x = rim; x < a.width - rim; x++) {
                    bool object = truth.data[y * truth.stride + x] == 255, near = rim == 0;
                    all += object;
                    seen += object && difference(&a, &b, x, y) >= 20;
                    for (int dy = -rim; !near && dy <= rim; dy++)
                        for (int dx = -rim; dx <= rim; dx++)
                            near |= truth.data[(y + dy) * truth.stride + x + dx] != 0;
                    slivers += !near && difference(&a, &b, x, y) > 0;
                }
        }
        print_message("%s: seen %.4f of the objects' pixels, slivers %.4f\n", with.name,
                      (double)seen / (double)all, (double)slivers / (double)all);
        assert_true((double)slivers <= wanted[i].slivers * (double)all);
        assert_true(all > 2000 && (double)seen > wanted[i].seen * (double)all);
    }
    bd_frame_destroy(&a);
    bd_frame_destroy(&b);
    bd_frame_destroy(&truth);
}

/* A frame is the same bytes whatever was rendered before it, and with or without its truth. */
static void test_moving_scenes_repeat(void **state)
{
    (void)state;
    struct bd_frame picture = { 0 }, truth = { 0 }, other = { 0 };
    for (int i = 0; i < MOVING_SCENES; i++) {
        const struct bd_synth_scene *of = scene(moving_scenes[i]);
        render(of, 7, 131, &picture, &truth);
        uint32_t sum = checksum(&picture), truth_sum = checksum(&truth);
        render(of, 7, 9, &picture, &truth);
        assert_int_not_equal(checksum(&picture), sum);
        render(of, 7, 131, &other, NULL);
        assert_int_equal(checksum(&other), sum);
        render(of, 7, 131, NULL, &truth);
        assert_int_equal(checksum(&truth), truth_sum);
        render(of, 8, 131, &picture, NULL);
        assert_int_not_equal(checksum(&picture), sum);
    }
    bd_frame_destroy(&picture);
    bd_frame_destroy(&truth);
    bd_frame_destroy(&other);
}

/* In "tree" somebody is there in less than half of the frames. */
static void test_tree_is_mostly_empty(void **state)
{
    (void)state;
    const struct bd_synth_scene *tree = scene("tree");
    struct bd_frame truth = { 0 };
    int frames = 0, empty = 0;
    for (int f = 0; f < tree->frame_count; f += 6, frames++) {
        render(tree, 1, f, NULL, &truth);
        empty += count(&truth, 255) == 0;
    }
    print_message("tree: nobody in %d of %d frames\n", empty, frames);
    assert_true(2 * empty > frames && empty < frames * 9 / 10);
    bd_frame_destroy(&truth);
}

/* Ink that hides takes what is behind it out of the truth, its shadow too; other ink does not. */
static void test_hiding(void **state)
{
    (void)state;
    struct bd_frame truth = { 0 };
    assert_int_equal(bd_frame_create(&truth, 40, 20, BD_GRAY8), BD_OK);
    memset(truth.data, 0, (size_t)(truth.stride * truth.height));
    struct bd_synth_canvas canvas = { .truth = &truth, .width = 40, .height = 20 };
    struct bd_synth_ink object = { .object = true }, leaf = { .hides = true },
                        paint = { .grain = 0 };
    bd_synth_shadow(&canvas, (struct bd_synth_point){ 2560, 2560 },
                    (struct bd_synth_point){ 7680, 2560 }, 2560, (uint8_t[3]){ 9, 9, 9 });
    bd_synth_rect(&canvas, 2560, 0, 7680, 2560, &object);
    bd_synth_rect(&canvas, 3840, 0, 5120, 5120, &leaf);
    bd_synth_rect(&canvas, 5120, 0, 6400, 5120, &paint);
    bd_synth_finish_truth(&canvas);
    for (int x = 10; x < 30; x++) {
        bool hidden = x >= 15 && x < 20;
        assert_int_equal(truth.data[5 * truth.stride + x], hidden ? 0 : 255);
        assert_int_equal(truth.data[11 * truth.stride + x], hidden ? 0 : 50);
    }
    bd_frame_destroy(&truth);
}

/* The hand moves the camera as far as the scene says and no further, and the picture with it. */
static void test_a_hand_moves_the_camera(void **state)
{
    (void)state;
    struct bd_synth_scene empty = *scene("jitter");
    empty.objects = 0;
    empty.noise = 0;
    int reach = (int)(empty.shake * 256), turn = (int)(empty.roll * 65536 / 57.29578) + 1;
    int far = 0, turned = 0;
    for (int i = 0; i < 3000; i++) {
        struct bd_synth_pose pose = bd_synth_pose(&empty, 240, (int64_t)i * 65536 / empty.fps);
        assert_in_range(pose.shift.x + reach, 0, 2 * reach);
        assert_in_range(pose.shift.y + reach, 0, 2 * reach);
        assert_in_range(pose.roll + turn, 0, 2 * turn);
        far = abs(pose.shift.x) > far ? abs(pose.shift.x) : far;
        turned = abs(pose.roll) > turned ? abs(pose.roll) : turned;
    }
    assert_true(far > reach * 2 / 3 && turned > turn * 2 / 3);
    /* A short exposure at two times: each place is found again where the two poses say. */
    empty.exposure = 0.001;
    struct bd_frame first = { 0 }, later = { 0 };
    render(&empty, 1, 3, &first, NULL);
    struct bd_synth_pose from = bd_synth_pose(&empty, 240, 3 * 65536 / empty.fps);
    for (int i = 20; i < 120; i += 20) {
        struct bd_synth_pose to = bd_synth_pose(&empty, 240, (int64_t)i * 65536 / empty.fps);
        int64_t still = 0, moved = 0;
        render(&empty, 1, i, &later, NULL);
        for (int y = 24; y < first.height - 24; y++)
            for (int x = 24; x < first.width - 24; x++) {
                /* A pixel at d from the middle shows the world's place d turned by roll, - shift.
                 */
                double dx = x - 159.5, dy = y - 119.5, roll = (to.roll - from.roll) / 65536.0;
                double sx = (from.shift.x - to.shift.x) / 256.0;
                double sy = (from.shift.y - to.shift.y) / 256.0;
                int u = (int)(dx - dy * roll + sx + 160), v = (int)(dy + dx * roll + sy + 120);
                still += abs(later.data[y * later.stride + 3 * x] -
                             first.data[y * first.stride + 3 * x]);
                moved += abs(later.data[y * later.stride + 3 * x] -
                             first.data[v * first.stride + 3 * u]);
            }
        print_message("frame %d: %.2f, moved %.2f\n", i, (double)still / 52224,
                      (double)moved / 52224);
        assert_true(moved < still * 2 / 3);
    }
    bd_frame_destroy(&first);
    bd_frame_destroy(&later);
}

static void test_bad_input(void **state)
{
    (void)state;
    struct bd_frame picture = { 0 };
    struct bd_synth_scene still = *scene("easy");
    still.fps = 0;
    assert_null(bd_synth_find("nothing"));
    assert_null(bd_synth_find(""));
    assert_null(bd_synth_find(NULL));
    assert_int_equal(bd_synth_render(NULL, 0, 0, 1, 0, &picture, NULL), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_synth_render(&still, 0, 0, 1, 0, &picture, NULL), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_synth_render(scene("easy"), -1, 0, 1, 0, &picture, NULL),
                     BD_ERROR_ARGUMENT);
    assert_int_equal(bd_synth_render(scene("easy"), 0, 40000, 1, 0, &picture, NULL),
                     BD_ERROR_ARGUMENT);
    assert_int_equal(bd_synth_render(scene("easy"), 0, 0, 1, -1, &picture, NULL),
                     BD_ERROR_ARGUMENT);
    assert_int_equal(bd_synth_render(scene("easy"), 0, 0, 1, INT64_MAX, &picture, NULL),
                     BD_ERROR_ARGUMENT);
    assert_non_null(strstr(bd_error_detail(), "easy"));
    assert_null(picture.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_checksums),
        cmocka_unit_test(test_the_camera_shakes),
        cmocka_unit_test(test_order_and_seed),
        cmocka_unit_test(test_background_and_contrast),
        cmocka_unit_test(test_truth_is_complete),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_light),
        cmocka_unit_test(test_sway),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_backgrounds_move),
        cmocka_unit_test(test_truth_of_moving_scenes),
        cmocka_unit_test(test_moving_scenes_repeat),
        cmocka_unit_test(test_tree_is_mostly_empty),
        cmocka_unit_test(test_hiding),
        cmocka_unit_test(test_a_hand_moves_the_camera),
        cmocka_unit_test(test_bad_input),
    };
    return cmocka_run_group_tests_name("synth", tests, NULL, NULL);
}
