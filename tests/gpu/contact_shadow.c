/* Contact shadows, in the mask clean-up of the GPU, against that of the CPU, bit for
 * bit: drawn cases over the borders of words, tiles and thread blocks, random ones with holes and
 * things in the holes, pictures that are hard for components. Then its times. An argument chooses
 * tests by name. */
#include <limits.h>

#include "tests/gpu/mask_pair.h"
#include "tests/support/contact_picture.h"
#include "tests/support/quick.h"

/* The picture to a pair of its size, as it is. */
static void take(struct pair *p, const struct contact_picture *from)
{
    assert_int_equal(p->width, from->width);
    assert_int_equal(p->height, from->height);
    p->channels = from->channels;
    memcpy(p->raw, from->mask, p->count);
    memcpy(p->frame, from->f, p->count * (size_t)p->channels);
    memcpy(p->background, from->l, p->count * (size_t)p->channels);
}

/* The clean-up with all that is around the search for shadows switched off. */
static struct bd_detect_params nothing_else(int k)
{
    return (struct bd_detect_params){
        .median = 1, .max_hole = k % 2 ? 400 : 0, .guard = k % 3, .plain = k % 4 ? -1 : 0.3F
    };
}

/* A car as that of tests/support/contact_picture.h anywhere: its contact shadow is found, wherever
 * it lies.
 */
static void test_a_car_anywhere(void **state)
{
    (void)state;
    static struct contact_picture car;
    struct pair p;
    int k = 0;
    pair_open(&p, most_width, most_height);
    for (int y = 0; y + 35 < most_height; y += test_quick() ? 24 : 7)
        for (int x = 0; x + 40 <= most_width; x += test_quick() ? 60 : 13, k++) {
            struct bd_detect_params params = nothing_else(k);
            params.plain = -1;
            car = new_picture(most_width, most_height, k % 2 ? 3 : 1);
            box(&car, x, y, 40, 30, 200);
            box(&car, x, y + 30, 40, 4, 12);
            box(&car, x, y + 34, 40, 1, 70);
            take(&p, &car);
            check(&p, "car", &params);
            /* At the sides of the picture nothing makes the strip's ends uneven. */
            assert_int_equal(p.cut, 4 * (38 + (x == 0) + (x + 40 == most_width)));
            params.shadows = 1 + k % 2;
            check(&p, "car with shadows", &params);
        }
    /* Cut off by the picture's last row. */
    struct bd_detect_params params = nothing_else(1);
    car = new_picture(most_width, most_height, 3);
    box(&car, 100, most_height - 35, 40, 31, 200);
    box(&car, 100, most_height - 4, 40, 4, 12);
    take(&p, &car);
    check(&p, "car that is cut off", &params);
    assert_int_equal(p.cut, 0);
    /* Black further up, just as far as that is looked at, or just not: it is its own, or shadow. */
    for (int reach = 6; reach <= 7; reach++) {
        car = new_picture(most_width, most_height, 3);
        box(&car, 100, 50, 40, 35, 200);
        box(&car, 100, 85 - 5 - reach, 40, 5 + reach, 12);
        take(&p, &car);
        check(&p, "car that is black further up", &params);
        assert_int_equal(p.cut > 0, reach == 6);
    }
    /* A strip that is wider than the car: half of it has nothing above it, or one pixel more. */
    for (int width = 80; width <= 81; width++) {
        car = new_picture(most_width, most_height, 3);
        box(&car, 100, 50, 40, 30, 200);
        box(&car, 100, 80, width, 4, 12);
        box(&car, 100, 84, width, 1, 70);
        take(&p, &car);
        check(&p, "car on a wide strip", &params);
        assert_int_equal(p.cut > 0, width == 80);
    }
    /* A strip under half of the car, or one pixel less, in any row of a thread block. */
    for (int y = 40; y < 56; y++)
        for (int width = 51; width <= 52; width++) {
            car = new_picture(most_width, most_height, 1);
            box(&car, 100, y, 100, 30, 200);
            box(&car, 120, y + 30, width, 4, 12);
            box(&car, 120, y + 34, width, 1, 70);
            take(&p, &car);
            check(&p, "car on a short strip", &params);
            assert_int_equal(p.cut > 0, width == 52);
        }
    pair_close(&p);
}

