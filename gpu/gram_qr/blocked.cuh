/* Private to gpu/gram_qr and gpu/qr/cholesky_rows.cuh: Cholesky in blocks of 16 x 16 of a matrix in
 * shared (or global) memory, by one thread block, and its condition estimate for up to 128 columns
 * (small.cuh).
 *
 * Row by row there is little to do and all of it waits: for a pivot, its inverse, a barrier. So
 * one warp makes the 16 rows of a diagonal block, without barriers, while the others subtract
 * the products of the rows before from the rest, and one of them estimates the condition number
 * of the rows made so far. The same warp makes the inverse W of the diagonal block, whose
 * transpose is kept in the lower triangle: W(i, j), i < j, is a[j * ld + i]. The plain version
 * is linalg/cpu/gram_qr/factor.c. */
#ifndef BD_GPU_GRAM_QR_BLOCKED_CUH
#define BD_GPU_GRAM_QR_BLOCKED_CUH

#include "gpu/core/gram_multiply.cuh"
#include "gpu/gram_qr/estimate.cuh"
#include "gpu/gram_qr/solver.cuh"

enum {
    gram_side = 16,
    gram_columns_once = 4, /* of gram_load_columns */
    /* The condition estimate takes 16 rows at a time: so many of them while the rows right of
     * the next diagonal block are being made, the others while that block is. So nothing waits
     * for it. */
    gram_side_left = 4
};

/* Loads columns j, j + apart, .. of the upper triangle of a tight n x n matrix, rows i0 + lane,
 * .., by one warp: all loads are independent. */
static __device__ __forceinline__ void gram_load_columns(double x[gram_columns_once][4],
                                                         const double *from, int n, int j,
                                                         int apart, int i0)
{
#pragma unroll
    for (int e = 0; e < 4 * gram_columns_once; e++) {
        const int row = i0 + (int)threadIdx.x % 32 + e % 4 * 32, column = j + e / 4 * apart;
        const bool in = row <= column && column < n;
        x[e / 4][e % 4] = in ? from[row + (int64_t)column * n] : 0.0;
    }
}

/* Block (i, c), on and above the diagonal, loses the product of blocks (j, i)^T and (j, c); by
 * one warp. */
static __device__ __forceinline__ void gram_take_product(double *a, int ld, int n, int j, int i,
                                                         int c)
{
    const int lane = threadIdx.x % 32, group = lane / 4, t = lane % 4;
    const double *rows = a + (gram_side * j + 4 * t) * ld;
    double low[4], high[4], right[2][4], rest[2][4];
    auto place = [&](int h, int e, bool *in) {
        const int row = gram_side * i + group + e / 2 * 8;
        const int column = gram_side * c + 8 * h + 2 * t + e % 2;
        *in = row <= column && column < n;
        return row * ld + column;
    };
#pragma unroll
    for (int s = 0; s < 4; s++) {
        low[s] = -rows[s * ld + min(gram_side * i + group, n - 1)];
        high[s] = -rows[s * ld + min(gram_side * i + group + 8, n - 1)];
        right[0][s] = rows[s * ld + min(gram_side * c + group, n - 1)];
        right[1][s] = rows[s * ld + min(gram_side * c + group + 8, n - 1)];
    }
#pragma unroll
    for (int e = 0; e < 8; e++) {
        bool in;
        const int at = place(e / 4, e % 4, &in);
        rest[e / 4][e % 4] = in ? a[at] : 0.0;
    }
    bd_gram_multiply(rest[0], low, high, right[0]);
    bd_gram_multiply(rest[1], low, high, right[1]);
#pragma unroll
    for (int e = 0; e < 8; e++) {
        bool in;
        const int at = place(e / 4, e % 4, &in);
        if (in)
            a[at] = rest[e / 4][e % 4];
    }
}

/* The diagonal block at j0 becomes R, and below its diagonal W transposed; reciprocal: of R's
 * diagonal, which is the diagonal of W. *end becomes the first row whose pivot is not positive,
 * if there is one. By one warp: lane c has column c, lane 16 + c that of the unit matrix, which
 * the same steps turn into the column of R^-T. A step makes two rows (gram_pivots); division by
 * the roots of pivots comes last. */
