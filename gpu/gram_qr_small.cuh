/* Private to gpu/gram_qr_factor.cu: the parts of making R^ (gram_qr_plan.h) from the scaled Gram
 * matrix, by one thread block. Matrices are n x n float64 in shared or global memory, ld apart, and
 * element (i, j) is a[i * ld + j]. */
#ifndef BD_GPU_GRAM_QR_SMALL_CUH
#define BD_GPU_GRAM_QR_SMALL_CUH

#include <float.h>

#include <cstdint>

#include "gpu/gram_qr_plan.h"

/* 1 / x and 1 / sqrt(x) to about an ulp for x of ordinary size, without the branches for others: x
 * is between 1e-40 and 1e6 here. */
static __device__ __forceinline__ double gram_inverse(double x)
{
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    const double e = fma(-x, y, 1.0);
    return fma(fma(e, e, e), y, y);
}

static __device__ __forceinline__ double gram_inverse_root(double x)
{
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    const double e = fma(-x * y, y, 1.0);
    return fma(y * e, fma(0.375, e, 0.5), y);
}

/* To 6 digits. */
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

/* The same for all threads of the block; `sums` is 32 doubles of shared memory. */
static __device__ __forceinline__ double gram_sum_block(double x, double *sums)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    x = gram_sum_warp(x);
    __syncthreads();
    if (lane == 0)
        sums[warp] = x;
    __syncthreads();
    return gram_sum_warp(lane < (int)blockDim.x / 32 ? sums[lane] : 0.0);
}

/* Two pivots of Cholesky, of rows k and k + 1 of what is left: 0 where the first is not positive, 1
 * where the second is not. Row k + 1 is to lose `share` times row k first. */
struct gram_pivots {
    int positive;
    double first, second, by_first, by_second, share;
};

static __device__ __forceinline__ struct gram_pivots gram_two_pivots(const double *a, int ld, int n,
                                                                     int k, double floor)
{
    struct gram_pivots p = {};
    const double least = 0x1p-200; /* of 1 on the diagonal */
    p.first = fmax(a[k * ld + k], floor);
    p.by_first = gram_inverse(p.first);
    p.positive = p.first > least;
    if (k + 1 >= n || !p.positive)
        return p;
    const double side = a[k * ld + k + 1];
    /* Of both: so that the second inverse need not wait for the first. */
    const double both = fmax(fma(p.first, a[(k + 1) * ld + k + 1], -side * side), floor * p.first);
    p.by_second = p.first * gram_inverse(both);
    p.second = both * p.by_first;
    p.share = side * p.by_first;
    p.positive += both > least * p.first;
    return p;
}

/* Cholesky: row k of a becomes row k of R, from the diagonal on, with R^T R = a; only the upper
 * triangle is used. Returns the first k whose pivot is not positive, and the rows before it are
 * those of R; n if there is none. Pivots below `floor` count as that. A step has two rows and one
 * barrier: the second of them, and what the roots of pivots divide, is made last. */
static __device__ __forceinline__ int gram_cholesky(double *a, int ld, int n, double floor)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    int end = n;
#pragma unroll 1
    for (int k = 0; k < n; k += 2) {
        __syncthreads();
        const struct gram_pivots p = gram_two_pivots(a, ld, n, k, floor);
        if (k + p.positive < min(k + 2, n)) {
            end = k + p.positive;
            break;
        }
        const double *top = a + k * ld, *low = top + ld;
#pragma unroll 1
        for (int i = k + 2 + warp; i < n; i += warps) {
            const double x = top[i] * p.by_first, y = fma(-p.share, top[i], low[i]) * p.by_second;
#pragma unroll 1
            for (int j = (i & ~31) + lane; j < n; j += 32)
                if (j >= i)
                    a[i * ld + j] -= fma(y, fma(-p.share, top[j], low[j]), x * top[j]);
        }
    }
    __syncthreads();
#pragma unroll 1
    for (int k = 2 * warp; k < end; k += 2 * warps) {
        const struct gram_pivots p = gram_two_pivots(a, ld, n, k, floor);
        const double by = gram_inverse_root(p.first);
        const double second = k + 1 < end ? gram_inverse_root(p.second) : 0;
        __syncwarp();
#pragma unroll 1
        for (int j = (k & ~31) + lane; j < n; j += 32) {
            const double x = a[k * ld + j];
            if (j >= k)
                a[k * ld + j] = (j == k ? p.first : x) * by;
            if (j > k && k + 1 < end)
                a[(k + 1) * ld + j] =
                    (j == k + 1 ? p.second : fma(-p.share, x, a[(k + 1) * ld + j])) * second;
        }
    }
    __syncthreads();
    return end;
}

