/* Private to the CUDA backend: the sums of a Gram matrix (gram.cuh) of more than 32 columns, which
 * the matrix instruction bounds. Row tiles go through shared memory, since each of their elements
 * is wanted by many warps. */
#ifndef BD_GPU_GRAM_TILES_CUH
#define BD_GPU_GRAM_TILES_CUH

#include <type_traits>

#include <cstdint>

#include "gpu/gram_multiply.cuh"
#include "gpu/gram_part.cuh"

/* Staged tile: rows in blocks of 16, in each of these the columns one after the other, a column's
 * four quads (of 4 floats) together. The 8 columns of a group are so 32 adjacent quads, number l
 * for lane l; in odd blocks neighbouring columns are exchanged, which takes what a column's threads
 * store in two blocks to different banks. */
template <int COLS> __device__ __forceinline__ int bd_gram_quad(int block, int col, int quad)
{
    return (block * COLS + (col ^ (block & 1))) * 4 + quad;
}

/* The fragment of column group `group` (of 8); `rows` are the quads of a row block, moved on by the
 * lane's own. */
__device__ __forceinline__ void bd_gram_fragment(double wide[4], const float4 *rows, int group)
{
    float4 v = rows[32 * group];
    float x[4] = { v.x, v.y, v.z, v.w };
    bd_gram_widen(wide, x);
}

/* Waits for the warps of a set; and for all. By number, since each kind of warp has its own code.
 */
static __device__ __forceinline__ void bd_gram_wait(int set, int threads)
{
    asm volatile("bar.sync %0, %1;" : : "r"(1 + set), "r"(threads) : "memory");
}

static __device__ __forceinline__ void bd_gram_wait_all(void)
{
    asm volatile("bar.sync 0;" : : : "memory");
}

/* The tiles of a segment over one row block: `rows` as in bd_gram_fragment. */
template <int LENGTH, bool DIAGONAL, int GROUPS>
static __device__ __forceinline__ void bd_gram_segment(double (*sum)[4], const float4 *rows,
                                                       int row, int first)
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

/* Four rows of a column on their way from the loader. A loader may have, beside load4,
 *     struct raw { .. };
 *     __device__ raw fetch(int64_t i, int j) const;          the loads of load4 and no more
 *     __device__ void form(const raw &r, float x[4]) const;  what load4 makes of them
 * so that nothing waits for the loads before X is wanted. */
template <class Loader, class = void> struct bd_gram_rows {
    float x[4];

    __device__ __forceinline__ void fetch(const Loader &loader, bool in, int64_t i, int j)
    {
        x[0] = x[1] = x[2] = x[3] = 0.0f;
        if (in)
            loader.load4(i, j, x);
    }
    __device__ __forceinline__ float4 form(const Loader &, bool) const
    {
        return make_float4(x[0], x[1], x[2], x[3]);
    }
};

template <class Loader> struct bd_gram_rows<Loader, std::void_t<typename Loader::raw>> {
    typename Loader::raw r;

    __device__ __forceinline__ void fetch(const Loader &loader, bool in, int64_t i, int j)
    {
        if (in)
            r = loader.fetch(i, j);
    }
    __device__ __forceinline__ float4 form(const Loader &loader, bool in) const
    {
        float x[4] = { 0.0f, 0.0f, 0.0f, 0.0f };
        if (in)
            loader.form(r, x);
        return make_float4(x[0], x[1], x[2], x[3]);
    }
};

/* The work of a warp of kind KIND. Each set takes row tiles of its own, 32 rows, in two stages of
 * its own: while a tile is multiplied, the next one is on its way to registers, one half of it
 * during each row block, and then to the other stage. */
