/* Residuals of what was timed, in float64 on the host. */
#include <cblas.h>
#include <math.h>
#include <stdlib.h>

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
