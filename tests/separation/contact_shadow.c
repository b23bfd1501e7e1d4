/* Contact shadows: drawn cases, and against the definition on random pictures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "separation/cpu/mask.h"
#include "separation/shared/contact_shadow.h"
#include "tests/separation/pool.h"
#include "tests/support/contact_picture.h"

enum { most_side = 90 };

static void cut(struct contact_picture *p)
{
    struct bd_mask_work *work;
    memcpy(p->given, p->mask, sizeof p->given);
    assert_int_equal(bd_mask_work_create(&work, pool, p->width, p->height), 0);
    bd_contact_shadow_cut(work, p->mask, p->shadow, p->f, p->l, p->channels);
    bd_mask_work_destroy(&work);
    assert_null(work);
}

/* What has been cut is shadow, and nothing else is. */
static int count_cut(const struct contact_picture *p)
{
    int count = 0;
    for (int i = 0; i < p->width * p->height; i++) {
        assert_int_equal(p->mask[i] + p->shadow[i], p->given[i]);
        count += p->shadow[i];
    }
    return count;
}

static void test_a_car_loses_its_shadow(void **state)
{
    (void)state;
    for (int channels = 1; channels <= 3; channels += 2) {
        struct contact_picture p = a_car(channels);
        cut(&p);
        /* Row 40 touches the car, row 43 the blurred one, and the first and the last column the
         * road, so that they are not even; what is below the rest goes with it. */
        assert_int_equal(count_cut(&p), 4 * 38);
        for (int x = 21; x < 59; x++) {
            assert_int_equal(p.shadow[40 * 80 + x], 0);
            assert_int_equal(p.shadow[41 * 80 + x], 1);
            assert_int_equal(p.shadow[44 * 80 + x], 1);
        }
    }
}

static void test_what_is_black_all_over_stays(void **state)
{
    (void)state;
    struct contact_picture p = a_car(3);
    box(&p, 20, 10, 40, 30, 40);
    cut(&p);
    assert_int_equal(count_cut(&p), 0);
}

/* The same strip, of a thing that is too narrow for its height. */
static void test_person_keeps_feet(void **state)
{
    (void)state;
    struct contact_picture p = new_picture(80, 80, 3);
    box(&p, 20, 4, 40, 60, 200);
    box(&p, 20, 64, 40, 6, 12);
    cut(&p);
    assert_int_equal(count_cut(&p), 0);
}

static void test_legs_stay(void **state)
{
    (void)state;
    struct contact_picture p = new_picture(80, 60, 3);
    box(&p, 20, 10, 40, 30, 200);
    for (int x = 20; x < 60; x += 12)
        box(&p, x, 40, 8, 5, 12);
    cut(&p);
    assert_int_equal(count_cut(&p), 0);
    for (int x = 28; x < 60; x += 12)
        box(&p, x, 40, x < 50 ? 4 : 1, 5, 12); /* the gaps closed */
    cut(&p);
    assert_true(count_cut(&p) > 0);
}

static void test_what_the_picture_cuts_off_stays(void **state)
{
    (void)state;
    struct contact_picture p = a_car(3);
    p.height = 45; /* rows are tight: the picture ends with the shadow */
    cut(&p);
    assert_int_equal(count_cut(&p), 0);
}

static void test_what_is_not_black_or_not_even_stays(void **state)
{
    (void)state;
    struct contact_picture p = a_car(3);
    box(&p, 20, 40, 40, 4, 43); /* 3/10 of the road's 140 are 42 */
    cut(&p);
    assert_int_equal(count_cut(&p), 0);
    p = a_car(3);
    for (int y = 40; y < 44; y++)
        for (int x = 20; x < 60; x += 3)
            box(&p, x, y, 1, 1, 12 + 11);
    cut(&p);
    assert_int_equal(count_cut(&p), 0);
}

static void test_nothing_in_an_empty_or_a_full_mask(void **state)
{
    (void)state;
    struct contact_picture p = new_picture(31, 17, 3);
    cut(&p);
    assert_int_equal(count_cut(&p), 0);
    box(&p, 0, 0, 31, 17, 5);
    cut(&p);
    assert_int_equal(count_cut(&p), 0);
}

/* The definition in separation/shared/contact_shadow.h, pixel by pixel. */

static int find_label(const struct contact_picture *p, int *label)
{
    static int stack[most_pixels];
    int count = 0;
    memset(label, 0, most_pixels * sizeof *label);
    for (int i = 0; i < p->width * p->height; i++) {
        int depth = 0;
        if (!p->mask[i] || label[i])
            continue;
        label[i] = ++count;
        stack[depth++] = i;
        while (depth) {
            int j = stack[--depth], x = j % p->width, y = j / p->width;
            for (int v = y - 1; v <= y + 1; v++)
                for (int u = x - 1; u <= x + 1; u++) {
                    int k = v * p->width + u;
                    if (u < 0 || v < 0 || u >= p->width || v >= p->height || !p->mask[k] ||
                        label[k])
                        continue;
                    label[k] = count;
                    stack[depth++] = k;
                }
        }
    }
    return count;
}

