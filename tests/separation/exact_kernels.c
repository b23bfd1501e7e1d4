/* The loops of the fit to the basis and from the difference to the mask
 * (separation/cpu/kernels/exact_kernels.h) against plain ones, on every instruction set: the same
 * to the bit, for lengths around the vectors'. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "separation/cpu/kernels/kernels.h"
#include "separation/shared/mask.h"
#include "separation/shared/ops.h"
#include "separation/shared/rounding.h"
#include "tests/support/random.h"

enum { most = 1100, guard = 3, most_side = 15, untouched = 77 };

static const int lengths[] = { 1,   2,   15,  16,  17,  63,   64,   65,  255,
                               256, 257, 300, 512, 513, 1023, 1024, most };
enum { length_count = sizeof lengths / sizeof lengths[0] };

static uint64_t seed;

static uint32_t next_random(void)
{
    return (uint32_t)(next_state(&seed) >> 33);
}

static void fill_bytes(uint8_t *bytes, int count)
{
    for (int i = 0; i < count; i++)
        bytes[i] = (uint8_t)next_random();
}

static void fill_set(uint8_t *picture, int count, uint32_t percent)
{
    for (int i = 0; i < count; i++)
        picture[i] = next_random() % 100 < percent;
}

static void fill_floats(float *values, int count, float largest)
{
    for (int i = 0; i < count; i++)
        values[i] = (float)(next_random() % 4096) / 4095 * largest;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

#define FOR_EACH_VARIANT(kernels)                                                             \
    enum bd_isa list[BD_ISA_COUNT];                                                           \
    int variants = bd_isa_list(list);                                                         \
    const struct bd_exact_kernels *kernels = bd_separation_kernels_of(list[0])->exact;        \
    for (int variant = 0;                                                                     \
         variant < variants && (kernels = bd_separation_kernels_of(list[variant])->exact, 1); \
         variant++)

static void check_compare(const struct bd_exact_kernels *kernels, int count, int channels)
{
    static uint8_t f[3 * most], l[3 * most];
    static float noise[most];
    const struct bd_limits limits = { .gain = 3, .least = 20, .most = 60, .plain = 0.3F };
    uint8_t difference[most + guard], raw[most + guard], plain[most + guard];
    int64_t set = 0;
    fill_bytes(f, 3 * most);
    for (int i = 0; i < 3 * most; i++)
        l[i] = next_random() % 4 ? (uint8_t)(f[i] ^ (next_random() & 31)) : (uint8_t)~f[i];
    fill_floats(noise, most, 30);
    memset(difference, untouched, sizeof difference);
    memset(raw, untouched, sizeof raw);
    memset(plain, untouched, sizeof plain);
    int64_t returned =
        kernels->compare(count, channels, f, l, noise, &limits, difference, raw, plain);
    for (int i = 0; i < count; i++) {
        int far = 0;
        for (int c = 0; c < channels; c++)
            far = larger(far, abs(f[i * channels + c] - l[i * channels + c]));
        float bound = 3 * noise[i] > 60 ? 60 : 3 * noise[i] < 20 ? 20 : 3 * noise[i];
        assert_int_equal(difference[i], far);
        assert_int_equal(raw[i], (float)far > bound);
        assert_int_equal(plain[i], (float)far <= 0.3F * bound);
        set += raw[i];
    }
    assert_int_equal(returned, set);
    for (int i = count; i < count + guard; i++)
        assert_true(difference[i] == untouched && raw[i] == untouched && plain[i] == untouched);
}

static void test_compare(void **state)
{
    (void)state;
    seed = 1;
    FOR_EACH_VARIANT(kernels)
    for (int i = 0; i < length_count; i++)
        for (int channels = 1; channels <= 3; channels += 2)
            check_compare(kernels, lengths[i], channels);
}

static void check_changes(const struct bd_exact_kernels *kernels, int count, int channels)
{
    enum { reach = 20 };
    uint8_t f[3 * most], was[3 * most], earlier[3 * most + guard], changed[most + guard];
    fill_bytes(f, 3 * most);
    for (int i = 0; i < 3 * most; i++) /* around the reach, up and down */
        was[i] = (uint8_t)(f[i] + next_random() % 44 - 22);
    memset(earlier, untouched, sizeof earlier);
    memset(changed, untouched, sizeof changed);
    memcpy(earlier, was, (size_t)count * (size_t)channels);
    kernels->changes(count, channels, reach, f, earlier, changed);
    for (int p = 0; p < count; p++) {
        int farthest = 0;
        for (int i = p * channels; i < (p + 1) * channels; i++)
            farthest = larger(farthest, abs(f[i] - was[i]));
        assert_int_equal(changed[p], farthest > reach);
    }
    assert_memory_equal(earlier, f, (size_t)count * (size_t)channels);
    for (int i = 0; i < guard; i++) {
        assert_int_equal(earlier[count * channels + i], untouched);
        assert_int_equal(changed[count + i], untouched);
    }
}