static __device__ __forceinline__ void
gram_factor_diagonal(double *a, int ld, int n, int j0, double floor, double *reciprocal, int *end)
{
    const int lane = threadIdx.x % 32, c = lane % gram_side, rows = min(n - j0, (int)gram_side);
    const bool inverse = lane >= gram_side;
    double *const block = a + j0 * ld + j0;
    double x[gram_side];
    int first = gram_side;
#pragma unroll
    for (int i = 0; i < gram_side; i++) {
        x[i] = i == c ? 1.0 : 0.0;
        if (!inverse && i <= c && c < rows)
            x[i] = block[i * ld + c];
    }
#pragma unroll
    for (int k = 0; k < gram_side; k += 2) {
        const struct gram_pivots p =
            gram_pivots_of(__shfl_sync(~0u, x[k], k), __shfl_sync(~0u, x[k], k + 1),
                           __shfl_sync(~0u, x[k + 1], k + 1), floor);
        first = p.positive < 2 ? min(first, k + p.positive) : first;
        const double next = fma(-p.share, x[k], x[k + 1]);
        const double top = x[k] * p.by_first, low = next * p.by_second;
#pragma unroll
        for (int i = k + 2; i < gram_side; i++)
            x[i] = fma(-__shfl_sync(~0u, next, i), low, fma(-__shfl_sync(~0u, x[k], i), top, x[i]));
        const double by = gram_inverse_root(p.first), second = gram_inverse_root(p.second);
        x[k] = (lane == k ? p.first : x[k]) * by;
        x[k + 1] = (lane == k + 1 ? p.second : next) * second;
    }
#pragma unroll
    for (int i = 0; i < gram_side; i++) {
        if (i < rows && c < rows && (inverse ? i > c : i <= c))
            block[i * ld + c] = x[i];
        if (inverse && i == c && c < rows)
            reciprocal[j0 + c] = x[i];
    }
    if (lane == 0 && first < rows)
        *end = j0 + first;
}

/* The first `rows` rows of R from j0 on, right of their diagonal block, a thread a column, by
 * substitution: products with W would cost accuracy by the condition number of the block. */
static __device__ __forceinline__ void gram_factor_right(double *a, int ld, int n, int j0, int rows,
                                                         const double *reciprocal)
{
    const int c = j0 + gram_side + (int)threadIdx.x;
    const double *const block = a + j0 * ld + j0;
    double x[gram_side];
    if (c >= n)
        return;
#pragma unroll
    for (int i = 0; i < gram_side; i++)
        x[i] = a[(j0 + i) * ld + c];
#pragma unroll
    for (int k = 0; k < gram_side; k++) {
        x[k] *= reciprocal[j0 + k];
#pragma unroll
        for (int i = k + 1; i < gram_side; i++)
            x[i] = fma(-block[k * ld + i], x[k], x[i]);
    }
#pragma unroll
    for (int i = 0; i < gram_side; i++)
        if (i < rows)
            a[(j0 + i) * ld + c] = x[i];
}

/* What the warps of gram_cholesky_blocked share, and its results: in shared memory. */
struct gram_progress {
    int end;                /* the first row whose pivot was not positive, or n */
    double greatest, least; /* singular values of R^, squared, estimated */
    double squared;         /* the condition number, estimated */
};

/* Takes columns `from` .. `to` - 1, of the 16 from j0 on, into the estimate, by one warp:
 * gram_take_columns without an early end. Before column 0 the vectors are 0; with the values of
 * that time any column joins them as it is. The lanes hold the products of those 16 columns a
 * second time, so that a shuffle gives one; what they hold of columns taken before means
 * nothing. vectors: 2 n; by: 1 / norm, which is the same for all columns. */
