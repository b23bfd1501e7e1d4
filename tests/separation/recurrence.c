/* What moves in place is background, and what passes is not (separation/shared/recurrence.h), on
 * every backend. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "separation/cpu/kernels/kernels.h"
#include "separation/shared/recurrence.h"
#include "tests/support/each_backend.h"
#include "tests/support/quick.h"
#include "tests/support/random.h"
#include <backdrop/separator.h>

/* A wall of 320 x 240 pixels; before its left half a hedge of leaves, each of which hides the wall
 * for a while, again and again; along the lower edge a lane in which every second a car passes that
 * looks like the one before; from `first` on, a person walks across the picture. */
enum {
    width = 320,
    height = 240,
    leaf = 5,
    hedge = 160, /* pixels: the hedge's width */
    lane = 192,  /* row at which it begins; the hedge ends above it */
    rate = 25,
    shown = 50, /* frames of the look-ahead */
    frames = 400,
    first = 200,
    size = 40 /* of the person */
};

static bool leaf_hides(int column, int row, int frame)
{
    /* a leaf has its own pace, and hides the wall in about a third of its turns */
    uint32_t own = hash((uint32_t)(row * 1000 + column));
    int turn = (frame + (int)(own % 40)) / (8 + (int)(own >> 8) % 10);
    return hash(own + (uint32_t)turn) % 3 == 0;
}

static int car_at(int frame)
{
    return frame % rate * 20 - 80;
}

static int person_at(int frame)
{
    return (frame - first) * (width + size) / (frames - first) - size;
}

/* What the pixel shows: 0 wall, 1 leaf, 2 car, 3 person. */
static int kind_at(int x, int y, int frame)
{
    int person = person_at(frame), car = car_at(frame);
    if (frame >= first && x >= person && x < person + size && y >= 80 && y < 80 + size)
        return 3;
    if (y >= lane + 4 && y < height - 4)
        return x >= car && x < car + 60 ? 2 : 0;
    return x < hedge && y < lane && leaf_hides(x / leaf, y / leaf, frame) ? 1 : 0;
}

/* Dense traffic far away: lanes of small cars of three colours, two pixels a frame to the right;
 * what is seen has 1 + the number of a colour, 0 is the road. */
enum { car_length = 12, car_height = 8, lane_height = 16, places = 24 /* of cars, pixels apart */ };

static int car_in_traffic(int x, int y, int frame)
{
    int along = x + 10000 - 2 * frame, inside = y % lane_height;
    uint32_t car = hash((uint32_t)(along / places * 64 + y / lane_height));
    bool there = y < lane && car % 4 < 3 && along % places < car_length && inside < car_height;
    return there ? 1 + (int)(car >> 8) % 3 : 0;
}

typedef int kind_fn(int x, int y, int frame);

static void draw(uint8_t *picture, kind_fn *kind, int frame, int channels)
{
    static const uint8_t colours[4][3] = {
        { 190, 190, 200 }, { 60, 100, 40 }, { 90, 70, 160 }, { 15, 40, 150 }
    };
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            const uint8_t *colour = colours[kind(x, y, frame)];
            int noise = (int)(hash((uint32_t)((frame * height + y) * width + x)) % 7) - 3;
            for (int k = 0; k < channels; k++)
                *picture++ = (uint8_t)(colour[k] + noise);
        }
}

struct counts {
    int64_t pixels[4], set[4]; /* by kind, of the scored frames */
};

static void count(struct counts *counts, const uint8_t *mask, kind_fn *kind_of, int frame)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            int kind = kind_of(x, y, frame);
            counts->pixels[kind]++;
            counts->set[kind] += mask[y * width + x] != 0;
        }
}

static double share(const struct counts *counts, int kind)
{
    return (double)counts->set[kind] / (double)counts->pixels[kind];
}

/* after: shows the frames after those of the look-ahead too. */
static struct bd_separator *open_separator(struct bd_backend *backend, kind_fn *kind, int channels,
                                           bool after)
{
    struct bd_separator *separator;
    struct bd_separator_options options = {
        .width = width, .height = height, .channels = channels, .frame_rate = rate, .memory = 20
    };
    uint8_t picture[width * height * 3];
    assert_int_equal(bd_separator_create(&separator, backend, &options), BD_OK);
    for (int i = 0; i < shown; i++) {
        draw(picture, kind, i * frames / shown, channels);
        assert_int_equal(bd_separator_look_ahead(separator, picture, width * channels), BD_OK);
    }
    assert_int_equal(bd_separator_initialise(separator), BD_OK);
    for (int i = 0; after && i < shown; i++) {
        draw(picture, kind, i * frames / shown + 1, channels);
        assert_int_equal(bd_separator_look_after(separator, i, picture, width * channels), BD_OK);
    }
    return separator;
}

/* Separates the scene on a backend and, unless that is the cpu, on the cpu too: masks are the same
 * to the bit. */
