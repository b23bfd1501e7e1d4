/* Mirror images: drawn cases, and against the definition on random pictures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "separation/cpu/mirror.h"
#include "tests/separation/pool.h"
#include "tests/support/mirror_picture.h"

static struct mirror_picture p;
static uint8_t image[mirror_pixels];
static struct bd_mask_work *work;
static struct bd_mirror_places places;

static int open_scene(void **state)
{
    (void)state;
    return bd_mask_work_create(&work, pool, mirror_width, mirror_height) ||
           bd_mirror_create(&places, mirror_width, mirror_height);
}

static int close_scene(void **state)
{
    (void)state;
    bd_mask_work_destroy(&work);
    bd_mirror_destroy(&places);
    return 0;
}

static bool find(bool evidence)
{
    return bd_mirror_find(work, image, &places, p.mask, p.f, p.l, evidence);
}

/* Of the box from (x, y) on: pixels of the image that was found. */
static int count(int x, int y, int width, int height)
{
    int sum = 0;
    for (int v = y; v < y + height; v++)
        for (int u = x; u < x + width; u++)
            sum += image[v * p.width + u];
    return sum;
}

/* A walker of 16 x 40 whose foot is on row 99, in frame i. */
static int walk(int i, int gap, int tenths)
{
    const int x = 10 + i * 23 % 240;
    clear_mirror_picture(&p, mirror_width, mirror_height);
    put(&p, x, 60, 16, 40, gap, tenths, (uint32_t)i * 7919);
    return x;
}

static void test_images_are_cut_where_there_were_images(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        walk(i, 3, 5);
        assert_false(find(true)); /* as yet there is no map */
    }
    bd_mirror_make_map(&places);
    for (int i = 0; i < 20; i++) {
        const int x = walk(i, 3, 5);
        assert_true(find(false));
        assert_true(count(x, 103, 16, 40) > 16 * 40 * 9 / 10);
        assert_int_equal(count(0, 0, p.width, p.height), count(x, 103, 16, 40));
    }
    /* Somewhere else an image may be chance. */
    clear_mirror_picture(&p, mirror_width, mirror_height);
    put(&p, 140, 4, 16, 30, 3, 5, 1);
    assert_false(find(true));
    /* Nothing is cut of what has none, and of what is as strong as the object. */
    for (int i = 0; i < 20; i++) {
        walk(i, 3, i % 2 ? 0 : 11);
        assert_false(find(true));
    }
}

/* As on a wet road: the mask has half of the image. */
static void test_an_image_that_touches_its_object(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        walk(i, 3, 5);
        find(true);
    }
    bd_mirror_make_map(&places);
    const int x = walk(3, 0, 5);
    memset(p.mask + 120 * mirror_width, 0, 20 * mirror_width);
    assert_true(find(true));
    assert_true(count(x, 100, 16, 20) > 16 * 20 * 9 / 10);
    assert_int_equal(count(0, 0, p.width, p.height), count(x, 100, 16, 20));
}

/* Of thirty walkers one is like what is below it. */
static void test_chance_is_no_mirror(void **state)
{
    (void)state;
    for (int i = 0; i < 30; i++) {
        walk(0, 3, i == 7 ? 5 : 0);
        find(true);
    }
    bd_mirror_make_map(&places);
    assert_false(places.any);
    walk(0, 3, 5);
    assert_false(find(false));
    /* A second and a third one, and there is one. */
    for (int i = 0; i < 2; i++) {
        walk(0, 3, 5);
        find(true);
    }
    bd_mirror_make_map(&places);
    assert_true(places.any);
    assert_true(find(false));
    bd_mirror_reset(&places);
    assert_false(find(false));
}

static void test_evidence_is_forgotten(void **state)
{
    (void)state;
    for (int i = 0; i < 7; i++) {
        walk(0, 3, 5);
        find(true);
    }
    for (int halvings = 0; halvings < 3; halvings++) {
        bd_mirror_make_map(&places);
        assert_true(find(false));
        bd_mirror_forget(&places);
    }
    bd_mirror_make_map(&places);
    assert_false(find(false));
}

static void test_what_is_small_does_not_count(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 7, 40 }, { 16, 15 }, { 8, 16 } };
    for (int k = 0; k < 3; k++) {
        uint32_t seen = 0;
        bd_mirror_reset(&places);
        clear_mirror_picture(&p, mirror_width, mirror_height);
        put(&p, 100, 60, sizes[k][0], sizes[k][1], 3, 0, 5);
        find(true);
        for (int i = 0; i < places.across * places.down; i++)
            seen += places.counts[i].seen;
        assert_int_equal(seen, k == 2);
    }
}

/* The definition in separation/shared/mirror.h, pixel by pixel. */

static bool plain_explains(int above, int below)
{
    int64_t uu = 0, ud = 0, dd = 0;
    for (int c = 0; c < 3; c++) {
        const int u = p.f[3 * above + c] - p.l[3 * below + c];
        const int d = p.f[3 * below + c] - p.l[3 * below + c];
        uu += u * u;
        ud += u * d;
        dd += d * d;
    }
    return ud > 0 && ud * ud * 25 >= uu * dd * 9 && ud * 10 <= uu * 9;
}

