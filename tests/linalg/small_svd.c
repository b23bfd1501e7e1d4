/* The SVD of small triangular matrices and thresholding by it, on every backend, in float64. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "linalg/shared/svd_ops.h"
#include "tests/support/quick.h"
#include "tests/support/random.h"
#include <backdrop/small_svd.h>

/* The backends that can be opened on this machine. */
#define FOR_EACH_BACKEND(name)                                                                \
    for (const char *const *list = bd_backend_names(), *name; (name = *list) != NULL; list++) \
        if (usable(name))

enum { pad = 3 };

struct problem {
    struct bd_backend *backend;
    struct bd_small_svd *svd;
    int64_t n;
    float *r, *v, *w, *sigma; /* on the host, tight */
    struct bd_matrix mr, mv, mw;
    uint64_t seed;
};

static int usable(const char *name)
{
    struct bd_backend *backend = NULL;
    enum bd_status status = bd_backend_open(&backend, name, 1);
    if (status == BD_ERROR_UNSUPPORTED)
        print_message("%s: skipped: %s\n", name, bd_error_detail());
    else
        assert_int_equal(status, BD_OK);
    if (status == BD_OK)
        bd_backend_close(&backend);
    return status == BD_OK;
}

/* Zeros; the test ends where there is no memory. */
static void *zeros(int64_t count, size_t size)
{
    void *memory = calloc((size_t)count, size);
    if (!memory)
        abort();
    return memory;
}

static void open_problem(struct problem *p, const char *backend, int64_t n)
{
    memset(p, 0, sizeof *p);
    p->n = n;
    p->seed = 99 + (uint64_t)n;
    p->r = zeros(n * n, sizeof(float));
    p->v = zeros(n * n, sizeof(float));
    p->w = zeros(n * n, sizeof(float));
    p->sigma = zeros(n, sizeof(float));
    assert_int_equal(bd_backend_open(&p->backend, backend, 1), BD_OK);
    assert_int_equal(bd_small_svd_create(&p->svd, p->backend, n), BD_OK);
    assert_int_equal(bd_matrix_create(p->backend, &p->mr, n + pad, n, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_create(p->backend, &p->mv, n + pad, n, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_create(p->backend, &p->mw, n + pad, n, BD_F32), BD_OK);
    p->mr.rows = p->mv.rows = p->mw.rows = n;
}

static void close_problem(struct problem *p)
{
    bd_matrix_destroy(p->backend, &p->mr);
    bd_matrix_destroy(p->backend, &p->mv);
    bd_matrix_destroy(p->backend, &p->mw);
    bd_small_svd_destroy(&p->svd);
    assert_null(p->svd);
    bd_backend_close(&p->backend);
    free(p->r);
    free(p->v);
    free(p->w);
    free(p->sigma);
}

static enum bd_status compute(struct problem *p)
{
    assert_int_equal(bd_matrix_upload(p->backend, &p->mr, p->r, p->n), BD_OK);
    enum bd_status status = bd_small_svd_compute(p->svd, p->sigma, &p->mv, &p->mr);
    if (status == BD_OK)
        assert_int_equal(bd_matrix_download(p->backend, p->v, p->n, &p->mv), BD_OK);
    return status;
}

static double inner(int64_t n, const double *x, const double *y)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++)
        s += x[i] * y[i];
    return s;
}

/* y (n x n) := R V, tight float64. */
static void multiply(const struct problem *p, double *y)
{
    int64_t n = p->n;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            double s = 0;
            for (int64_t l = i; l < n; l++)
                s += (double)p->r[i + l * n] * p->v[l + j * n];
            y[i + j * n] = s;
        }
}

/* V orthonormal; R V = U Sigma with U orthonormal, that is: (R V)^T (R V) = Sigma^2; descending. */
static void check_svd(const struct problem *p)
{
    int64_t n = p->n;
    double *y = zeros(n * n, sizeof *y), *v = zeros(n * n, sizeof *v);
    multiply(p, y);
    for (int64_t i = 0; i < n * n; i++)
        v[i] = p->v[i];
    double first = p->sigma[0];
    for (int64_t j = 0; j < n; j++) {
        assert_true(p->sigma[j] >= 0 && (!j || p->sigma[j] <= p->sigma[j - 1]));
        for (int64_t i = 0; i <= j; i++) {
            double skew = inner(n, v + i * n, v + j * n) - (i == j);
            assert_true(fabs(skew) <= 8 * FLT_EPSILON);
            double product = inner(n, y + i * n, y + j * n);
            if (i == j)
                assert_true(fabs(sqrt(product) - p->sigma[j]) <= 8 * FLT_EPSILON * first);
            else
                assert_true(fabs(product) <= 8 * FLT_EPSILON * first * p->sigma[i] +
                                                 8 * FLT_EPSILON * first * p->sigma[j] +
                                                 64 * FLT_EPSILON * FLT_EPSILON * first * first);
        }
    }
    free(y);
    free(v);
}

