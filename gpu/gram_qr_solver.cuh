/* Private to gpu/gram_qr_factor.cu, gpu/gram_qr_blocked*.cuh and gpu/triangular.cu: from R^ to T
 * (gram_qr_plan.h), by one thread block. R^(i, j) is a[i * ld + j]. */
#ifndef BD_GPU_GRAM_QR_SOLVER_CUH
#define BD_GPU_GRAM_QR_SOLVER_CUH

#include "gpu/gram_qr_plan.h"
#include "gpu/gram_qr_small.cuh"

/* Where T(k, j), k <= j, is in `packed`: blocks of 16 x 16, block (k, j) number j (j + 1) / 2 + k;
 * in it, columns 8 h .. 8 h + 7 are two double2 a lane, rows t, 4 + t and 8 + t, 12 + t of column g
 * for lane 4 g + t. */
static __host__ __device__ __forceinline__ int gram_packed(int k, int j)
{
    const int block = (j / 16) * (j / 16 + 1) / 2 + k / 16, s = k % 16 / 4;
    const int lane = 4 * (j % 8) + k % 4;
    return block * 256 + ((j % 16 / 8 * 2 + s / 2) * 32 + lane) * 2 + s % 2;
}

static inline size_t gram_packed_size(int n)
{
    const size_t blocks = ((size_t)n + 15) / 16;
    return blocks * (blocks + 1) / 2 * 256;
}

static __device__ __forceinline__ void gram_put_t(const struct gram_data &d, int k, int j, double x,
                                                  bool single)
{
    if (d.packed)
        d.packed[gram_packed(k, j)] = single ? (double)(float)x : x;
    else
        d.t[j * d.n + k] = x;
}

/* The larger eigenvalue of a 2 x 2 matrix and its unit vector, `by` times (keep, take). */
struct gram_turn {
    double largest, keep, take, by;
};

/* Of [before + along^2, along gamma; along gamma, gamma^2]. Half the angle between an axis and the
 * vector has its cosine squared without another root, and what is multiplied by the vector need not
 * wait for that of the cosine. */
static __device__ __forceinline__ struct gram_turn gram_widen(double before, double along,
                                                              double gamma)
{
    const double own = gamma * gamma, apart = fma(along, along, before - own);
    const double side = along * gamma, square = fma(apart, apart, 4 * side * side);
    const bool turns = square > 1e-280; /* else all vectors are as good */
    const double by_root = turns ? gram_rough_inverse_root(square) : 0.0;
    const double near = fma(0.5 * fabs(apart), by_root, turns ? 0.5 : 1.0);
    const double far = side * by_root;
    struct gram_turn t;
    t.largest = 0.5 * (fma(along, along, before + own) + square * by_root);
    t.keep = apart >= 0 ? near : far;
    t.take = apart >= 0 ? far : near;
    t.by = gram_rough_inverse_root(near);
    return t;
}

/* What the vectors x of gram_take_columns are multiplied by, x with one more row, v. */
static __device__ __forceinline__ double gram_turn_large(const struct gram_turn &t, double x,
                                                         double v)
{
    return fma(x, t.keep, v * t.take) * t.by;
}

/* That of the smaller eigenvalue is orthogonal to that of the larger. */
static __device__ __forceinline__ double gram_turn_small(const struct gram_turn &t, double x,
                                                         double v)
{
    return fma(v, t.keep, -x * t.take) * t.by;
}

/* Incremental condition estimation (Bischof: Incremental condition estimation, 1990) of the block
 * of R^ that begins with column j0, by one warp: takes columns as long as the estimate squared
 * stays below `most`, and returns the first that is not taken, or n. *squared: the estimate of
 * those taken, squared. x: 3 n doubles.
 *
 * With x of norm 1 for which x^T R has about the largest (or smallest) norm sigma, the next column
 * (v; gamma) and (s x; c): the norm squared is that of [s c] [sigma^2 + alpha^2, alpha gamma; .,
 * gamma^2] [s c]^T, alpha = x^T v. Columns of the block count as scaled to norm 1. What the vectors
 * x are multiplied by is kept for all columns to come, and the squares of these, so that no column
 * has to wait for sums. */
