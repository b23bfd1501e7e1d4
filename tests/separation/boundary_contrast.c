/* Boundary contrast against its definition on random pictures, and on drawn cases. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "separation/cpu/mask.h"
#include "tests/separation/pool.h"
#include "tests/support/random.h"

enum { most_pixels = 64 * 48 };

/* Numbers the 8-connected components of the region from 1 on, by spreading the largest number. */
static void plain_components(int *number, const uint8_t *region, int width, int height)
{
    for (int i = 0; i < width * height; i++)
        number[i] = region[i] ? i + 1 : 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                for (int k = 0; k < 9 && number[y * width + x]; k++) {
                    int u = x + k % 3 - 1, v = y + k / 3 - 1;
                    if (u < 0 || v < 0 || u >= width || v >= height ||
                        number[v * width + u] <= number[y * width + x])
                        continue;
                    number[y * width + x] = number[v * width + u];
                    changed = true;
                }
    }
}

static int difference(const uint8_t *picture, int channels, int at, const uint8_t *other, int there)
{
    int sum = 0;
    for (int c = 0; c < channels; c++)
        sum += abs(picture[at * channels + c] - other[there * channels + c]);
    return sum;
}

/* Whether component `which` has the lower contrast in `inside`, by the definition in
 * separation/shared/boundary_contrast.h. */
static bool plain_lower(const struct bd_boundary *boundary, const int *number, int which, int width,
                        int height)
{
    static const int dx[] = { -1, 1, 0, 0 }, dy[] = { 0, 0, -1, 1 };
    int64_t outside = 0, inside = 0;
    int area = 0, counted = 0, apart = 0;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            if (number[y * width + x] != which)
                continue;
            area++;
            for (int k = 0; k < 4; k++) {
                int u = x + 2 * dx[k], v = y + 2 * dy[k], s = x - dx[k], t = y - dy[k];
                int next = (y + dy[k]) * width + x + dx[k], far = v * width + u;
                if (u < 0 || v < 0 || u >= width || v >= height || boundary->region[next])
                    continue;
                if (boundary->region[far] ||
                    (boundary->apart && (boundary->apart[next] || boundary->apart[far]))) {
                    apart++;
                    continue;
                }
                bool wide =
                    s >= 0 && t >= 0 && s < width && t < height && boundary->region[t * width + s];
                int near = wide ? t * width + s : y * width + x;
                outside +=
                    difference(boundary->outside, boundary->channels, near, boundary->outside, far);
                inside +=
                    difference(boundary->inside, boundary->channels, near, boundary->outside, far);
                counted++;
            }
        }
    return area >= boundary->least && counted >= apart && boundary->times * inside < outside;
}

static void check(const struct bd_boundary *boundary, int width, int height)
{
    static int number[most_pixels];
    static uint8_t lower[most_pixels + 1];
    struct bd_mask_work *work;
    assert_int_equal(bd_mask_work_create(&work, pool, width, height), BD_OK);
    lower[width * height] = 77;
    bd_boundary_find(work, lower, boundary);
    assert_int_equal(lower[width * height], 77);
    plain_components(number, boundary->region, width, height);
    for (int i = 0; i < width * height; i++) {
        bool want = number[i] && plain_lower(boundary, number, number[i], width, height);
        assert_int_equal(lower[i], want);
    }
    bd_mask_work_destroy(&work);
}

/* Blocks and specks, so that there are components of all sizes, some of them of lower contrast. */
static void test_random(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 64, 48 }, { 1, 1 }, { 2, 3 }, { 7, 5 }, { 33, 31 } };
    static uint8_t outside[most_pixels * 3], inside[most_pixels * 3];
    static uint8_t region[most_pixels], apart[most_pixels];
    uint32_t seed = 5;
    for (int round = 0; round < 40; round++) {
        int width = sizes[round % 5][0], height = sizes[round % 5][1], channels = 1 + round % 2 * 2;
        int block = 1 + round % 7;
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                uint32_t here = (uint32_t)(y / block * 97 + x / block + round * 1000);
                region[y * width + x] = random_bits(&here) % 100 < 35;
                here += 50000;
                apart[y * width + x] = !region[y * width + x] && random_bits(&here) % 100 < 20;
            }
        for (int i = 0; i < width * height * channels; i++) {
            outside[i] = (uint8_t)random_bits(&seed);
            inside[i] = (uint8_t)(100 + random_bits(&seed) % 60);
        }
        struct bd_boundary boundary = { .outside = outside,
                                        .inside = inside,
                                        .channels = channels,
                                        .region = region,
                                        .apart = round % 3 ? apart : NULL,
                                        .least = round % 4 * 5,
                                        .times = 1 + round % 2 };
        check(&boundary, width, height);
    }
}

enum { width = 60, height = 40 };

/* A wall with stripes every 12 pixels, and on request somebody before it. */
static void draw(uint8_t *picture, bool somebody)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            bool there = x >= 20 && x < 33 && y >= 8 && y < 36;
            picture[y * width + x] = (uint8_t)(there && somebody ? 40 : x % 12 < 2 ? 170 : 140);
        }
}

static bool found(const uint8_t *outside, const uint8_t *inside, const uint8_t *apart)
{
    static uint8_t region[width * height], lower[width * height];
    struct bd_boundary boundary = { .outside = outside,
                                    .inside = inside,
                                    .channels = 1,
                                    .region = region,
                                    .apart = apart,
                                    .least = 10,
                                    .times = 3 };
    struct bd_mask_work *work;
    for (int i = 0; i < width * height; i++)
        region[i] = outside[i] != inside[i];
    assert_int_equal(bd_mask_work_create(&work, pool, width, height), BD_OK);
    bd_boundary_find(work, lower, &boundary);
    bd_mask_work_destroy(&work);
    return lower[20 * width + 25];
}

/* The wall is separated from a person before it, whichever of the two is the background in use; not
 * where most of the border cannot be seen. */
static void test_drawn(void **state)
{
    (void)state;
    static uint8_t wall[width * height], somebody[width * height], apart[width * height];
    draw(wall, false);
    draw(somebody, true);
    assert_true(found(somebody, wall, NULL));
    assert_false(found(wall, somebody, NULL));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            apart[y * width + x] = y < 30 && (x < 20 || x >= 33);
    assert_false(found(somebody, wall, apart));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_drawn),
    };
    return cmocka_run_group_tests(tests, open_pool, close_pool);
}
