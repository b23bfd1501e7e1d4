/* Private to gpu/gram_qr_factor.cu: the parts of making R^ (gram_qr_plan.h) from the scaled Gram
 * matrix, by one thread block. Matrices are n x n float64 in shared or global memory, ld apart, and
 * element (i, j) is a[i * ld + j]. */
#ifndef BD_GPU_GRAM_QR_SMALL_CUH
#define BD_GPU_GRAM_QR_SMALL_CUH

#include <float.h>

#include <cstdint>

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

/* Cholesky: row k of a becomes row k of R, from the diagonal on, with R^T R = a; only the upper
 * triangle is used. Returns the first k whose pivot is not positive, and the rows before it are
 * those of R; n if there is none. Rows are divided by the root of their pivots last, so that a step
 * has one barrier. */
static __device__ __forceinline__ int gram_cholesky(double *a, int ld, int n)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    int end = n;
    for (int k = 0; k < n; k++) {
        __syncthreads();
        const double pivot = a[k * ld + k];
        if (!(pivot > 0x1p-200)) { /* of 1 on the diagonal */
            end = k;
            break;
        }
        const double by = gram_inverse(pivot);
        for (int i = k + 1 + warp; i < n; i += warps) {
            const double x = a[k * ld + i] * by;
            for (int j = (i & ~31) + lane; j < n; j += 32)
                if (j >= i)
                    a[i * ld + j] -= x * a[k * ld + j];
        }
    }
    __syncthreads();
    for (int k = warp; k < end; k += warps) {
        const double by = rsqrt(a[k * ld + k]);
        __syncwarp();
        for (int j = (k & ~31) + lane; j < n; j += 32)
            if (j >= k)
                a[k * ld + j] *= by;
    }
    __syncthreads();
    return end;
}

/* Cholesky with pivoting of a symmetric a (both triangles, unit diagonal, overwritten), n <= 256:
 * the rows of `rows` become vectors b_0, b_1, .. whose b b^T add up to a. Once all that is left of
 * the diagonal is below `least`, the vectors are sqrt(least) times unit vectors. The largest
 * diagonal element is found by 15 bits of its mantissa, which is as good. */
static __device__ __forceinline__ void gram_pivoted(double *rows, double *a, int ld, int n,
                                                    double least)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    unsigned used = 0; /* bit q: column lane + 32 q has been taken; the same in all warps */
    for (int k = 0; k < n; k++) {
        unsigned key = 0;
        __syncthreads();
#pragma unroll 1
        for (int q = 0; 32 * q < n; q++) {
            const int j = lane + 32 * q;
            if (j >= n || used >> q & 1)
                continue;
            const float x = (float)a[j * ld + j];
            const unsigned own = (x > 0 ? __float_as_uint(x) & ~255u : 0u) | (unsigned)(255 - j);
            key = own > key ? own : key;
        }
        key = __reduce_max_sync(~0u, key);
        const int p = 255 - (int)(key & 255u);
        const double pivot = a[p * ld + p];
        if (lane == p % 32)
            used |= 1u << p / 32;
        if (!(pivot > least)) { /* nor will the next ones be */
            for (int j = threadIdx.x; j < n; j += blockDim.x)
                rows[k * ld + j] = j == p ? sqrt(least) : 0.0;
            continue;
        }
        __syncthreads(); /* all have read the diagonal */
        /* Columns taken before count as 0: what is left of them is rounding. */
        const double root = gram_inverse_root(pivot);
        for (int i = warp; i < n; i += warps) {
            const bool out = __shfl_sync(~0u, used, i % 32) >> i / 32 & 1;
            const double x = out ? 0.0 : a[p * ld + i] * root;
            for (int j = lane; j < n; j += 32)
                if (i != p && j != p)
                    a[i * ld + j] -= x * root * a[p * ld + j];
        }
        if (warp == warps - 1)
            for (int j = lane; j < n; j += 32) {
                const bool out = used >> j / 32 & 1;
                rows[k * ld + j] = j == p ? pivot * root : out ? 0.0 : a[p * ld + j] * root;
            }
    }
    __syncthreads();
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

/* The Jacobi rotation that makes rows with products xx, xy, yy orthogonal: x' = c x - s y, y' = s x
 * + c y. The tangent has the precision of float32, c and s that of float64. `large`: they were
 * far from orthogonal. */
static __device__ __forceinline__ double2 gram_rotation(double xx, double xy, double yy, int *large)
{
    const double product = xx * yy, squared = xy * xy;
    if (!(squared > 1e-32 * product))
        return make_double2(1.0, 0.0);
    *large |= squared > 1e-4 * product;
    /* rows are longer than 1e-9: nothing here overflows but z z */
    const float z = __fdividef(0.5f * (float)(yy - xx), (float)xy), size = fabsf(z);
    float root;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(fmaf(size, size, 1.0f)));
    const double t = (double)copysignf(__fdividef(1.0f, size + (size < 1e15f ? root : size)), z);
    const double c = gram_inverse_root(fma(t, t, 1.0));
    return make_double2(c, c * t);
}

