/* For tests of the LAPACK drop-in: float32 matrices, float64 references, and an XERBLA that records
 * what it was told. Column-major, ld as given. */
#ifndef BD_TESTS_LAPACK_CHECK_H
#define BD_TESTS_LAPACK_CHECK_H

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lapack/names.h"
#include "tests/support/norm.h"
#include "tests/support/random.h"

/* What XERBLA was told last; the program's XERBLA is the one that the drop-in must call. */
static char told_name[16] __attribute__((unused));
static int told_argument, told_times;

void xerbla_(const char *name, const int32_t *argument, size_t length);
void xerbla_(const char *name, const int32_t *argument, size_t length)
{
    const size_t size = length < sizeof told_name ? length : sizeof told_name - 1;
    memcpy(told_name, name, size);
    told_name[size] = 0;
    told_argument = *argument;
    told_times++;
}

static inline void forget(void)
{
    told_name[0] = 0;
    told_argument = told_times = 0;
}

/* -0.5 to 0.5, the same in every run. */
static uint32_t random_state = 1;
static inline float random_float(void)
{
    return (float)random_bits(&random_state) * 0x1p-24F - 0.5F;
}

static inline float *new_floats(int64_t count)
{
    float *x = calloc((size_t)(count > 0 ? count : 1), sizeof *x);
    assert_non_null(x);
    return x;
}

static inline double *new_doubles(int64_t count)
{
    double *x = calloc((size_t)(count > 0 ? count : 1), sizeof *x);
    assert_non_null(x);
    return x;
}

static inline float *new_random(int64_t count)
{
    float *x = new_floats(count);
    for (int64_t i = 0; i < count; i++)
        x[i] = random_float();
    return x;
}

static inline float *new_copy(const float *from, int64_t count)
{
    float *x = new_floats(count);
    memcpy(x, from, (size_t)count * sizeof *x);
    return x;
}

/* C (m x n) := H_1 ... H_k C or its transpose, in float64; V's reflectors in float32. */
static inline void apply64(int transposed, int64_t m, int64_t n, int64_t k, const float *v,
                           int64_t ldv, const float *tau, double *c, int64_t ldc)
{
    for (int64_t i = 0; i < k; i++) {
        const int64_t p = transposed ? i : k - 1 - i;
        for (int64_t j = 0; j < n; j++) {
            double sum = c[p + j * ldc];
            for (int64_t r = p + 1; r < m; r++)
                sum += v[r + p * ldv] * c[r + j * ldc];
            sum *= tau[p];
            c[p + j * ldc] -= sum;
            for (int64_t r = p + 1; r < m; r++)
                c[r + j * ldc] -= sum * v[r + p * ldv];
        }
    }
}

/* ||Q^T Q - I||_F of a float64 Q (m x n). */
static inline double orthogonality64(int64_t m, int64_t n, const double *q, int64_t ld)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t p = 0; p <= j; p++) {
            double dot = 0;
            for (int64_t i = 0; i < m; i++)
                dot += q[i + p * ld] * q[i + j * ld];
            dot -= p == j;
            sum += (p == j ? 1 : 2) * dot * dot;
        }
    return sqrt(sum);
}

/* Bounds, in roundings of float32: of ||A - Q R||_F / ||A||_F for each column's norm, and of
 * ||Q^T Q - I||_F, where Q is what the reflectors say in float64. */
static inline double residual_bound(int64_t n)
{
    return (6 + 1.5 * sqrt((double)n)) * FLT_EPSILON;
}

static inline double orthogonality_bound(int64_t n)
{
    return (6 + (double)n) * FLT_EPSILON;
}

/* Column norms of A - Q R against those of A: graded matrices are not judged by their largest. */
static inline void check_residual(int64_t m, int64_t n, const float *a, int64_t lda, const float *f,
                                  int64_t ldf, const float *tau)
{
    const int64_t k = m < n ? m : n;
    double *qr = new_doubles(m * n);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j && i < m; i++)
            qr[i + j * m] = f[i + j * ldf];
    apply64(0, m, n, k, f, ldf, tau, qr, m);
    for (int64_t j = 0; j < n; j++) {
        double error = 0, norm = norm64(m, 1, a + j * lda, lda);
        for (int64_t i = 0; i < m; i++) {
            const double d = qr[i + j * m] - a[i + j * lda];
            error += d * d;
        }
        /* What is denormal is not rounded relative to itself. */
        const double bound = residual_bound(n) * norm + 4 * sqrt((double)(m * n)) * 0x1p-149;
        if (!(sqrt(error) <= bound))
            fail_msg("%lld x %lld: column %lld of A - Q R has norm %g, A's %g", (long long)m,
                     (long long)n, (long long)j, sqrt(error), norm);
    }
    free(qr);
}

#endif