static void test_changes(void **state)
{
    (void)state;
    seed = 7;
    FOR_EACH_VARIANT(kernels)
    for (int i = 0; i < length_count; i++)
        for (int channels = 1; channels <= 3; channels += 2)
            check_changes(kernels, lengths[i], channels);
}

static void check_learn(const struct bd_exact_kernels *kernels, int count,
                        const struct bd_learning *learning)
{
    uint8_t difference[most], occupied[most], raw[most], kept[most + guard], was[most];
    uint8_t mask[most + guard], aged[most / bd_sep_tile + 2];
    float noise[most + guard], age[most + guard], noise_was[most], age_was[most];
    int64_t set = 0;
    fill_bytes(difference, most);
    fill_set(occupied, most, 50);
    fill_set(raw, most, 30);
    fill_set(was, most, 70);
    fill_floats(noise_was, most, 60);
    fill_floats(age_was, most, 4);
    memset(aged, untouched, sizeof aged);
    for (int i = 0; i < most; i++)
        if (i / bd_sep_tile % 2) { /* a tile without ages, and every second of these stays so */
            age_was[i] = 0;
            aged[i / bd_sep_tile] = 0;
            occupied[i] &= i / bd_sep_tile % 4 == 1;
        }
    memset(kept, untouched, sizeof kept);
    memset(mask, untouched, sizeof mask);
    memcpy(kept, was, (size_t)count);
    for (int i = 0; i < most + guard; i++) {
        noise[i] = -7;
        age[i] = i < count ? age_was[i] : -7;
    }
    int64_t returned = kernels->learn(count, learning, difference, occupied, raw, noise_was,
                                      learning->rate > 0 ? noise : NULL, age, aged, kept, mask);
    for (int i = 0; i < count; i++) {
        /* Rounded after each step: no fused multiply-adds. */
        volatile float step = (float)difference[i] - noise_was[i];
        step = step * (was[i] ? 0 : learning->rate);
        volatile float older = age_was[i] + (occupied[i] ? 1 : -4) * learning->seconds;
        assert_true(noise[i] == (learning->rate > 0 ? noise_was[i] + step : -7));
        assert_true(age[i] == (older > 0 ? older : 0));
        assert_int_equal(kept[i], was[i] && age[i] < learning->memory);
        assert_int_equal(mask[i], 255 * raw[i]);
        set += raw[i];
    }
    assert_int_equal(returned, set);
    for (int from = 0; from < count; from += bd_sep_tile) {
        bool any = false;
        for (int i = from; i < count && i < from + bd_sep_tile; i++)
            any |= age[i] > 0;
        assert_int_equal(aged[from / bd_sep_tile], any);
    }
    for (int i = count; i < count + guard; i++)
        assert_true(noise[i] == -7 && age[i] == -7 && kept[i] == untouched && mask[i] == untouched);
}

static void test_learn(void **state)
{
    (void)state;
    static const struct bd_learning lessons[] = { { 0.02F, 0.04F, 2 },
                                                  { 1, 0.5F, 3 },
                                                  { 0, 0, 2 } };
    seed = 2;
    FOR_EACH_VARIANT(kernels)
    for (int i = 0; i < length_count; i++)
        for (int k = 0; k < 3; k++)
            check_learn(kernels, lengths[i], &lessons[k]);
}

static void check_median(const struct bd_exact_kernels *kernels, int width, int side,
                         uint32_t percent)
{
    static uint8_t picture[most_side][most];
    const uint8_t *rows[most_side];
    uint8_t out[most + guard], sums[most + most_side];
    memset(out, untouched, sizeof out);
    for (int k = 0; k < side; k++) {
        fill_set(picture[k], width, percent);
        rows[k] = picture[k];
    }
    kernels->median(width, rows, side, sums, out);
    for (int x = 0; x < width; x++) {
        int set = 0;
        for (int k = 0; k < side; k++)
            for (int u = x - side / 2; u <= x + side / 2; u++)
                set += rows[k][u < 0 ? 0 : u >= width ? width - 1 : u];
        assert_int_equal(out[x], set > side * side / 2);
    }
    for (int x = width; x < width + guard; x++)
        assert_int_equal(out[x], untouched);
}

static void check_spread(const struct bd_exact_kernels *kernels, int width, int radius,
                         uint32_t percent)
{
    static uint8_t in[most];
    uint8_t out[most + guard], line[3 * most];
    memset(out, untouched, sizeof out);
    fill_set(in, width, percent);
    kernels->spread(width, in, radius, line, out);
    for (int x = 0; x < width; x++) {
        int any = 0;
        for (int u = larger(x - radius, 0); u <= x + radius && u < width; u++)
            any |= in[u];
        assert_int_equal(out[x], any);
    }
    for (int x = width; x < width + guard; x++)
        assert_int_equal(out[x], untouched);
}

