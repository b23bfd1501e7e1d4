/* The block kernels of every instruction set of this machine against float64. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "linalg/shared/kernels.h"
#include "tests/support/random.h"

static uint64_t seed;

static int64_t padded(int64_t m)
{
    return (m + bd_kernel_rows - 1) / bd_kernel_rows * bd_kernel_rows;
}

/* Zeroed, 64-byte aligned. */
static float *floats(int64_t count)
{
    size_t bytes = ((size_t)count * sizeof(float) / 64 + 1) * 64;
    float *data = aligned_alloc(64, bytes);
    assert_non_null(data);
    memset(data, 0, bytes);
    return data;
}

/* Rows x cols with leading dimension padded(rows); column 1 is large, column 2 tiny. */
static float *random_block(int64_t rows, int64_t cols)
{
    float *a = floats(padded(rows) * cols);
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++)
            a[i + j * padded(rows)] = (float)signed_uniform(&seed) * (j == 1   ? 1e25f
                                                                      : j == 2 ? 1e-25f
                                                                               : 1);
    return a;
}

static float *copy(const float *a, int64_t count)
{
    float *out = floats(count);
    memcpy(out, a, (size_t)count * sizeof *a);
    return out;
}

static void clear_below(float *r, int64_t rows, int64_t cols, int64_t ld)
{
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = j + 1; i < rows; i++)
            r[i + j * ld] = 0;
}

/* Sum over rows of (a - b)^2 and of a^2, added to e[0] and e[1]. */
static void add_errors(const float *a, const float *b, int64_t rows, double *e)
{
    for (int64_t i = 0; i < rows; i++) {
        e[0] += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        e[1] += (double)a[i] * a[i];
    }
}

static void assert_small(const double *e, int64_t n)
{
    double error = e[0] == 0 ? 0 : sqrt(e[0] / e[1]);
    assert_true(error < 30 * (double)n * FLT_EPSILON);
}

static const int64_t shapes[][2] = { { 1, 1 },    { 5, 9 },     { 16, 16 },
                                     { 37, 20 },  { 100, 100 }, { 16, 40 },
                                     { 129, 33 }, { 512, 100 }, { 400, 3 } };

/* Q R = A column by column, and Q^T A = R. */
static void check_geqrt(const struct bd_block_kernels *k, int64_t m, int64_t n)
{
    int64_t ld = padded(m);
    float *a = random_block(m, n), *v = copy(a, ld * n), *t = floats(8 * (n + 8));
    float *work = floats(bd_kernel_work(m, n)), *qta = copy(a, ld * n);
    k->geqrt(m, n, v, ld, t, work);
    float *r = copy(v, ld * n);
    clear_below(r, ld, n, ld);
    k->gemqrt(1, m, n, n, v, ld, t, qta, ld, work);
    for (int64_t j = 0; j < n; j++) {
        double e[2] = { 0 };
        add_errors(r + j * ld, qta + j * ld, m, e);
        assert_small(e, n);
    }
    k->gemqrt(0, m, n, n, v, ld, t, r, ld, work);
    for (int64_t j = 0; j < n; j++) {
        double e[2] = { 0 };
        add_errors(a + j * ld, r + j * ld, m, e);
        assert_small(e, n);
    }
    float *all[] = { a, v, t, work, qta, r };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* Q [R; 0] = [R0; B] and R is the same without reflectors. */
static void check_tpqrt(const struct bd_block_kernels *k, int64_t m, int64_t n)
{
    int64_t ld = padded(m), ldr = padded(n);
    float *b = random_block(m, n), *v = copy(b, ld * n), *spoilt = copy(b, ld * n);
    float *r0 = random_block(n, n), *t = floats(8 * (n + 8)), *work = floats(bd_kernel_work(m, n));
    clear_below(r0, n, n, ldr);
    float *r = copy(r0, ldr * n), *only_r = copy(r0, ldr * n), *c = floats(ld * n);
    k->tpqrt(m, n, r, ldr, v, ld, t, work);
    k->tpqrt(m, n, only_r, ldr, spoilt, ld, NULL, work);
    assert_memory_equal(r, only_r, (size_t)(ldr * n) * sizeof *r);
    k->tpmqrt(0, m, n, n, v, ld, t, r, ldr, c, ld, work);
    for (int64_t j = 0; j < n; j++) {
        double e[2] = { 0 };
        add_errors(r0 + j * ldr, r + j * ldr, n, e);
        add_errors(b + j * ld, c + j * ld, m, e);
        assert_small(e, n);
    }
    /* And back: Q^T [R0; B] = [R; 0]. */
    k->tpmqrt(1, m, n, n, v, ld, t, r, ldr, c, ld, work);
    for (int64_t j = 0; j < n; j++) {
        double e[2] = { 0 };
        add_errors(only_r + j * ldr, r + j * ldr, n, e);
        for (int64_t i = 0; i < m; i++)
            e[0] += (double)c[i + j * ld] * c[i + j * ld];
        assert_small(e, n);
    }
    float *all[] = { b, v, spoilt, r0, t, work, r, only_r, c };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void test_qr(void **state)
{
    enum bd_isa list[BD_ISA_COUNT];
    int count = bd_isa_list(list);
    (void)state;
    assert_ptr_equal(bd_kernels_of(list[0]), bd_kernels());
    for (int v = 0; v < count; v++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            seed = i;
            check_geqrt(bd_kernels_of(list[v])->block, shapes[i][0], shapes[i][1]);
            check_tpqrt(bd_kernels_of(list[v])->block, shapes[i][0], shapes[i][1]);
        }
}

/* Any size, rows past m untouched. */
static void check_gemm(const struct bd_block_kernels *kernels, int64_t m, int64_t n, int64_t k)
{
    float *a = floats((m + 3) * k), *b = floats((k + 1) * n), *c = floats((m + 2) * n);
    for (int64_t i = 0; i < (m + 3) * k; i++)
        a[i] = (float)signed_uniform(&seed);
    for (int64_t i = 0; i < (k + 1) * n; i++)
        b[i] = (float)signed_uniform(&seed);
    for (int64_t i = 0; i < (m + 2) * n; i++)
        c[i] = 99;
    kernels->gemm(m, n, k, a, m + 3, b, k + 1, c, m + 2);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m + 2; i++) {
            double want = i < m ? 0 : 99, size = 1e-30;
            for (int64_t p = 0; p < k && i < m; p++) {
                want += (double)a[i + p * (m + 3)] * b[p + j * (k + 1)];
                size += fabs((double)a[i + p * (m + 3)] * b[p + j * (k + 1)]);
            }
            assert_true(fabs(c[i + j * (m + 2)] - want) <= (double)k * FLT_EPSILON * size);
        }
    free(a);
    free(b);
    free(c);
}

static void test_gemm(void **state)
{
    static const int64_t sizes[][3] = { { 1, 1, 1 },   { 47, 9, 5 },    { 48, 8, 100 },
                                        { 113, 7, 3 }, { 512, 33, 40 }, { 15, 100, 100 } };
    enum bd_isa list[BD_ISA_COUNT];
    int count = bd_isa_list(list);
    (void)state;
    for (int v = 0; v < count; v++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            seed = i;
            check_gemm(bd_kernels_of(list[v])->block, sizes[i][0], sizes[i][1], sizes[i][2]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_qr),
        cmocka_unit_test(test_gemm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