static struct counts separate(const char *name, kind_fn *kind, int channels, bool after,
                              int count_from, int end)
{
    struct counts counts = { { 0 }, { 0 } };
    struct bd_backend *backends[2];
    struct bd_separator *separators[2];
    struct bd_separation out[2];
    uint8_t picture[width * height * 3];
    const int sides = strcmp(name, "cpu") == 0 ? 1 : 2;
    for (int i = 0; i < sides; i++) {
        assert_int_equal(bd_backend_open(&backends[i], i ? "cpu" : name, 1), BD_OK);
        separators[i] = open_separator(backends[i], kind, channels, after);
    }
    if (test_quick() && end > first + 10)
        end = first + 10;
    for (int frame = 0; frame < end; frame++) {
        draw(picture, kind, frame, channels);
        for (int i = 0; i < sides; i++)
            assert_int_equal(bd_separator_push(separators[i], picture, width * channels,
                                               (double)frame / rate, &out[i]),
                             BD_OK);
        assert_memory_equal(out[0].mask, out[sides - 1].mask, width * height);
        if (frame >= count_from)
            count(&counts, out[0].mask, kind, frame);
    }
    for (int i = 0; i < sides; i++) {
        bd_separator_destroy(&separators[i]);
        bd_backend_close(&backends[i]);
    }
    return counts;
}

static void test_hedge(void **unused)
{
    (void)unused;
    FOR_EACH_BACKEND(name)
    {
        for (int channels = 1; channels <= 3; channels += 2) {
            struct counts counts = separate(name, kind_at, channels, channels == 3, rate, frames);
            print_message("%s, %d channels: wall %.4f, leaves %.4f, cars %.3f, person %.3f\n", name,
                          channels, share(&counts, 0), share(&counts, 1), share(&counts, 2),
                          share(&counts, 3));
            assert_true(share(&counts, 0) < 0.01);
            assert_true(share(&counts, 1) < 0.02);
            assert_true(share(&counts, 2) > 0.9);
            if (!test_quick())
                assert_true(share(&counts, 3) > 0.85);
        }
    }
}

/* Small cars of a few colours are in pieces, and their colours recur; but they go one way. After
 * six seconds that is known; with the frames that follow those of the look-ahead, at once. */
static void test_traffic(void **unused)
{
    (void)unused;
    FOR_EACH_BACKEND(name)
    {
        for (int after = 0; after < 2; after++) {
            struct counts counts = after ? separate(name, car_in_traffic, 3, true, 5, 100)
                                         : separate(name, car_in_traffic, 3, false, 150, frames);
            int64_t pixels = 0, set = 0;
            for (int kind = 1; kind < 4; kind++) {
                pixels += counts.pixels[kind];
                set += counts.set[kind];
            }
            print_message("%s: road %.4f, cars %.3f\n", name, share(&counts, 0),
                          (double)set / (double)pixels);
            assert_true(share(&counts, 0) < 0.01);
            assert_true((double)set / (double)pixels > 0.8);
        }
    }
}

/* Ways to and fro are no way; a way that is seen in few frames must be clearer. */
static void test_way(void **unused)
{
    (void)unused;
    const uint8_t raw[9] = { 0, 0, 0, 1, 0, 0, 0, 1, 0 };
    struct bd_recurrence_counts sum = { .changes = 400, .right = 200 };
    int right, down;
    bd_recurrence_way(&right, &down, raw, NULL, 3, 4);
    assert_int_equal(right, 1);
    assert_int_equal(down, -1);
    assert_true(bd_recurrence_travels(sum, 250));
    assert_false(bd_recurrence_travels(sum, 25));
    assert_false(bd_recurrence_travels(sum, 0));
    sum.right = 0;
    sum.down = -200;
    assert_true(bd_recurrence_travels(sum, 250));
    sum.down = 60;
    assert_false(bd_recurrence_travels(sum, 250));
    sum = (struct bd_recurrence_counts){ .changes = 4, .right = 4 }; /* too few */
    assert_false(bd_recurrence_travels(sum, 10000));
}

/* Numbers of visits: odd from the first foreground to the next plain background. */
static void test_visit(void **unused)
{
    (void)unused;
    uint8_t visit = 0;
    visit = bd_recurrence_visit(visit, false, true);
    assert_int_equal(visit, 0);
    visit = bd_recurrence_visit(visit, true, false);
    assert_int_equal(visit, 1);
    visit = bd_recurrence_visit(visit, true, false);
    visit = bd_recurrence_visit(visit, false, false); /* neither: the visit goes on */
    assert_int_equal(visit, 1);
    visit = bd_recurrence_visit(visit, false, true);
    assert_int_equal(visit, 2);
    assert_int_equal(bd_recurrence_visit(255, false, true), 0);
    assert_int_equal(bd_recurrence_visit(254, true, false), 255);
}