/* A component: box[0 .. 3] := left, right, top, bottom. Its pixels are taken from `left_over`. */
static void take_component(uint8_t *left_over, int start, int box[4])
{
    static int stack[mirror_pixels];
    int depth = 0;
    stack[depth++] = start;
    left_over[start] = 0;
    box[0] = box[1] = start % p.width;
    box[2] = box[3] = start / p.width;
    while (depth) {
        const int i = stack[--depth], x = i % p.width, y = i / p.width;
        box[0] = x < box[0] ? x : box[0];
        box[1] = x > box[1] ? x : box[1];
        box[3] = y > box[3] ? y : box[3];
        box[2] = y < box[2] ? y : box[2];
        for (int v = y - 1; v <= y + 1; v++)
            for (int u = x - 1; u <= x + 1; u++)
                if (u >= 0 && v >= 0 && u < p.width && v < p.height && left_over[v * p.width + u]) {
                    left_over[v * p.width + u] = 0;
                    stack[depth++] = v * p.width + u;
                }
    }
}

/* Returns the axis with the largest share of votes, -1 if no axis has an image; *below: an axis
 * below the box has one. */
static int plain_axis(const int box[4], bool *below)
{
    const int width = box[1] - box[0] + 1, height = box[3] - box[2] + 1, step = height / 24 + 1;
    int best = -1, best_votes = 0, best_all = 1;
    *below = false;
    for (int axis = 2 * box[2] + 6 * height / 5; axis <= 2 * box[3] + 1 + height; axis += step) {
        int votes = 0, all = 0;
        for (int y = box[2]; y <= box[3]; y += step)
            for (int x = box[0]; x <= box[1]; x += width / 16 + 1) {
                const int v = axis - y;
                if (v <= y || !p.mask[y * p.width + x])
                    continue;
                all++;
                if (v < p.height && plain_explains(y * p.width + x, v * p.width + x))
                    votes++;
            }
        if (!all || votes * 5 < all * 3)
            continue;
        *below |= axis > 2 * box[3];
        if (votes * best_all > best_votes * all) {
            best = axis;
            best_votes = votes;
            best_all = all;
        }
    }
    return best;
}

static void plain_cut(const int box[4], int axis, uint8_t *cut)
{
    const int reach = (box[3] - box[2] + 1) / 16 + 1;
    const int step = reach / 4 + 1;
    for (int y = box[2]; y <= box[3] && 2 * y < axis; y++)
        for (int x = box[0]; x <= box[1]; x++)
            for (int v = axis - y - reach; v <= axis - y + reach && v < p.height; v += step)
                for (int u = x - 1; u <= x + 1; u++)
                    if (p.mask[y * p.width + x] && 2 * v > axis && u >= 0 && u < p.width &&
                        p.mask[v * p.width + u] && plain_explains(y * p.width + x, v * p.width + u))
                        cut[v * p.width + u] = 1;
}

static void test_random_pictures_follow_the_definition(void **state)
{
    (void)state;
    static uint8_t want[mirror_pixels], left_over[mirror_pixels];
    static struct bd_mirror_counts counts[mirror_pixels];
    uint32_t seed = 3;
    int with = 0, without = 0, cells = places.across * places.down;
    for (int trial = 0; trial < 300; trial++) {
        clear_mirror_picture(&p, mirror_width, mirror_height);
        put_things(&p, &seed);
        memcpy(counts, places.counts, (size_t)cells * sizeof *counts);
        memset(want, 0, sizeof want);
        memcpy(left_over, p.mask, sizeof left_over);
        for (int i = 0; i < p.width * p.height; i++) {
            int box[4];
            bool below;
            if (!left_over[i])
                continue;
            take_component(left_over, i, box);
            if (box[1] - box[0] < 7 || box[3] - box[2] < 15)
                continue;
            const int axis = plain_axis(box, &below);
            const int cell = box[3] / 8 * places.across + (box[0] + box[1]) / 2 / 8;
            if (places.map[cell] && axis >= 0)
                plain_cut(box, axis, want);
            if (trial % 2 == 0) {
                counts[cell].seen++;
                counts[cell].found += below;
            }
        }
        if (!find(trial % 2 == 0))
            memset(image, 0, sizeof image);
        assert_memory_equal(image, want, sizeof want);
        assert_memory_equal(counts, places.counts, (size_t)cells * sizeof *counts);
        if (count(0, 0, p.width, p.height))
            with++;
        else
            without++;
        if (trial % 20 == 5) {
            bd_mirror_make_map(&places);
            for (int i = 0; i < cells; i++)
                assert_int_equal(places.map[i],
                                 bd_mirror_is_place(places.counts, places.across, places.down,
                                                    i % places.across, i / places.across));
        }
        if (trial % 70 == 50)
            bd_mirror_forget(&places);
    }
    assert_true(with > 40 && without > 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define ON_A_SCENE(test) cmocka_unit_test_setup_teardown(test, open_scene, close_scene)
        ON_A_SCENE(test_images_are_cut_where_there_were_images),
        ON_A_SCENE(test_an_image_that_touches_its_object),
        ON_A_SCENE(test_chance_is_no_mirror),
        ON_A_SCENE(test_evidence_is_forgotten),
        ON_A_SCENE(test_what_is_small_does_not_count),
        ON_A_SCENE(test_random_pictures_follow_the_definition),
    };
    return cmocka_run_group_tests(tests, open_pool, close_pool);
}