/* F F^T against W of the same threshold, which lies in p->w. */
static void check_factor(struct problem *p, double tau, int64_t rank)
{
    int64_t n = p->n;
    struct bd_matrix f, ft;
    float *hf = zeros(n * n, sizeof *hf), *hft = zeros(n * n, sizeof *hft);
    assert_int_equal(bd_matrix_create(p->backend, &f, n, n, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_create(p->backend, &ft, n, n, BD_F32), BD_OK);
    assert_int_equal(bd_small_svd_factor(p->svd, &f, &ft, tau), BD_OK);
    assert_int_equal(f.rows, n);
    assert_int_equal(f.cols, rank);
    assert_int_equal(ft.rows, rank);
    assert_int_equal(ft.cols, n);
    assert_int_equal(bd_matrix_download(p->backend, hf, n, &f), BD_OK);
    assert_int_equal(bd_matrix_download(p->backend, hft, n, &ft), BD_OK);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < rank; l++) {
                assert_true(hf[i + l * n] == hft[l + i * n]);
                sum += (double)hf[i + l * n] * hft[l + j * n];
            }
            assert_true(fabs(sum - p->w[i + j * n]) <= 8 * FLT_EPSILON);
        }
    bd_matrix_destroy(p->backend, &f);
    bd_matrix_destroy(p->backend, &ft);
    free(hf);
    free(hft);
}

/* X W for X = R against the thresholding done term by term: sum (sigma - tau) u v^T. */
static void check_weights(struct problem *p, double tau)
{
    int64_t n = p->n, rank = -1, expected = 0;
    assert_int_equal(bd_small_svd_threshold(p->svd, &p->mw, &rank, tau), BD_OK);
    assert_int_equal(bd_matrix_download(p->backend, p->w, n, &p->mw), BD_OK);
    double *y = zeros(n * n, sizeof *y), *row = zeros(n, sizeof *row);
    multiply(p, y);
    while (expected < n && p->sigma[expected] > tau)
        expected++;
    assert_true(llabs((long long)(rank - expected)) <= 1); /* sigma is rounded */
    double error = 0, scale = p->sigma[0];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double want = 0, have = 0;
            for (int64_t l = 0; l < expected; l++)
                want += y[i + l * n] * (1 - tau / p->sigma[l]) * p->v[j + l * n];
            for (int64_t l = i; l < n; l++)
                have += (double)p->r[i + l * n] * p->w[l + j * n];
            error += (want - have) * (want - have);
            assert_true(p->w[i + j * n] == p->w[j + i * n]);
        }
    assert_true(sqrt(error) <= 8 * sqrt((double)n) * FLT_EPSILON * scale);
    check_factor(p, tau, rank);
    free(y);
    free(row);
}

static void check_all(struct problem *p)
{
    assert_int_equal(compute(p), BD_OK);
    check_svd(p);
    double first = p->sigma[0];
    check_weights(p, 0);
    check_weights(p, 1e-3 * first);
    check_weights(p, 0.3 * first);
    check_weights(p, 0.5 * (p->sigma[p->n / 2] + p->sigma[p->n - 1]));
    check_weights(p, 2 * first);
}

static void test_sizes(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 1, 2, 3, 7, 16, 31, 50, 64, 100, 129, 256 };
    FOR_EACH_BACKEND(name)
    {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            struct problem p;
            int64_t n = sizes[s];
            if (n > 31 && test_quick())
                continue;
            open_problem(&p, name, n);
            for (int64_t j = 0; j < n; j++)
                for (int64_t i = 0; i <= j; i++)
                    p.r[i + j * n] = (float)noise(&p.seed);
            check_all(&p);
            close_problem(&p);
        }
    }
}

/* Graded rows down to 1e-12, rank 3, one element, huge and tiny. */
static void test_hard_matrices(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        for (int kind = 0; kind < 5; kind++) {
            struct problem p;
            int64_t n = test_quick() ? 20 : 40;
            open_problem(&p, name, n);
            for (int64_t j = 0; j < n; j++)
                for (int64_t i = 0; i <= j; i++) {
                    double value = noise(&p.seed);
                    switch (kind) {
                    case 0:
                        value *= pow(10, -12.0 * (double)i / (double)n);
                        break;
                    case 1:
                        value = i < 3 ? value : 0;
                        break;
                    case 2:
                        value = i == 5 && j == 17 ? -7 : 0;
                        break;
                    case 3:
                        value *= 1e30;
                        break;
                    default:
                        value *= 1e-30;
                    }
                    p.r[i + j * n] = (float)value;
                }
            /* what is below the diagonal is none of our business */
            p.r[n - 1] = NAN;
            assert_int_equal(compute(&p), BD_OK);
            p.r[n - 1] = 0;
            check_svd(&p);
            check_weights(&p, 0.1 * p.sigma[0]);
            if (kind == 1)
                assert_true(p.sigma[3] <= 8 * FLT_EPSILON * p.sigma[0]);
            if (kind == 2)
                assert_true(fabs(p.sigma[0] - 7.0) <= 1e-6 && p.sigma[1] <= 1e-6);
            close_problem(&p);
        }
    }
}

