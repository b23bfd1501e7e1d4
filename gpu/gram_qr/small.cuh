/* Private to gpu/gram_qr, gpu/triangular and gpu/qr: the parts of making R^ (plan.h) from the
 * scaled Gram matrix, by one thread block. Matrices are n x n float64 in shared or global
 * memory, ld apart, and element (i, j) is a[i * ld + j]. */
#ifndef BD_GPU_GRAM_QR_SMALL_CUH
#define BD_GPU_GRAM_QR_SMALL_CUH

#include <float.h>

#include <cstdint>

#include "gpu/core/inverse.cuh"
#include "gpu/gram_qr/plan.h"

/* 1 / sqrt(x) of a float, to 22 bits. */
static __device__ __forceinline__ float gram_inverse_root(float x)
{
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* 1 / sqrt(x) of a double, to 6 digits. */
static __device__ __forceinline__ double gram_rough_inverse_root(double x)
{
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    return y;
}

static __device__ __forceinline__ double gram_root(double x)
{
    return x > 1e-280 && x < 1e280 ? x * gram_inverse_root(x) : sqrt(x);
}

static __device__ __forceinline__ double gram_sum_warp(double x)
{
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        x += __shfl_xor_sync(~0u, x, step);
    return x;
}

/* Whether a G with this element on its diagonal is unusable. */
static __device__ __forceinline__ bool gram_is_bad(double square)
{
    return !(square >= 0x1p-900 && square <= 0x1p1000);
}

/* Whether a scaled G is so near to I that its condition number needs no estimate, where apart =
 * ||G - I||_F^2; and the most that the condition number then is: no eigenvalue is farther from 1
 * than the root of `apart`. */
static __device__ __forceinline__ bool gram_is_near(double apart)
{
    return apart < 1.0 / 9;
}

static __device__ __forceinline__ double gram_near_condition(double apart)
{
    const double far = gram_root(apart);
    return (1 + far) * gram_inverse(1 - far);
}

/* Whether R^ of Cholesky may differ from that of the SVD, because an eigenvalue is to be clamped
 * to the lower bound. The estimate is seldom below a tenth of the condition number of R^, so its
 * square is not below a hundredth. */
static __device__ __forceinline__ bool gram_needs_clamp(double condition, int n)
{
    return !(condition * 1e4 * n * DBL_EPSILON < 1);
}

/* Whether the product of V by T is in float32, and, for gram_cut, the condition number of R^ and
 * what T may lose by it. */
static __device__ __forceinline__ bool gram_is_single(double condition, bool mixed)
{
    return mixed && condition >= 1 / DBL_EPSILON;
}

static __device__ __forceinline__ double gram_kappa(double condition, int n)
{
    /* what was clamped, or broken off, has this at most */
    return gram_root(fmin(condition, gram_inverse(n) / DBL_EPSILON));
}

static __device__ __forceinline__ double gram_tau(bool single)
{
    return single ? 0x1.6a09e667f3bcdp-12 : 0x1p-26; /* epsilon^1/2 */
}

/* The greatest power of 2 that is not above x, 2^-1000 < x < 2^1000, and its inverse. */
static __device__ __forceinline__ double gram_power(double x)
{
    return __longlong_as_double(__double_as_longlong(x) & 0x7ff0000000000000);
}

static __device__ __forceinline__ double gram_power_inverse(double x)
{
    return __longlong_as_double(0x7fe0000000000000 -
                                (__double_as_longlong(x) & 0x7ff0000000000000));
}

/* The factor that undoes what gram_repair did to a column. */
static __device__ __forceinline__ double gram_undone(int exponent)
{
    return exponent == bd_gram_fill ? 0.0 : exponent ? scalbn(1.0, -exponent) : 1.0;
}

/* The record in the form of the table. */
static inline __host__ __device__ struct bd_gram_qr_pass
gram_pass_of(const struct gram_record &record)
{
    return { record.orthogonality, record.condition,   record.truncated,
             record.failed != 0,   record.single != 0, record.skipped != 0 };
}

/* Writes the record of a pass, by one thread; the host waits for its number. */
static __device__ __forceinline__ void gram_write(struct gram_record *out,
                                                  const struct gram_record &record, int number)
{
    *out = record;
    __threadfence_system();
    *(volatile int *)&out->number = number;
}

/* Two pivots of Cholesky, of rows k and k + 1 of what is left, and how many of them are
 * positive. First row k + 1 loses `share` times row k. */
struct gram_pivots {
    int positive;
    double first, second, by_first, by_second, share;
};

/* Of [first side; side below], what is left of the two rows and columns. */
static __device__ __forceinline__ struct gram_pivots gram_pivots_of(double first, double side,
                                                                    double below, double floor)
{
    const double least = 0x1p-200; /* of 1 on the diagonal */
    struct gram_pivots p;
    p.first = floor > 0 ? fmax(first, floor) : first;
    /* the determinant of both rows: the second inverse need not wait for the first */
    double both = fma(p.first, below, -side * side);
    if (floor > 0)
        both = fmax(both, floor * p.first);
    p.by_first = gram_inverse(p.first);
    p.by_second = p.first * gram_inverse(both);
    p.second = both * p.by_first;
    p.share = side * p.by_first;
    p.positive = p.first > least ? 1 + (both > least * p.first) : 0;
    return p;
}

/* The same of rows k and k + 1 of a; if k is the last row, `second` means nothing. */
static __device__ __forceinline__ struct gram_pivots gram_two_pivots(const double *a, int ld, int n,
                                                                     int k, double floor)
{
    const int next = min(k + 1, n - 1);
    return gram_pivots_of(a[k * ld + k], a[k * ld + next], a[next * ld + next], floor);
}

#endif