/* Cholesky with pivoting of a symmetric a (both triangles, unit diagonal, overwritten), n <= 256:
 * the rows of `rows` become vectors b_0, b_1, .. whose b^T b add up to a but for what is left once
 * all of its diagonal is `least` or less; their number is returned. The largest diagonal element is
 * found by 15 bits of its mantissa, which is as good. What is left of the diagonal is kept apart,
 * before and after a step, so that a step has one barrier. left: 2 n doubles. */
static __device__ __forceinline__ int gram_pivoted(double *rows, double *a, int ld, int n,
                                                   double least, double *left)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    unsigned used = 0; /* bit q: column lane + 32 q has been taken; the same in all warps */
    int rank = 0;
#pragma unroll 1
    for (int j = threadIdx.x; j < n; j += blockDim.x)
        left[j] = 1;
#pragma unroll 1
    for (; rank < n; rank++) {
        const double *diagonal = left + rank % 2 * n;
        double *next = left + (rank + 1) % 2 * n;
        unsigned key = 0;
        __syncthreads();
#pragma unroll 1
        for (int q = 0; 32 * q < n; q++) {
            const int j = lane + 32 * q;
            if (j >= n || used >> q & 1)
                continue;
            const float x = (float)diagonal[j];
            const unsigned own = (x > 0 ? __float_as_uint(x) & ~255u : 0u) | (unsigned)(255 - j);
            key = own > key ? own : key;
        }
        key = __reduce_max_sync(~0u, key);
        const int p = 255 - (int)(key & 255u);
        const double pivot = diagonal[p];
        if (!(pivot > least)) /* nor will the next ones be */
            break;
        const double root = gram_inverse_root(pivot);
        if (lane == p % 32)
            used |= 1u << p / 32;
        /* Columns taken before count as 0: what is left of them is rounding. */
        if (warp == warps - 1)
#pragma unroll 1
            for (int j = lane; j < n; j += 32) {
                const double x = used >> j / 32 & 1 ? 0.0 : a[p * ld + j] * root;
                rows[rank * ld + j] = j == p ? pivot * root : x;
                next[j] = fma(-x, x, diagonal[j]);
            }
#pragma unroll 1
        for (int i = warp; i < n; i += warps) {
            if (__shfl_sync(~0u, used, i % 32) >> i / 32 & 1)
                continue;
            const double x = a[p * ld + i] * root * root;
#pragma unroll 1
            for (int j = lane; j < n; j += 32)
                a[i * ld + j] -= x * a[p * ld + j];
        }
    }
    __syncthreads();
    return rank;
}

/* Pair number `pair` of round `round` of all pairs of `even` numbers. */
static __device__ __forceinline__ void gram_players(int even, int round, int pair, int *p, int *q)
{
    const int circle = even - 1;
    int x = round + pair, y = round - pair;
    x -= x >= circle ? circle : 0;
    y += y < 0 ? circle : 0;
    *p = x;
    *q = pair ? y : circle;
}

