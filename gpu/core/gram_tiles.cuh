/* Private to the CUDA backend: the sums of a Gram matrix (gram.cuh) of more than 128 columns,
 * which the matrix instruction bounds. The sums of so many columns leave no registers for
 * producer warps (gram_producer.cuh), so every warp loads and multiplies. */
#ifndef BD_GPU_CORE_GRAM_TILES_CUH
#define BD_GPU_CORE_GRAM_TILES_CUH

#include "gpu/core/dependent_launch.cuh"
#include "gpu/core/gram_part.cuh"
#include "gpu/core/gram_stage.cuh"

/* The tiles of a warp over one row block: `rows` as in bd_gram_fragment. */
template <int LENGTH, bool DIAGONAL, int GROUPS>
static __device__ __forceinline__ void bd_gram_row(double (*sum)[4], const float4 *rows, int row,
                                                   int first)
{
    const float4 *near = rows + 32 * first,
                 *far = near - 32 * GROUPS; /* before and after the wrap */
    double left[2][4];
    bd_gram_fragment(left[0], rows, 2 * row);
    bd_gram_fragment(left[1], rows, 2 * row + 1);
#pragma unroll
    for (int t = 0; t < LENGTH; t++) {
        double right[4];
        if (DIAGONAL && t < 2) {
            bd_gram_multiply(sum[t], left[0], left[1], left[t]);
        } else {
            bd_gram_fragment(right, first + t / 2 * 2 < GROUPS ? near : far, t);
            bd_gram_multiply(sum[t], left[0], left[1], right);
        }
    }
}

/* Sums of thread block blockIdx.x of unit blockIdx.y to part[unit][block][slot]. Row tiles have
 * 32 rows and there are two stages: while a tile is multiplied, the next one is loaded to
 * registers, one half during each row block, and then stored to the other stage. */
template <class Loader, class Part>
__global__ __launch_bounds__(32 * Part::warps,
                             1) void bd_gram_tiles(double *part,
                                                   const __grid_constant__ Loader loader, int64_t m,
                                                   int n, const int *stop)
{
    constexpr int THREADS = 32 * Part::warps, STAGE = Part::columns * 8, STEP = THREADS / 8;
    constexpr int PER = STAGE / THREADS, HALF = (PER + 1) / 2; /* quads a thread stages */
    static_assert(PER * THREADS == STAGE, "quads are shared out evenly");
    extern __shared__ float4 bd_gram_stages[];
    float4 *stages = bd_gram_stages;
    /* Remainders by what these are less than anyway: with them the compiler needs fewer registers,
     * and stores to the next stage before the last product (1000000 x 192: 841 against 862 us). */
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % Part::warps;
    const int quad = threadIdx.x % 8, column = threadIdx.x % THREADS / 8;
    const int64_t tiles = (m + 31) / 32, stride = gridDim.x;
    int first, middle;
    bd_gram_columns<Part>(blockIdx.y, &first, &middle);
    if ((stop && *stop) || (Part::pair && middle >= n))
        return;
    middle -= Part::columns / 2;

    using quads = bd_gram_rows<Loader>;
    auto column_of = [&](int u) {
        const int s = column + u * STEP;
        return s + (Part::pair && s >= Part::columns / 2 ? middle : first);
    };
    auto load = [&](int64_t tile, int u, quads &x) {
        const int j = column_of(u);
        x.fetch(loader, tile < tiles && j < n && u < PER, tile * 32 + 4 * quad, j);
    };
    auto store = [&](float4 *stage, int64_t tile, int u, const quads &x) {
        if (u < PER)
            stage[bd_gram_quad<Part::columns>(quad / 4, column + u * STEP, quad % 4)] =
                x.form(loader, tile < tiles && column_of(u) < n);
    };

    double sum[Part::share][4] = {};
    int64_t tile = blockIdx.x;
#pragma unroll
    for (int u = 0; u < PER; u++) {
        quads x;
        load(tile, u, x);
        store(stages, tile, u, x);
    }
    __syncthreads();
#pragma unroll 1
    for (int now = 0; tile < tiles; tile += stride, now ^= 1) {
#pragma unroll 1
        for (int block = 0; block < 2; block++) {
            quads next[HALF];
#pragma unroll
            for (int u = 0; u < HALF; u++)
                load(tile + stride, block * HALF + u, next[u]);
            const float4 *rows =
                stages + now * STAGE + block * Part::columns * 4 + (lane ^ block * 4);
            bd_gram_row<Part::share, !Part::pair, Part::columns / 8>(sum, rows, Part::row(warp, 0),
                                                                     Part::first(warp, 0));
#pragma unroll
            for (int u = 0; u < HALF; u++)
                store(stages + (now ^ 1) * STAGE, tile + stride, block * HALF + u, next[u]);
        }
        __syncthreads();
    }
    double2 *out = reinterpret_cast<double2 *>(part) +
                   ((int64_t)blockIdx.y * gridDim.x + blockIdx.x) * bd_gram_slots<Part>::count / 2;
    bd_cuda_let_follow();
#pragma unroll
    for (int e = 0; e < 2 * Part::share; e++)
        out[(warp * Part::share * 2 + e) * 32 + lane] =
            make_double2(sum[e / 2][e % 2 * 2], sum[e / 2][e % 2 * 2 + 1]);
}

#endif
