/* A step of orthogonal iteration for V (small_svd.cuh): V := the orthonormal basis of (G + mu I) V
 * that block modified Gram-Schmidt gives, column after column.
 *
 * Where the singular values span decades, small ones are found only after what belongs to large
 * ones has been taken out of their columns, and turns of V take that out little by little. This
 * step takes it out at once (Rutishauser, Simultaneous iteration method for symmetric matrices,
 * 1970). It leaves pairs of nearly equal values to the turns. mu keeps columns of values that are
 * rounding as they are. Columns are in panels of a block's sixteen: a block makes its panel
 * orthonormal by the Cholesky factor of its Gram matrix, and the blocks after it subtract what lies
 * along it. */
#ifndef BD_GPU_SVD_ORTHOGONAL_STEP_CUH
#define BD_GPU_SVD_ORTHOGONAL_STEP_CUH

#include "gpu/core/inverse.cuh"
#include "gpu/svd/load.cuh"

enum { svd_panel = 2 * svd_columns, svd_panel_square = svd_panel * svd_panel };

/* mu, as a share of the largest Rayleigh quotient. A simulation of 128, 192 and 256 columns,
 * changed by 1 %, needs 4 to 5 turns with 2^-37 to 2^-28, and 12 to 13 with 2^-44. */
static const double svd_step_mu = 0x1p-36;

/* Pivots of a panel's Gram matrix, as shares of the squares of its columns: what is less is
 * rounding; and from where on one Cholesky factor makes the panel orthonormal to rounding. What it
 * lacks grows by the ratio of singular values in the panels that come after it. */
static const double svd_pivot_least = 0x1p-43, svd_pivot_safe = 0.25;

/* What the step has in shared memory. A strip is ld x svd_panel. */
struct svd_panel_room {
    double *q;     /* a strip, that of b.own and b.e: the panel that the others subtract */
    double *parts; /* svd_panel_square for each two warps: sums over their rows */
    double *small; /* svd_panel_square, column-major: a product of two panels, or T^-1; behind it
                    * the least pivot of T */
};

/* Doubles of shared memory, beside what a turn has. */
__host__ __device__ inline int svd_panel_values(int warps)
{
    return svd_panel_square * (warps / 2 + 1) + 2;
}

/* small := left^T right, of two panels. */
__device__ inline void svd_multiply_panels(const struct svd_block &b, const svd_panel_room &room,
                                           const double *left, const double *right)
{
    const int warp = threadIdx.x / 32, half = svd_warps() / 2;
    const int first = warp * svd_rows, line = threadIdx.x % 32 / 4;
    double sum[2][4] = {};
    double *part = room.parts + warp % half * svd_panel_square;
    if (first < b.padded)
        svd_multiply<2>(
            sum, svd_rows,
            [&](int low, int k) { return svd_pair(left + (line + 8 * low) * b.ld + first + k); },
            [&](int t, int k) {
                return svd_pair(right + (line + svd_columns * t) * b.ld + first + k);
            });
    for (int adds = 0; adds < 2; adds++) { /* the upper half of the warps writes, the lower adds */
#pragma unroll
        for (int t = 0; t < 2; t++)
#pragma unroll
            for (int c = 0; c < 4; c++) {
                double *own = part + svd_column(t, c) * svd_panel + line + 8 * (c / 2);
                if (!adds && warp >= half)
                    *own = sum[t][c];
                if (adds && warp < half)
                    *own += sum[t][c];
            }
        __syncthreads();
    }
    if (threadIdx.x < svd_panel_square) {
        double all = 0;
        for (int w = 0; w < half; w++)
            all += room.parts[w * svd_panel_square + threadIdx.x];
        room.small[threadIdx.x] = all;
    }
    __syncthreads();
}

/* The block's panel: z := z small, or, of another panel q, z := z - q small. */
template <bool Subtract>
__device__ inline void svd_apply_to_panel(const struct svd_block &b, const svd_panel_room &room)
{
    const double *from = Subtract ? room.q : b.z;
    const int row = svd_row(0), line = threadIdx.x % 32 / 4;
    double product[2][4];
    if (row >= b.padded)
        return;
    svd_multiply<2>(
        product, svd_panel,
        [&](int half, int k) {
            const double *x = from + row + 8 * half + k * b.ld;
            return make_double2(x[0], x[b.ld]);
        },
        [&](int t, int k) {
            return svd_pair(room.small + (line + svd_columns * t) * svd_panel + k);
        });
    __syncwarp(); /* the rows are this warp's own */
#pragma unroll
    for (int t = 0; t < 2; t++)
#pragma unroll
        for (int c = 0; c < 4; c++) {
            double *z = b.z + svd_row(c) + svd_column(t, c) * b.ld;
            *z = Subtract ? *z - product[t][c] : product[t][c];
        }
}

