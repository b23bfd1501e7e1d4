/* V := V T (gpu/gram_qr/plan.h) of more columns than pipelined.cu has room for, where T is one
 * block of columns and the product in float64, on the FP64 tensor cores.
 *
 * A thread block has a tile of rows, and computes panels of 128 columns of Q one after the
 * other, from the last on, so that V is not overwritten while it is needed. A panel is a sum of
 * products with 16 columns of V. These columns and their part of T arrive in shared memory while
 * the columns before them are multiplied (gpu/core/pipeline.cuh). As in pipelined.cu, T^T is
 * multiplied by V^T. A warp has 32 rows, and every other block of 16 columns of a panel, so that
 * all warps have as much to do where T ends. While one thread block of a multiprocessor loads or
 * stores, another one multiplies. wide.cu is the plain version. */
#include "gpu/core/dependent_launch.cuh"
#include "gpu/core/gram_multiply.cuh"
#include "gpu/core/pipeline.cuh"
#include "gpu/triangular/store.cuh"
#include "gpu/triangular/triangular.h"

enum {
    groups = 2, /* of 32 rows, in a tile */
    shares = 2, /* of the blocks of a panel */
    threads = 32 * groups * shares,
    rows_once = 32 * groups,
    blocks_once = 2,  /* thread blocks of a multiprocessor */
    side = 16,        /* columns of V of a stage */
    block_size = 256, /* doubles of a block of T: two of each thread */
    panel_blocks = 8, /* of a panel */
    own_blocks = panel_blocks / shares,
    most_stages = 4,
    least_stages = 2,
    static_shared = 1024 /* bytes of shared memory that are not dynamic, or more */
};

static_assert(2 * threads == block_size, "a thread copies as much of each block of T");

/* Doubles of a stage: blocks of T, then columns of V. */
template <class Element> static __host__ __device__ constexpr int stage_of(void)
{
    return panel_blocks * block_size + side * pipeline_stride<rows_once, Element>() *
                                           (int)sizeof(Element) / (int)sizeof(double);
}

/* Which 16 columns of V, of which panel, of which tile of rows. */
struct place {
    int tile, panel, k;

    /* The last columns that a panel needs. */
    __device__ __forceinline__ int last(int blocks) const
    {
        return min(panel_blocks * (panel + 1), blocks) - 1;
    }

    /* Moves on to the next; false: that is in another panel. */
    __device__ __forceinline__ bool advance(int blocks)
    {
        if (k < last(blocks)) {
            k++;
            return true;
        }
        k = 0;
        if (--panel < 0) {
            panel = (blocks - 1) / panel_blocks;
            tile += (int)gridDim.x;
        }
        return false;
    }
};

/* Copies blocks of T to a stage: those of a panel for rows 16 k .., from block (k, first) at
 * `from`. Block (k, j) of T is number j (j + 1) / 2 + k. */
static __device__ __forceinline__ void fetch_t(double *to, const double *from, int k, int first,
                                               int blocks)
{
    to += 2 * threadIdx.x;
    from += 2 * threadIdx.x;
#pragma unroll
    for (int e = 0; e < panel_blocks; e++) {
        if (k <= first + e && first + e < blocks)
            pipeline_copy<16>(to + block_size * e, from, 16);
        from += (first + e + 1) * block_size;
    }
}

/* Stores the lane's part of a panel in V: 32 rows of every other block of 16 columns, from block
 * `share` on. `to` is the lane's first row in the panel's first column; from there on `rows` rows
 * and `columns` columns exist. */
template <class Element>
static __device__ __forceinline__ void put_panel(Element *to, int64_t ldv,
                                                 const double (*sum)[4][4], int share, int64_t rows,
                                                 int columns, bool aligned)
{
#pragma unroll
    for (int i = 0; i < own_blocks; i++)
#pragma unroll
        for (int r = 0; r < 4; r++) {
            const int j = side * (i * shares + share);
            put_columns(to + 8 * r + j * ldv, ldv, sum[i][r], rows - 8 * r, columns - j, aligned);
        }
}

