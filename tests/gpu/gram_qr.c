/* QR by the Gram matrix on the GPU, what tests/linalg/gram_qr.c leaves out: every number of columns
 * that has code of its own, the ways of larger ones, columns at odd addresses, many rows, and
 * passes in float32. Skipped without a GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu/cuda.h"
#include "tests/gpu/open_gpu.h"
#include "tests/support/gram_problem.h"
#include "tests/support/quick.h"

static void check(const struct outcome *out, int64_t n, enum bd_type type)
{
    double unit = epsilon_of(type);
    assert_int_equal(out->status, BD_OK);
    assert_true(out->orthogonality <= (4 + 2 * (double)n) * unit);
    assert_true(out->residual <= (8 + (double)n) * unit);
}

static void test_columns(void **state)
{
    struct bd_backend *gpu = open_gpu();
    (void)state;
    for (int64_t n = 1; n <= 42; n += test_quick() ? 13 : 1) {
        const int64_t m = 130 + 3 * n;
        double *a = random_matrix(m, n, (uint64_t)n);
        for (int type = 0; type < 2; type++)
            for (int round = 0; round < 3; round++) {
                const struct bd_gram_qr_options options = {
                    .method = round ? BD_GRAM_QR_SVD : BD_GRAM_QR_CHOLESKY2,
                    .solve = (enum bd_triangular_solve)((n + round) % 3),
                    .mixed = round == 2 && type,
                };
                const enum bd_type element = type ? BD_F64 : BD_F32;
                struct outcome out = run_one(gpu, a, m, n, element, &options);
                check(&out, n, element);
                release(&out);
            }
        free(a);
    }
    bd_backend_close(&gpu);
}

/* Singular values that are clamped, and blocks of R that are inverted, of every number of columns
 * that one kernel takes, and of more: from the first pass on, where G has been rounded to any rank,
 * to an orthogonal Q. */
static void test_clamped(void **state)
{
    struct bd_backend *gpu = open_gpu();
    int64_t truncated = 0;
    (void)state;
    for (int64_t n = 3; n <= 34; n += test_quick() ? 17 : 1)
        for (int kind = 0; kind < 4; kind++) {
            const double conditions[] = { 1e4, 1e8, 1e13, 1 };
            const int64_t m = 150 + n;
            double *a = conditioned_matrix(m, n, conditions[kind], (uint64_t)n);
            for (int64_t j = n / 2; j < n && kind == 3; j++) /* twice the same, but for roundings */
                for (int64_t i = 0; i < m; i++)
                    a[i + j * m] = a[i + (j - n / 2) * m] * (1 + (double)(i % 3) * DBL_EPSILON);
            for (int solve = 0; solve < 3; solve++) {
                const struct bd_gram_qr_options options = { .method = BD_GRAM_QR_SVD,
                                                            .solve =
                                                                (enum bd_triangular_solve)solve };
                struct outcome out = run_one(gpu, a, m, n, BD_F64, &options);
                assert_int_equal(out.status, BD_OK);
                assert_true(out.orthogonality <= (4 + 4 * (double)n) * DBL_EPSILON);
                if (solve != BD_TRIANGULAR_INVERSION)
                    assert_true(out.residual <= 1e-13);
                truncated += out.report.pass[0].truncated;
                release(&out);
            }
            free(a);
        }
    assert_true(truncated > 0);
    bd_backend_close(&gpu);
}

/* By one thread block in shared memory, and by all of them; of condition 1e6 columns are solved for
 * in several blocks. */
static void test_many_columns(void **state)
{
    static const struct {
        int64_t n;
        enum bd_gram_qr_method method;
        double condition; /* 1: random */
    } cases[] = {
        { 65, BD_GRAM_QR_SVD, 1 },         { 117, BD_GRAM_QR_SVD, 1 },
        { 121, BD_GRAM_QR_SVD, 1 },        { 128, BD_GRAM_QR_CHOLESKY2, 1 },
        { 129, BD_GRAM_QR_CHOLESKY2, 1 },  { 160, BD_GRAM_QR_CHOLESKY2, 1 },
        { 201, BD_GRAM_QR_SHIFTED3, 1 },   { 256, BD_GRAM_QR_SVD, 1 },
        { 333, BD_GRAM_QR_CHOLESKY2, 1 },  { 600, BD_GRAM_QR_CHOLESKY2, 1 },
        { 140, BD_GRAM_QR_CHOLESKY, 1e6 }, { 200, BD_GRAM_QR_SVD, 1e6 },
        { 250, BD_GRAM_QR_SVD, 1e12 },     { 300, BD_GRAM_QR_CHOLESKY, 1e6 },
    };
    struct bd_backend *gpu = open_gpu();
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const int64_t n = cases[c].n, m = n + n / 8 + 3;
        if (test_quick() && n != 65 && n != 121 && n != 129 && n != 140)
            continue;
        double *a = cases[c].condition == 1
                        ? random_matrix(m, n, (uint64_t)n)
                        : conditioned_matrix(m, n, cases[c].condition, (uint64_t)n);
        const struct bd_gram_qr_options options = { .method = cases[c].method,
                                                    .solve = cases[c].condition == 1
                                                                 ? (enum bd_triangular_solve)(c % 3)
                                                                 : BD_TRIANGULAR_ADAPTIVE };
        struct outcome out = run_one(gpu, a, m, n, BD_F64, &options);
        check(&out, n, BD_F64);
        release(&out);
        free(a);
    }
    struct bd_gram_qr *qr = NULL;
    struct bd_gram_qr_options svd = { .method = BD_GRAM_QR_SVD }, cholesky = { 0 };
    const int64_t rows = 2000;
    assert_int_equal(bd_gram_qr_create(&qr, &gpu, &rows, 1, 257, BD_F64, &svd),
                     BD_ERROR_UNSUPPORTED);
    assert_int_equal(bd_gram_qr_create(&qr, &gpu, &rows, 1, 1025, BD_F64, &cholesky),
                     BD_ERROR_UNSUPPORTED);
    bd_backend_close(&gpu);
}

