/* How wrong a QR factorisation is, measured in float64 on the host: columns of m floats one after
 * the other. Include <cmocka.h> and what it needs first. */
#ifndef BD_TESTS_SUPPORT_QR_ERRORS_H
#define BD_TESTS_SUPPORT_QR_ERRORS_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* x . y, in partial sums that compilers vectorise. */
static inline double dot(const float *x, const float *y, int64_t m)
{
    double sum[8] = { 0 }, total = 0;
    int64_t i = 0;
    for (; i + 8 <= m; i += 8)
        for (int k = 0; k < 8; k++)
            sum[k] += (double)x[i + k] * y[i + k];
    for (; i < m; i++)
        total += (double)x[i] * y[i];
    for (int k = 0; k < 8; k++)
        total += sum[k];
    return total;
}

static inline double norm(const float *a, int64_t count)
{
    return sqrt(dot(a, a, count));
}

/* ||a - b||_F over columns of m rows: the largest by column, relative to that column of a. */
static inline double column_error(const float *a, const float *b, int64_t m, int64_t n)
{
    double worst = 0;
    for (int64_t j = 0; j < n; j++) {
        double sum = 0, size = norm(a + j * m, m);
        for (int64_t i = 0; i < m; i++) {
            double d = (double)a[i + j * m] - b[i + j * m];
            sum += d * d;
        }
        double error = sum == 0 ? 0 : sqrt(sum) / size;
        if (!(error <= worst))
            worst = isnan(error) ? INFINITY : error;
    }
    return worst;
}

/* Q R, rounded to float (far below what is tested). */
static inline float *product(const float *q, const float *r, int64_t m, int64_t n)
{
    float *out = malloc((size_t)(m * n) * sizeof *out);
    double *column = malloc((size_t)m * sizeof *column);
    assert_non_null(out);
    assert_non_null(column);
    for (int64_t j = 0; j < n; j++) {
        memset(column, 0, (size_t)m * sizeof *column);
        for (int64_t k = 0; k <= j; k++)
            for (int64_t i = 0; i < m; i++)
                column[i] += (double)q[i + k * m] * r[k + j * n];
        for (int64_t i = 0; i < m; i++)
            out[i + j * m] = (float)column[i];
    }
    free(column);
    return out;
}

/* ||Q^T Q - I||_F */
static inline double departure(const float *q, int64_t m, int64_t n)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j; i++) {
            double d = dot(q + i * m, q + j * m, m) - (i == j);
            sum += (i == j ? 1 : 2) * d * d;
        }
    return sqrt(sum);
}

/* The largest |R^T R - A^T A| relative to the norms of the two columns. */
static inline double gram_error(const float *a, const float *r, int64_t m, int64_t n)
{
    double worst = 0, *norms = malloc((size_t)n * sizeof *norms);
    assert_non_null(norms);
    for (int64_t j = 0; j < n; j++) {
        norms[j] = norm(a + j * m, m);
        for (int64_t i = 0; i <= j; i++) {
            double error = fabs(dot(a + i * m, a + j * m, m) - dot(r + i * n, r + j * n, i + 1));
            double size = norms[i] * norms[j];
            if (!(error <= worst * size))
                worst = isnan(error) ? INFINITY : error / size;
        }
    }
    free(norms);
    return worst;
}

static inline void assert_upper(const float *r, int64_t n)
{
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j + 1; i < n; i++)
            assert_true(r[i + j * n] == 0);
}

#endif