template <class Loader, class Part, int KIND>
static __device__ __forceinline__ void bd_gram_warp(double2 *out, float4 *memory,
                                                    const Loader &loader, int64_t m, int n)
{
    constexpr int THREADS = 32 * Part::warps, STAGE = Part::columns * 8, STEP = THREADS / 8;
    constexpr int PER = STAGE / THREADS, HALF = (PER + 1) / 2; /* quads a thread stages */
    constexpr int L0 = Part::length(KIND, 0), L1 = Part::length(KIND, 1);
    static_assert(PER * THREADS == STAGE, "quads are shared out evenly");
    const int lane = threadIdx.x % 32, set = Part::sets > 1 ? threadIdx.x / THREADS : 0;
    const int warp = Part::kinds == Part::warps ? KIND : threadIdx.x / 32 % Part::warps;
    const int quad = threadIdx.x % 8, column = threadIdx.x % THREADS / 8;
    const int64_t tiles = (m + 31) / 32, stride = (int64_t)gridDim.x * Part::sets;
    float4 *stages = memory + set * 2 * STAGE;
    int first, middle;
    bd_gram_columns<Part>(blockIdx.y, &first, &middle);
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

    double sum[L0 + L1][4] = {};
    int64_t tile = (int64_t)blockIdx.x * Part::sets + set;
#pragma unroll
    for (int u = 0; u < PER; u++) {
        quads x;
        load(tile, u, x);
        store(stages, tile, u, x);
    }
    bd_gram_wait(set, THREADS);
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
            bd_gram_segment<L0, Part::diagonal(KIND, 0), Part::columns / 8>(
                sum, rows, Part::row(warp, 0), Part::first(warp, 0));
            if (L1 > 0)
                bd_gram_segment<L1, Part::diagonal(KIND, 1), Part::columns / 8>(
                    sum + L0, rows, Part::row(warp, 1), Part::first(warp, 1));
#pragma unroll
            for (int u = 0; u < HALF; u++)
                store(stages + (now ^ 1) * STAGE, tile + stride, block * HALF + u, next[u]);
        }
        bd_gram_wait(set, THREADS);
    }

    /* The sums of the other sets join those of set 0, four tiles at a time, in the stages. */
    double2 *others = reinterpret_cast<double2 *>(memory);
#pragma unroll
    for (int t0 = 0; Part::sets > 1 && t0 < Part::share; t0 += 4) {
        bd_gram_wait_all();
#pragma unroll
        for (int e = 2 * t0; e < 2 * t0 + 8 && e < 2 * (L0 + L1); e++)
            if (set > 0)
                others[(((set - 1) * Part::warps + warp) * 8 + e - 2 * t0) * 32 + lane] =
                    make_double2(sum[e / 2][e % 2 * 2], sum[e / 2][e % 2 * 2 + 1]);
        bd_gram_wait_all();
#pragma unroll
        for (int e = 2 * t0; e < 2 * t0 + 8 && e < 2 * (L0 + L1); e++)
            for (int other = 0; set == 0 && other < Part::sets - 1; other++) {
                double2 more = others[((other * Part::warps + warp) * 8 + e - 2 * t0) * 32 + lane];
                sum[e / 2][e % 2 * 2] += more.x;
                sum[e / 2][e % 2 * 2 + 1] += more.y;
            }
    }
    if (set == 0)
#pragma unroll
        for (int e = 0; e < 2 * (L0 + L1); e++)
            out[(warp * Part::share * 2 + e) * 32 + lane] =
                make_double2(sum[e / 2][e % 2 * 2], sum[e / 2][e % 2 * 2 + 1]);
}

template <class Loader, class Part, int KIND>
static __device__ __forceinline__ void bd_gram_by_kind(int kind, double2 *out, float4 *memory,
                                                       const Loader &loader, int64_t m, int n)
{
    if (kind == KIND)
        bd_gram_warp<Loader, Part, KIND>(out, memory, loader, m, n);
    else if constexpr (KIND + 1 < Part::kinds)
        bd_gram_by_kind<Loader, Part, KIND + 1>(kind, out, memory, loader, m, n);
}

/* Sums of thread block blockIdx.x of unit blockIdx.y to part[unit][block][slot]. */
template <class Loader, class Part>
__global__ __launch_bounds__(32 * Part::warps * Part::sets,
                             1) void bd_gram_tiles(double *part,
                                                   const __grid_constant__ Loader loader, int64_t m,
                                                   int n, const int *stop)
{
    extern __shared__ float4 bd_gram_memory[];
    int first, middle;
    bd_gram_columns<Part>(blockIdx.y, &first, &middle);
    if ((stop && *stop) || (Part::pair && middle >= n))
        return;
    double2 *out = reinterpret_cast<double2 *>(part) +
                   ((int64_t)blockIdx.y * gridDim.x + blockIdx.x) * bd_gram_slots<Part>::count / 2;
    bd_gram_by_kind<Loader, Part, 0>(Part::kind(threadIdx.x / 32 % Part::warps), out,
                                     bd_gram_memory, loader, m, n);
}

#endif