/* CHECKED: `overflow` is not NULL; without the check the kernel needs fewer registers. */
template <bool CHECKED, int STAGES, class Element>
__global__ __launch_bounds__(threads,
                             blocks_once) void panels(const __grid_constant__ struct gram_data d,
                                                      Element *v, int64_t ldv, int64_t m,
                                                      int *overflow)
{
    constexpr int STRIDE = pipeline_stride<rows_once, Element>(), STAGE = stage_of<Element>();
    extern __shared__ __align__(16) double stages[];
    const int n = d.n, blocks = (n + side - 1) / side, panels = (blocks - 1) / panel_blocks + 1;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, t = lane % 4;
    const int rows = warp % groups * 32, share = warp / groups;
    const int tiles = (int)((m + rows_once - 1) / rows_once);
    const bool aligned = pipeline_aligned(v, ldv);
    double *scale = stages + STAGES * STAGE;
    bd_cuda_await();
    if (d.decision->identity || !bd_cuda_triangular_is_product(d))
        return;
    for (int j = threadIdx.x; j < side * blocks; j += threads)
        scale[j] = j < n ? d.inverse[j] : 0.0;
    __syncthreads();

    struct place in = { (int)blockIdx.x, panels - 1, 0 }, now = in;
    double sum[own_blocks][4][4] = {};
    double bad = 0; /* 0, or NaN once an element is not finite */
    int steps = 0;
    for (int p = 0; p < panels; p++)
        steps += min(panel_blocks * (p + 1), blocks);
    /* The last rows come first: they were read last and may still be in the cache. */
    auto first_row = [&](int tile) { return (int64_t)(tiles - 1 - tile) * rows_once; };
    const double *next_t;
    const Element *next_v;
    auto begin = [&] {
        const int first = panel_blocks * in.panel;
        next_t = d.packed + first * (first + 1) / 2 * block_size;
        next_v = v + first_row(in.tile);
    };
    begin();
    auto fetch = [&](int, int stage) {
        double *to = stages + stage * STAGE;
        Element *rows_to = reinterpret_cast<Element *>(to + panel_blocks * block_size);
        const int64_t left = m - first_row(in.tile);
        fetch_t(to, next_t, in.k, panel_blocks * in.panel, blocks);
        const int count = min(n - side * in.k, (int)side);
        if (aligned && left >= rows_once && count == side) {
            pipeline_fetch_whole<rows_once, STRIDE, threads, side>(rows_to, next_v, ldv);
        } else {
            pipeline_fetch<rows_once, STRIDE, threads>(rows_to, next_v, ldv, 0, left, count,
                                                       aligned);
            for (int e = count * STRIDE + threadIdx.x; e < side * STRIDE; e += threads)
                rows_to[e] = 0; /* columns from n on hold old rows, maybe NaN */
        }
        next_t += block_size;
        next_v += side * ldv;
        if (!in.advance(blocks))
            begin();
    };
    auto take = [&](int, int stage) {
        const double *from = stages + stage * STAGE;
        const Element *own = reinterpret_cast<const Element *>(from + panel_blocks * block_size) +
                             rows + group + t * STRIDE;
        const double *by = scale + side * now.k + t;
        double x[4][4];
#pragma unroll
        for (int s = 0; s < 4; s++)
#pragma unroll
            for (int r = 0; r < 4; r++)
                x[r][s] = (double)own[4 * s * STRIDE + 8 * r] * by[4 * s];
        auto multiply = [&](int i) {
            const double2 *left =
                reinterpret_cast<const double2 *>(from + (i * shares + share) * block_size) + lane;
            double y[2][4];
#pragma unroll
            for (int s = 0; s < 4; s++) {
                const double2 both = left[32 * s];
                y[0][s] = both.x, y[1][s] = both.y;
            }
#pragma unroll
            for (int r = 0; r < 4; r++)
                bd_gram_multiply(sum[i][r], y[0], y[1], x[r]);
        };
        const int first = panel_blocks * now.panel;
        if (now.k <= first && first + panel_blocks <= blocks) { /* no branches between them */
#pragma unroll
            for (int i = 0; i < own_blocks; i++)
                multiply(i);
        } else {
#pragma unroll
            for (int i = 0; i < own_blocks; i++)
                if (now.k <= first + i * shares + share && first + i * shares + share < blocks)
                    multiply(i);
        }
        if (now.k == now.last(blocks)) {
            const int64_t row = first_row(now.tile) + rows + 2 * t;
            Element *to = v + row + (int64_t)side * first * ldv;
            const bool whole =
                m - first_row(now.tile) >= rows_once && side * (first + panel_blocks) <= n;
            if (aligned && whole) /* by constants: no questions between them */
                put_panel(to, ldv, sum, share, 32, side * panel_blocks, true);
            else
                put_panel(to, ldv, sum, share, m - row, n - side * first, aligned);
            if constexpr (CHECKED)
#pragma unroll
                for (int e = 0; e < own_blocks * 4; e++)
                    bad += probe<Element>(sum[e / 4][e % 4]);
#pragma unroll
            for (int e = 0; e < own_blocks * 16; e++)
                sum[e / 16][e / 4 % 4][e % 4] = 0;
        }
        now.advance(blocks);
    };
    const int own_tiles = (tiles - (int)blockIdx.x + (int)gridDim.x - 1) / (int)gridDim.x;
    pipeline_tiles<STAGES>(0, 1, own_tiles * steps, fetch, take);
    if (CHECKED && isnan(bad))
        *overflow = 1;
}

template <class Element> static size_t panel_bytes(int n, int stages)
{
    const size_t blocks = (size_t)((n + side - 1) / side);
    return ((size_t)stages * (size_t)stage_of<Element>() + side * blocks) * sizeof(double);
}

template <int STAGES, class Element>
static enum bd_status launch(const struct gram_plan *plan, Element *v, int64_t ldv, int *overflow)
{
    struct bd_cuda *cuda = plan->cuda;
    const int64_t tiles = (plan->m + rows_once - 1) / rows_once, most = blocks_once * cuda->sms;
    const auto kernel = overflow ? panels<true, STAGES, Element> : panels<false, STAGES, Element>;
    enum bd_status status =
        bd_cuda_allow_shared(cuda, (const void *)kernel, "shared memory for rows of V");
    if (status == BD_OK)
        bd_cuda_follow(cuda, kernel, dim3((unsigned)(tiles < most ? tiles : most)), dim3(threads),
                       panel_bytes<Element>(plan->data.n, STAGES), plan->data, v, ldv, plan->m,
                       overflow);
    return status ? status : bd_cuda_launched("the product with a triangle");
}

template <class Element>
static enum bd_status choose(const struct gram_plan *plan, Element *v, int64_t ldv, int *overflow)
{
    const size_t bytes = panel_bytes<Element>(plan->data.n, most_stages) + static_shared;
    return blocks_once * bytes <= (size_t)plan->cuda->shared_most
               ? launch<most_stages>(plan, v, ldv, overflow)
               : launch<least_stages>(plan, v, ldv, overflow);
}

enum bd_status bd_cuda_triangular_panels(const struct gram_plan *plan, void *v, int64_t ldv,
                                         int *overflow)
{
    return plan->type == BD_F32 ? choose(plan, static_cast<float *>(v), ldv, overflow)
                                : choose(plan, static_cast<double *>(v), ldv, overflow);
}
