/* Private to the CUDA backend: the sums of a Gram matrix (gram.cuh) of 33 to 128 columns, which the
 * matrix instruction bounds.
 *
 * The kernel is warp-specialised. Producer warps load rows of X and form them in shared memory;
 * consumer warps only multiply. A warp has few scoreboards to wait for loads, and loads from
 * global memory share them with everything else that it waits for: a warp that did both would
 * wait for global memory at most of its instructions. (On an H100, 110592 x 100 of Robust PCA
 * took 56 us that way.) The plain version, in which each warp does both, is gram_tiles.cuh. */
#ifndef BD_GPU_CORE_GRAM_PRODUCER_CUH
#define BD_GPU_CORE_GRAM_PRODUCER_CUH

#include "gpu/core/dependent_launch.cuh"
#include "gpu/core/gram_part.cuh"
#include "gpu/core/gram_stage.cuh"

/* Row blocks of 16 from one barrier to the next; with 2 it takes 1 to 3 us more. */
enum { bd_gram_step = 4 };

/* Two stages of shared memory: one is filled while the other is read. */
template <class Part> struct bd_gram_stages {
    enum {
        block = Part::columns * 4, /* quads of a row block */
        stage = bd_gram_step * block,
        bytes = 2 * stage * (int)sizeof(float4),
        threads = 32 * (Part::warps + Part::producers)
    };
};

/* The producer warps, for rows `begin` .. of X, `blocks` row blocks. In each step they store
 * rows from registers to the stage that is not being read, and then begin to load the rows of
 * the step after the next. All loads come after the last store, because a store waits for every
 * load that began before it. Thread t has quad t % 16 of a step's 64 rows, in columns t / 16, t
 * / 16 + STEP, .. */
template <class Loader, class Part>
static __device__ __forceinline__ void bd_gram_produce(float4 *stages, const Loader &loader,
                                                       int64_t begin, int blocks, int n)
{
    constexpr int QUADS = 4 * bd_gram_step, STEP = 32 * Part::producers / QUADS;
    constexpr int PER = Part::columns / STEP;
    static_assert(PER * STEP == Part::columns, "columns are shared out evenly");
    static_assert(STEP % 2 == 0,
                  "neighbouring columns, which may be exchanged, are of two threads");
    using memory = bd_gram_stages<Part>;
    const int thread = threadIdx.x - 32 * Part::warps;
    const int quad = thread % QUADS, column = thread / QUADS, block = quad / 4;
    const int at = bd_gram_quad<Part::columns>(block, column, quad % 4);
    bd_gram_rows<Loader> x[PER];
    auto inside = [&](int step) { return step * bd_gram_step + block < blocks; };
    auto fetch = [&](int step) {
        const int64_t i = begin + 16 * bd_gram_step * (int64_t)step + 4 * quad;
        if (!inside(step))
            return;
        if constexpr (bd_gram_has_strips<Loader>::value)
            if (loader.whole(i)) {
                typename Loader::strip strip = loader.at(i, column);
#pragma unroll
                for (int u = 0; u < PER; u++) {
                    if (column + u * STEP < n)
                        x[u].r = loader.take(strip);
                    loader.move(strip, STEP);
                }
                return;
            }
#pragma unroll
        for (int u = 0; u < PER; u++)
            x[u].fetch(loader, column + u * STEP < n, i, column + u * STEP);
    };
    auto store = [&](int step) {
        float4 *stage = stages + step % 2 * memory::stage + at;
        if (!inside(step))
            return;
#pragma unroll
        for (int u = 0; u < PER; u++)
            if (column + u * STEP < n)
                stage[u * STEP * 4] = x[u].form(loader, true);
    };
    /* From -2 on, so that the compiler makes this long code once. */
#pragma unroll 1
    for (int step = -2; step * bd_gram_step < blocks; step++) {
        if (step >= -1)
            store(step + 1);
        fetch(step + 2);
        if (step >= -1)
            __syncthreads();
    }
    bd_cuda_let_follow();
}

/* The tiles of a segment over one row block, `rows` as in bd_gram_fragment. All numbers are
 * known at compile time: tile t is column group FIRST + t, and the fragments of the row group
 * itself are loaded already. */