static __device__ __forceinline__ float gram_inverse_root(float x)
{
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* The Jacobi rotation that makes rows with products xx, xy, yy orthogonal: x' = c x - s y, y' = s x
 * + c y. The angle has the precision of float32, the length of (c, s) that of float64. `large`:
 * they were far from orthogonal. */
static __device__ __forceinline__ double2 gram_rotation(double xx, double xy, double yy, int *large)
{
    const double product = xx * yy, squared = xy * xy;
    if (!(squared > 1e-32 * product))
        return make_double2(1.0, 0.0);
    *large |= squared > 1e-2 * product;
    /* Squares of rows are between 1e-17 and 1e3: no squares of these leave the range of float32. */
    const float x = (float)(yy - xx) * 0x1p49f, y = (float)xy * 0x1p50f;
    const float by = gram_inverse_root(fmaf(x, x, y * y));
    const float square = fmaf(0.5f, fabsf(x) * by, 0.5f), root = gram_inverse_root(square);
    const double c = (double)(square * root), s = (double)(copysignf(0.5f, x) * y * by * root);
    const double short_of = fma(-c, c, fma(-s, s, 1.0)); /* of length 1, squared */
    const double more = fma(short_of, fma(0.375, short_of, 0.5), 1.0);
    return make_double2(c * more, s * more);
}

/* `to` := the 2 x 2 elements of c for rows p, q and r, s, p < n and so on, after both rotations. */
static __device__ __forceinline__ void gram_rotate_products(double *to, const double *c, int ld,
                                                            int n, int p, int q, double2 left,
                                                            int r, int s, double2 right)
{
    auto get = [&](int i, int j) { return i < n && j < n ? c[i * ld + j] : 0.0; };
    auto put = [&](int i, int j, double x) {
        if (i < n && j < n)
            to[i * ld + j] = to[j * ld + i] = x;
    };
    const double pr = get(p, r), ps = get(p, s), qr = get(q, r), qs = get(q, s);
    const double ur = left.x * pr - left.y * qr, us = left.x * ps - left.y * qs;
    const double vr = left.y * pr + left.x * qr, vs = left.y * ps + left.x * qs;
    put(p, r, right.x * ur - right.y * us);
    put(p, s, right.y * ur + right.x * us);
    put(q, r, right.x * vr - right.y * vs);
    put(q, s, right.y * vr + right.x * vs);
}

/* Jacobi rotations of the `rank` rows of b, of n <= 256 each, until they are orthogonal: then their
 * directions are eigenvectors of the sum of b^T b, and their squares (in `square`) the eigenvalues,
 * the others 0. That sum does not change, so the rotations' angles need not be exact, nor the rows
 * very orthogonal: with cosines below 0.1 before the last sweep the eigenvalues are right to about
 * 1e-4 (of all the matrices tried 2 to 4 sweeps are enough for that). The products of rows are
 * formed anew for each sweep, in c, and rotated along, to `other` and back, so that a round of
 * rotations waits for no sums over rows. Up to 64 rows every warp has all angles of a round, one a
 * lane, so that a round has one barrier. angles: rank / 2 + 1. False: no convergence. */
static __device__ __forceinline__ bool gram_jacobi(double *b, double *c, double *other, int ld,
                                                   int rank, int n, double *square, double2 *angles)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const int even = rank + rank % 2, half = even / 2;
    const bool narrow = half <= 32;
    bool more = true;
#pragma unroll 1
    for (int sweep = 0; sweep < 40; sweep++) {
        int large = 0;
#pragma unroll 1
        for (int i = warp; i < rank; i += warps)
#pragma unroll 1
            for (int j = lane; j <= i; j += 32) {
                double even_sum = 0, odd_sum = 0; /* an array would be in memory */
#pragma unroll 1
                for (int k = 0; k < n; k += 2) {
                    even_sum = fma(b[i * ld + k], b[j * ld + k], even_sum);
                    if (k + 1 < n)
                        odd_sum = fma(b[i * ld + k + 1], b[j * ld + k + 1], odd_sum);
                }
                c[i * ld + j] = c[j * ld + i] = even_sum + odd_sum;
            }
        __syncthreads();
        if (!more)
            break;
#pragma unroll 1
        for (int round = 0; round < even - 1; round++) {
            double2 own = make_double2(1.0, 0.0);
#pragma unroll 1
            for (int pair = narrow ? lane : threadIdx.x; pair < half;
                 pair += narrow ? 32 : blockDim.x) {
                int p, q;
                gram_players(even, round, pair, &p, &q);
                if (p < rank && q < rank)
                    own = gram_rotation(c[p * ld + p], c[p * ld + q], c[q * ld + q], &large);
                else
                    own = make_double2(1.0, 0.0);
                if (!narrow)
                    angles[pair] = own;
            }
            if (!narrow)
                __syncthreads();
#pragma unroll 1
            for (int first = warp; first < half; first += warps) {
                int p, q, r, s;
                gram_players(even, round, first, &p, &q);
                const double2 left = narrow ? make_double2(__shfl_sync(~0u, own.x, first),
                                                           __shfl_sync(~0u, own.y, first))
                                            : angles[first];
#pragma unroll 1
                for (int second = narrow ? lane : first + lane; second < half; second += 32) {
                    if (second < first)
                        continue;
                    gram_players(even, round, second, &r, &s);
                    gram_rotate_products(other, c, ld, rank, p, q, left, r, s,
                                         narrow ? own : angles[second]);
                }
                if (p >= rank || q >= rank)
                    continue;
#pragma unroll 1
                for (int j = lane; j < n; j += 32) {
                    const double x = b[p * ld + j], y = b[q * ld + j];
                    b[p * ld + j] = left.x * x - left.y * y;
                    b[q * ld + j] = left.y * x + left.x * y;
                }
            }
            __syncthreads();
            double *const next = other;
            other = c;
            c = next;
        }
        more = __syncthreads_or(large);
    }
#pragma unroll 1
    for (int i = threadIdx.x; i < rank; i += blockDim.x)
        square[i] = c[i * ld + i];
    __syncthreads();
    return !more;
}

