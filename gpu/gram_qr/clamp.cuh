/* Private to factor.cu, gpu/gram_qr/large/large.cu and gpu/gram_qr/narrow/factor.cuh:
 * eigenvalues of the scaled Gram matrix are clamped to a lower bound, by one thread block
 * (small.cuh). */
#ifndef BD_GPU_GRAM_QR_CLAMP_CUH
#define BD_GPU_GRAM_QR_CLAMP_CUH

#include "gpu/gram_qr/small.cuh"

/* Cholesky with pivoting of a symmetric a (both triangles, unit diagonal, overwritten), n <=
 * 256. `rows` gets vectors b_0, b_1, .. whose b^T b add up to a, up to a rest with a diagonal of
 * at most `least`; returns their number. The largest diagonal element is found by 15 bits of its
 * mantissa, which is enough. The diagonal of the rest is kept apart, before and after a step, so
 * that a step has one barrier. left: 2 n doubles. */
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
        if (!(pivot > least)) /* nor will the later ones be */
            break;
        const double root = gram_inverse_root(pivot);
        if (lane == p % 32)
            used |= 1u << p / 32;
        /* Columns taken before count as 0: what is left of them is rounding error. */
        if (warp == warps - 1)
#pragma unroll 1
            for (int j = lane; j < n; j += 32) {
                const double x = used >> j / 32 & 1 ? 0.0 : a[p * ld + j] * root;
                rows[rank * ld + j] = j == p ? pivot * root : x;
                next[j] = fma(-x, x, diagonal[j]);
            }
            /* Four rows at once. The rows of columns taken before are not used any more. */
#pragma unroll 1
        for (int i0 = warp; i0 < n; i0 += 4 * warps) {
            double x[4], rest[4];
#pragma unroll
            for (int e = 0; e < 4; e++)
                x[e] = i0 + e * warps < n ? a[p * ld + i0 + e * warps] * root * root : 0.0;
#pragma unroll 1
            for (int j = lane; j < n; j += 32) {
                const double y = a[p * ld + j];
#pragma unroll
                for (int e = 0; e < 4; e++)
                    rest[e] = i0 + e * warps < n ? a[(i0 + e * warps) * ld + j] : 0.0;
#pragma unroll
                for (int e = 0; e < 4; e++)
                    if (i0 + e * warps < n && i0 + e * warps != p)
                        a[(i0 + e * warps) * ld + j] = fma(-x[e], y, rest[e]);
            }
        }
    }
    __syncthreads();
    return rank;
}

/* The two numbers of pair `pair` in round `round` of all pairs of `even` numbers. */
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

/* Pair t of two numbers below n, in either order, a number with itself included. False: there is
 * no such pair, and then t / n is about n / 2 or more. */
static __device__ __forceinline__ bool gram_pair_of(int t, int n, int *i, int *j)
{
    const int apart = t / n;
    *i = t - apart * n;
    *j = *i + apart - (*i + apart >= n ? n : 0);
    return 2 * apart < n || (2 * apart == n && *i < apart);
}

/* c(i, j) and c(j, i) := the product of rows i and j of b. */
static __device__ __forceinline__ void gram_products(double *c, const double *b, int ld, int rank,
                                                     int n)
{
#pragma unroll 1
    for (int t = threadIdx.x; t < rank * (rank / 2 + 1); t += blockDim.x) {
        int i, j;
        if (!gram_pair_of(t, rank, &i, &j))
            continue;
        double even_sum = 0, odd_sum = 0; /* an array would be in memory */
#pragma unroll 4
        for (int k = 0; k + 1 < n; k += 2) {
            even_sum = fma(b[i * ld + k], b[j * ld + k], even_sum);
            odd_sum = fma(b[i * ld + k + 1], b[j * ld + k + 1], odd_sum);
        }
        if (n % 2)
            even_sum = fma(b[i * ld + n - 1], b[j * ld + n - 1], even_sum);
        c[i * ld + j] = c[j * ld + i] = even_sum + odd_sum;
    }
}

/* The angles of the pairs of a round: of pair number `lane` if they are few, 32 at most, which
 * every warp then has for itself, so that there is no barrier; or all, to `angles`. */
static __device__ __forceinline__ double2 gram_angles(const double *c, int ld, int rank, int round,
                                                      bool few, double2 *angles, int *large)
{
    const int even = rank + rank % 2, half = even / 2;
    double2 own = make_double2(1.0, 0.0);
#pragma unroll 1
    for (int pair = few ? threadIdx.x % 32 : threadIdx.x; pair < half; pair += blockDim.x) {
        int p, q;
        gram_players(even, round, pair, &p, &q);
        own = p < rank && q < rank
                  ? gram_rotation(c[p * ld + p], c[p * ld + q], c[q * ld + q], large)
                  : make_double2(1.0, 0.0);
        if (!few)
            angles[pair] = own;
    }
    if (!few)
        __syncthreads();
    return own;
}

