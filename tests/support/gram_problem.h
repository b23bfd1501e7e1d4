/* QR by the Gram matrix in tests: matrices of the papers, a run on a backend, and what is wrong
 * with the result, in long double on the host. Include <cmocka.h> and what it needs first. */
#ifndef BD_TESTS_SUPPORT_GRAM_PROBLEM_H
#define BD_TESTS_SUPPORT_GRAM_PROBLEM_H

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <backdrop/gram_qr.h>

#include "tests/support/random.h"

static inline double *new_doubles(int64_t count)
{
    double *data = calloc(count > 0 ? (size_t)count : 1, sizeof *data);
    assert_non_null(data);
    return data;
}

/* m x n in -1 .. 1. */
static inline double *random_matrix(int64_t m, int64_t n, uint64_t seed)
{
    double *a = new_doubles(m * n);
    for (int64_t i = 0; i < m * n; i++)
        a[i] = signed_uniform(&seed);
    return a;
}

/* Figure 2 of Yamazaki, Tomov, Dongarra: every third column is nearly the mean of the two before.
 */
static inline double *dependent_matrix(int64_t m, int64_t n)
{
    uint64_t seed = 2;
    double *a = new_doubles(m * n);
    for (int64_t i = 0; i < m * n; i++)
        a[i] = uniform(&seed);
    for (int64_t j = 2; j < n; j += 3)
        for (int64_t i = 0; i < m; i++)
            a[i + j * m] =
                a[i + j * m] * DBL_EPSILON + (a[i + (j - 1) * m] + a[i + (j - 2) * m]) / 2;
    return a;
}

static inline double *hilbert_matrix(int64_t n)
{
    double *a = new_doubles(n * n);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            a[i + j * n] = 1.0 / (double)(i + j + 1);
    return a;
}

/* 1^T above a diagonal of random numbers times epsilon^3: n + 1 x n. */
static inline double *synthetic_matrix(int64_t n)
{
    uint64_t seed = 3;
    double *a = new_doubles((n + 1) * n);
    for (int64_t j = 0; j < n; j++) {
        a[j * (n + 1)] = 1;
        a[j + 1 + j * (n + 1)] = uniform(&seed) * DBL_EPSILON * DBL_EPSILON * DBL_EPSILON;
    }
    return a;
}

/* 1, A 1, A^2 1 ... with A the Laplacian of a side x side grid, scaled to a diagonal of 1. */
static inline double *krylov_matrix(int64_t side, int64_t n)
{
    int64_t m = side * side;
    double *a = new_doubles(m * n);
    for (int64_t i = 0; i < m; i++)
        a[i] = 1;
    for (int64_t j = 1; j < n; j++)
        for (int64_t y = 0; y < side; y++)
            for (int64_t x = 0; x < side; x++) {
                const double *v = a + (j - 1) * m + x + y * side;
                double sum = (x ? v[-1] : 0) + (x + 1 < side ? v[1] : 0) + (y ? v[-side] : 0) +
                             (y + 1 < side ? v[side] : 0);
                a[j * m + x + y * side] = v[0] - sum / 4;
            }
    return a;
}

/* Random with singular values from 1 to 1 / condition in even steps of their logarithms: products
 * of reflections on both sides. */
static inline double *conditioned_matrix(int64_t m, int64_t n, double condition, uint64_t seed)
{
    double *a = new_doubles(m * n), *u = new_doubles(m), *w = new_doubles(n);
    for (int64_t j = 0; j < n; j++)
        a[j + j * m] = n > 1 ? pow(condition, -(double)j / (double)(n - 1)) : 1;
    for (int round = 0; round < 3; round++) {
        double uu = 0, ww = 0;
        for (int64_t i = 0; i < m; i++)
            u[i] = uniform(&seed) - 0.5, uu += u[i] * u[i];
        for (int64_t j = 0; j < n; j++)
            w[j] = uniform(&seed) - 0.5, ww += w[j] * w[j];
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t i = 0; i < m; i++)
                sum += u[i] * a[i + j * m];
            for (int64_t i = 0; i < m; i++)
                a[i + j * m] -= 2 * sum / uu * u[i];
        }
        for (int64_t i = 0; i < m; i++) {
            double sum = 0;
            for (int64_t j = 0; j < n; j++)
                sum += w[j] * a[i + j * m];
            for (int64_t j = 0; j < n; j++)
                a[i + j * m] -= 2 * sum / ww * w[j];
        }
    }
    free(u);
    free(w);
    return a;
}

/* A matrix of the backend with padding below its columns that must stay as it is. */
static inline void upload(struct bd_backend *backend, struct bd_matrix *matrix, const double *a,
                          int64_t rows, int64_t cols, int64_t lda, enum bd_type type)
{
    assert_int_equal(bd_matrix_create(backend, matrix, rows, cols, type), BD_OK);
    float *single = malloc((size_t)(lda * cols + 1) * sizeof *single);
    assert_non_null(single);
    for (int64_t j = 0; type == BD_F32 && j < cols; j++)
        for (int64_t i = 0; i < rows; i++)
            single[i + j * lda] = (float)a[i + j * lda];
    assert_int_equal(
        bd_matrix_upload(backend, matrix, type == BD_F32 ? (const void *)single : a, lda), BD_OK);
    free(single);
}

