/* The loops over blocks of pixels, in the searches for shadows and for other light
 * (separation/cpu/kernels/exact_kernels.h), against the rules of separation/shared/, pixel by
 * pixel, on every instruction set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "separation/cpu/kernels/kernels.h"
#include "separation/shared/illumination.h"
#include "separation/shared/shadow.h"
#include "separation/shared/shadow_colour.h"
#include "tests/support/random.h"

enum { most = bd_block_pixels, rounds = 200 };

/* A block, the pixel behind it, and what is below them. */
struct pictures {
    int channels, count, next;
    uint8_t f[2][3 * (most + 1)], l[2][3 * (most + 1)], mask[2][most + 1];
};

static uint64_t seed;

static uint32_t next_random(void)
{
    return (uint32_t)(next_state(&seed) >> 33);
}

/* Background of any kind, half of it in shadow: much of a random frame has no colour. */
static void draw(struct pictures *p, int round)
{
    static const int counts[] = { most, most, most - 1, 33, 17, 1 };
    const int dark = round % 5 ? 256 : 14;
    p->channels = round % 2 ? 3 : 1;
    p->count = counts[round % 6];
    p->next = round % 3 != 0;
    for (int row = 0; row < 2; row++) {
        for (int i = 0; i < 3 * (most + 1); i++) {
            const int l = (int)next_random() % dark, part = 100 + (int)next_random() % 60;
            p->l[row][i] = (uint8_t)l;
            p->f[row][i] = (uint8_t)(next_random() % 2 ? l * part / 256 : (int)next_random() % 256);
        }
        for (int i = 0; i <= most; i++)
            p->mask[row][i] = next_random() % 4 != 0;
    }
}

/* Sums that neighbourhoods may have: of up to 25 pixels with values up to 255. */
static void draw_totals(struct bd_sums *totals, bool joined)
{
    for (int i = 0; i < most; i++) {
        const uint32_t count = next_random() % 26, full = 255 * count + 1;
        uint32_t *const of[] = { &totals->ff[i], &totals->fl[i], &totals->ll[i] };
        totals->count[i] = count + (next_random() << 10);
        for (int k = 0; k < 3; k++) {
            const uint32_t l = next_random() % full;
            *of[k] = (next_random() % 2 ? l * (next_random() % 200) / 256 : next_random() % full) +
                     (l << bd_sums_l_bit);
        }
        if (joined)
            continue;
        const uint32_t light = 1 + next_random() % (3 * 255 * 255), part = next_random() % 256;
        totals->count[i] = count;
        totals->ll[i] = count * light;
        totals->fl[i] = (uint32_t)((uint64_t)totals->ll[i] * part / 256);
        totals->ff[i] = (uint32_t)((uint64_t)totals->fl[i] * part / 256) +
                        next_random() % (1 + count * 8 * bd_shadow_most_mean * bd_shadow_most_mean);
    }
}

static void check_plausible(const struct bd_exact_kernels *kernels, const struct pictures *p)
{
    struct bd_sums sums;
    uint8_t found[most];
    if (p->channels == 1)
        return;
    kernels->plausible(p->count, p->f[0], p->l[0], p->mask[0], &sums, found);
    for (int i = 0; i < most; i++) {
        uint32_t ff = 0, fl = 0, ll = 0;
        for (int c = 3 * i; i < p->count && c < 3 * i + 3; c++) {
            ff += (uint32_t)p->f[0][c] * p->f[0][c];
            fl += (uint32_t)p->f[0][c] * p->l[0][c];
            ll += (uint32_t)p->l[0][c] * p->l[0][c];
        }
        const bool is =
            i < p->count && p->mask[0][i] && bd_shadow_fits(ff, fl, ll, 1, bd_shadow_most);
        assert_int_equal(found[i], is);
        assert_true(sums.ff[i] == is * ff && sums.fl[i] == is * fl && sums.ll[i] == is * ll &&
                    sums.count[i] == is);
    }
}

/* The ratios of a pixel. */
static int own_colour(const struct pictures *p, int i)
{
    uint32_t f[3], l[3];
    for (int c = 0; c < 3; c++) {
        const int at = p->channels == 1 ? i : 3 * i + c;
        f[c] = p->f[0][at];
        l[c] = p->l[0][at];
        if (l[c] < bd_shadow_least_light)
            return -1;
    }
    return bd_shadow_colour(f, l, 1);
}

static void check_own_colours(const struct bd_exact_kernels *kernels, const struct pictures *p)
{
    struct bd_sums sums;
    int32_t colours[most];
    kernels->own_colours(p->count, p->channels, p->f[0], p->l[0], p->mask[0], &sums, colours);
    for (int i = 0; i < most; i++) {
        const int colour = i < p->count && p->mask[0][i] ? own_colour(p, i) : -1;
        const uint32_t *of[] = { &sums.ff[i], &sums.fl[i], &sums.ll[i] };
        assert_int_equal(colours[i], colour);
        assert_int_equal(sums.count[i], colour >= 0);
        for (int c = 0; c < 3; c++) {
            const int at = p->channels == 1 ? i : 3 * i + c;
            const uint32_t both = p->f[0][at] + ((uint32_t)p->l[0][at] << bd_sums_l_bit);
            assert_int_equal(*of[c], colour >= 0 ? both : 0);
        }
    }
}