static void check_trim(const struct bd_exact_kernels *kernels, int width)
{
    static uint8_t rows[3][3][most], lines[2 * most + 4];
    const uint8_t *mask[3], *plain[3], *difference[3];
    uint8_t out[most + guard];
    memset(out, untouched, sizeof out);
    for (int k = 0; k < 3; k++) {
        fill_set(rows[0][k], width, 70);
        fill_set(rows[1][k], width, 20);
        fill_bytes(rows[2][k], width);
        mask[k] = rows[0][k];
        plain[k] = rows[1][k];
        difference[k] = rows[2][k];
    }
    kernels->trim(width, mask, plain, difference, lines, out);
    for (int x = 0; x < width; x++) {
        int touches = 0, largest = 0;
        for (int k = 0; k < 3; k++)
            for (int u = larger(x - 1, 0); u <= x + 1 && u < width; u++) {
                touches |= plain[k][u] && !mask[k][u];
                largest = larger(largest, difference[k][u]);
            }
        int goes = touches && bd_mask_trim_of * difference[1][x] < bd_mask_trim_part * largest;
        assert_int_equal(out[x], mask[1][x] && !goes);
    }
    for (int x = width; x < width + guard; x++)
        assert_int_equal(out[x], untouched);
}

static void test_rows(void **state)
{
    (void)state;
    seed = 3;
    FOR_EACH_VARIANT(kernels)
    for (int i = 0; i < length_count; i++) {
        int width = lengths[i];
        for (int side = 3; side <= most_side; side += 4)
            check_median(kernels, width, side, 50);
        check_median(kernels, width, most_side, 100);
        check_median(kernels, width, 5, 40);
        for (int radius = 0; radius <= 20 && radius <= width; radius++)
            check_spread(kernels, width, radius, radius < 3 ? 30 : 3);
        check_spread(kernels, width, width, 1);
        check_trim(kernels, width);
    }
}

/* Rounded after each step, on every instruction set. */
static void test_add_multiple(void **state)
{
    (void)state;
    seed = 4;
    FOR_EACH_VARIANT(kernels)
    for (int i = 0; i < length_count; i++) {
        float x[most], y[most + guard], before[most];
        fill_floats(x, most, 255);
        fill_floats(before, most, 1);
        memcpy(y, before, sizeof before);
        for (int k = lengths[i]; k < most + guard; k++)
            y[k] = -7;
        kernels->add_multiple(lengths[i], 0.0137F, x, y);
        for (int k = 0; k < lengths[i]; k++) {
            volatile float product = 0.0137F * x[k];
            assert_true(y[k] == before[k] + product);
        }
        for (int k = lengths[i]; k < lengths[i] + guard; k++)
            assert_true(y[k] == -7);
    }
}

/* The background, the column of X and its residual of a basis of any rank, and the multiple of that
 * column for rank 1: each product and each sum is rounded. */
static void check_form(const struct bd_exact_kernels *kernels, int count, int rank)
{
    static uint8_t f[most], l[most + guard];
    static float b[bd_max_rank * most];
    float c[bd_max_rank] = { 180 }, x[most + guard], r[most + guard], y[most + guard], lambda = 10;
    fill_bytes(f, most);
    fill_floats(b, rank * most, 1);
    fill_floats(c + 1, bd_max_rank - 1, 30);
    memset(l, untouched, sizeof l);
    for (int i = 0; i < most + guard; i++)
        x[i] = r[i] = y[i] = -7;
    kernels->background(count, b, most, rank, c, l);
    kernels->form(count, f, b, most, rank, c, lambda, x);
    kernels->residual(count, f, b, most, rank, c, lambda, r);
    if (rank == 1)
        kernels->add_formed(count, f, b, c[0], lambda, 0.0137F, y);
    for (int i = 0; i < count; i++) {
        volatile float product, want = 0, e;
        for (int k = 0; k < rank; k++) {
            product = b[k * most + i] * c[k];
            want = want + product;
        }
        e = (float)f[i] - want;
        e = e > lambda ? lambda : e < -lambda ? -lambda : e;
        assert_true(r[i] == e);
        e = want + e;
        assert_true(x[i] == e);
        want = want + 0.5F;
        assert_int_equal(l[i], want > 255 ? 255 : (int)want);
        product = 0.0137F * e;
        assert_true(rank > 1 || y[i] == -7 + product);
    }
    for (int i = count; i < count + guard; i++)
        assert_true(l[i] == untouched && x[i] == -7 && y[i] == -7 && r[i] == -7);
}