/* R := noise, upper triangular. */
static void fill(struct problem *p)
{
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i <= j; i++)
            p->r[i + j * p->n] = (float)noise(&p->seed);
}

/* A thousand computes of an R that changes little by little, each of which may start from the V of
 * the one before: V stays orthonormal, and nothing else drifts. Most of them ask for V alone. */
static void test_slow_change(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 17, 100 };
    FOR_EACH_BACKEND(name)
    {
        for (int s = 0; s < 2; s++) {
            struct problem p;
            if (sizes[s] > 31 && test_quick())
                continue;
            open_problem(&p, name, sizes[s]);
            fill(&p);
            const int steps = test_quick() ? 5 : 1000;
            for (int step = 1; step <= steps; step++) {
                for (int64_t i = 0; i < p.n * p.n; i++)
                    p.r[i] *= (float)(1 + 0.01 * noise(&p.seed));
                assert_int_equal(bd_matrix_upload(p.backend, &p.mr, p.r, p.n), BD_OK);
                if (step % 100 && step < steps)
                    assert_int_equal(bd_small_svd_compute(p.svd, NULL, &p.mv, &p.mr), BD_OK);
                else
                    check_all(&p);
            }
            close_problem(&p);
        }
    }
}

/* One SVD after another of matrices that have nothing to do with each other. */
static void test_jumps(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 1, 2, 3, 17, 100, 192, 256, 300 };
    FOR_EACH_BACKEND(name)
    {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            struct problem p;
            int64_t n = sizes[s];
            if (n > 31 && test_quick())
                continue;
            open_problem(&p, name, n);
            for (int kind = 0; kind < 7; kind++) {
                fill(&p);
                for (int64_t j = 0; j < n; j++)
                    for (int64_t i = 0; i <= j; i++) {
                        float *x = &p.r[i + j * n];
                        if (kind == 1) /* rank n / 2 */
                            *x = i < (n + 1) / 2 ? *x : 0;
                        if (kind == 2)
                            *x = 0;
                        if (kind == 3) /* graded, as R of nearly collinear columns is */
                            *x = (float)(*x * pow(10, -5.0 * (double)i / (double)n));
                        if (kind == 4) /* one singular value, n times */
                            *x = i == j ? 3 : 0;
                        if (kind == 5) /* columns in groups of four equal ones */
                            *x = j % 4 ? i <= j / 4 * 4 ? p.r[i + j / 4 * 4 * n] : 0 : *x;
                    }
                assert_int_equal(compute(&p), BD_OK);
                check_svd(&p);
                if (kind == 4)
                    for (int64_t j = 0; j < n; j++)
                        assert_true(fabs(p.sigma[j] - 3.0) <= 8 * FLT_EPSILON);
            }
            close_problem(&p);
        }
    }
}