static void check_texture(const struct bd_exact_kernels *kernels, const struct pictures *p)
{
    uint32_t texture[most];
    if (p->channels == 1)
        return;
    kernels->texture(p->count, p->next, p->l[0], p->l[1], texture);
    for (int i = 0; i < p->count; i++) {
        const int green = p->l[0][3 * i + 1];
        const int right = i + 1 < p->count || p->next ? p->l[0][3 * i + 4] : green;
        assert_int_equal(texture[i], bd_shadow_texture(green, right, p->l[1][3 * i + 1]));
    }
}

static void check_pairs(const struct bd_exact_kernels *kernels, const struct pictures *p)
{
    struct bd_sums sums;
    kernels->pairs(p->count, p->channels, p->next, (const uint8_t *[]){ p->f[0], p->f[1] },
                   (const uint8_t *[]){ p->l[0], p->l[1] },
                   (const uint8_t *[]){ p->mask[0], p->mask[1] }, &sums);
    for (int i = 0; i < most; i++) {
        uint32_t ff = 0, fl = 0, ll = 0, count = 0;
        for (int way = 0; i < p->count && p->mask[0][i] && way < 2; way++) {
            const int to = way ? i : i + 1, at = p->channels * i, far = p->channels * to;
            if (to >= p->count + p->next || !p->mask[way][to])
                continue;
            const int f = bd_illumination_of_pair(p->f[0] + at, p->f[way] + far, p->channels);
            const int l = bd_illumination_of_pair(p->l[0] + at, p->l[way] + far, p->channels);
            ff += (uint32_t)(f * f);
            fl += (uint32_t)(f * l);
            ll += (uint32_t)(l * l);
            count++;
        }
        assert_true(sums.ff[i] == ff && sums.fl[i] == fl && sums.ll[i] == ll &&
                    sums.count[i] == count);
    }
}

static void check_totals(const struct bd_exact_kernels *kernels, int *certain, int *coloured)
{
    struct bd_sums totals;
    uint8_t found[most];
    int32_t colours[most];
    draw_totals(&totals, false);
    kernels->certain(&totals, found);
    for (int i = 0; i < most; i++) {
        assert_int_equal(found[i], totals.count[i] >= bd_shadow_least_count &&
                                       bd_shadow_fits(totals.ff[i], totals.fl[i], totals.ll[i],
                                                      totals.count[i], bd_shadow_most_mean));
        *certain += found[i];
    }
    draw_totals(&totals, true);
    kernels->colours_around(&totals, colours);
    for (int i = 0; i < most; i++) {
        const uint32_t low = (1U << bd_sums_l_bit) - 1, count = totals.count[i] & 31;
        const uint32_t f[] = { totals.ff[i] & low, totals.fl[i] & low, totals.ll[i] & low };
        const uint32_t l[] = { totals.ff[i] >> bd_sums_l_bit, totals.fl[i] >> bd_sums_l_bit,
                               totals.ll[i] >> bd_sums_l_bit };
        assert_int_equal(colours[i],
                         count >= bd_shadow_least_count ? bd_shadow_colour(f, l, count) : -1);
        *coloured += colours[i] >= 0;
    }
}

static int check_other_light(const struct bd_exact_kernels *kernels)
{
    struct bd_sums totals;
    uint8_t lit[most];
    int found = 0;
    for (int i = 0; i < most; i++) { /* correlations around 3/5 */
        const uint32_t root_f = 1 + next_random() % 2800, root_l = 1 + next_random() % 2800;
        totals.ff[i] = root_f * root_f;
        totals.ll[i] = root_l * root_l;
        totals.fl[i] = (3 * root_f * root_l) / 5 + next_random() % 3 - 1;
        totals.count[i] = bd_illumination_least_pairs - 2 + next_random() % 20;
        if (next_random() % 4 == 0)
            totals.fl[i] = 0U - totals.fl[i];
    }
    kernels->other_light(&totals, lit);
    for (int i = 0; i < most; i++) {
        assert_int_equal(lit[i], bd_illumination_fits(totals.ff[i], (int32_t)totals.fl[i],
                                                      totals.ll[i], totals.count[i]));
        found += lit[i];
    }
    return found;
}

static const struct bd_exact_kernels *each(int i)
{
    enum bd_isa list[BD_ISA_COUNT];
    return i < bd_isa_list(list) ? bd_separation_kernels_of(list[i])->exact : NULL;
}

