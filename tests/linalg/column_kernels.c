/* The column kernels of every instruction set of this machine against plain loops in float64. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "linalg/shared/kernels.h"
#include "tests/support/random.h"

enum { most_rows = 1200, most_cols = 24, ld = most_rows + 8, guard = 3 };

static const int64_t row_counts[] = { 1, 3, 4, 15, 16, 17, 63, 64, 65, 511, 512, 600, 1200 };

static uint64_t seed = 7;

static float *block(void)
{
    float *x = malloc(sizeof(float) * ld * most_cols);
    assert_non_null(x);
    for (int i = 0; i < ld * most_cols; i++)
        x[i] = (float)noise(&seed);
    return x;
}

#define FOR_EACH(kernels, rows)                                                                  \
    enum bd_isa list[BD_ISA_COUNT];                                                              \
    int variants = bd_isa_list(list);                                                            \
    assert_true(variants >= 1 && bd_kernels_of(list[0]) == bd_kernels());                        \
    for (int variant = 0; variant < variants; variant++)                                         \
        for (size_t which = 0; which < sizeof row_counts / sizeof row_counts[0]; which++)        \
            for (const struct bd_column_kernels *kernels = bd_kernels_of(list[variant])->column; \
                 kernels; kernels = NULL)                                                        \
                for (int64_t rows = row_counts[which], once = 1; once; once = 0)

static void test_dots_and_subtract(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = {
        { 1, 1 }, { 3, 2 }, { 4, 1 }, { 8, 3 }, { 13, 5 }, { 20, 4 }
    };
    float *q = block(), *u = block(), *v = block(), w[most_cols * most_cols];
    FOR_EACH(kernels, rows)
    {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            int64_t n = sizes[s][0], p = sizes[s][1];
            double sums[most_cols * most_cols];
            for (int i = 0; i < most_cols * most_cols; i++) {
                sums[i] = 1;
                w[i] = (float)noise(&seed);
            }
            memcpy(v, u, sizeof(float) * ld * most_cols);
            kernels->dots(rows, n, p, q, ld, u, ld, sums);
            kernels->subtract(rows, n, p, q, ld, w, v, ld);
            for (int64_t b = 0; b < p; b++) {
                for (int64_t a = 0; a < n; a++) {
                    double want = 1;
                    for (int64_t i = 0; i < rows; i++)
                        want += (double)q[i + a * ld] * u[i + b * ld];
                    assert_true(fabs(want - sums[a + b * n]) <
                                FLT_EPSILON * sqrt((double)rows) * 8);
                }
                for (int64_t i = 0; i < rows; i++) {
                    double want = u[i + b * ld];
                    for (int64_t a = 0; a < n; a++)
                        want -= (double)q[i + a * ld] * w[a + b * n];
                    assert_true(fabs(want - v[i + b * ld]) < 16 * FLT_EPSILON);
                }
                assert_memory_equal(v + rows + b * ld, u + rows + b * ld, guard * sizeof *v);
            }
            assert_true(sums[n * p] == 1);
            double want = 0;
            for (int64_t i = 0; i < rows; i++)
                want += (double)u[i] * u[i];
            assert_true(fabs(kernels->square(rows, u) - want) <= 1e-12 * want);
        }
    }
    free(q);
    free(u);
    free(v);
}

static void test_rotate(void **state)
{
    (void)state;
    float *x = block(), *y = block(), cs[most_cols * 6 * 2];
    double *want = malloc(sizeof *want * ld * most_cols);
    assert_non_null(want);
    for (int i = 0; i < most_cols * 6; i++) {
        double angle = 3 * noise(&seed);
        cs[2 * i] = (float)cos(angle);
        cs[2 * i + 1] = (float)sin(angle);
    }
    FOR_EACH(kernels, rows)
    {
        for (int sweeps = 1; sweeps <= bd_sweep_group; sweeps++)
            for (int64_t steps = 1; steps <= 11; steps += 5)
                for (int direction = -1; direction <= 1; direction += 2) {
                    int64_t cols = steps + sweeps, first = direction > 0 ? 0 : (cols - 1) * ld;
                    for (int64_t i = 0; i < cols * ld; i++)
                        want[i] = x[i];
                    for (int64_t t = 0; t < steps; t++)
                        for (int s = 0; s < sweeps; s++)
                            for (int64_t i = 0; i < rows; i++) {
                                double *a = want + first + direction * (t + sweeps - 1 - s) * ld;
                                double *b = a + direction * ld;
                                double c = cs[(t * 6 + s) * 2], d = cs[(t * 6 + s) * 2 + 1];
                                double carry = a[i], z = b[i];
                                a[i] = c * carry + d * z;
                                b[i] = c * z - d * carry;
                            }
                    kernels->rotate(rows, steps, sweeps, x + first, direction * ld, y + first,
                                    direction * ld, cs, 6);
                    for (int64_t j = 0; j < cols; j++)
                        for (int64_t i = 0; i < rows; i++)
                            assert_true(fabs(y[i + j * ld] - want[i + j * ld]) < 16 * FLT_EPSILON);
                    /* in place gives the same bits */
                    float *z = block();
                    memcpy(z, x, sizeof(float) * ld * most_cols);
                    kernels->rotate(rows, steps, sweeps, z + first, direction * ld, z + first,
                                    direction * ld, cs, 6);
                    for (int64_t j = 0; j < cols; j++) {
                        assert_memory_equal(z + j * ld, y + j * ld, (size_t)rows * sizeof *z);
                        assert_memory_equal(z + j * ld + rows, x + j * ld + rows,
                                            guard * sizeof *z);
                    }
                    free(z);
                }
    }
    free(x);
    free(y);
    free(want);
}