template <int ROW, int FIRST, int LENGTH>
static __device__ __forceinline__ void bd_gram_segment(double (*sum)[4], const float4 *rows)
{
    double left[2][4], right[4];
    if (LENGTH == 0)
        return;
    bd_gram_fragment(left[0], rows, 2 * ROW);
    bd_gram_fragment(left[1], rows, 2 * ROW + 1);
#pragma unroll
    for (int t = 0; t < LENGTH; t++) {
        const int group = FIRST + t;
        if (group < 2 * ROW + 2) {
            bd_gram_multiply(sum[t], left[0], left[1], left[group % 2]);
        } else {
            bd_gram_fragment(right, rows, group);
            bd_gram_multiply(sum[t], left[0], left[1], right);
        }
    }
}

/* Consumer warp WARP; it passes the same barriers as the producers. */
template <class Part, int WARP>
static __device__ __forceinline__ void bd_gram_consume(double2 *out, const float4 *stages,
                                                       int blocks)
{
    constexpr int L0 = Part::length(WARP, 0), L1 = Part::length(WARP, 1);
    using memory = bd_gram_stages<Part>;
    const int lane = threadIdx.x % 32;
    double sum[L0 + L1][4] = {};
    __syncthreads();
#pragma unroll 1
    for (int step = 0; step * bd_gram_step < blocks; step++) {
        const int count = min(blocks - step * bd_gram_step, (int)bd_gram_step);
        const float4 *stage = stages + step % 2 * memory::stage;
        auto rows = [&](int block) {
            return stage + block * memory::block + (lane ^ block % 2 * 4);
        };
#pragma unroll 1
        for (int block = 0; block < count; block++) {
            bd_gram_segment<Part::row(WARP, 0), Part::first(WARP, 0), L0>(sum, rows(block));
            bd_gram_segment<Part::row(WARP, 1), Part::first(WARP, 1), L1>(sum + L0, rows(block));
        }
        __syncthreads();
    }
    bd_cuda_let_follow();
#pragma unroll
    for (int e = 0; e < 2 * (L0 + L1); e++)
        out[(Part::tiles(WARP) * 2 + e) * 32 + lane] =
            make_double2(sum[e / 2][e % 2 * 2], sum[e / 2][e % 2 * 2 + 1]);
}

template <class Part, int WARP>
static __device__ __forceinline__ void bd_gram_by_warp(int warp, double2 *out, const float4 *stages,
                                                       int blocks)
{
    if (warp == WARP)
        bd_gram_consume<Part, WARP>(out, stages, blocks);
    else if constexpr (WARP + 1 < Part::warps)
        bd_gram_by_warp<Part, WARP + 1>(warp, out, stages, blocks);
}

/* Sums of thread block b, over `share` row blocks from number b * share on, to part[b][slot].
 *
 * Producers and consumers run different code but pass the same number of barriers, each of which
 * is for the whole thread block: after barriers of only some warps compute-sanitizer (CUDA 13.0)
 * reports races across barriers of all. */
template <class Loader, class Part>
__global__
__launch_bounds__(bd_gram_stages<Part>::threads,
                  1) void bd_gram_specialised(double *part, const __grid_constant__ Loader loader,
                                              int64_t m, int n, int share, const int *stop)
{
    extern __shared__ float4 bd_gram_memory[];
    if (stop && *stop)
        return;
    const int64_t first = (int64_t)blockIdx.x * share, left = (m + 15) / 16 - first;
    const int blocks = left < share ? (int)left : share, warp = threadIdx.x / 32;
    /* Columns from n on are 0: no producer writes them. */
    for (int q = threadIdx.x; q < 2 * bd_gram_stages<Part>::stage; q += blockDim.x)
        bd_gram_memory[q] = make_float4(0, 0, 0, 0);
    __syncthreads();
    if (warp < Part::warps)
        bd_gram_by_warp<Part, 0>(warp,
                                 reinterpret_cast<double2 *>(part) +
                                     (int64_t)blockIdx.x * bd_gram_slots<Part>::count / 2,
                                 bd_gram_memory, blocks);
    else
        bd_gram_produce<Loader, Part>(bd_gram_memory, loader, 16 * first, blocks, n);
}

#endif