static void test_rules(void **state)
{
    (void)state;
    const struct bd_exact_kernels *kernels;
    for (int i = 0; (kernels = each(i)); i++) {
        int certain = 0, coloured = 0, lit = 0;
        seed = 5;
        for (int round = 0; round < rounds; round++) {
            struct pictures p;
            draw(&p, round);
            check_plausible(kernels, &p);
            check_own_colours(kernels, &p);
            check_texture(kernels, &p);
            check_pairs(kernels, &p);
            check_totals(kernels, &certain, &coloured);
            lit += check_other_light(kernels);
        }
        assert_in_range(certain, rounds, rounds * most / 2);
        assert_in_range(coloured, rounds, rounds * most / 2);
        assert_in_range(lit, rounds, rounds * most * 3 / 4);
    }
}

/* A ratio that is no whole number is never rounded up to one. */
static void test_ratios(void **state)
{
    (void)state;
    const struct bd_exact_kernels *kernels;
    for (int i = 0; (kernels = each(i)); i++)
        for (uint32_t l = 250; l <= 6375; l++)
            for (uint32_t ratio = 30; ratio < 256; ratio += 25) {
                struct bd_sums totals;
                int32_t colours[most];
                const uint32_t f = ratio * l / 256; /* and one more: around the whole number */
                for (int k = 0; k < most; k++) {
                    const uint32_t both = f + (uint32_t)k % 2 + (l << bd_sums_l_bit);
                    totals.ff[k] = totals.fl[k] = totals.ll[k] = both;
                    totals.count[k] = 25;
                }
                kernels->colours_around(&totals, colours);
                for (uint32_t k = 0; k < 2; k++)
                    assert_int_equal(colours[k],
                                     bd_shadow_colour((uint32_t[]){ f + k, f + k, f + k },
                                                      (uint32_t[]){ l, l, l }, 25));
            }
}

/* Rows of numbers of three blocks. */
static void test_sums(void **state)
{
    (void)state;
    enum { pitch = 3 * most };
    static const int reaches[] = { 2, 7 };
    const struct bd_exact_kernels *kernels;
    seed = 8;
    for (int i = 0; (kernels = each(i)); i++) {
        struct bd_sums blocks[3], totals;
        uint32_t rows[4 * pitch] = { 0 };
        memset(blocks, 0, sizeof blocks);
        for (int b = 0; b < 3; b++) {
            uint32_t *const of[] = { blocks[b].ff, blocks[b].fl, blocks[b].ll, blocks[b].count };
            for (int k = 0; k < 4; k++)
                for (int x = 0; x < most; x++)
                    of[k][x] = k == 3 ? next_random() % 4 : next_random();
            kernels->add_sums(&blocks[b], rows + b * most, pitch);
        }
        for (int r = 0; r < 2; r++) {
            uint32_t largest = 0;
            memset(&totals, 0, sizeof totals);
            assert_true(
                kernels->sum_around(reaches[r], UINT32_MAX, 0, rows + most, pitch, &totals));
            for (int x = 0; x < most; x++) {
                uint32_t sums[4] = { 0 };
                for (int k = 0; k < 4; k++)
                    for (int u = x - reaches[r]; u <= x + reaches[r]; u++)
                        sums[k] += rows[k * pitch + most + u];
                assert_true(totals.ff[x] == sums[0] && totals.fl[x] == sums[1] &&
                            totals.ll[x] == sums[2] && totals.count[x] == sums[3]);
                largest = sums[3] > largest ? sums[3] : largest;
            }
            assert_true(
                kernels->sum_around(reaches[r], 63, largest & 63, rows + most, pitch, &totals));
            assert_false(kernels->sum_around(reaches[r], UINT32_MAX, largest + 1, rows + most,
                                             pitch, &totals));
        }
        for (int b = 0; b < 3; b++)
            kernels->take_sums(&blocks[b], rows + b * most, pitch);
        for (int k = 0; k < 4 * pitch; k++)
            assert_int_equal(rows[k], 0);
    }
}

/* Rows of up to 70 blocks, with one pixel or none in each. */
static void test_find(void **state)
{
    (void)state;
    enum { largest = 70 * most };
    static const int widths[] = { 1, 7, most - 1, most, most + 1, 5 * most + 9, largest - 3 };
    static uint8_t row[largest];
    const struct bd_exact_kernels *kernels;
    seed = 9;
    for (int i = 0; (kernels = each(i)); i++)
        for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
            const int width = widths[k], blocks = (width + most - 1) / most;
            uint64_t found[2] = { ~UINT64_C(0), ~UINT64_C(0) };
            memset(row, 0, sizeof row);
            for (int b = 0; b < blocks; b++) {
                const int x = b * most + (int)next_random() % most;
                if (x < width)
                    row[x] = (uint8_t)(next_random() % 3);
            }
            kernels->find_blocks(width, row, found);
            for (int b = 0; b < blocks; b++) {
                uint8_t all = 0;
                for (int x = b * most; x < width && x < (b + 1) * most; x++)
                    all |= row[x];
                assert_int_equal(found[b / 64] >> b % 64 & 1, all != 0);
            }
            for (int bits = 0; bits < 4; bits++) {
                uint8_t all = 0;
                for (int x = 0; x < width; x++)
                    all |= row[x];
                assert_int_equal(kernels->has(width, row, (uint8_t)bits), (all & bits) != 0);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_ratios),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_find),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