/* A value recurs if samples of three other visits are like it, in the light of the frame. */
static void test_recurs(void **unused)
{
    (void)unused;
    enum { slots = 6 };
    uint8_t samples[slots] = { 100, 104, 110, 98, 100, 30 }, f = 101, l = 200;
    uint8_t visits[slots] = { 1, 1, 3, 3, 5, 5 };
    int same[slots], dimmer[slots]; /* light */
    struct bd_recurrence_window window = { .samples = samples,
                                           .visits = visits,
                                           .lights = same,
                                           .ld = 1,
                                           .pitch = 1,
                                           .width = 1,
                                           .height = 1,
                                           .channels = 1,
                                           .slots = slots,
                                           .newest = 5,
                                           .columns = slots,
                                           .reach = 20 };
    for (int j = 0; j < slots; j++) {
        same[j] = bd_recurrence_light(10, 10);
        dimmer[j] = bd_recurrence_light(10, 15);
    }
    assert_true(bd_recurrence_recurs(&window, &f, &l, 7, 0, 0, 0));
    assert_false(bd_recurrence_recurs(&window, &f, &l, 5, 0, 0, 0)); /* one is in hand */
    window.columns = 4;                                              /* slots 5, 4, 3, 2 */
    assert_false(bd_recurrence_recurs(&window, &f, &l, 7, 0, 0, 0));
    window.columns = slots;
    f = 131; /* too bright, unless the light was two thirds of today's: l was 133, not 200 */
    assert_false(bd_recurrence_recurs(&window, &f, &l, 7, 0, 0, 0));
    f = 167;
    window.lights = dimmer;
    assert_true(bd_recurrence_recurs(&window, &f, &l, 7, 0, 0, 0));
    window.lights = same;
    window.reach = 1; /* a lower threshold asks for more likeness */
    f = 101;
    assert_false(bd_recurrence_recurs(&window, &f, &l, 7, 0, 0, 0));
    assert_int_equal(bd_recurrence_reach_of(6), 6);
    assert_int_equal(bd_recurrence_reach_of(60), 20);
    assert_int_equal(bd_recurrence_light(1, 0), 4096);
    assert_int_equal(bd_recurrence_light(-1, 3), 4096);
}

/* The search around a pixel in registers finds what the rule finds, on every instruction set:
 * everywhere in random pictures, with values at both ends of the range and light of all kinds. */
static void test_recurs_near(void **unused)
{
    (void)unused;
    enum { across = 19, down = 9, slots = 7, rounds = 60 };
    static uint8_t samples[slots][across * down * 3], visits[slots][across * down];
    uint32_t seed = 7;
    int found = 0, all = 0;
    enum bd_isa list[BD_ISA_COUNT];
    const int variants = bd_isa_list(list);
    for (int round = 0; round < rounds; round++) {
        int lights[slots];
        struct bd_recurrence_window window = { .samples = samples[0],
                                               .visits = visits[0],
                                               .lights = lights,
                                               .ld = sizeof samples[0],
                                               .pitch = sizeof visits[0],
                                               .width = across,
                                               .height = down,
                                               .channels = round % 2 ? 3 : 1,
                                               .slots = slots,
                                               .newest = between(&seed, 0, slots - 1),
                                               .columns = between(&seed, 4, slots),
                                               .reach = between(&seed, 6, 20) };
        const int least = between(&seed, 0, 2) * 100, most = least + 55;
        for (int j = 0; j < slots; j++) {
            lights[j] = bd_recurrence_light((float)between(&seed, -1, 20), 10);
            for (size_t i = 0; i < sizeof samples[0]; i++)
                samples[j][i] = (uint8_t)between(&seed, least, most);
            for (size_t i = 0; i < sizeof visits[0]; i++)
                visits[j][i] = (uint8_t)between(&seed, 0, 5);
        }
        for (int y = 0; y < down; y++)
            for (int x = 0; x < across; x++, all++) {
                uint8_t f[3], l[3], visit = (uint8_t)between(&seed, 0, 5);
                for (int k = 0; k < 3; k++) {
                    f[k] = (uint8_t)between(&seed, 0, 255);
                    l[k] = (uint8_t)(round % 3 ? between(&seed, f[k] / 2, f[k]) : f[k]);
                }
                bool recurs = bd_recurrence_recurs(&window, f, l, visit, x, y, bd_recurrence_near);
                for (int i = 0; i < variants; i++)
                    assert_int_equal(bd_separation_kernels_of(list[i])->exact->recurs_near(
                                         &window, f, l, visit, x, y),
                                     recurs);
                found += recurs;
            }
    }
    assert_in_range(found, all / 20, all / 2);
}

/* Every pixel is looked at once while two pixels of each cell are looked at a frame. */
static void test_looks(void **unused)
{
    (void)unused;
    for (int power = bd_recurrence_cell_power(100); power <= bd_recurrence_cell_power(2160);
         power++)
        for (int y = 0; y < 9; y++)
            for (int x = 0; x < 9; x++) {
                int looks = 0, every = bd_recurrence_every(power);
                assert_int_equal(2 * every, 1 << 2 * power);
                for (int look = 5; look < 5 + every; look++)
                    looks += bd_recurrence_looks_at(x, y, (unsigned)look, power);
                assert_int_equal(looks, 1);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_visit),       cmocka_unit_test(test_recurs),
        cmocka_unit_test(test_recurs_near), cmocka_unit_test(test_looks),
        cmocka_unit_test(test_way),         cmocka_unit_test(test_traffic),
        cmocka_unit_test(test_hedge)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
