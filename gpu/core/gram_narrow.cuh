/* Private to the CUDA backend: the sums of a Gram matrix (gram.cuh) of up to 32 columns. */
#ifndef BD_GPU_CORE_GRAM_NARROW_CUH
#define BD_GPU_CORE_GRAM_NARROW_CUH

#include <cstdint>

#include "gpu/core/dependent_launch.cuh"
#include "gpu/core/gram_multiply.cuh"

/* Up to 8 GROUPS columns, 3 or 4 groups. Tiles of G: rows of groups {0, 1} by all groups, rows of
 * {2, 3} by groups 2 and above. */
template <int GROUPS> struct bd_gram_narrow_slots {
    enum { tiles = GROUPS == 3 ? 4 : 6, count = tiles * 128 };

    static __device__ __forceinline__ bool place(int slot, int, int n, int *row, int *col)
    {
        int tile = slot / 128, half = slot / 64 % 2, lane = slot / 2 % 32;
        bool top = tile < GROUPS;
        *row = (top ? 0 : 16) + 8 * half + lane / 4;
        *col = 8 * (top ? tile : tile - GROUPS + 2) + 2 * (lane % 4) + slot % 2;
        return *col >= *row && *col < n;
    }
    /* The slot of row <= col. */
    static __device__ __forceinline__ int slot_of(int row, int col)
    {
        const int tile = row < 16 ? col / 8 : GROUPS + col / 8 - 2;
        return tile * 128 + row / 8 % 2 * 64 + (row % 8 * 4 + col % 8 / 2) * 2 + col % 2;
    }
};

/* sum (tiles) += the products of a warp's fragments of 16 rows. */
template <int GROUPS>
static __device__ __forceinline__ void bd_gram_narrow_multiply(double (*sum)[4],
                                                               const double (*x)[4])
{
#pragma unroll
    for (int group = 0; group < GROUPS; group++)
        bd_gram_multiply(sum[group], x[0], x[1], x[group]);
#pragma unroll
    for (int group = 2; group < GROUPS; group++)
        bd_gram_multiply(sum[GROUPS + group - 2], x[2], x[3], x[group]);
}

/* Adds the sums of all WARPS warps and writes them to part (thread blocks x TILES x 128): the
 * upper half of the warps adds to the lower, until one is left. stage: WARPS / 2 x 2 TILES x 32. */
template <int WARPS, int TILES>
static __device__ __forceinline__ void bd_gram_narrow_join(double *part, double (&sum)[TILES][4],
                                                           double2 (*stage)[TILES * 2][32])
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int count = WARPS / 2; count > 0; count /= 2) {
        if (warp >= count && warp < 2 * count)
#pragma unroll
            for (int e = 0; e < TILES * 2; e++)
                stage[warp - count][e][lane] =
                    make_double2(sum[e / 2][e % 2 * 2], sum[e / 2][e % 2 * 2 + 1]);
        __syncthreads();
        if (warp < count)
#pragma unroll
            for (int e = 0; e < TILES * 2; e++) {
                const double2 more = stage[warp][e][lane];
                sum[e / 2][e % 2 * 2] += more.x;
                sum[e / 2][e % 2 * 2 + 1] += more.y;
            }
        __syncthreads();
    }
    double2 *out = reinterpret_cast<double2 *>(part) + (int64_t)blockIdx.x * TILES * 64;
    if (warp == 0)
#pragma unroll
        for (int e = 0; e < TILES * 2; e++)
            out[e * 32 + lane] = make_double2(sum[e / 2][e % 2 * 2], sum[e / 2][e % 2 * 2 + 1]);
}

/* Rows from a Loader (gram.cuh), for bd_gram_narrow. */
template <class Loader> struct bd_gram_loaded_rows {
    using element = float;
    static constexpr int blocks = 2;
    Loader loader;

    __device__ __forceinline__ void load(int64_t first, int t, int j, float x[4]) const
    {
        loader.load4(first + 4 * t, j, x);
    }
};

/* Sums of up to 8 GROUPS columns to part (thread blocks x tiles x 128). Memory bounds it, so a warp
 * takes its fragments straight from `rows`, some row blocks of 16 at a time, while the next ones
 * are on their way. Rows has the type `element`, the number `blocks` of row blocks at a time, and
 *     load(first, t, j, x)  four rows of the 16 from row `first` on, of column j < n; others for
 * each t = 0 .. 3, in an order that is the same for all columns; rows from m on are 0. */
template <class Rows, int GROUPS>
__global__ __launch_bounds__(256, GROUPS == 3 ? 2 : 1) void bd_gram_narrow(
    double *part, const __grid_constant__ Rows rows, int64_t m, int n, const int *stop)
{
    constexpr int TILES = bd_gram_narrow_slots<GROUPS>::tiles, BLOCKS = Rows::blocks;
    using element = typename Rows::element;
    __shared__ double2 others[4][TILES * 2][32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t tiles = (m + 16 * BLOCKS - 1) / (16 * BLOCKS), stride = (int64_t)gridDim.x * 8;
    bd_cuda_await();
    if (stop && *stop)
        return;

    auto load = [&](int64_t tile, element x[BLOCKS][GROUPS][4]) {
#pragma unroll
        for (int block = 0; block < BLOCKS; block++)
#pragma unroll
            for (int group = 0; group < GROUPS; group++) {
                const int j = 8 * group + lane / 4;
                if (tile < tiles && j < n)
                    rows.load(16 * (tile * BLOCKS + block), lane % 4, j, x[block][group]);
                else
#pragma unroll
                    for (int k = 0; k < 4; k++)
                        x[block][group][k] = 0;
            }
    };

    double sum[TILES][4] = {};
    element x[BLOCKS][GROUPS][4], next[BLOCKS][GROUPS][4];
    int64_t tile = (int64_t)blockIdx.x * 8 + warp;
    load(tile, x);
    for (; tile < tiles; tile += stride) {
        load(tile + stride, next);
#pragma unroll
        for (int block = 0; block < BLOCKS; block++) {
            double wide[4][4] = {};
#pragma unroll
            for (int group = 0; group < GROUPS; group++)
                bd_gram_widen(wide[group], x[block][group]);
            bd_gram_narrow_multiply<GROUPS>(sum, wide);
        }
#pragma unroll
        for (int e = 0; e < BLOCKS * GROUPS * 4; e++)
            x[e / 4 / GROUPS][e / 4 % GROUPS][e % 4] = next[e / 4 / GROUPS][e / 4 % GROUPS][e % 4];
    }
    bd_cuda_let_follow();
    bd_gram_narrow_join<8, TILES>(part, sum, others);
}

#endif