static __device__ __forceinline__ void gram_estimate_along(struct gram_progress *p, double *vectors,
                                                           const double *a, int ld, int n,
                                                           double by, int j0, int from, int to)
{
    constexpr int parts = 4;
    const int lane = threadIdx.x % 32;
    double greatest = from ? p->greatest : 0.0, least = from ? p->least : 2.0;
    double large[parts + 1], small[parts + 1];
    auto column = [&](int part) {
        return min(part < parts ? 32 * part + lane : j0 + lane % gram_side, n - 1);
    };
#pragma unroll
    for (int part = 0; part <= parts; part++) {
        large[part] = from ? vectors[column(part)] : 0.0;
        small[part] = from ? vectors[n + column(part)] : 0.0;
    }
    const double gammas = a[column(parts) * (ld + 1)] * by;
    double gamma = __shfl_sync(~0u, gammas, from % gram_side);
#pragma unroll 1
    for (int j = from; j < to; j++) {
        const double along = __shfl_sync(~0u, large[parts], j % gram_side);
        const double other = __shfl_sync(~0u, small[parts], j % gram_side);
        const struct gram_turn up = gram_widen(greatest, along, gamma);
        const struct gram_turn down = gram_widen(least, other, gamma);
        greatest = up.largest;
        least = least * (gamma * gamma) * gram_inverse(down.largest);
        gamma = __shfl_sync(~0u, gammas, (j + 1) % gram_side);
#pragma unroll
        for (int part = 0; part <= parts; part++) {
            const double v = a[j * ld + column(part)] * by;
            large[part] = gram_turn_large(up, large[part], v);
            small[part] = gram_turn_small(down, small[part], v);
        }
    }
    __syncwarp();
#pragma unroll
    for (int part = 0; part < parts; part++)
        if (32 * part + lane < n) {
            vectors[column(part)] = large[part];
            vectors[n + column(part)] = small[part];
        }
    if (lane == 0) {
        p->greatest = greatest;
        p->least = least;
    }
    __syncwarp();
}

/* Cholesky: row i of the upper triangle of a becomes row i of R, from the diagonal on, with R^T R =
 * a, as long as pivots are positive; pivots below `floor`, if that is above 0, count as `floor`.
 * The lower triangle gets the inverses of diagonal blocks. Returns the number of rows made. Where
 * all are made and by (gram_estimate_along) is not 0, *p gets the condition number, for n <= 128. x
 * has 3 n doubles, or n if by is 0; the first n become the reciprocals of R's diagonal. */
static __device__ __forceinline__ int gram_cholesky_blocked(double *a, int ld, int n, double floor,
                                                            double by, double *x,
                                                            struct gram_progress *p)
{
    const int warp = threadIdx.x / 32, warps = blockDim.x / 32, blocks = (n + 15) / gram_side;
    const bool estimates = by > 0 && warp == warps - 1;
    int end = n;
    if (threadIdx.x == 0)
        p->end = n;
    __syncthreads();
#pragma unroll 1
    for (int j = 0; j < blocks && end == n; j++) {
        /* Otherwise the compiler keeps what depends on these alone in registers, which are too
         * few. */
        int j0 = gram_side * j;
        asm volatile("" : "+r"(j0), "+r"(ld), "+r"(n));
        const int before = j0 - gram_side, along = j0 - gram_side_left;
        const int left = blocks - j;
        if (warp == 0) {
            if (j > 0)
                gram_take_product(a, ld, n, j - 1, j, j);
            __syncwarp();
            gram_factor_diagonal(a, ld, n, j0, floor, x, &p->end);
        } else if (j > 0 && estimates) {
            gram_estimate_along(p, x + n, a, ld, n, by, before, before, along);
        } else if (j > 0 && (warp % 4 == 1 || warp % 4 == 2)) {
            /* Block (j + i, j + c) is number c (c + 1) / 2 + i. The matrix instruction is long,
             * so no warp that shares a scheduler with warp 0 or the last warp runs it. */
            int c = 0;
#pragma unroll 1
            for (int e = warp / 4 * 2 + warp % 4; e < left * (left + 1) / 2; e += warps / 2) {
                while ((c + 1) * (c + 2) / 2 <= e)
                    c++;
                gram_take_product(a, ld, n, j - 1, j + e - c * (c + 1) / 2, j + c);
            }
        }
        __syncthreads();
        end = p->end;
        gram_factor_right(a, ld, n, j0, end - j0, x);
        if (j > 0 && estimates)
            gram_estimate_along(p, x + n, a, ld, n, by, before, along, j0);
        __syncthreads();
    }
    if (estimates && end == n) {
        const int last = gram_side * (blocks - 1);
        gram_estimate_along(p, x + n, a, ld, n, by, last, last, n);
        const double squared = p->greatest / p->least;
        if (threadIdx.x % 32 == 0)
            p->squared = squared <= 1e60 ? squared : HUGE_VAL;
    }
    __syncthreads();
    return end;
}

#endif