/* A hole in a car's strip with something in it, all of whose runs start with a word or a tile: what
 * is in the hole belongs to the car. */
static void test_a_hole_between_words(void **state)
{
    (void)state;
    static const struct {
        int car, car_end, hole, hole_end, in, in_end;
    } cases[] = { { 10, 110, 32, 96, 40, 64 },
                  { 11, 110, 33, 96, 40, 64 },
                  { 10, 111, 32, 96, 40, 65 },
                  { 234, 300, 256, 292, 264, 288 },
                  { 194, 290, 224, 280, 225, 256 } };
    static struct contact_picture car;
    struct pair p;
    pair_open(&p, most_width, most_height);
    for (int y = 0; y < 80; y += 5)
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            struct bd_detect_params params = { .median = 1, .max_hole = 2000, .plain = -1 };
            int in = cases[k].in, width = cases[k].car_end - cases[k].car;
            car = new_picture(most_width, most_height, k % 2 ? 1 : 3);
            box(&car, cases[k].car, y, width, 52, 200);
            box(&car, cases[k].car, y + 52, width, 8, 12);
            for (int v = y + 40; v < y + 57; v++) {
                uint8_t *row = car.mask + v * car.width;
                memset(row + cases[k].hole, 0, (size_t)(cases[k].hole_end - cases[k].hole));
                if (v >= y + 42 && v < y + 55)
                    memset(row + in, 1, (size_t)(cases[k].in_end - in));
            }
            take(&p, &car);
            check(&p, "car with a hole", &params);
            /* Row 52 touches the car; the ends of the strip touch the road, row 59 is below. */
            assert_int_equal(p.cut, 7 * (width - 2 + (cases[k].car_end == most_width)));
        }
    pair_close(&p);
}

/* Holes, and things in some of them. */
static void punch(struct contact_picture *p, uint32_t *seed)
{
    for (int holes = between(seed, 1, 8); holes > 0; holes--) {
        int width = between(seed, 1, p->width / 6), height = between(seed, 1, p->height / 6);
        int x = between(seed, 0, p->width - width), y = between(seed, 0, p->height - height);
        for (int v = y; v < y + height; v++)
            memset(p->mask + v * p->width + x, 0, (size_t)width);
        if (width > 4 && height > 4 && between(seed, 0, 1))
            for (int v = y + 2; v < y + height - 2; v++)
                memset(p->mask + v * p->width + x + 2, 1, (size_t)(width - 4));
    }
}

/* Things as wide as high or wider, some of them with contact shadows, side by side or not. */
static void draw_cars(struct contact_picture *p, uint32_t *seed)
{
    for (int cars = between(seed, 1, 4); cars > 0; cars--) {
        int width = between(seed, 24, p->width / 2);
        int height = between(seed, 20, width < p->height - 3 ? width : p->height - 3);
        int x = between(seed, 0, p->width - width), y = between(seed, 0, p->height - 2 - height);
        int strip = between(seed, 2, 3 + height / 5), from = between(seed, 0, width / 3);
        box(p, x, y, width, height, (uint8_t)between(seed, 30, 220));
        box(p, x + from, y + height - strip, width - from, strip, (uint8_t)between(seed, 5, 38));
        for (int v = y; v < y + height - strip; v++) /* it may be narrower than its shadow */
            memset(p->mask + v * p->width + x, 0, (size_t)(from / 2));
    }
    for (int i = 0; i < p->width * p->height * p->channels; i++)
        p->f[i] += (uint8_t)between(seed, 0, 4);
}

/* Some of the columns at the borders of words are darker than their neighbours, so that those are
 * not even. */