/* The slots: results that stay in the backend's memory are those that the host is given. */
static void test_slots(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 5, 100, 270 };
    FOR_EACH_BACKEND(name)
    {
        for (int s = 0; s < 3; s++) {
            struct problem p;
            void *work;
            int64_t n = sizes[s], ld;
            if (n > 31 && test_quick())
                continue;
            open_problem(&p, name, n);
            const struct bd_backend_ops *ops = p.backend->ops;
            float *sigma = zeros(n, sizeof *sigma), *v = zeros(n * n, sizeof *v);
            fill(&p);
            assert_int_equal(compute(&p), BD_OK);
            assert_int_equal(ops->svd->create(p.backend, n, &work), BD_OK);
            assert_int_equal(ops->svd->compute(work, p.mr.data, p.mr.ld, NULL, NULL, 0), BD_OK);
            size_t column = (size_t)n * sizeof(float);
            assert_int_equal(ops->device->download(p.backend, sigma, column, ops->svd->sigma(work),
                                                   column, column, 1),
                             BD_OK);
            const float *resident = ops->svd->v(work, &ld);
            assert_int_equal(ops->device->download(p.backend, v, column, resident,
                                                   (size_t)ld * sizeof(float), column, (size_t)n),
                             BD_OK);
            assert_memory_equal(sigma, p.sigma, column);
            assert_memory_equal(v, p.v, column * (size_t)n);

            /* without sigma, NaN in R is a failure or makes NaN; both are forgotten by the next */
            p.r[2 + 3 * n] = NAN;
            assert_int_equal(bd_matrix_upload(p.backend, &p.mr, p.r, n), BD_OK);
            enum bd_status status =
                ops->svd->compute(work, p.mr.data, p.mr.ld, NULL, p.mv.data, p.mv.ld);
            if (status == BD_OK) {
                assert_int_equal(bd_matrix_download(p.backend, p.v, n, &p.mv), BD_OK);
                for (int64_t i = 0; i < n * n; i++)
                    assert_true(isnan(p.v[i]));
            } else {
                assert_int_equal(status, BD_ERROR_NUMERIC);
            }
            p.r[2 + 3 * n] = 1;
            assert_int_equal(bd_matrix_upload(p.backend, &p.mr, p.r, n), BD_OK);
            assert_int_equal(
                ops->svd->compute(work, p.mr.data, p.mr.ld, p.sigma, p.mv.data, p.mv.ld), BD_OK);
            assert_int_equal(bd_matrix_download(p.backend, p.v, n, &p.mv), BD_OK);
            check_svd(&p);
            ops->svd->destroy(work);
            free(sigma);
            free(v);
            close_problem(&p);
        }
    }
}

static void test_zero(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        struct problem p;
        open_problem(&p, name, 10);
        assert_int_equal(compute(&p), BD_OK);
        check_svd(&p);
        for (int tau = 0; tau <= 1; tau++) {
            int64_t rank = -1;
            assert_int_equal(bd_small_svd_threshold(p.svd, &p.mw, &rank, tau), BD_OK);
            assert_int_equal(rank, 0);
            assert_int_equal(bd_matrix_download(p.backend, p.w, 10, &p.mw), BD_OK);
            for (int i = 0; i < 100; i++)
                assert_true(p.w[i] == 0);
        }
        close_problem(&p);
    }
}

static void test_not_finite(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        static const float values[] = { NAN, INFINITY, -INFINITY };
        for (int i = 0; i < 3; i++) {
            struct problem p;
            open_problem(&p, name, 12);
            p.r[0] = 1;
            assert_int_equal(compute(&p), BD_OK);
            p.r[3 + 12 * 7] = values[i];
            assert_int_equal(compute(&p), BD_ERROR_NUMERIC);
            assert_int_equal(bd_small_svd_threshold(p.svd, &p.mw, NULL, 1), BD_ERROR_ARGUMENT);
            close_problem(&p);
        }
    }
}

static void test_bad_arguments(void **state)
{
    (void)state;
    struct problem p;
    struct bd_small_svd *svd;
    open_problem(&p, "cpu", 6);
    assert_int_equal(bd_small_svd_create(&svd, p.backend, 0), BD_ERROR_ARGUMENT);
    assert_null(svd);
    assert_int_equal(bd_small_svd_create(&svd, p.backend, 4097), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_small_svd_threshold(p.svd, &p.mw, NULL, 1), BD_ERROR_ARGUMENT);
    assert_int_equal(compute(&p), BD_OK);
    assert_int_equal(bd_small_svd_threshold(p.svd, &p.mw, NULL, -1), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_small_svd_threshold(p.svd, &p.mw, NULL, NAN), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_small_svd_threshold(p.svd, NULL, NULL, 1), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_small_svd_factor(p.svd, NULL, &p.mw, 1), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_small_svd_factor(p.svd, &p.mw, &p.mv, -1), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_small_svd_compute(p.svd, p.sigma, &p.mv, NULL), BD_ERROR_ARGUMENT);
    struct bd_matrix bad = p.mr;
    bad.cols = 5;
    assert_int_equal(bd_small_svd_compute(p.svd, p.sigma, &p.mv, &bad), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_small_svd_compute(p.svd, p.sigma, &bad, &p.mr), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_small_svd_threshold(p.svd, &bad, NULL, 1), BD_ERROR_ARGUMENT);
    bad = p.mr;
    bad.type = BD_U8;
    assert_int_equal(bd_small_svd_compute(p.svd, p.sigma, &p.mv, &bad), BD_ERROR_ARGUMENT);
    close_problem(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),       cmocka_unit_test(test_hard_matrices),
        cmocka_unit_test(test_slow_change), cmocka_unit_test(test_jumps),
        cmocka_unit_test(test_slots),       cmocka_unit_test(test_zero),
        cmocka_unit_test(test_not_finite),  cmocka_unit_test(test_bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