static void test_form(void **state)
{
    (void)state;
    seed = 5;
    FOR_EACH_VARIANT(kernels)
    for (int i = 0; i < length_count; i++)
        for (int rank = 1; rank <= bd_max_rank; rank++)
            check_form(kernels, lengths[i], rank);
}

/* A picture, a basis of bd_max_rank columns and coefficients such that B w is about the picture. */
struct problem {
    uint8_t f[most];
    float b[most * bd_max_rank], w[bd_max_rank];
};

static void make_problem(struct problem *p, int rank)
{
    seed = (uint64_t)rank;
    for (int i = 0; i < most * bd_max_rank; i++)
        p->b[i] = (float)(i < most ? 0.5 + 0.5 * noise(&seed) : noise(&seed) / 8);
    for (int k = 0; k < bd_max_rank; k++)
        p->w[k] = k ? (float)(100 * noise(&seed)) : 260;
    for (int i = 0; i < most; i++) {
        double v = (double)p->b[i] * (double)p->w[0] + 40 * noise(&seed);
        p->f[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
    }
}

/* f - B w of element i, as float32 has it. */
static float residual(const struct problem *p, int rank, int i)
{
    float l = p->b[i] * p->w[0];
    for (int k = 1; k < rank; k++)
        l += p->b[k * most + i] * p->w[k];
    return (float)p->f[i] - l;
}

/* Products of e clipped with column k, in the groups of four of separation/shared/rounding.h, the
 * groups in float64; *size: the sum of what is added. */
static double project_column(const struct problem *p, int rank, int k, int count, float lambda,
                             double *size)
{
    double sum = 0;
    for (int first = 0; first < count; first++) {
        if (first % bd_sep_group_block >= bd_sep_group_stride)
            continue;
        float group = 0;
        for (int part = 0; part < 4; part++) {
            int i = first + part * bd_sep_group_stride;
            if (i < count) {
                float e = fmaxf(-lambda, fminf(lambda, residual(p, rank, i)));
                group += p->b[k * most + i] * e;
            }
        }
        sum += (double)group;
        *size += fabs((double)group);
    }
    return sum;
}

/* The same in float64 throughout, from f on; *error: how far float32 may be from it. B w is up to
 * about 1000, and its error goes into the clipped difference whole. */
static double project_exactly(const struct problem *p, int rank, int k, int count, float lambda,
                              double *error)
{
    double sum = 0, size = 0;
    for (int i = 0; i < count; i++) {
        double e = p->f[i], b = p->b[k * most + i];
        for (int j = 0; j < rank; j++)
            e -= (double)p->b[j * most + i] * (double)p->w[j];
        e = fmax(-(double)lambda, fmin((double)lambda, e));
        sum += b * e;
        size += fabs(b) * (fabs(e) + 1000);
    }
    *error = 2 * (double)FLT_EPSILON * size;
    return sum;
}

static void check_project(const struct bd_exact_kernels *kernels, const struct problem *p, int rank,
                          int count, float lambda)
{
    double dw[bd_max_rank], again[bd_max_rank];
    int64_t far = -1, want_far = 0;
    for (int k = 0; k < bd_max_rank; k++)
        dw[k] = again[k] = 5 + k;
    for (int i = 0; i < count; i++)
        want_far += fabsf(residual(p, rank, i)) > 2 * lambda;
    kernels->project(count, p->f, p->b, most, rank, p->w, lambda, dw, &far);
    assert_int_equal(far, want_far);
    for (int k = 0; k < rank; k++) {
        double start = 5 + k, size = start, error;
        double want = start + project_column(p, rank, k, count, lambda, &size);
        double exact = start + project_exactly(p, rank, k, count, lambda, &error);
        assert_true(fabs(dw[k] - want) <= 1e-14 * size);
        assert_true(fabs(dw[k] - exact) <= error);
    }
    for (int k = rank; k < bd_max_rank; k++)
        assert_true(dw[k] == 5 + k);
    kernels->project(count, p->f, p->b, most, rank, p->w, lambda, again, NULL);
    assert_memory_equal(dw, again, sizeof dw);
}

static void test_project(void **state)
{
    (void)state;
    static const float lambdas[] = { 10, 50, 300 };
    static struct problem p;
    FOR_EACH_VARIANT(kernels)
    for (int rank = 1; rank <= bd_max_rank; rank++) {
        make_problem(&p, rank);
        for (int i = 0; i < 3 * length_count; i++)
            check_project(kernels, &p, rank, lengths[i / 3], lambdas[i % 3]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compare),      cmocka_unit_test(test_changes),
        cmocka_unit_test(test_learn),        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_add_multiple), cmocka_unit_test(test_form),
        cmocka_unit_test(test_project),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