/* a := bound I + the sum of weight[k] b_k^T b_k, its upper triangle; the `rank` rows b_k of b. */
static __device__ __forceinline__ void gram_join(double *a, const double *b, int ld, int rank,
                                                 int n, const double *weight, double bound)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
#pragma unroll 1
    for (int i = warp; i < n; i += warps)
#pragma unroll 1
        for (int j = (i & ~31) + lane; j < n; j += 32) {
            double sum = i == j ? bound : 0;
#pragma unroll 1
            for (int k = 0; k < rank; k++)
                sum = fma(weight[k] * b[k * ld + i], b[k * ld + j], sum);
            a[i * ld + j] = sum;
        }
    __syncthreads();
}

/* The scaled G in a (both triangles), eigenvalues s_k raised to `bound` where they are below it, to
 * `to`, its upper triangle; what was raised, and the condition number, to `record`. With rows b_k,
 * products of which add up to G, made orthogonal, that is
 *     bound I + the sum over s_k > bound of (1 - bound / s_k) b_k^T b_k,
 * so that only as many rows are to be rotated as G has rank, to rounding. Its Cholesky
 * factorisation does not fail: no exact pivot is below `bound`. squares: ||G||_F^2; b, a and `to`
 * are overwritten. x: 2 n + 3 doubles. False: no convergence. */
static __device__ __forceinline__ bool gram_raise(double *b, double *a, double *to, int ld, int n,
                                                  double squares, double *x, double *bound,
                                                  struct gram_record *record)
{
    const int lane = threadIdx.x % 32;
    double greatest = 0, least = HUGE_VAL;
    /* The greatest eigenvalue is the sum of their squares by that of themselves, n, or more; an
     * eighth of a rounding of it is nothing. */
    const double nothing = squares * gram_inverse(n) * (DBL_EPSILON / 8);
    const int rank = gram_pivoted(b, a, ld, n, nothing, x);
    if (!gram_jacobi(b, a, to, ld, rank, n, x, reinterpret_cast<double2 *>(x + n + n % 2)))
        return false;
    for (int k = lane; k < rank; k += 32) {
        greatest = fmax(greatest, x[k]);
        least = fmin(least, x[k]);
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        greatest = fmax(greatest, __shfl_xor_sync(~0u, greatest, step));
        least = fmin(least, __shfl_xor_sync(~0u, least, step));
    }
    *bound = n * DBL_EPSILON * greatest;
    int kept = 0;
#pragma unroll 1
    for (int k = 0; k < rank; k += 32)
        kept += __popc(__ballot_sync(~0u, k + lane < rank && x[k + lane] > *bound));
    record->truncated = n - kept;
    record->condition = greatest * gram_inverse(rank < n ? fmin(least, nothing) : least);
    __syncthreads();
    for (int k = threadIdx.x; k < rank; k += blockDim.x)
        x[k] = x[k] > *bound ? 1 - *bound * gram_inverse(x[k]) : 0;
    __syncthreads();
    gram_join(to, b, ld, rank, n, x, *bound);
    return true;
}

/* The power of 2 that is not above x > 0, which is between 2^-1000 and 2^1000, and its inverse. */
static __device__ __forceinline__ double gram_power(double x)
{
    return __longlong_as_double(__double_as_longlong(x) & 0x7ff0000000000000);
}

static __device__ __forceinline__ double gram_power_inverse(double x)
{
    return __longlong_as_double(0x7fe0000000000000 -
                                (__double_as_longlong(x) & 0x7ff0000000000000));
}

/* What gram_repair did to a column, undone. */
static __device__ __forceinline__ double gram_undone(int exponent)
{
    return exponent == bd_gram_fill ? 0.0 : exponent ? scalbn(1.0, -exponent) : 1.0;
}

#endif
