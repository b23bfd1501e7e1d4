/* The mask clean-up against plain definitions of each step, on random pictures and drawn cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "separation/cpu/mask.h"
#include "separation/shared/mask.h"
#include "tests/separation/pool.h"
#include "tests/support/random.h"

/* `percent` of the pixels set. */
static void random_mask(uint8_t *mask, int count, int percent, uint32_t seed)
{
    for (int i = 0; i < count; i++)
        mask[i] = random_bits(&seed) % 100 < (uint32_t)percent;
}

static int at(const uint8_t *mask, int width, int height, int x, int y)
{
    x = x < 0 ? 0 : x >= width ? width - 1 : x;
    y = y < 0 ? 0 : y >= height ? height - 1 : y;
    return mask[y * width + x];
}

static void slow_median(uint8_t *dst, const uint8_t *src, int width, int height, int side)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            int set = 0;
            for (int dy = -side / 2; dy <= side / 2; dy++)
                for (int dx = -side / 2; dx <= side / 2; dx++)
                    set += at(src, width, height, x + dx, y + dy);
            dst[y * width + x] = set > side * side / 2;
        }
}

static void slow_dilate(uint8_t *dst, const uint8_t *src, int width, int height, int radius)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            int set = 0;
            for (int v = y - radius; v <= y + radius; v++)
                for (int u = x - radius; u <= x + radius; u++)
                    set |= v >= 0 && u >= 0 && v < height && u < width && src[v * width + u];
            dst[y * width + x] = (uint8_t)set;
        }
}

/* Area of the component of (x, y), marked with 2 in `marks`; *border as in separation/cpu/mask.c.
 * Depth-first with an explicit stack of width x height x 8 entries. */
static int flood(uint8_t *marks, int width, int height, int x, int y, int neighbours, int *border,
                 int *stack)
{
    static const int dx[8] = { 1, -1, 0, 0, 1, 1, -1, -1 };
    static const int dy[8] = { 0, 0, 1, -1, 1, -1, 1, -1 };
    int area = 0, top = 0;
    uint8_t value = marks[y * width + x];
    stack[top++] = y * width + x;
    marks[y * width + x] = 2;
    *border = 0;
    while (top) {
        int p = stack[--top], px = p % width, py = p / width;
        area++;
        *border |= px == 0 || py == 0 || px == width - 1 || py == height - 1;
        for (int k = 0; k < neighbours; k++) {
            int u = px + dx[k], v = py + dy[k];
            if (u >= 0 && v >= 0 && u < width && v < height && marks[v * width + u] == value) {
                marks[v * width + u] = 2;
                stack[top++] = v * width + u;
            }
        }
    }
    return area;
}

/* remove_small (value 1, 8 neighbours, below `limit`) and fill_holes (value 0, 4 neighbours, up to
 * `limit`, away from the border) by flood filling each component again from each of its pixels. */
static void slow_components(uint8_t *mask, int width, int height, int value, int limit)
{
    size_t count = (size_t)width * (size_t)height;
    uint8_t *result = malloc(count), *marks = malloc(count);
    int *stack = malloc(count * 8 * sizeof *stack);
    memcpy(result, mask, count);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            if (mask[y * width + x] != value)
                continue;
            int border;
            memcpy(marks, mask, count);
            int area = flood(marks, width, height, x, y, value ? 8 : 4, &border, stack);
            if (value ? area < limit : area <= limit && !border)
                result[y * width + x] = !value;
        }
    memcpy(mask, result, count);
    free(result);
    free(marks);
    free(stack);
}

struct sizes {
    int width, height;
};
static const struct sizes sizes[] = { { 1, 1 },   { 1, 9 },   { 9, 1 },   { 2, 2 },  { 5, 3 },
                                      { 16, 16 }, { 33, 17 }, { 40, 31 }, { 3, 70 }, { 259, 7 } };

static void test_against_definitions(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        int w = sizes[s].width, h = sizes[s].height;
        size_t count = (size_t)w * (size_t)h;
        uint8_t *src = malloc(count), *fast = malloc(count), *slow = malloc(count);
        struct bd_mask_work *work;
        assert_int_equal(bd_mask_work_create(&work, pool, w, h), BD_OK);
        for (int percent = 0; percent <= 100; percent += 20)
            for (uint32_t seed = 1; seed <= 3; seed++) {
                random_mask(src, w * h, percent, seed + 17 * (uint32_t)percent);
                for (int side = 1; side <= 7; side += 2) {
                    bd_mask_median(work, fast, src, side);
                    slow_median(slow, src, w, h, side);
                    assert_memory_equal(fast, slow, count);
                }
                for (int radius = 0; radius <= 20; radius += 5) {
                    bd_mask_dilate(work, fast, src, radius);
                    slow_dilate(slow, src, w, h, radius);
                    assert_memory_equal(fast, slow, count);
                }
                for (int limit = 0; limit <= 12; limit += 4) {
                    memcpy(fast, src, count);
                    memcpy(slow, src, count);
                    bd_mask_remove_small(work, fast, NULL, 0, limit);
                    slow_components(slow, w, h, 1, limit);
                    assert_memory_equal(fast, slow, count);
                    memcpy(fast, src, count);
                    memcpy(slow, src, count);
                    bd_mask_fill_holes(work, fast, limit);
                    slow_components(slow, w, h, 0, limit);
                    assert_memory_equal(fast, slow, count);
                }
            }
        bd_mask_work_destroy(&work);
        assert_null(work);
        free(src);
        free(fast);
        free(slow);
    }
}