/* The 2 x 2 elements of c for rows p, q and r, s, p < n and so on, after both rotations. */
static __device__ __forceinline__ void gram_rotate_products(double *c, int ld, int n, int p, int q,
                                                            double2 left, int r, int s,
                                                            double2 right)
{
    auto get = [&](int i, int j) { return i < n && j < n ? c[i * ld + j] : 0.0; };
    auto put = [&](int i, int j, double x) {
        if (i < n && j < n)
            c[i * ld + j] = c[j * ld + i] = x;
    };
    const double pr = get(p, r), ps = get(p, s), qr = get(q, r), qs = get(q, s);
    const double ur = left.x * pr - left.y * qr, us = left.x * ps - left.y * qs;
    const double vr = left.y * pr + left.x * qr, vs = left.y * ps + left.x * qs;
    put(p, r, right.x * ur - right.y * us);
    put(p, s, right.y * ur + right.x * us);
    put(q, r, right.x * vr - right.y * vs);
    put(q, s, right.y * vr + right.x * vs);
}

/* Jacobi rotations of the rows of b, n <= 256, until they are orthogonal: then their directions are
 * the eigenvectors of the sum of b b^T, and their squares (in `square`) the eigenvalues. That sum
 * does not change, so the rotations' angles need not be exact, nor the rows very orthogonal: with
 * cosines below 0.01 before the last sweep the eigenvalues are right to about 1e-6 (of all the
 * matrices tried 3 to 5 sweeps are enough for that). The products of rows, in c, are formed anew
 * for each sweep and rotated along, so that a round of rotations waits for no sums over rows.
 * angles: n / 2 + 1. False: no convergence. */
static __device__ __forceinline__ bool gram_jacobi(double *b, double *c, int ld, int n,
                                                   double *square, double2 *angles)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const int even = n + n % 2, half = even / 2;
    bool more = true;
    for (int sweep = 0; sweep < 40; sweep++) {
        int large = 0;
        for (int i = warp; i < n; i += warps)
            for (int j = lane; j <= i; j += 32) {
                double sum[2] = {};
                for (int k = 0; k < n; k++)
                    sum[k % 2] = fma(b[i * ld + k], b[j * ld + k], sum[k % 2]);
                c[i * ld + j] = c[j * ld + i] = sum[0] + sum[1];
            }
        __syncthreads();
        if (!more)
            break;
        for (int round = 0; round < even - 1; round++) {
            for (int pair = threadIdx.x; pair < half; pair += blockDim.x) {
                int p, q;
                gram_players(even, round, pair, &p, &q);
                const bool real = p < n && q < n;
                angles[pair] =
                    real ? gram_rotation(c[p * ld + p], c[p * ld + q], c[q * ld + q], &large)
                         : make_double2(1.0, 0.0);
            }
            __syncthreads();
            for (int first = warp; first < half; first += warps) {
                int p, q, r, s;
                gram_players(even, round, first, &p, &q);
                const double2 left = angles[first];
                for (int second = first + lane; second < half; second += 32) {
                    gram_players(even, round, second, &r, &s);
                    gram_rotate_products(c, ld, n, p, q, left, r, s, angles[second]);
                }
                if (p >= n || q >= n)
                    continue;
                for (int j = lane; j < n; j += 32) {
                    const double x = b[p * ld + j], y = b[q * ld + j];
                    b[p * ld + j] = left.x * x - left.y * y;
                    b[q * ld + j] = left.y * x + left.x * y;
                }
            }
            __syncthreads();
        }
        more = __syncthreads_or(large);
    }
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        square[i] = c[i * ld + i];
    __syncthreads();
    return !more;
}

/* Householder QR: R in place of the upper triangle of a, diagonal > 0. A step has one barrier: all
 * warps form the norm of its column, along with the products with their own columns. */
static __device__ __forceinline__ void gram_householder(double *a, int ld, int n)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    for (int k = 0; k < n; k++) {
        __syncthreads();
        const double head = a[k * ld + k];
        double norm = 0;
        for (int i = k + 1 + lane; i < n; i += 32)
            norm += a[i * ld + k] * a[i * ld + k];
        for (int c = k + 1 + warp; c < n; c += warps) {
            double dot = 0;
            for (int i = k + 1 + lane; i < n; i += 32)
                dot += a[i * ld + k] * a[i * ld + c];
            if (c == k + 1 + warp)
#pragma unroll
                for (int step = 16; step > 0; step /= 2) {
                    norm += __shfl_xor_sync(~0u, norm, step);
                    dot += __shfl_xor_sync(~0u, dot, step);
                }
            else
                dot = gram_sum_warp(dot);
            const double whole = fma(head, head, norm), root = whole * gram_inverse_root(whole);
            const double x = a[k * ld + c], sign = head < 0 ? -1.0 : 1.0;
            /* v = (head + sign root, rest): tau = 2 / v^T v */
            const double first = head + sign * root;
            const double by = (first * x + dot) * gram_inverse(root * (root + fabs(head)));
            __syncwarp();
            for (int i = k + 1 + lane; i < n; i += 32)
                a[i * ld + c] -= by * a[i * ld + k];
            if (lane == 0)
                a[k * ld + c] = -sign * (x - by * first);
        }
        /* nobody else writes the diagonal, and those who read it have done so before the next */
        if (warp == warps - 1) {
            double own = 0;
            for (int i = k + 1 + lane; i < n; i += 32)
                own += a[i * ld + k] * a[i * ld + k];
            own = fma(head, head, gram_sum_warp(own));
            if (lane == 0)
                a[n * ld + k] = own * gram_inverse_root(own);
        }
    }
    __syncthreads();
    for (int k = threadIdx.x; k < n; k += blockDim.x)
        a[k * ld + k] = a[n * ld + k];
    __syncthreads();
}

#endif