static __device__ __forceinline__ int gram_take_columns(const double *a, int ld, int n, int j0,
                                                        double most, double *x, double *squared)
{
    const int lane = threadIdx.x % 32;
    double *small = x, *large = x + n, *norm = x + 2 * n;
    double least = 1, greatest = 1;
    __syncwarp();
    for (int k = j0 + 1 + lane; k < n; k += 32) {
        const double v = a[j0 * ld + k];
        small[k] = large[k] = v;
        norm[k] = v * v;
    }
    int j = j0 + 1;
    for (; j < n; j++) {
        __syncwarp();
        const double diagonal = a[j * ld + j], length = fma(diagonal, diagonal, norm[j]);
        const double by = gram_rough_inverse_root(length);
        const double gamma = diagonal * by, product = least * (gamma * gamma);
        const struct gram_turn up = gram_widen(greatest, large[j] * by, gamma);
        const struct gram_turn down = gram_widen(least, small[j] * by, gamma);
        /* NaN for a column of 0 */
        if (!(up.largest * down.largest <= most * product))
            break;
        greatest = up.largest;
        least = product * gram_inverse(down.largest);
        for (int k = j + 1 + lane; k < n; k += 32) {
            const double v = a[j * ld + k];
            large[k] = gram_turn_large(up, large[k], v);
            small[k] = gram_turn_small(down, small[k], v);
            norm[k] = fma(v, v, norm[k]);
        }
    }
    *squared = greatest / least;
    return j;
}

/* The square of the condition number of R^, estimated; by one warp. HUGE_VAL for one of more than
 * 1e30. */
static __device__ __forceinline__ double gram_estimate(const double *a, int ld, int n, double *x)
{
    double squared;
    return gram_take_columns(a, ld, n, 0, 1e60, x, &squared) == n ? squared : HUGE_VAL;
}

/* Where blocks begin (gram_decision), by one warp; kappa: the condition number of R^. In blocks of
 * 16 columns of `packed` a cut within one is one at its begin and end too (triangular_wide.cu). */
static __device__ __forceinline__ void gram_cut(unsigned *starts, const struct gram_data &d,
                                                const double *a, int ld, int solve, double kappa,
                                                double tau, double *x)
{
    const int lane = threadIdx.x % 32, n = d.n;
    for (int w = lane; w < gram_most / 32; w += 32)
        starts[w] = solve == BD_TRIANGULAR_SUBSTITUTION ? ~0u : w == 0;
    __syncwarp();
    const double limit = fmax(tau * fmin(kappa, 1e30), 32.0);
    if (solve != BD_TRIANGULAR_ADAPTIVE || kappa <= limit)
        return;
    double squared;
    for (int j = 0; j < n;) {
        j = gram_take_columns(a, ld, n, j, limit * limit, x, &squared);
        if (lane == 0 && j < n)
            starts[j / 32] |= 1u << j % 32;
        if (d.packed && j % 16 && j < n) {
            const int begin = j & ~15, end = begin + 16;
            if (lane == 0)
                starts[begin / 32] |= 1u << begin % 32;
            if (lane == 0 && end < n)
                starts[end / 32] |= 1u << end % 32;
            /* further cuts within the 16 columns */
            for (int c = j; c < end && c < n;) {
                c = gram_take_columns(a, ld, min(n, end), c, limit * limit, x, &squared);
                if (lane == 0 && c < n)
                    starts[c / 32] |= 1u << c % 32;
            }
            j = end;
        }
        __syncwarp();
    }
}

/* Column j of T, by one warp: back substitution R^ x = e_j from row j up to the first of the block,
 * all rows above that along. reciprocal(i) = 1 / R^(i, i). Lane l has rows l, 32 + l, .. False
 * where one of the lane's is not finite. */
template <int PARTS, class Reciprocal>
static __device__ __forceinline__ bool
gram_invert_column(const struct gram_data &d, const unsigned *starts, const double *a, int ld,
                   int j, bool single, const Reciprocal &reciprocal)
{
    const int lane = threadIdx.x % 32;
    double x[PARTS];
    int first = j;
    while (!(starts[first / 32] >> first % 32 & 1))
        first--;
#pragma unroll
    for (int part = 0; part < PARTS; part++)
        x[part] = 32 * part + lane == j ? 1.0 : 0.0;
#pragma unroll
    for (int top = PARTS - 1; top >= 0; top--) {
        if (32 * top > j || 32 * top + 31 < first)
            continue;
#pragma unroll 1
        for (int i = min(32 * top + 31, j); i >= max(32 * top, first); i--) {
            const double known = __shfl_sync(~0u, x[top], i % 32) * reciprocal(i);
#pragma unroll
            for (int part = 0; part <= top; part++) {
                const int row = 32 * part + lane;
                if (row == i)
                    x[part] = known;
                else if (row < i)
                    x[part] -= a[row * ld + i] * known;
            }
        }
    }
#pragma unroll
    for (int part = 0; part < PARTS; part++)
        if (32 * part + lane <= j)
            gram_put_t(d, 32 * part + lane, j, x[part], single);
    bool finite = true;
#pragma unroll
    for (int part = 0; part < PARTS; part++)
        finite = finite && isfinite(x[part]);
    return finite;
}

#endif