/* The ways that smaller GPUs have, of 163 and 99 KiB of shared memory a thread block. */
static void test_little_shared_memory(void **state)
{
    static const int64_t cols[] = { 40, 64, 100, 107, 128, 150 };
    static const int bytes[] = { 166912, 101376 };
    struct bd_backend *gpu = open_gpu();
    const int most = bd_cuda_of(gpu)->shared_most;
    (void)state;
    for (int b = 0; b < 2 && bytes[b] < most; b++)
        for (size_t c = 0; c < sizeof cols / sizeof *cols; c++)
            for (int kind = 0; kind < 3; kind++) {
                const int64_t n = cols[c], m = 3 * n + 70;
                if (test_quick() && kind != (int)c % 3)
                    continue;
                double *a = conditioned_matrix(m, n, kind == 2 ? 1e10 : 10, (uint64_t)n);
                const struct bd_gram_qr_options options = { .method = kind ? BD_GRAM_QR_SVD
                                                                           : BD_GRAM_QR_CHOLESKY2 };
                bd_cuda_of(gpu)->shared_most = bytes[b];
                struct outcome out = run_one(gpu, a, m, n, BD_F64, &options);
                check(&out, n, BD_F64);
                release(&out);
                free(a);
            }
    bd_backend_close(&gpu);
}

/* A Cholesky factorisation that breaks off, in each of its ways: R is the identity from there on,
 * and V = Q R. */
static void test_breaks_off(void **state)
{
    struct bd_backend *gpu = open_gpu();
    (void)state;
    for (int64_t n = 30; n <= 300; n += 135) { /* 30, 165, 300 */
        const int64_t m = n + 40, same = 2 * n / 3;
        if (test_quick() && n == 300)
            continue;
        double *a = random_matrix(m, n, 5);
        memcpy(a + same * m, a + 3 * m, (size_t)m * sizeof *a);
        for (int64_t i = 0; i < m; i++) /* less than the rounding of G */
            a[i + same * m] *= 1 + (double)(i % 2) * DBL_EPSILON;
        const struct bd_gram_qr_options options = { .max_passes = 1 };
        struct outcome out = run_one(gpu, a, m, n, BD_F64, &options);
        assert_int_equal(out.status, BD_OK);
        /* A pivot of rounding may be positive, if tiny. */
        if (out.report.pass[0].failed) {
            assert_true(out.r[same + same * n] == 1);
            assert_true(out.r[n - 1 + (n - 1) * n] == 1);
            assert_true(n - 2 < same || out.r[n - 2 + (n - 1) * n] == 0);
        } else {
            assert_true(out.report.pass[0].condition > 1e14);
        }
        assert_true(out.residual <= 1e-6);
        release(&out);
        free(a);
    }
    bd_backend_close(&gpu);
}

/* Columns that begin anywhere, with nothing read or written between them. */
static void test_odd_addresses(void **state)
{
    struct bd_backend *gpu = open_gpu();
    (void)state;
    for (int64_t n = 20; n <= 170; n += n == 20 ? 50 : 100) /* 20, 70, 170 */
        for (int type = 0; type < 2; type++) {
            const enum bd_type element = type ? BD_F64 : BD_F32;
            const int64_t m = 301, ld = m + 2, all = ld * n + 1;
            const struct bd_gram_qr_options options = { .method = BD_GRAM_QR_SVD };
            double *a = random_matrix(m, n, 9), *host = new_doubles(all), *back = new_doubles(all);
            struct outcome out = { .q = new_doubles(m * n), .r = new_doubles(n * n) };
            struct bd_matrix memory, v, r;
            struct bd_gram_qr *qr;
            for (int64_t i = 0; i < all; i++)
                host[i] = NAN;
            for (int64_t i = 0; i < m * n; i++) {
                a[i] = type ? a[i] : (double)(float)a[i];
                host[1 + i % m + i / m * ld] = a[i];
            }
            upload(gpu, &memory, host, all, 1, all, element);
            upload(gpu, &r, out.r, n, n, n, element);
            v = memory;
            v.rows = m, v.cols = n, v.ld = ld;
            v.data = (char *)v.data + bd_type_size(element);
            assert_int_equal(bd_gram_qr_create(&qr, &gpu, &m, 1, n, element, &options), BD_OK);
            out.status = bd_gram_qr_run(qr, &v, &r, &out.report);
            download(gpu, back, all, &memory);
            download(gpu, out.r, n, &r);
            for (int64_t i = 0; i < all; i++) {
                const int64_t row = (i + ld - 1) % ld;
                if (i == 0 || row >= m)
                    assert_true(isnan(back[i]));
                else
                    out.q[row + (i - 1) / ld * m] = back[i];
            }
            measure(&out, a, m, n);
            check(&out, n, element);
            bd_gram_qr_destroy(&qr);
            bd_matrix_destroy(gpu, &memory);
            bd_matrix_destroy(gpu, &r);
            release(&out);
            free(a);
            free(host);
            free(back);
        }
    bd_backend_close(&gpu);
}

