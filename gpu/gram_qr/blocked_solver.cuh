/* Private to factor.cu: T and R_total in blocks of 16 x 16 from what gram_cholesky_blocked leaves,
 * by one thread block.
 *
 * A warp makes half a block of columns of T at a time, all rows of them, so that it waits for no
 * other warp. The finished part of T is kept as the inverses of diagonal blocks are: transposed
 * in the lower triangle, with its diagonal apart. The plain version is gram_invert_column
 * (solver.cuh). */
#ifndef BD_GPU_GRAM_QR_BLOCKED_SOLVER_CUH
#define BD_GPU_GRAM_QR_BLOCKED_SOLVER_CUH

#include "gpu/gram_qr/blocked.cuh"

/* Two upper triangular matrices in one: R, and another (T, or R_total) below it. */
struct gram_pair {
    double *a; /* n x n, ld apart */
    int ld, n;
    const double *diagonal; /* n: of the other */
};

static __device__ __forceinline__ double gram_upper(const struct gram_pair &p, int i, int j)
{
    return i <= j && j < p.n ? p.a[i * p.ld + j] : 0.0;
}

static __device__ __forceinline__ double gram_lower(const struct gram_pair &p, int i, int j)
{
    return i > j || j >= p.n ? 0.0 : i < j ? p.a[j * p.ld + i] : p.diagonal[i];
}

/* sum += block (i, k) of R times columns 8 half .. 8 half + 7 of block (k, .) of the other
 * matrix, as bd_gram_multiply has it. */
static __device__ __forceinline__ void gram_join_blocks(double sum[4], const struct gram_pair &p,
                                                        int i, int k, int half)
{
    const int lane = threadIdx.x % 32, group = lane / 4, t = lane % 4;
    double low[4], high[4], right[4];
#pragma unroll
    for (int s = 0; s < 4; s++) {
        const int at = gram_side * k + 4 * t + s;
        low[s] = gram_upper(p, gram_side * i + group, at);
        high[s] = gram_upper(p, gram_side * i + group + 8, at);
        right[s] = gram_lower(p, at, 8 * half + group);
    }
    bd_gram_multiply(sum, low, high, right);
}

/* Stores -sum as block (i, .) of columns 8 half .. of the other matrix, i above the diagonal
 * block. */
static __device__ __forceinline__ void gram_keep_block(const double sum[4],
                                                       const struct gram_pair &p, int i, int half)
{
    const int lane = threadIdx.x % 32, group = lane / 4, t = lane % 4;
#pragma unroll
    for (int e = 0; e < 4; e++) {
        const int column = 8 * half + 2 * t + e % 2;
        if (column < p.n)
            p.a[column * p.ld + gram_side * i + group + e / 2 * 8] = -sum[e];
    }
    __syncwarp();
}

/* That block, b, becomes W b, W the inverse of diagonal block i. */
static __device__ __forceinline__ void gram_solve_block(const struct gram_pair &p, int i, int half)
{
    const int lane = threadIdx.x % 32, group = lane / 4, t = lane % 4, i0 = gram_side * i;
    double low[4], high[4], right[4], sum[4] = {};
#pragma unroll
    for (int s = 0; s < 4; s++) {
        low[s] = -gram_lower(p, i0 + group, i0 + 4 * t + s);
        high[s] = -gram_lower(p, i0 + group + 8, i0 + 4 * t + s);
        right[s] = gram_lower(p, i0 + 4 * t + s, 8 * half + group);
    }
    bd_gram_multiply(sum, low, high, right);
    __syncwarp();
    gram_keep_block(sum, p, i, half);
}

/* Writes columns 8 half .. 8 half + 7 of T to d.packed, by one warp. Their block of columns
 * begins with block `first` of 16. p.diagonal: of T. */
static __device__ __forceinline__ void gram_invert_half(const struct gram_data &d,
                                                        const struct gram_pair &p, int half,
                                                        int first, bool single)
{
    const int lane = threadIdx.x % 32, group = lane / 4, t = lane % 4, j = half / 2;
    auto rounded = [&](double x) { return single ? (double)(float)x : x; };
#pragma unroll 1
    for (int i = j; i >= 0; i--) {
        if (i < j) {
            double sum[4] = {};
#pragma unroll 2
            for (int k = max(i + 1, first); k <= j; k++)
                gram_join_blocks(sum, p, i, k, half);
            gram_keep_block(sum, p, i, half);
            if (i >= first)
                gram_solve_block(p, i, half);
        }
        double *to = d.packed + (j * (j + 1) / 2 + i) * 256 + 2 * lane + half % 2; /* gram_packed */
#pragma unroll
        for (int s = 0; s < 4; s++)
            to[64 * s] = rounded(gram_lower(p, gram_side * i + 4 * s + t, 8 * half + group));
    }
}

/* Writes T to d.packed. whole: the inverses of all diagonal blocks are there. */
static __device__ __forceinline__ void gram_invert_blocked(const struct gram_data &d,
                                                           const struct gram_pair &p,
                                                           const unsigned *starts, bool whole,
                                                           bool single)
{
    const int warp = threadIdx.x / 32, warps = blockDim.x / 32;
    auto cuts = [&](int block) { return gram_cuts(starts, block); };
#pragma unroll 1
    for (int half = warp; 8 * half < p.n; half += warps) {
        int first = half / 2;
        if (whole && !(cuts(first) & 0xfffeu)) {
            while (!cuts(first))
                first--;
            gram_invert_half(d, p, half, first, single);
        } else { /* few rows are to be solved for, or the inverses are of other blocks */
#pragma unroll 1
            for (int j = 8 * half; j < min(8 * half + 8, p.n); j++)
                gram_invert_column(d, starts, p.a, p.ld, j, single, p.diagonal);
        }
    }
}

/* d.other := R D R_total. diagonal: p.diagonal; R becomes R D, and what is below it R_total. */
static __device__ __forceinline__ void gram_join_blocked(const struct gram_data &d,
                                                         const struct gram_pair &p,
                                                         double *diagonal, const double *norm)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32, n = p.n;
    const int group = lane / 4, t = lane % 4;
#pragma unroll 1
    for (int j0 = warp; j0 < n; j0 += gram_columns_once * warps) {
        double x[gram_columns_once][4];
        gram_load_columns(x, d.total, n, j0, warps, 0);
#pragma unroll
        for (int e = 0; e < 4 * gram_columns_once; e++) {
            const int i = lane + e % 4 * 32, j = j0 + e / 4 * warps;
            if (j >= n || i >= n)
                continue;
            if (i == j)
                diagonal[j] = x[e / 4][e % 4];
            p.a[j * p.ld + i] = i < j ? x[e / 4][e % 4] : p.a[j * p.ld + i] * norm[i];
        }
    }
    __syncthreads();
#pragma unroll 1
    for (int half = warp; 8 * half < n; half += warps)
#pragma unroll 1
        for (int i = 0; gram_side * i < n; i++) {
            double sum[4] = {};
#pragma unroll 2
            for (int k = i; k <= half / 2; k++)
                gram_join_blocks(sum, p, i, k, half);
#pragma unroll
            for (int e = 0; e < 4; e++) {
                const int row = gram_side * i + group + e / 2 * 8;
                const int column = 8 * half + 2 * t + e % 2;
                if (row < n && column < n)
                    d.other[row + column * n] = sum[e];
            }
        }
}

#endif
