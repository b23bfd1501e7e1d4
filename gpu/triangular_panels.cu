/* V := V T (gram_qr_plan.h) of more columns than triangular_staged.cu has room for, where T is one
 * block of columns and the product in float64, on the FP64 tensor cores.
 *
 * A thread block has a tile of rows, and panels of 128 columns of Q one after the other, from the
 * last on, so that V is there as long as it is wanted: a panel is a product with 16 columns of V at
 * a time, which arrive in shared memory together with their part of T while those before them are
 * multiplied (staged_rows.cuh). As in triangular_staged.cu T^T is multiplied by V^T. A warp has 32
 * rows, and of the blocks of 16 columns of a panel every so manieth, so that all warps have as much
 * to do where T ends. */
#include "gpu/dependent_launch.cuh"
#include "gpu/gram_multiply.cuh"
#include "gpu/staged_rows.cuh"
#include "gpu/triangular.h"
#include "gpu/triangular_put.cuh"

enum {
    warps = 8,
    threads = 32 * warps,
    side = 16,        /* columns of V of a stage */
    block_size = 256, /* doubles of a block of T */
    panel_blocks = 8, /* of a panel */
    many_groups = 4,  /* of 32 rows, in a tile */
    few_groups = 2,   /* where tiles are few */
    most_stages = 4,
    least_stages = 2,
    static_shared = 256 /* bytes of shared memory that are not dynamic, or more */
};

/* Elements between staged columns: those of four, of which a fragment has eight, are in different
 * banks. */
template <int GROUPS, class Element> static __host__ __device__ constexpr int stride_of(void)
{
    return 32 * GROUPS + (sizeof(Element) == 8 ? 4 : 8);
}

/* Doubles of a stage: blocks of T, then columns of V. */
template <int GROUPS, class Element> static __host__ __device__ constexpr int stage_of(void)
{
    return panel_blocks * block_size +
           side * stride_of<GROUPS, Element>() * (int)sizeof(Element) / (int)sizeof(double);
}

/* 16 columns of V, of a panel, of a tile of rows. */
struct place {
    int tile, panel, k;

    /* The last columns that a panel wants. */
    __device__ __forceinline__ int last(int blocks) const
    {
        return min(panel_blocks * (panel + 1), blocks) - 1;
    }

    /* To the next of them; false: of another panel. */
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

/* What a thread copies of T to a stage: 16 bytes of each fourth, counted from 0, of the blocks of a
 * panel. Addresses are kept from stage to stage, as there is little time to compute them. */
struct part_of_t {
    const double *from[panel_blocks * block_size / 2 / threads];

    __device__ __forceinline__ static int block(int e)
    {
        return (int)threadIdx.x / (block_size / 2) + e * (2 * threads / block_size);
    }

    __device__ __forceinline__ void begin(const double *packed, int panel)
    {
#pragma unroll
        for (int e = 0; e < (int)(sizeof from / sizeof *from); e++) {
            const int j = panel_blocks * panel + block(e);
            from[e] = packed + j * (j + 1) / 2 * block_size + threadIdx.x % (block_size / 2) * 2;
        }
    }