static inline void download(struct bd_backend *backend, double *a, int64_t lda,
                            const struct bd_matrix *matrix)
{
    int64_t rows = matrix->rows;
    if (matrix->type == BD_F64) {
        assert_int_equal(bd_matrix_download(backend, a, lda, matrix), BD_OK);
        return;
    }
    float *single = malloc((size_t)(rows * matrix->cols + 1) * sizeof *single);
    assert_non_null(single);
    assert_int_equal(bd_matrix_download(backend, single, rows ? rows : 1, matrix), BD_OK);
    for (int64_t j = 0; j < matrix->cols; j++)
        for (int64_t i = 0; i < rows; i++)
            a[i + j * lda] = (double)single[i + j * rows];
    free(single);
}

struct outcome {
    enum bd_status status;
    struct bd_gram_qr_report report;
    double *q, *r;        /* m x n, n x n; the caller frees them */
    double orthogonality; /* ||Q^T Q - I||_F */
    double residual;      /* the largest ||V - Q R|| by column, relative to that column of V */
};

static inline void measure(struct outcome *out, const double *a, int64_t m, int64_t n)
{
    long double sum = 0;
    out->residual = 0;
    for (int64_t j = 0; j < n; j++) {
        long double error = 0, size = 0;
        for (int64_t i = 0; i <= j; i++) {
            long double d = -(i == j);
            for (int64_t k = 0; k < m; k++)
                d += (long double)out->q[k + i * m] * out->q[k + j * m];
            sum += (i == j ? 1 : 2) * d * d;
        }
        for (int64_t k = 0; k < m; k++) {
            long double d = a[k + j * m];
            size += d * d;
            for (int64_t i = 0; i <= j; i++)
                d -= (long double)out->q[k + i * m] * out->r[i + j * n];
            error += d * d;
        }
        double relative = error == 0 ? 0 : (double)sqrtl(error / size);
        if (!(relative <= out->residual))
            out->residual = isnan(relative) ? INFINITY : relative;
        for (int64_t i = j + 1; i < n; i++)
            assert_true(out->r[i + j * n] == 0);
        assert_true(out->r[j + j * n] >= 0);
    }
    out->orthogonality = isnan(sum) ? INFINITY : (double)sqrtl(sum);
}

/* V = a (m x n, rounded to float32 for BD_F32, in place) as blocks of rows. */
static inline struct outcome run_blocks(struct bd_backend *const *backends, const int64_t *rows,
                                        int blocks, double *a, int64_t n, enum bd_type type,
                                        const struct bd_gram_qr_options *options)
{
    struct outcome out = { .status = BD_OK };
    struct bd_matrix v[4], r;
    struct bd_gram_qr *qr;
    int64_t m = 0;
    for (int b = 0; b < blocks; b++)
        m += rows[b];
    for (int64_t i = 0; i < m * n && type == BD_F32; i++)
        a[i] = (double)(float)a[i];
    out.status = bd_gram_qr_create(&qr, backends, rows, blocks, n, type, options);
    if (out.status != BD_OK)
        return out;
    out.q = new_doubles(m * n);
    out.r = new_doubles(n * n);
    for (int64_t first = 0, b = 0; b < blocks; first += rows[b++])
        upload(backends[b], &v[b], a + first, rows[b], n, m, type);
    for (int64_t i = 0; i < n * n; i++)
        out.r[i] = 7;
    upload(backends[0], &r, out.r, n, n, n, type);
    out.status = bd_gram_qr_run(qr, v, &r, &out.report);
    for (int64_t first = 0, b = 0; b < blocks; first += rows[b++]) {
        download(backends[b], out.q + first, m, &v[b]);
        bd_matrix_destroy(backends[b], &v[b]);
    }
    download(backends[0], out.r, n, &r);
    bd_matrix_destroy(backends[0], &r);
    bd_gram_qr_destroy(&qr);
    if (out.status == BD_OK)
        measure(&out, a, m, n);
    return out;
}

static inline struct outcome run_one(struct bd_backend *backend, double *a, int64_t m, int64_t n,
                                     enum bd_type type, const struct bd_gram_qr_options *options)
{
    return run_blocks(&backend, &m, 1, a, n, type, options);
}

static inline void release(struct outcome *out)
{
    free(out->q);
    free(out->r);
}

static inline double epsilon_of(enum bd_type type)
{
    return type == BD_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
}

/* Runs `test` on every backend that can be opened and has these slots. */
static inline void on_every_backend(void (*test)(struct bd_backend *backend))
{
    for (const char *const *name = bd_backend_names(); *name; name++) {
        struct bd_backend *backend = NULL;
        struct bd_triangular *probe = NULL;
        enum bd_status status = bd_backend_open(&backend, *name, 2);
        if (status == BD_OK)
            status = bd_triangular_create(&probe, backend, 8, 2, BD_F64);
        if (status == BD_ERROR_UNSUPPORTED) {
            print_message("%s is left out: %s\n", *name, bd_error_detail());
        } else {
            assert_int_equal(status, BD_OK);
            bd_triangular_destroy(&probe);
            test(backend);
        }
        bd_backend_close(&backend);
    }
}

#endif