static double clip(double t, double bound)
{
    return t < -bound ? -bound : t > bound ? bound : t;
}

/* A column of the batch Robust PCA: M with entries that are missing if the problem is relaxed. */
struct column {
    uint8_t bytes[most_rows];
    float *m, *t, *x, *l, *now, *s;
    struct bd_column_clip read, write;
};

static const float dual = 0.66F;

static bool missing(const struct column *p, int64_t i)
{
    return isnan(p->m[i]);
}

/* c of an element. */
static double clip_state(const struct column *p, int64_t i, double t, struct bd_column_clip by)
{
    return missing(p, i) ? 0 : clip((double)by.scale * t, (double)by.bound);
}

static void check_form(struct column *p, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++) {
        double c = clip_state(p, i, p->t[i], p->read), m = missing(p, i) ? 0 : p->m[i];
        double want = m - (p->t[i] - c) + (double)dual * c;
        assert_true(fabs(p->x[i] - want) < 300 * FLT_EPSILON);
        p->l[i] = p->x[i] - 0.5F * (float)noise(&seed); /* as near as L is to X */
    }
    for (int64_t i = rows; i < most_rows; i++)
        assert_true(p->x[i] == 0);
}

static void check_renew(const struct column *p, int64_t rows, float bound, const double *sums)
{
    double residual = 0, change = 0;
    for (int64_t i = 0; i < rows; i++) {
        double c = clip_state(p, i, p->t[i], p->read), old = p->t[i] - c;
        double now = old + ((double)p->x[i] - p->l[i]);
        double next = clip_state(p, i, now, p->write);
        double r = next - (double)dual * c, e = now - next - old;
        double s = missing(p, i) ? 0 : now - clip(now, (double)bound);
        residual += r * r;
        change += e * e;
        assert_true(fabs(p->now[i] - now) < 4 * FLT_EPSILON);
        assert_true(fabs(p->s[i] - s) < 4 * FLT_EPSILON);
    }
    assert_true(fabs(sums[0] - 1 - residual) <= 1e-5 * residual + 1e-12);
    assert_true(fabs(sums[1] - 2 - change) <= 1e-5 * change + 1e-12);
    assert_memory_equal(p->now + rows, p->t + rows, guard * sizeof *p->t);
}

static void check_column(const struct bd_column_kernels *kernels, struct column *p, int64_t rows,
                         bool relaxed, bool bytes)
{
    const float bound = relaxed ? 0.4F : p->write.bound;
    double sums[2] = { 1, 2 }; /* they are added to */
    memset(p->x, 0, sizeof(float) * most_rows);
    if (relaxed)
        kernels->form_relaxed(rows, p->m, p->t, p->read, dual, p->x);
    else if (bytes)
        kernels->form_u8(rows, p->bytes, p->t, p->read.bound, dual, p->x);
    else
        kernels->form(rows, p->m, p->t, p->read.bound, dual, p->x);
    check_form(p, rows);
    memcpy(p->now, p->t, sizeof(float) * ld);
    if (relaxed) {
        kernels->renew_relaxed(rows, p->m, p->x, p->l, p->read, dual, p->write, p->now, sums);
        kernels->sparse_relaxed(rows, p->m, p->x, p->l, p->t, p->read, bound, p->s);
    } else {
        kernels->renew(rows, p->x, p->l, p->read.bound, dual, p->write.bound, p->now, sums);
        kernels->sparse(rows, p->x, p->l, p->t, p->read.bound, bound, p->s);
    }
    check_renew(p, rows, bound, sums);
}

static void test_robust_pca(void **state)
{
    (void)state;
    struct column p = { .m = block(),
                        .t = block(),
                        .x = block(),
                        .l = block(),
                        .now = block(),
                        .s = block(),
                        .read = { 1, 0.3F },
                        .write = { 1, 0.2F } };
    struct column relaxed = p;
    relaxed.m = block();
    relaxed.read.scale = 0.7F;
    relaxed.write.scale = 0.6F;
    for (int i = 0; i < most_rows; i++) {
        p.m[i] = p.bytes[i] = (uint8_t)(128 + 127 * noise(&seed));
        relaxed.m[i] = i % 3 ? p.m[i] : NAN;
    }
    FOR_EACH(kernels, rows)
    {
        check_column(kernels, &p, rows, false, true);
        check_column(kernels, &p, rows, false, false);
        check_column(kernels, &relaxed, rows, true, false);
    }
    float *const blocks[] = { p.m, relaxed.m, p.t, p.x, p.l, p.now, p.s };
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        free(blocks[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dots_and_subtract),
        cmocka_unit_test(test_rotate),
        cmocka_unit_test(test_robust_pca),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