static void darken_columns(struct contact_picture *p, uint32_t *seed)
{
    for (int x = 0; x < p->width; x++) {
        if ((x + 1) % 32 > 1 || between(seed, 0, 1))
            continue;
        for (int y = 0; y < p->height; y++)
            for (int c = 0; c < p->channels; c++) {
                uint8_t *f = &p->f[(y * p->width + x) * p->channels + c];
                *f = *f > 12 ? (uint8_t)(*f - 12) : 0;
            }
    }
}

static void test_random_things(void **state)
{
    (void)state;
    static struct contact_picture random;
    uint32_t seed = 11;
    int with = 0, without = 0;
    for (int size = 0; size < (test_quick() ? 3 : 24); size++) {
        int width = between(&seed, 60, most_width), height = between(&seed, 60, most_height);
        struct pair p;
        pair_open(&p, width, height);
        for (int trial = 0; trial < (test_quick() ? 10 : 40); trial++) {
            struct bd_detect_params params = nothing_else(trial);
            random = new_picture(width, height, trial % 2 ? 3 : 1);
            if (trial % 4 < 3)
                draw_cars(&random, &seed);
            else
                draw_things(&random, &seed);
            if (trial % 3)
                punch(&random, &seed);
            if (trial % 4 == 1)
                darken_columns(&random, &seed);
            params.median = 1 + 2 * (trial % 5 / 2);
            params.min_area = trial % 7 == 0 ? 60 : 0;
            params.max_hole = trial % 3 ? between(&seed, 100, 2000) : 0;
            params.shadows = trial % 8 == 5 ? 2 : 0;
            take(&p, &random);
            check(&p, "random things", &params);
            if (p.cut)
                with++;
            else
                without++;
        }
        pair_close(&p);
    }
    assert_true(with > 5 && without > 5);
}

/* Black feet for all that is in p->raw: frame and background. */
static void paint_feet(struct pair *p, int channels)
{
    uint32_t seed = (uint32_t)(p->width + channels);
    p->channels = channels;
    for (int y = p->height - 1; y >= 0; y--)
        for (int x = 0; x < p->width; x++) {
            size_t i = (size_t)y * (size_t)p->width + (size_t)x;
            bool foot = false;
            for (int v = y + 1; v <= y + 5 && v < p->height; v++)
                foot |= !p->raw[i + (size_t)(v - y) * (size_t)p->width];
            for (int c = 0; c < channels; c++) {
                size_t e = i * (size_t)channels + (size_t)c;
                p->frame[e] = (uint8_t)((foot ? 12 : 200) + between(&seed, 0, 4));
                p->background[e] = 140;
            }
        }
}

static const int sizes[][2] = {
    { 1, 1 },     { 1, 90 },    { 90, 1 },   { 2, 70 },    { 33, 65 },   { 256, 64 },
    { 257, 129 }, { 290, 140 }, { 40, 300 }, { 2100, 40 }, { 8300, 24 },
};

/* Spirals, rings, noise: components that lie in each other's holes, and more of them than there is
 * room for if room is reckoned too tightly. The last sizes have few rows to a thread block. */
static void test_hard_pictures(void **state)
{
    (void)state;
    static const int areas[] = { 0, 1, 5, 60 }, holes[] = { 0, 1, 30, 700, INT_MAX };
    int k = 0;
    int64_t cut = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct pair p;
        pair_open(&p, sizes[s][0], sizes[s][1]);
        for (int n = test_quick() ? 2 : 0; n < picture_count; n += test_quick() ? 3 : 1, k++) {
            struct bd_detect_params params = { .median = 1 + 2 * (k % 4 / 3),
                                               .min_area = areas[k % 4],
                                               .max_hole = holes[k % 5],
                                               .guard = k % 7,
                                               .plain = k % 3 ? 0.3F : -1,
                                               .shadows = k % 6 / 3 * (1 + k % 2) };
            pictures[n].draw(p.raw, p.width, p.height, pictures[n].argument);
            if (k % 5) /* what reaches the last row is left alone */
                memset(p.raw + p.count - (size_t)p.width, 0, (size_t)p.width);
            paint_feet(&p, k % 2 ? 3 : 1);
            check(&p, pictures[n].name, &params);
            cut += p.cut;
        }
        pair_close(&p);
    }
    assert_true(cut > 2000);
}