    __device__ __forceinline__ void fetch(double *to, const struct place &at, int blocks)
    {
        to += 2 * threadIdx.x;
#pragma unroll
        for (int e = 0; e < (int)(sizeof from / sizeof *from); e++) {
            const int j = panel_blocks * at.panel + block(e);
            if (at.k <= j && j < blocks)
                staged_copy<16>(to + 2 * threads * e, from[e], 16);
            from[e] += block_size;
        }
    }
};

/* The lane's part of a panel to V: of every so manieth block of 16 columns, from `share` on, 32
 * rows, of which there are `rows` from the lane's own on; `to` is at these in the first column, and
 * there are `columns`. As put_rows. */
template <int SHARES, int OWN, class Element>
static __device__ __forceinline__ int put_panel(Element *to, int64_t ldv,
                                                const double (&sum)[OWN][4][4], int share,
                                                int64_t rows, int columns, bool aligned)
{
    int bad = 0;
#pragma unroll
    for (int i = 0; i < OWN; i++)
#pragma unroll
        for (int r = 0; r < 4; r++) {
            const int j = side * (i * SHARES + share);
            bad |= put_columns(to + 8 * r + j * ldv, ldv, sum[i][r], rows - 8 * r, columns - j,
                               aligned);
        }
    return bad;
}

template <int STAGES, int GROUPS, class Element>
__global__ __launch_bounds__(threads, 1) void panels(const __grid_constant__ struct gram_data d,
                                                     Element *v, int64_t ldv, int64_t m,
                                                     int *overflow)
{
    constexpr int ROWS = 32 * GROUPS, STRIDE = stride_of<GROUPS, Element>(),
                  SHARES = warps / GROUPS;
    constexpr int STAGE = stage_of<GROUPS, Element>(), OWN = panel_blocks / SHARES;
    extern __shared__ __align__(16) double stages[];
    const int n = d.n, blocks = (n + side - 1) / side, panels = (blocks - 1) / panel_blocks + 1;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, t = lane % 4;
    const int rows = warp % GROUPS * 32, share = warp / GROUPS;
    const int tiles = (int)((m + ROWS - 1) / ROWS);
    const bool aligned = staged_aligned(v, ldv);
    double *scale = stages + STAGES * STAGE;
    bd_cuda_await();
    if (d.decision->identity || !bd_cuda_triangular_is_product(d))
        return;
    /* Columns that there are not are multiplied by 0, so they need not be 0, but numbers. */
    for (int e = threadIdx.x; e < STAGES * STAGE; e += threads)
        stages[e] = 0;
    for (int j = threadIdx.x; j < side * blocks; j += threads)
        scale[j] = j < n ? d.inverse[j] : 0.0;
    __syncthreads();

    struct place in = { (int)blockIdx.x, panels - 1, 0 }, now = in;
    double sum[OWN][4][4] = {};
    int steps = 0, bad = 0;
    for (int p = 0; p < panels; p++)
        steps += min(panel_blocks * (p + 1), blocks);
    auto first_row = [&](int tile) { /* the last rows first: those that were read last */
                                     return (int64_t)(tiles - 1 - tile) * ROWS;
    };
    struct part_of_t part;
    part.begin(d.packed, in.panel);
    const Element *next = v + first_row(in.tile);
    auto fetch = [&](int, int stage) {
        double *to = stages + stage * STAGE;
        Element *rows_to = reinterpret_cast<Element *>(to + panel_blocks * block_size);
        const int64_t left = m - first_row(in.tile);
        part.fetch(to, in, blocks);
        if (aligned && left >= ROWS && n - side * in.k >= side)
            staged_fetch_whole<ROWS, STRIDE, threads, side>(rows_to, next, ldv);
        else
            staged_fetch<ROWS, STRIDE, threads>(rows_to, next, ldv, 0, left,
                                                min(n - side * in.k, (int)side), aligned);
        next += side * ldv;
        if (!in.advance(blocks)) {
            part.begin(d.packed, in.panel);
            next = v + first_row(in.tile);
        }
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
                reinterpret_cast<const double2 *>(from + (i * SHARES + share) * block_size) + lane;
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
        if (now.k <= first && first + panel_blocks <= blocks) { /* no questions between them */
#pragma unroll
            for (int i = 0; i < OWN; i++)
                multiply(i);
        } else {
#pragma unroll
            for (int i = 0; i < OWN; i++)
                if (now.k <= first + i * SHARES + share && first + i * SHARES + share < blocks)
                    multiply(i);
        }
        if (now.k == now.last(blocks)) {
            const int64_t row = first_row(now.tile) + rows + 2 * t;
            Element *to = v + row + (int64_t)side * first * ldv;
            const bool whole =
                m - first_row(now.tile) >= ROWS && side * (first + panel_blocks) <= n;
            if (aligned && whole) /* by constants: no questions between them */
                bad |= put_panel<SHARES>(to, ldv, sum, share, 32, side * panel_blocks, true);
            else
                bad |= put_panel<SHARES>(to, ldv, sum, share, m - row, n - side * first, aligned);
#pragma unroll
            for (int e = 0; e < OWN * 16; e++)
                sum[e / 16][e / 4 % 4][e % 4] = 0;
        }
        now.advance(blocks);
    };
    const int own_tiles = (tiles - (int)blockIdx.x + (int)gridDim.x - 1) / (int)gridDim.x;
    staged_tiles<STAGES>(0, 1, own_tiles * steps, fetch, take);
    if (overflow && bad)
        *overflow = 1;
}

template <int GROUPS, class Element> static size_t panel_bytes(int n, int stages)
{
    const size_t blocks = (size_t)((n + side - 1) / side);
    return ((size_t)stages * (size_t)stage_of<GROUPS, Element>() + side * blocks) * sizeof(double);
}

template <int STAGES, int GROUPS, class Element>
static enum bd_status launch(const struct gram_plan *plan, Element *v, int64_t ldv, int *overflow)
{
    struct bd_cuda *cuda = plan->cuda;
    const int64_t tiles = (plan->m + 32 * GROUPS - 1) / (32 * GROUPS);
    const auto kernel = panels<STAGES, GROUPS, Element>;
    enum bd_status status =
        bd_cuda_allow_shared(cuda, (const void *)kernel, "shared memory for rows of V");
    if (status == BD_OK)
        bd_cuda_follow(cuda, kernel, dim3((unsigned)(tiles < cuda->sms ? tiles : cuda->sms)),
                       dim3(threads), panel_bytes<GROUPS, Element>(plan->data.n, STAGES),
                       plan->data, v, ldv, plan->m, overflow);
    return status ? status : bd_cuda_launched("the product with a triangle");
}

template <int GROUPS, class Element>
static enum bd_status choose_stages(const struct gram_plan *plan, Element *v, int64_t ldv,
                                    int *overflow)
{
    const size_t room = (size_t)plan->cuda->shared_most;
    const int n = plan->data.n;
    if (panel_bytes<GROUPS, Element>(n, most_stages) + static_shared <= room)
        return launch<most_stages, GROUPS>(plan, v, ldv, overflow);
    return launch<least_stages, GROUPS>(plan, v, ldv, overflow);
}

/* As many rows as make the fewest of all thread blocks busy for the shortest time: small tiles take
 * half as long, and a little more. */
template <class Element>
static enum bd_status choose(const struct gram_plan *plan, Element *v, int64_t ldv, int *overflow)
{
    const int64_t sms = plan->cuda->sms, many = 32 * many_groups * sms, few = 32 * few_groups * sms;
    const int64_t large = (plan->m + many - 1) / many, small = (plan->m + few - 1) / few;
    return 11 * small < 20 * large ? choose_stages<few_groups>(plan, v, ldv, overflow)
                                   : choose_stages<many_groups>(plan, v, ldv, overflow);
}

extern "C" enum bd_status bd_cuda_triangular_panels(const struct gram_plan *plan, void *v,
                                                    int64_t ldv, int *overflow)
{
    return plan->type == BD_F32 ? choose(plan, static_cast<float *>(v), ldv, overflow)
                                : choose(plan, static_cast<double *>(v), ldv, overflow);
}