/* Passes in float32: whole runs, one that ends with such a pass, and one that gives columns new
 * directions in between. */
static void test_mixed(void **state)
{
    struct bd_backend *gpu = open_gpu();
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        const int64_t m = test_quick() ? 700 : 40007, n = kind == 2 ? 9 : 20;
        double *a = random_matrix(m, n, 11);
        for (int64_t j = 1; j < n; j++)
            for (int64_t i = 0; i < m; i++)
                a[i + j * m] = a[i] + (kind == 2 && j > 5 ? 0 : 1e-11 * a[i + j * m]);
        struct bd_gram_qr_options options = { .method = BD_GRAM_QR_SVD,
                                              .mixed = true,
                                              .max_passes = kind == 1 };
        struct outcome out = run_one(gpu, a, m, n, BD_F64, &options);
        assert_int_equal(out.status, BD_OK);
        assert_true(out.report.pass[0].single);
        assert_true(out.residual <= 1e-5);
        if (kind != 1) {
            assert_false(out.report.pass[out.report.passes - 1].single);
            assert_true(out.orthogonality <= 20 * (double)n * DBL_EPSILON);
        } else {
            for (int64_t i = 0; i < m * n; i++)
                assert_true(out.q[i] == (double)(float)out.q[i]);
        }
        release(&out);
        free(a);
    }
    bd_backend_close(&gpu);
}

/* More rows than one launch has room for, by it, and as two blocks by a launch for each step: as
 * good and, but for roundings of G, the same. */
static void test_many_rows(void **state)
{
    static const struct {
        enum bd_gram_qr_method method;
        enum bd_type type;
        int64_t m, n;
        double condition;
    } cases[] = {
        { BD_GRAM_QR_CHOLESKY2, BD_F64, 330011, 20, 1e3 },
        { BD_GRAM_QR_SHIFTED3, BD_F64, 330011, 6, 1e11 },
        { BD_GRAM_QR_SVD, BD_F64, 330011, 12, 1e13 },
        { BD_GRAM_QR_CHOLESKY2, BD_F32, 330011, 20, 1e2 },
        { BD_GRAM_QR_CHOLESKY2, BD_F64, 90011, 41, 1e3 },
        { BD_GRAM_QR_CHOLESKY2, BD_F32, 90010, 50, 1e2 },
        { BD_GRAM_QR_CHOLESKY2, BD_F64, 50002, 97, 1e3 },
        { BD_GRAM_QR_CHOLESKY2, BD_F32, 50001, 120, 1e2 },
        { BD_GRAM_QR_CHOLESKY2, BD_F64, 9003, 250, 1e3 },
    };
    struct bd_backend *gpu = open_gpu(), *both[] = { gpu, gpu };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const int64_t m = test_quick() ? 700 : cases[c].m, n = cases[c].n,
                      rows[] = { 300, m - 300 };
        double *a = conditioned_matrix(m, n, cases[c].condition, c);
        const struct bd_gram_qr_options options = { .method = cases[c].method };
        struct outcome one = run_one(gpu, a, m, n, cases[c].type, &options);
        struct outcome two = run_blocks(both, rows, 2, a, n, cases[c].type, &options);
        check(&one, n, cases[c].type);
        check(&two, n, cases[c].type);
        assert_int_equal(one.report.passes, two.report.passes);
        assert_non_null(one.r);
        assert_non_null(two.r);
        for (int64_t j = 0; one.r && two.r && j < n; j++)
            assert_true(fabs(one.r[j + j * n] - two.r[j + j * n]) <= 1e-5 * two.r[j + j * n]);
        release(&one);
        release(&two);
        free(a);
    }
    bd_backend_close(&gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_clamped),
        cmocka_unit_test(test_many_columns),
        cmocka_unit_test(test_breaks_off),
        cmocka_unit_test(test_little_shared_memory),
        cmocka_unit_test(test_odd_addresses),
        cmocka_unit_test(test_mixed),
        cmocka_unit_test(test_many_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