/* A picture whose widest thing has others in its hole, and a contact shadow. */
static void draw_nested(struct pair *p, int side)
{
    memset(p->raw, 0, p->count);
    for (int y = 0; y < 2 * side / 3; y++)
        for (int x = 0; x < side; x++) {
            int d = x < y ? x : y;
            d = d < side - 1 - x ? d : side - 1 - x;
            d = d < 2 * side / 3 - 1 - y ? d : 2 * side / 3 - 1 - y;
            p->raw[(y + 5) * p->width + x + 7] = d / 8 % 2 == 0;
        }
}

/* A graph that is captured once serves other pictures: nothing is left of those before. */
static void test_graph(void **state)
{
    (void)state;
    struct pair p;
    struct bd_detect_params params = {
        .median = 5, .min_area = 60, .max_hole = 90000, .guard = 9, .plain = 0.3F, .shadows = 2
    };
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    pair_open(&p, 640, 360);
    draw_nested(&p, 200);
    paint_feet(&p, 3);
    load_gpu(&p);
    assert_int_equal(cudaStreamBeginCapture(p.cuda->stream, cudaStreamCaptureModeThreadLocal),
                     cudaSuccess);
    assert_int_equal(clean_on_gpu(&p, &params), BD_OK);
    assert_int_equal(cudaStreamEndCapture(p.cuda->stream, &graph), cudaSuccess);
    assert_int_equal(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    for (int side = 500; side > 40; side /= 2) {
        memset(p.shadow, 0, p.count);
        draw_nested(&p, side);
        paint_feet(&p, 3);
        load_gpu(&p);
        assert_int_equal(cudaGraphLaunch(exec, p.cuda->stream), cudaSuccess);
        compare(&p, "nested", &params);
        assert_true(p.cut > side / 2);
    }
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    pair_close(&p);
}

/* A failure in each launch is reported. */
static void test_faults(void **state)
{
    (void)state;
    struct pair p;
    struct bd_detect_params params = {
        .median = 5, .min_area = 60, .max_hole = 900, .guard = 30, .shadows = 1
    };
    pair_open(&p, 640, 360);
    draw_nested(&p, 200);
    paint_feet(&p, 1);
    check_faults(&p, "nested", &params, 11);
    pair_close(&p);
}

/* What the search takes of a clean-up with the separator's default settings, in gray and rgb. */
static void test_time(void **state)
{
    (void)state;
    if (test_quick())
        skip();
    static const int large[][2] = { { 1920, 1080 }, { 3840, 2160 } };
    for (size_t s = 0; s < sizeof large / sizeof large[0]; s++) {
        struct pair p;
        pair_open(&p, large[s][0], large[s][1]);
        for (int n = -1; n < picture_count; n++) {
            struct bd_detect_params params = default_params(&p);
            float ms[3];
            if (n < 0)
                draw_nested(&p, p.height);
            else
                pictures[n].draw(p.raw, p.width, p.height, pictures[n].argument);
            for (int which = 0; which < 3; which++) {
                paint_feet(&p, which == 1 ? 1 : 3);
                p.channels = which == 0 ? 0 : p.channels;
                load_gpu(&p);
                ms[which] = time_on_gpu(&p, &params);
            }
            compare(&p, n < 0 ? "nested" : pictures[n].name, &params);
            print_message("%4d x %4d %-16s %.4f ms, with contact shadows %.4f (gray), %.4f "
                          "(rgb); %lld pixels of that\n",
                          p.width, p.height, n < 0 ? "nested" : pictures[n].name, (double)ms[0],
                          (double)ms[1], (double)ms[2], (long long)p.cut);
        }
        pair_close(&p);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_car_anywhere), cmocka_unit_test(test_a_hole_between_words),
        cmocka_unit_test(test_random_things),  cmocka_unit_test(test_hard_pictures),
        cmocka_unit_test(test_graph),          cmocka_unit_test(test_faults),
        cmocka_unit_test(test_time),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, open_group, close_group);
}
