/* Residuals of what was timed, in float64 on the host. */
#include <cblas.h>
#include <inttypes.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench/bench.h"

enum { check_rows = 4096 };

/* Rows first.. of a column-major float matrix as a tight double block of `rows` rows. */
static void take_block(double *block, const float *data, int64_t ld, int64_t first, int64_t rows,
                       int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < rows; i++)
            block[i + j * rows] = (double)data[first + i + j * ld];
}

static double square_sum(const double *values, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += values[i] * values[i];
    return sum;
}

double bd_bench_gram_distance(double *g, const double *r, int64_t n)
{
    double sum = 0;
    const int k = (int)n;
    if (r)
        cblas_dsyrk(CblasColMajor, CblasUpper, CblasTrans, k, k, -1, r, k, 1, g, k);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j; i++) {
            double d = g[i + j * n] - (!r && i == j);
            sum += (i == j ? 1 : 2) * d * d;
        }
    return sqrt(sum);
}

enum bd_status bd_bench_check(double *residual, double *orthogonality, const float *a,
                              const float *q, const float *r, int64_t m, int64_t n, int64_t ld)
{
    size_t square = (size_t)(n * n), tall = (size_t)(check_rows * n);
    double *memory = calloc(2 * square + 2 * tall, sizeof *memory);
    double norm = 0, difference = 0;
    int k = (int)n;
    if (!memory)
        return bd_bench_out_of_memory();
    double *gram = memory, *rd = memory + square;
    double *block_a = memory + 2 * square, *block_q = block_a + tall;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j; i++)
            rd[i + j * n] = (double)r[i + j * n];
    for (int64_t first = 0; first < m; first += check_rows) {
        int rows = (int)(m - first < check_rows ? m - first : check_rows);
        take_block(block_a, a, ld, first, rows, n);
        norm += square_sum(block_a, rows * n);
        if (q)
            take_block(block_q, q, ld, first, rows, n);
        cblas_dsyrk(CblasColMajor, CblasUpper, CblasTrans, k, rows, 1, q ? block_q : block_a, rows,
                    1, gram, k);
        if (!q)
            continue;
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, rows, k, k, -1, block_q, rows, rd, k,
                    1, block_a, rows);
        difference += square_sum(block_a, rows * n);
    }
    double distance = bd_bench_gram_distance(gram, q ? NULL : rd, n);
    *residual = q ? sqrt(difference / norm) : distance / norm;
    *orthogonality = q ? distance : -1;
    free(memory);
    return BD_OK;
}

void bd_bench_check_svd(double *residual, double *orthogonality, const float *r, const float *sigma,
                        const float *v, int64_t n)
{
    double error = 0, skew = 0, norm = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++) {
            double gram = 0, dot = 0;
            for (int64_t k = 0; k < n; k++) {
                double s = (double)sigma[k];
                gram += (double)r[k + i * n] * (double)r[k + j * n] -
                        (double)v[i + k * n] * (double)v[j + k * n] * s * s;
                dot += (double)v[k + i * n] * (double)v[k + j * n];
            }
            error += gram * gram;
            skew += (dot - (i == j)) * (dot - (i == j));
            norm += (double)r[i + j * n] * (double)r[i + j * n];
        }
    *residual = sqrt(error) / norm;
    *orthogonality = sqrt(skew);
}

/* What follows: 2-norms of errors that are known as products. Steps of Lanczos' method at most, and
 * the relative gain by two steps below which it ends. The errors' spectra have no gap at their
 * ends: a few dozen steps come within 3 % of the norm. */
enum { most_steps = 40, least_steps = 8 };
static const double enough = 5e-4;

/* Float64 copies of what the operators are made of, tight. */
struct operands {
    double *a, *q, *r; /* m x n, m x k, n x n */
    int m, n, k;
    double *y, *z; /* m and n: between two products */
};

/* out := E in, both `size` long, E symmetric. */
typedef void operator_fn(const struct operands *x, double *out, const double *in);

static void multiply(const struct operands *x, CBLAS_TRANSPOSE op, const double *a, int cols,
                     double alpha, const double *in, double beta, double *out)
{
    cblas_dgemv(CblasColMajor, op, x->m, cols, alpha, a, x->m, in, 1, beta, out, 1);
}

/* Q^T Q - I. */
static void apply_orthogonality(const struct operands *x, double *out, const double *in)
{
    memcpy(out, in, (size_t)x->k * sizeof *out);
    multiply(x, CblasNoTrans, x->q, x->k, 1, in, 0, x->y);
    multiply(x, CblasTrans, x->q, x->k, 1, x->y, -1, out);
}

/* A^T A. */
static void apply_gram(const struct operands *x, double *out, const double *in)
{
    multiply(x, CblasNoTrans, x->a, x->n, 1, in, 0, x->y);
    multiply(x, CblasTrans, x->a, x->n, 1, x->y, 0, out);
}

