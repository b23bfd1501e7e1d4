#include "lapack/reflectors.h"

#include <math.h>
#include <string.h>

/* Four sums, so that additions do not depend on each other. */
static double dot(int64_t n, const float *x, const float *y)
{
    double sum[4] = { 0 };
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int p = 0; p < 4; p++)
            sum[p] += (double)x[i + p] * y[i + p];
    for (; i < n; i++)
        sum[0] += (double)x[i] * y[i];
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

float bd_reflector_make(int64_t n, float *alpha, float *x)
{
    const double square = dot(n - 1, x, x);
    if (square == 0)
        return 0;
    const double a = *alpha, beta = -copysign(sqrt(a * a + square), a), scale = 1 / (a - beta);
    for (int64_t i = 0; i < n - 1; i++)
        x[i] = (float)(x[i] * scale);
    *alpha = (float)beta;
    return (float)((beta - a) / beta);
}

void bd_reflector_apply_left(int64_t m, int64_t n, const float *v, float tau, float *c, int64_t ldc)
{
    if (tau == 0)
        return;
    for (int64_t j = 0; j < n; j++, c += ldc) {
        const double sum = (c[0] + dot(m - 1, v + 1, c + 1)) * tau;
        c[0] = (float)(c[0] - sum);
        const float weight = (float)sum;
        for (int64_t i = 1; i < m; i++)
            c[i] -= v[i] * weight;
    }
}

/* Rows are taken in blocks, so that C is read along its columns. */
void bd_reflector_apply_right(int64_t m, int64_t n, const float *v, float tau, float *c,
                              int64_t ldc)
{
    enum { ROWS = 64 };
    double sum[ROWS];
    if (tau == 0)
        return;
    for (int64_t row = 0; row < m; row += ROWS, c += ROWS) {
        const int64_t rows = m - row < ROWS ? m - row : ROWS;
        for (int64_t i = 0; i < rows; i++)
            sum[i] = c[i];
        for (int64_t j = 1; j < n; j++)
            for (int64_t i = 0; i < rows; i++)
                sum[i] += (double)v[j] * c[i + j * ldc];
        for (int64_t i = 0; i < rows; i++) {
            sum[i] *= tau;
            c[i] = (float)(c[i] - sum[i]);
        }
        for (int64_t j = 1; j < n; j++)
            for (int64_t i = 0; i < rows; i++)
                c[i + j * ldc] = (float)(c[i + j * ldc] - v[j] * sum[i]);
    }
}

void bd_reflectors_factor(int64_t m, int64_t n, float *a, int64_t lda, float *tau)
{
    const int64_t k = m < n ? m : n;
    for (int64_t j = 0; j < k; j++) {
        float *v = a + j + j * lda;
        tau[j] = bd_reflector_make(m - j, v, v + 1);
        bd_reflector_apply_left(m - j, n - j - 1, v, tau[j], v + lda, lda);
    }
}

void bd_reflectors_form(int64_t m, int64_t n, int64_t k, float *a, int64_t lda, const float *tau)
{
    for (int64_t j = k; j < n; j++) {
        memset(a + j * lda, 0, (size_t)m * sizeof *a);
        a[j + j * lda] = 1;
    }
    for (int64_t j = k - 1; j >= 0; j--) {
        float *v = a + j + j * lda;
        bd_reflector_apply_left(m - j, n - j - 1, v, tau[j], v + lda, lda);
        for (int64_t i = 1; i < m - j; i++)
            v[i] *= -tau[j];
        v[0] = 1 - tau[j];
        memset(a + j * lda, 0, (size_t)j * sizeof *a);
    }
}

void bd_reflectors_apply(int left, int transposed, int64_t m, int64_t n, int64_t k, const float *v,
                         int64_t ldv, const float *tau, float *c, int64_t ldc)
{
    /* Q^T C and C Q take H_1 first. */
    const int forward = left == transposed;
    for (int64_t i = 0; i < k; i++) {
        const int64_t j = forward ? i : k - 1 - i;
        if (left)
            bd_reflector_apply_left(m - j, n, v + j + j * ldv, tau[j], c + j, ldc);
        else
            bd_reflector_apply_right(m, n - j, v + j + j * ldv, tau[j], c + j * ldc, ldc);
    }
}