/* small := T^-1, T the Cholesky factor of small. By a warp: rows of small and of I go through the
 * same elimination, which makes T of the one and T^-T of the other. Lane j has column j of small,
 * lane 16 + j that of I. Columns of zeros stay so. */
__device__ __noinline__ void svd_invert_panel(double *small)
{
    const int lane = threadIdx.x % 32, j = lane % svd_panel;
    const double square = small[j * svd_panel + j],
                 scale = square > 0 ? gram_inverse_root(square) : 0;
    double t[svd_panel], least = 1;
#pragma unroll
    for (int i = 0; i < svd_panel; i++) {
        const double scaled = small[j * svd_panel + i] * scale * __shfl_sync(~0u, scale, i);
        t[i] = lane == j && square > 0 ? scaled : i == j;
    }
#pragma unroll
    for (int k = 0; k < svd_panel; k++) {
        const double pivot = fmax(__shfl_sync(~0u, t[k], k), svd_pivot_least);
        t[k] *= gram_inverse_root(pivot);
        least = fmin(least, pivot);
#pragma unroll
        for (int i = k + 1; i < svd_panel; i++)
            t[i] -= __shfl_sync(~0u, t[k], i) * t[k];
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < svd_panel; i++)
        if (lane != j)
            small[i * svd_panel + j] = scale * t[i];
    small[svd_panel_square] = least;
}

/* Makes the block's panel orthonormal. One Cholesky factor does for columns that are far from
 * dependent; others take two or three (Fukaya and others, Shifted Cholesky QR for computing the QR
 * factorization of ill-conditioned matrices, 2020). */
__device__ inline void svd_orthonormalize_panel(const struct svd_block &b,
                                                const svd_panel_room &room)
{
    double least = 0;
    for (int pass = 0; pass < 3 && least < svd_pivot_safe; pass++) {
        svd_multiply_panels(b, room, b.z, b.z);
        if (threadIdx.x < 32)
            svd_invert_panel(room.small);
        __syncthreads();
        least = room.small[svd_panel_square];
        svd_apply_to_panel<false>(b, room);
        __syncthreads();
    }
}

/* The step: b.z holds G V of the block's columns. mu: in the units of G. Columns of the new V go to
 * store(i, j, value). All blocks call it. */
template <class Store>
__device__ inline void svd_orthogonal_step(const struct svd_data &d, const struct svd_block &b,
                                           double *memory, double mu, unsigned *round, Store store)
{
    const int rank = (int)blockIdx.x, strip = svd_panel * b.ld, busy = rank < b.used;
    const svd_panel_room room = { (double *)b.own, memory,
                                  memory + svd_warps() / 2 * svd_panel_square };
    for (int i = threadIdx.x; busy && i < strip; i += (int)blockDim.x)
        b.z[i] += mu * (double)b.own[i];
    __syncthreads();
    for (int k = 0; k < b.used; k++) {
        double *panel = d.panels + k * strip;
        if (rank == k) {
            svd_orthonormalize_panel(b, room);
            for (int i = threadIdx.x; i < strip; i += (int)blockDim.x)
                panel[i] = b.z[i];
        }
        svd_arrive(d);
        svd_wait(d, round);
        if (rank <= k || !busy)
            continue;
        svd_take_strip(room.q, panel, strip);
        svd_multiply_panels(b, room, room.q, b.z);
        svd_apply_to_panel<true>(b, room);
        __syncthreads();
    }
    for (int i = threadIdx.x; i < strip; i += (int)blockDim.x)
        b.own[i] = b.e[i] = 0; /* as they were from n on */
    __syncthreads();
    if (busy)
        svd_each<2>(b, [&](int t, int c, int i, int j) {
            store(i, j, (float)b.z[i + svd_column(t, c) * b.ld]);
        });
}

#endif