static void triangle(const struct operands *x, CBLAS_TRANSPOSE op, double *z)
{
    cblas_dtrmv(CblasColMajor, CblasUpper, op, CblasNonUnit, x->n, x->r, x->n, z, 1);
}

/* (Q R - A)^T (Q R - A), of the first n columns of Q. */
static void apply_backward(const struct operands *x, double *out, const double *in)
{
    memcpy(x->z, in, (size_t)x->n * sizeof *in);
    triangle(x, CblasNoTrans, x->z);
    multiply(x, CblasNoTrans, x->q, x->n, 1, x->z, 0, x->y);
    multiply(x, CblasNoTrans, x->a, x->n, -1, in, 1, x->y);
    multiply(x, CblasTrans, x->q, x->n, 1, x->y, 0, out);
    triangle(x, CblasTrans, out);
    multiply(x, CblasTrans, x->a, x->n, -1, x->y, 1, out);
}

/* The eigenvalue of largest modulus of a tridiagonal matrix. */
static double largest(const double *diagonal, const double *beside, int n)
{
    double d[most_steps], e[most_steps];
    memcpy(d, diagonal, (size_t)n * sizeof *d);
    memcpy(e, beside, (size_t)n * sizeof *e);
    if (LAPACKE_dsterf(n, d, e))
        return NAN;
    return fmax(fabs(d[0]), fabs(d[n - 1]));
}

/* The modulus of the eigenvalue of largest modulus, from below, with reorthogonalisation: `v` has
 * room for most_steps + 1 columns of `size`. */
static double lanczos(const struct operands *x, operator_fn *apply, int size, double *v)
{
    double diagonal[most_steps], beside[most_steps], norms[most_steps], dots[most_steps];
    uint64_t state = 12345;
    for (int i = 0; i < size; i++)
        v[i] = (double)(int64_t)bd_bench_random(&state) * 0x1p-63;
    cblas_dscal(size, 1 / cblas_dnrm2(size, v, 1), v, 1);
    for (int j = 0; j < most_steps; j++) {
        double *next = v + (size_t)(j + 1) * (size_t)size;
        apply(x, next, v + (size_t)j * (size_t)size);
        diagonal[j] = cblas_ddot(size, next, 1, v + (size_t)j * (size_t)size, 1);
        for (int twice = 0; twice < 2; twice++) {
            cblas_dgemv(CblasColMajor, CblasTrans, size, j + 1, 1, v, size, next, 1, 0, dots, 1);
            cblas_dgemv(CblasColMajor, CblasNoTrans, size, j + 1, -1, v, size, dots, 1, 1, next, 1);
        }
        beside[j] = cblas_dnrm2(size, next, 1);
        norms[j] = largest(diagonal, beside, j + 1);
        if (isnan(norms[j]) || j + 1 >= size || beside[j] <= 1e-14 * norms[j] ||
            (j >= least_steps && norms[j] - norms[j - 2] <= enough * norms[j]))
            return norms[j];
        cblas_dscal(size, 1 / beside[j], next, 1);
    }
    return norms[most_steps - 1];
}

/* `count` doubles of `memory`, which moves behind them, set to floats or (NULL) not set. */
static double *take(double **memory, const float *data, int64_t count)
{
    double *wide = *memory;
    *memory += count;
    for (int64_t i = 0; data && i < count; i++)
        wide[i] = (double)data[i];
    return wide;
}

static enum bd_status out_of_memory(int64_t m, int64_t n)
{
    return bd_fail(BD_ERROR_MEMORY,
                   "out of memory for the norms of %" PRId64 " x %" PRId64 " matrices", m, n);
}

enum bd_status bd_bench_norm_orthogonality(double *norm, const float *q, int64_t m, int64_t k)
{
    double *memory = malloc((size_t)(k * (most_steps + 1) + m * k + m) * sizeof *memory),
           *at = memory;
    if (!memory)
        return out_of_memory(m, k);
    struct operands x = { .m = (int)m, .k = (int)k };
    x.q = take(&at, q, m * k);
    x.y = take(&at, NULL, m);
    *norm = lanczos(&x, apply_orthogonality, x.k, at);
    free(memory);
    return BD_OK;
}

enum bd_status bd_bench_norm_backward(double *norm, const float *a, const float *q, const float *r,
                                      int64_t m, int64_t n)
{
    const int64_t count = n * (most_steps + 1) + 2 * m * n + n * n + m + n;
    double *memory = malloc((size_t)count * sizeof *memory), *at = memory;
    if (!memory)
        return out_of_memory(m, n);
    struct operands x = { .m = (int)m, .n = (int)n, .k = (int)n };
    x.a = take(&at, a, m * n);
    x.q = take(&at, q, m * n);
    x.r = take(&at, r, n * n);
    x.y = take(&at, NULL, m);
    x.z = take(&at, NULL, n);
    *norm = sqrt(lanczos(&x, apply_backward, x.n, at) / lanczos(&x, apply_gram, x.n, at));
    free(memory);
    return BD_OK;
}