static int brightness(const struct contact_picture *p, int i)
{
    int sum = 0;
    for (int c = 0; c < p->channels; c++)
        sum += p->f[i * p->channels + c];
    return sum;
}

static bool is_black(const struct contact_picture *p, int x, int y)
{
    int fl = 0, ll = 0, least = 1000, most = 0;
    for (int c = 0; c < p->channels; c++) {
        int i = (y * p->width + x) * p->channels + c;
        fl += p->f[i] * p->l[i];
        ll += p->l[i] * p->l[i];
    }
    for (int v = y - 1; v <= y + 1; v++)
        for (int u = x - 1; u <= x + 1; u++) {
            if (u < 0 || v < 0 || u >= p->width || v >= p->height)
                continue;
            int sum = brightness(p, v * p->width + u);
            least = sum < least ? sum : least;
            most = sum > most ? sum : most;
        }
    return 10 * fl < 3 * ll && most - least <= 10 * p->channels;
}

/* Pixels of the column of (x, y), downwards, that are in the mask. */
static int down_from(const struct contact_picture *p, int x, int y)
{
    int count = 0;
    while (y + count < p->height && p->mask[(y + count) * p->width + x])
        count++;
    return count;
}

static bool has_caster(const struct contact_picture *p, int x, int y, int height)
{
    for (int up = 1; 5 * up <= height; up++) {
        int i = (y - up) * p->width + x;
        if (y - up < 0 || !p->mask[i])
            return false;
        if (brightness(p, i) > brightness(p, y * p->width + x) + 30 * p->channels)
            return true;
    }
    return false;
}

/* cut: 1 where component `which` loses its shadow. */
static void plain_component(const struct contact_picture *p, const int *label, int which,
                            uint8_t *out)
{
    int left = p->width, right = 0, top = p->height, bottom = 0;
    for (int i = 0; i < p->width * p->height; i++)
        if (label[i] == which) {
            int x = i % p->width, y = i / p->width;
            left = x < left ? x : left;
            right = x > right ? x : right;
            top = y < top ? y : top;
            bottom = y > bottom ? y : bottom;
        }
    int width = right - left + 1, height = bottom - top + 1;
    if (bottom == p->height - 1 || 4 * width < 3 * height)
        return;
    static uint8_t black[most_pixels];
    memset(black, 0, sizeof black);
    int longest = 0, tops = 0, cast = 0;
    for (int y = top; y <= bottom; y++)
        for (int x = left, length = 0; x <= right; x++) {
            int i = y * p->width + x;
            black[i] = label[i] == which && 7 * down_from(p, x, y) <= height && is_black(p, x, y);
            length = black[i] ? length + 1 : 0;
            longest = length > longest ? length : longest;
            if (black[i] && !(y > 0 && black[i - p->width])) {
                tops++;
                cast += has_caster(p, x, y, height);
            }
        }
    if (3 * longest < width || 2 * tops < width || 2 * cast < tops)
        return;
    for (int y = top; y <= bottom; y++)
        for (int x = left; x <= right; x++) {
            int i = y * p->width + x;
            out[i] |= label[i] == which && (black[i] || (y > 0 && out[i - p->width]));
        }
}

static void test_random_pictures_follow_the_definition(void **state)
{
    (void)state;
    static struct contact_picture p;
    static int label[most_pixels];
    static uint8_t want[most_pixels];
    uint32_t seed = 5;
    int with = 0, without = 0;
    for (int trial = 0; trial < 400; trial++) {
        int width = between(&seed, 20, most_side), height = between(&seed, 20, most_side);
        p = new_picture(width, height, trial % 2 ? 3 : 1);
        draw_things(&p, &seed);
        memset(want, 0, sizeof want);
        int count = find_label(&p, label);
        for (int which = 1; which <= count; which++)
            plain_component(&p, label, which, want);
        cut(&p);
        assert_memory_equal(p.shadow, want, (size_t)(width * height));
        if (count_cut(&p))
            with++;
        else
            without++;
    }
    assert_true(with > 40 && without > 40);
}

static void test_sizes_out_of_range(void **state)
{
    (void)state;
    struct bd_mask_work *work;
    assert_int_equal(bd_mask_work_create(&work, pool, INT32_MAX, INT32_MAX), BD_ERROR_ARGUMENT);
    assert_null(work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_car_loses_its_shadow),
        cmocka_unit_test(test_what_is_black_all_over_stays),
        cmocka_unit_test(test_person_keeps_feet),
        cmocka_unit_test(test_legs_stay),
        cmocka_unit_test(test_what_the_picture_cuts_off_stays),
        cmocka_unit_test(test_what_is_not_black_or_not_even_stays),
        cmocka_unit_test(test_nothing_in_an_empty_or_a_full_mask),
        cmocka_unit_test(test_random_pictures_follow_the_definition),
        cmocka_unit_test(test_sizes_out_of_range),
    };
    return cmocka_run_group_tests(tests, open_pool, close_pool);
}
