/* The search for shadows against its definition on random pictures, and on drawn cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "separation/cpu/mask.h"
#include "separation/shared/shadow.h"
#include "tests/support/random.h"

enum { most_pixels = 80 * 100 };

/* (f, f), (f, l), (l, l) of a pixel. */
struct products {
    int64_t ff, fl, ll;
};

static struct products products_at(const uint8_t *f, const uint8_t *l, int p)
{
    struct products sums = { 0 };
    for (int c = 0; c < 3; c++) {
        sums.ff += f[3 * p + c] * f[3 * p + c];
        sums.fl += f[3 * p + c] * l[3 * p + c];
        sums.ll += l[3 * p + c] * l[3 * p + c];
    }
    return sums;
}

static bool meets(struct products sums, int count, int most)
{
    return 2 * sums.fl > sums.ll && sums.fl < sums.ll &&
           sums.ff * sums.ll - sums.fl * sums.fl < 3 * (int64_t)most * most * count * sums.ll;
}

/* Adds up `value` of the neighbourhood of (x, y), or only counts. */
static bool plain_certain(const uint8_t *plausible, const uint8_t *f, const uint8_t *l, int width,
                          int height, int x, int y)
{
    struct products sums = { 0 };
    int count = 0;
    for (int v = y - bd_shadow_reach; v <= y + bd_shadow_reach; v++)
        for (int u = x - bd_shadow_reach; u <= x + bd_shadow_reach; u++) {
            if (u < 0 || v < 0 || u >= width || v >= height || !plausible[v * width + u])
                continue;
            struct products one = products_at(f, l, v * width + u);
            sums.ff += one.ff;
            sums.fl += one.fl;
            sums.ll += one.ll;
            count++;
        }
    return count >= bd_shadow_least_count && meets(sums, count, bd_shadow_most_mean);
}

static void check(struct bd_pool *pool, const uint8_t *mask, const uint8_t *f, const uint8_t *l,
                  int width, int height, int *found)
{
    static uint8_t plausible[most_pixels], certain[most_pixels], shadow[most_pixels + 1];
    struct bd_mask_work *work;
    assert_int_equal(bd_mask_work_create(&work, pool, width, height), BD_OK);
    shadow[width * height] = 77;
    bd_shadow_find(work, shadow, mask, f, l);
    assert_int_equal(shadow[width * height], 77);
    bd_mask_work_destroy(&work);
    for (int p = 0; p < width * height; p++)
        plausible[p] = mask[p] && meets(products_at(f, l, p), 1, bd_shadow_most);
    for (int p = 0; p < width * height; p++)
        certain[p] =
            plausible[p] && plain_certain(plausible, f, l, width, height, p % width, p / width);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            bool near = false;
            for (int v = y - bd_shadow_reach; v <= y + bd_shadow_reach; v++)
                for (int u = x - bd_shadow_reach; u <= x + bd_shadow_reach; u++)
                    near |= u >= 0 && v >= 0 && u < width && v < height && certain[v * width + u];
            assert_int_equal(shadow[y * width + x], plausible[y * width + x] && near);
            *found += shadow[y * width + x];
        }
}

/* Blocks of shadow, of shadow with noise, and of other things. */
static void test_random(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 80, 100 }, { 1, 1 }, { 3, 70 }, { 61, 2 }, { 47, 33 } };
    static uint8_t mask[most_pixels], f[most_pixels * 3], l[most_pixels * 3];
    struct bd_pool *pool;
    uint32_t seed = 3;
    int found = 0;
    assert_int_equal(bd_pool_create(&pool, 2), BD_OK);
    for (int round = 0; round < 20; round++) {
        int width = sizes[round % 5][0], height = sizes[round % 5][1];
        for (int p = 0; p < width * height; p++) {
            uint32_t block = (uint32_t)(p / width / 6 * 31 + p % width / 6 + round * 999);
            uint32_t kind = random_bits(&block) % 4, percent = 40 + random_bits(&block) % 65;
            mask[p] = random_bits(&seed) % 100 < 85;
            for (int c = 0; c < 3; c++) {
                int there = 30 + (int)(random_bits(&seed) % 220);
                int here = there * (int)percent / 100 + (int)(random_bits(&seed) % 9 * kind) - 4;
                if (kind == 3)
                    here = (int)(random_bits(&seed) % 256);
                l[3 * p + c] = (uint8_t)there;
                f[3 * p + c] = (uint8_t)(here < 0 ? 0 : here > 255 ? 255 : here);
            }
        }
        check(pool, mask, f, l, width, height, &found);
    }
    assert_in_range(found, 2000, 30000);
    bd_pool_destroy(&pool);
}

enum { width = 40, height = 30 };

/* Shadow pixels among those of a block of ground that becomes `colour`, or `percent` of what it is
 * where colour is NULL. */
static int found_in_block(int percent, const uint8_t *colour)
{
    static uint8_t mask[width * height], shadow[width * height];
    static uint8_t f[width * height * 3], l[width * height * 3];
    struct bd_mask_work *work;
    struct bd_pool *pool;
    uint32_t seed = 8;
    int found = 0;
    for (int p = 0; p < width * height; p++) {
        int x = p % width, y = p / width, ground = 100 + (int)(random_bits(&seed) % 90);
        mask[p] = x >= 10 && x < 30 && y >= 10 && y < 20;
        for (int c = 0; c < 3; c++) {
            l[3 * p + c] = (uint8_t)(ground + 8 * c);
            f[3 * p + c] = l[3 * p + c];
            if (mask[p])
                f[3 * p + c] = (uint8_t)(colour ? colour[c] : l[3 * p + c] * percent / 100);
        }
    }
    assert_int_equal(bd_pool_create(&pool, 1), BD_OK);
    assert_int_equal(bd_mask_work_create(&work, pool, width, height), BD_OK);
    bd_shadow_find(work, shadow, mask, f, l);
    bd_mask_work_destroy(&work);
    bd_pool_destroy(&pool);
    for (int p = 0; p < width * height; p++)
        found += shadow[p];
    return found;
}

/* A shadow keeps colour and texture of the ground; what is dark, of another colour or plain is not
 * one. */
static void test_drawn(void **state)
{
    (void)state;
    static const uint8_t red[3] = { 120, 60, 60 }, plain[3] = { 80, 85, 91 };
    assert_int_equal(found_in_block(60, NULL), 200);
    assert_int_equal(found_in_block(85, NULL), 200);
    assert_int_equal(found_in_block(40, NULL), 0);
    assert_int_equal(found_in_block(120, NULL), 0);
    assert_int_equal(found_in_block(0, red), 0);
    assert_int_equal(found_in_block(0, plain), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