/* The median may work in place. */
static void test_median_in_place(void **state)
{
    (void)state;
    enum { w = 37, h = 23 };
    uint8_t src[w * h], expected[w * h];
    struct bd_mask_work *work;
    assert_int_equal(bd_mask_work_create(&work, pool, w, h), BD_OK);
    random_mask(src, w * h, 50, 5);
    slow_median(expected, src, w, h, 5);
    bd_mask_median(work, src, src, 5);
    assert_memory_equal(src, expected, sizeof src);
    bd_mask_work_destroy(&work);
}

/* A path that winds down the picture, and a comb whose teeth meet only in the last row, are one
 * component each however their runs are joined. */
static void test_winding(void **state)
{
    (void)state;
    enum { side = 31 };
    struct bd_mask_work *work;
    assert_int_equal(bd_mask_work_create(&work, pool, side, side), BD_OK);
    for (int comb = 0; comb < 2; comb++) {
        uint8_t mask[side * side], before[side * side];
        int set = 0;
        for (int y = 0; y < side; y++)
            for (int x = 0; x < side; x++) {
                int turn = y % 4 == 1 ? side - 1 : 0;
                int on = comb ? x % 2 == 0 || y == side - 1 : y % 2 == 0 || x == turn;
                mask[y * side + x] = (uint8_t)on;
                set += on;
            }
        memcpy(before, mask, sizeof mask);
        bd_mask_remove_small(work, mask, NULL, 0, set);
        assert_memory_equal(mask, before, sizeof mask);
        bd_mask_remove_small(work, mask, NULL, 0, set + 1);
        for (int i = 0; i < side * side; i++)
            assert_int_equal(mask[i], 0);
    }
    bd_mask_work_destroy(&work);
}

/* A small component that moves is removed until it has lasted; one that jumps always is. A large
 * one never is, nor what is there in the first frame. */
static void test_lasting(void **state)
{
    (void)state;
    enum { side = 60, least = 4, frames = 12, from = 3 };
    uint8_t mask[side * side], lasting[side * side];
    struct bd_mask_work *work;
    assert_int_equal(bd_mask_work_create(&work, pool, side, side), BD_OK);
    memset(lasting, bd_mask_lasting, sizeof lasting);
    for (int frame = 0; frame < frames; frame++) {
        memset(mask, 0, sizeof mask);
        for (int k = 0; k < least; k++) {
            mask[2 * side + k] = 1;                          /* from the first frame on */
            mask[10 * side + 2 * frame + k] = frame >= from; /* moves */
            mask[(20 + 10 * (frame % 2)) * side + k] = 1;    /* jumps */
            mask[50 * side + 2 * k] = 1;                     /* is less than small */
        }
        for (int k = 0; k < bd_mask_passing_times * least; k++)
            mask[40 * side + k] = frame % 2; /* is large */
        bd_mask_remove_small(work, mask, lasting, bd_mask_lasting, least);
        assert_int_equal(mask[2 * side], 1);
        assert_int_equal(mask[10 * side + 2 * frame], frame >= from + bd_mask_lasting - 1);
        assert_int_equal(mask[(20 + 10 * (frame % 2)) * side], frame == 0);
        assert_int_equal(mask[40 * side], frame % 2);
        assert_int_equal(lasting[50 * side], 0);
        assert_int_equal(lasting[2 * side], bd_mask_lasting);
    }
    bd_mask_work_destroy(&work);
}

static void slow_trim(uint8_t *dst, const uint8_t *mask, const uint8_t *plain,
                      const uint8_t *difference, int width, int height)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            int largest = 0, touches = 0;
            for (int v = y - 1; v <= y + 1; v++)
                for (int u = x - 1; u <= x + 1; u++) {
                    if (v < 0 || u < 0 || v >= height || u >= width)
                        continue;
                    int i = v * width + u;
                    touches |= plain[i] && !mask[i];
                    largest = difference[i] > largest ? difference[i] : largest;
                }
            int i = y * width + x;
            dst[i] = mask[i] && !(touches && 20 * difference[i] < 7 * largest);
        }
}

static void test_trim(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 61, 43 }, { 1, 9 }, { 9, 1 }, { 32, 32 } };
    for (int round = 0; round < 16; round++) {
        int width = sizes[round % 4][0], height = sizes[round % 4][1], count = width * height;
        uint8_t mask[61 * 43 + 1], want[61 * 43], plain[61 * 43], difference[61 * 43];
        uint32_t seed = (uint32_t)round;
        int cleared = 0;
        random_mask(mask, count, 70, seed);
        random_mask(plain, count, 50, seed + 100);
        for (int i = 0; i < count; i++)
            difference[i] = (uint8_t)random_bits(&seed);
        mask[count] = 77;
        slow_trim(want, mask, plain, difference, width, height);
        for (int i = 0; i < count; i++)
            cleared += mask[i] && !want[i];
        struct bd_mask_work *work;
        assert_int_equal(bd_mask_work_create(&work, pool, width, height), BD_OK);
        bd_mask_trim(work, mask, plain, difference);
        bd_mask_work_destroy(&work);
        assert_memory_equal(mask, want, (size_t)count);
        assert_int_equal(mask[count], 77);
        assert_true(count < 100 || cleared > count / 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_definitions),
        cmocka_unit_test(test_median_in_place),
        cmocka_unit_test(test_winding),
        cmocka_unit_test(test_lasting),
        cmocka_unit_test(test_trim),
    };
    return cmocka_run_group_tests(tests, open_pool, close_pool);
}
