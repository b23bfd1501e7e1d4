/* The kernels of QR by the Gram matrix, for every instruction set that runs here, against plain
 * loops in long double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "linalg/cpu/kernels/tall_kernels.h"
#include "linalg/shared/kernels.h"
#include "tests/support/gram_problem.h"

typedef void test_fn(const struct bd_tall_kernels *kernels);

static void on_every_variant(test_fn *test)
{
    enum bd_isa list[BD_ISA_COUNT];
    int count = bd_isa_list(list);
    for (int i = 0; i < count; i++) {
        print_message("%s\n", bd_isa_name(list[i]));
        test(bd_kernels_of(list[i])->tall);
    }
}

static void gram(const struct bd_tall_kernels *kernels)
{
    for (int64_t n = 1; n < 23; n++)
        for (int64_t rows = bd_tall_rows; rows <= 3 * bd_tall_rows; rows += bd_tall_rows) {
            int64_t ld = rows + 3;
            double *v = random_matrix(ld, n, (uint64_t)n), *g = new_doubles(n * n + 1);
            for (int64_t k = 0; k < n * n; k++)
                g[k] = 10;
            g[n * n] = 7;
            kernels->gram(rows, n, v, ld, 512, g);
            for (int64_t j = 0; j < n; j++)
                for (int64_t i = 0; i <= j; i++) {
                    long double sum = 10;
                    for (int64_t k = 0; k < rows; k++)
                        sum += (long double)v[k + i * ld] * v[k + j * ld];
                    assert_true(fabs((double)(g[i + j * n] - sum)) < 1e-13);
                }
            assert_true(g[n * n] == 7);
            free(v);
            free(g);
        }
}

/* Random steps over random columns, in both types, one after the other. */
static void multiply(const struct bd_tall_kernels *kernels)
{
    enum { n = 19, groups = 40, room = groups * n * bd_tall_width };
    const int64_t rows = 2 * bd_tall_rows, ld = rows + 1;
    struct bd_tall_group group[groups];
    double *t = new_doubles(room), *x = random_matrix(ld, n, 1);
    float *single_t = malloc(room * sizeof *single_t), *y = malloc(ld * n * sizeof *y);
    long double *wanted = malloc(ld * n * sizeof *wanted);
    uint64_t seed = 99;
    assert_true(single_t && y && wanted);
    int64_t at = 0;
    for (int g = 0; g < groups; g++) {
        int width = 1 + (int)(uniform(&seed) * bd_tall_width);
        int64_t first = (int64_t)(uniform(&seed) * (n - width + 1));
        int64_t from = (int64_t)(uniform(&seed) * (double)(first + 1));
        int64_t end = from + (int64_t)(uniform(&seed) * (double)(first - from + 1));
        enum bd_tall_step step = (enum bd_tall_step)(g % 3);
        if (step != BD_TALL_ADD)
            end = first;
        group[g] = (struct bd_tall_group){ first, from, end, at, width, step };
        for (int64_t k = 0; k < (end - from + width) * width; k++, at++)
            t[at] = (uniform(&seed) - 0.5) / 2;
    }
    for (int64_t k = 0; k < at; k++)
        single_t[k] = (float)t[k];
    for (int64_t k = 0; k < ld * n; k++)
        wanted[k] = y[k] = (float)(x[k] = (double)(float)x[k]);
    for (const struct bd_tall_group *g = group; g < group + groups; g++)
        for (int64_t row = 0; row < rows; row++) {
            long double *z = wanted + row, sum[bd_tall_width] = { 0 };
            const double *own = t + g->at + (g->end - g->from) * g->width;
            for (int j = 0; j < g->width; j++) {
                sum[j] = g->step == BD_TALL_MULTIPLY ? 0 : z[(g->first + j) * ld];
                for (int64_t i = g->from; i < g->end; i++)
                    sum[j] += z[i * ld] * t[g->at + (i - g->from) * g->width + j];
                for (int k = 0; k <= j && g->step == BD_TALL_MULTIPLY; k++)
                    sum[j] += z[(g->first + k) * ld] * own[k * g->width + j];
            }
            for (int j = 0; j < g->width && g->step == BD_TALL_SUBSTITUTE; j++) {
                sum[j] *= own[j * g->width + j];
                for (int k = j + 1; k < g->width; k++)
                    sum[k] += sum[j] * own[j * g->width + k];
            }
            for (int j = 0; j < g->width; j++)
                z[(g->first + j) * ld] = sum[j];
        }
    kernels->multiply(rows, x, ld, 0, group, groups, t);
    kernels->multiply_single(rows, y, ld, 1 << 20, group, groups, single_t);
    for (int64_t k = 0; k < ld * n; k++) {
        assert_true(fabs((double)(x[k] - wanted[k])) < 1e-12);
        assert_true(fabs((double)(y[k] - wanted[k])) < 1e-4);
        if (k % ld == rows) /* below the rows */
            assert_true(x[k] == wanted[k] && y[k] == wanted[k]);
    }
    free(t);
    free(x);
    free(single_t);
    free(y);
    free(wanted);
}

static void columns(const struct bd_tall_kernels *kernels)
{
    static const double bad[] = { NAN, INFINITY, -INFINITY };
    for (int64_t rows = 0; rows < 70; rows++) {
        double *x = random_matrix(rows + 1, 1, 5);
        float *y = malloc((size_t)(rows + 1) * sizeof *y);
        assert_non_null(y);
        y[rows] = 3;
        kernels->narrow(rows, x, 512, 0x1p-3, y);
        for (int64_t i = 0; i < rows; i++)
            assert_true(y[i] == (float)(x[i] / 8));
        assert_true(y[rows] == 3);
        x[rows] = 3;
        kernels->widen(rows, y, 0, x);
        for (int64_t i = 0; i < rows; i++)
            assert_true(x[i] == (double)y[i]);
        assert_true(x[rows] == 3);
        if (rows) {
            x[0] = DBL_MAX;
            y[0] = -FLT_MAX;
        }
        assert_true(kernels->finite(rows, x) && kernels->finite_single(rows, y));
        for (int64_t i = 0; i < rows; i++)
            for (int k = 0; k < 3; k++) {
                double before = x[i];
                float single = y[i];
                x[i] = bad[k];
                y[i] = (float)bad[k];
                assert_false(kernels->finite(rows, x) || kernels->finite_single(rows, y));
                x[i] = before;
                y[i] = single;
            }
        free(x);
        free(y);
    }
}

#define EVERY(name)                       \
    static void test_##name(void **state) \
    {                                     \
        (void)state;                      \
        on_every_variant(name);           \
    }
EVERY(gram)
EVERY(multiply)
EVERY(columns)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gram),
        cmocka_unit_test(test_multiply),
        cmocka_unit_test(test_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