/* Jacobi rotations of the `rank` rows of b, of n <= 256 each, until they are orthogonal: then
 * their directions are eigenvectors of the sum of b^T b, and their squares (in `square`) its
 * eigenvalues; the others are 0. The rotations do not change that sum, so the angles need not be
 * exact, nor the rows very orthogonal: with cosines below 0.1 before the last sweep the
 * eigenvalues are right to about 1e-4 (2 to 4 sweeps are enough for that, of all the matrices
 * tried); two rows need no second sweep. Each sweep forms the products of rows again, in c, and
 * rotates them along, so that a round of rotations waits for no sums over rows. If `other` is
 * not c itself (up to 64 rows), the products go to `other` and back, with one barrier a round.
 * angles: rank / 2 + 1. False: no convergence. */
static __device__ __forceinline__ bool gram_jacobi(double *b, double *c, double *other, int ld,
                                                   int rank, int n, double *square, double2 *angles)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const int even = rank + rank % 2, half = even / 2, all = half * (half / 2 + 1);
    const bool few = half <= 32 && other != c;
    auto angle_of = [&](double2 own, int pair) {
        return few ? make_double2(__shfl_sync(~0u, own.x, pair), __shfl_sync(~0u, own.y, pair))
                   : angles[pair];
    };
    int start, end; /* pairs whose common products the thread begins with */
    const bool starts = gram_pair_of(threadIdx.x, half, &start, &end) && (int)threadIdx.x < all;
    bool more = true;
#pragma unroll 1
    for (int sweep = 0; sweep < 40 && more; sweep++) {
        int large = 0;
        gram_products(c, b, ld, rank, n);
        __syncthreads();
#pragma unroll 1
        for (int round = 0; round < even - 1; round++) {
            const double2 own = gram_angles(c, ld, rank, round, few, angles, &large);
            int p, q, r, s;
#pragma unroll 1
            for (int t = threadIdx.x; t - lane < all; t += blockDim.x) {
                int first = start, second = end;
                bool real = starts;
                if (t != (int)threadIdx.x)
                    real = gram_pair_of(t, half, &first, &second) && t < all;
                const double2 left = angle_of(own, min(first, half - 1));
                const double2 right = angle_of(own, min(second, half - 1));
                if (!real)
                    continue;
                gram_players(even, round, first, &p, &q);
                gram_players(even, round, second, &r, &s);
                gram_rotate_products(other, c, ld, rank, p, q, left, r, s, right);
            }
            /* the first warps are busy */
#pragma unroll 1
            for (int pair = warps - 1 - warp; pair < half; pair += warps) {
                const double2 angle = angle_of(own, pair);
                gram_players(even, round, pair, &p, &q);
                if (p < rank && q < rank)
                    for (int j = lane; j < n; j += 32) {
                        const double x = b[p * ld + j], y = b[q * ld + j];
                        b[p * ld + j] = angle.x * x - angle.y * y;
                        b[q * ld + j] = angle.y * x + angle.x * y;
                    }
            }
            __syncthreads();
            double *const next = other;
            other = c;
            c = next;
        }
        more = __syncthreads_or(large && rank > 2);
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
    for (int i0 = warp; i0 < n; i0 += 4 * warps)
#pragma unroll 1
        for (int j = (i0 & ~31) + lane; j < n; j += 32) {
            double sum[4] = {};
#pragma unroll 1
            for (int k = 0; k < rank; k++) {
                const double x = weight[k] * b[k * ld + j];
#pragma unroll
                for (int e = 0; e < 4; e++)
                    if (i0 + e * warps < n)
                        sum[e] = fma(b[k * ld + i0 + e * warps], x, sum[e]);
            }
#pragma unroll
            for (int e = 0; e < 4; e++)
                if (i0 + e * warps <= j)
                    a[(i0 + e * warps) * ld + j] = i0 + e * warps == j ? sum[e] + bound : sum[e];
        }
    __syncthreads();
}

/* Clamps the eigenvalues s_k of the scaled G in a (both triangles) to at least `bound`; the
 * result goes to the upper triangle of `to`, which may be a. `record` gets the number of clamped
 * eigenvalues and the condition number. With rows b_k whose products add up to G, made
 * orthogonal, the result is bound I + the sum over s_k > bound of (1 - bound / s_k) b_k^T b_k,
 * so that only as many rows are rotated as G has rank, to rounding. The Cholesky factorisation
 * of the result does not fail: no exact pivot is below `bound`. squares: ||G||_F^2; b, a and
 * `to` are overwritten. x: 2 n + 3 doubles. False: no convergence. */
static __device__ __forceinline__ bool gram_clamp(double *b, double *a, double *to, int ld, int n,
                                                  double squares, double *x, double *bound,
                                                  struct gram_record *record)
{
    const int lane = threadIdx.x % 32;
    double greatest = 0, least = HUGE_VAL;
    /* The greatest eigenvalue is at least the sum of squares of all eigenvalues divided by their
     * sum, n. Less than an eighth of its rounding error counts as nothing. */
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

#endif
