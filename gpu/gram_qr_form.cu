/* G = V^T V in float64 (gram_qr_plan.h): of float32 by gram.cuh, of float64 by the kernels here, on
 * the FP64 tensor cores too. Of 16 rows lane 4 g + t holds rows 2 t, 2 t + 1, 8 + 2 t and 9 + 2 t
 * of column g of a group of 8 (gram_multiply.cuh: any order will do): two loads of 16 bytes, each
 * of which is 64 adjacent bytes of a column for the four lanes of it. */
#include "gpu/gram.cuh"
#include "gpu/gram_qr_plan.h"
#include "gpu/staged_rows.cuh"

enum { narrow_most = 32 };

/* Rows i, i + 1, i + 8, i + 9 of column j, 0 where there are none. `aligned`: columns begin at
 * multiples of 16 bytes. */
static __device__ __forceinline__ void load4(double x[4], const double *v, int64_t ldv, int64_t i,
                                             int j, int64_t m, int n, bool aligned)
{
    const double *p = v + i + j * ldv;
    if (j < n && aligned && i + 10 <= m) {
        const double2 low = *reinterpret_cast<const double2 *>(p),
                      high = *reinterpret_cast<const double2 *>(p + 8);
        x[0] = low.x, x[1] = low.y, x[2] = high.x, x[3] = high.y;
    } else {
#pragma unroll
        for (int k = 0; k < 4; k++)
            x[k] = j < n && i + k % 2 + k / 2 * 8 < m ? p[k % 2 + k / 2 * 8] : 0.0;
    }
}

static __device__ __forceinline__ bool is_aligned(const double *v, int64_t ldv)
{
    return ((reinterpret_cast<uintptr_t>(v) | (uintptr_t)ldv * sizeof *v) & 15) == 0;
}

/* Up to 8 GROUPS columns, as bd_gram_narrow: bound by memory, a warp takes 16 rows at a time
 * straight from V, the next ones on their way. part: blocks x tiles x 128. */
template <int GROUPS>
__global__ __launch_bounds__(256, GROUPS == 3 ? 2 : 1) void narrow(double *part, const double *v,
                                                                   int64_t ldv, int64_t m, int n)
{
    constexpr int TILES = bd_gram_narrow_slots<GROUPS>::tiles;
    __shared__ double2 others[4][TILES * 2][32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t tiles = (m + 15) / 16, step = (int64_t)gridDim.x * 8;
    const bool aligned = is_aligned(v, ldv);
    double sum[TILES][4] = {}, x[4][4] = {}, next[GROUPS][4];
    bd_cuda_await();

    auto load = [&](int64_t tile, double to[][4]) {
#pragma unroll
        for (int group = 0; group < GROUPS; group++)
            load4(to[group], v, ldv, tile * 16 + 2 * (lane % 4), 8 * group + lane / 4,
                  tile < tiles ? m : 0, n, aligned);
    };
    int64_t tile = (int64_t)blockIdx.x * 8 + warp;
    load(tile, x);
    for (; tile < tiles; tile += step) {
        load(tile + step, next);
        bd_gram_narrow_multiply<GROUPS>(sum, x);
#pragma unroll
        for (int group = 0; group < GROUPS; group++)
#pragma unroll
            for (int k = 0; k < 4; k++)
                x[group][k] = next[group][k];
    }
    bd_cuda_let_follow();

    bd_gram_narrow_join<8, TILES>(part, sum, others);
}

/* Of more columns V is staged (staged_rows.cuh) in tiles of 16 SPLITS rows, of which a warp has 16;
 * SETS warps share them, and each has TILES of the tiles of 16 x 8 of G. A column is 8 elements
 * longer than a tile, so that the fragments of two columns, 64 bytes each, are in different banks.
 */
template <class Shape> struct staged_memory {
    enum {
        rows = 16 * Shape::splits,
        stride = rows + 8,
        stages = 4,
        threads = 32 * Shape::sets * Shape::splits
    };
    /* Doubles of a stage with so many columns. */
    static __host__ __device__ __forceinline__ int stage(int columns)
    {
        return (columns + 15) / 16 * 16 * stride;
    }
};

/* The fragment of 8 columns at `rows`, which is the lane's own place in the first of them. */
template <int STRIDE>
static __device__ __forceinline__ void fragment(double x[4], const double *rows, int group)
{
    const double2 *from = reinterpret_cast<const double2 *>(rows + 8 * group * STRIDE);
    const double2 low = from[0], high = from[4];
    x[0] = low.x, x[1] = low.y, x[2] = high.x, x[3] = high.y;
}

/* The upper triangle of up to 16 ROWS columns: set s has the tiles of row groups (of 16 columns) s
 * and ROWS - 1 - s, of the column groups (of 8) that there are: all sets as many where n is large.
 */
template <int ROWS> struct triangle {
    enum {
        most = 16 * ROWS, /* columns */
        sets = ROWS / 2,
        splits = 8 / sets,
        tiles = 2 * ROWS + 2,
        count = sets * tiles * 128
    };

    static __device__ __forceinline__ bool place(int slot, int, int n, int *row, int *col)
    {
        const int lane = slot / 2 % 32, set = slot / 128 / tiles, tile = slot / 128 % tiles;
        const bool top = tile < 2 * (ROWS - set);
        *row = 16 * (top ? set : ROWS - 1 - set) + slot / 64 % 2 * 8 + lane / 4;
        *col = 8 * (top ? 2 * set + tile : tile - 2) + 2 * (lane % 4) + slot % 2;
        return *row <= *col && *col < n;
    }

    template <int SET, int STRIDE>
    static __device__ __forceinline__ void take_set(double (*sum)[4], const double *rows,
                                                    int groups)
    {
        constexpr int TOP = 2 * SET, BOTTOM = 2 * (ROWS - 1 - SET);
        double top[2][4], bottom[2][4], others[2][4];
        auto at_hand = [&](int group) {
            return group < TOP + 2 || (group >= BOTTOM && group < BOTTOM + 2);
        };
        fragment<STRIDE>(top[0], rows, TOP);
        fragment<STRIDE>(top[1], rows, TOP + 1);
        if (BOTTOM < groups) {
            fragment<STRIDE>(bottom[0], rows, BOTTOM);
            fragment<STRIDE>(bottom[1], rows, BOTTOM + 1);
        }
#pragma unroll
        for (int group = TOP; group < 2 * ROWS; group++) {
            const double *right = group < TOP + 2  ? top[group % 2]
                                  : at_hand(group) ? bottom[group % 2]
                                                   : others[group % 2];
            if (group >= groups)
                break;
            if (!at_hand(group + 1) && group + 1 < groups) /* before it is wanted */
                fragment<STRIDE>(others[(group + 1) % 2], rows, group + 1);
            bd_gram_multiply(sum[group - TOP], top[0], top[1], right);
            if (group >= BOTTOM)
                bd_gram_multiply(sum[group + 2], bottom[0], bottom[1], right);
        }
    }

    template <int SET, int STRIDE>
    static __device__ __forceinline__ void take_from(double (*sum)[4], const double *rows, int set,
                                                     int groups)
    {
        if (set == SET)
            take_set<SET, STRIDE>(sum, rows, groups);
        else if constexpr (SET + 1 < sets)
            take_from<SET + 1, STRIDE>(sum, rows, set, groups);
    }

    /* sum += the products of 16 rows; `groups` of 8 columns. */
    template <int STRIDE>
    static __device__ __forceinline__ void take(double (*sum)[4], const double *rows, int set,
                                                int groups)
    {
        take_from<0, STRIDE>(sum, rows, set, groups);
    }

    static __host__ __device__ int width(int n)
    {
        return n;
    }

    static __device__ __forceinline__ void panels(int, int n, int *left, int *right, int *columns)
    {
        *left = 0;
        *right = -1;
        *columns = n;
    }
};

/* The products of two panels of 64 columns, p <= q of unit q (q + 1) / 2 + p: the left one is
 * staged first, and the right one behind it. Set s has 16 columns of the left one. */
struct square {
    enum { panel = 64, sets = 4, splits = 2, tiles = 8, count = sets * tiles * 128 };

    static __host__ __device__ int width(int)
    {
        return 2 * panel;
    }

    static __device__ __forceinline__ void panels(int unit, int n, int *left, int *right,
                                                  int *columns)
    {
        int q = 0;
        while (unit > q)
            unit -= ++q;
        *left = unit * panel;
        *right = unit < q ? q * panel : -1;
        *columns = min(n - q * panel, (int)panel);
    }

    static __device__ __forceinline__ bool place(int slot, int unit, int n, int *row, int *col)
    {
        const int lane = slot / 2 % 32, set = slot / 128 / tiles, tile = slot / 128 % tiles;
        int left, right, columns;
        panels(unit, n, &left, &right, &columns);
        *row = left + 16 * set + slot / 64 % 2 * 8 + lane / 4;
        *col = (right < 0 ? left : right) + 8 * tile + 2 * (lane % 4) + slot % 2;
        return *row <= *col && *col < n;
    }

    template <int STRIDE>
    static __device__ __forceinline__ void take(double (*sum)[4], const double *rows, int set,
                                                int groups)
    {
        const double *right = rows + (groups > 8 ? panel * STRIDE : 0);
        double top[2][4], others[2][4];
        fragment<STRIDE>(top[0], rows, 2 * set);
        fragment<STRIDE>(top[1], rows, 2 * set + 1);
        fragment<STRIDE>(others[0], right, 0);
#pragma unroll
        for (int tile = 0; tile < tiles; tile++) {
            if (tile + 1 < tiles)
                fragment<STRIDE>(others[(tile + 1) % 2], right, tile + 1);
            bd_gram_multiply(sum[tile], top[0], top[1], others[tile % 2]);
        }
    }
};

/* Unit blockIdx.x, of which thread block blockIdx.y takes every gridDim.y-th tile of rows. part:
 * units x gridDim.y x Shape::count. */
template <class Shape>
__global__ __launch_bounds__(staged_memory<Shape>::threads,
                             1) void staged(double *part, const double *v, int64_t ldv, int64_t m,
                                            int n)
{
    using memory = staged_memory<Shape>;
    constexpr int STRIDE = memory::stride, STAGES = memory::stages, SETS = Shape::sets;
    constexpr int TILES = Shape::tiles, THREADS = memory::threads;
    extern __shared__ __align__(16) double stages[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    /* The quarters of a multiprocessor have warps w and w + 4: of different sets. */
    const int set = warp % SETS ^ (warp < 4 ? 0 : SETS - 1), split = warp / SETS;
    int left, right, columns;
    Shape::panels(blockIdx.x, n, &left, &right, &columns);
    const int before = right < 0 ? 0 : square::panel, staged_columns = before + columns;
    const int size = memory::stage(Shape::width(n)), groups = (staged_columns + 7) / 8;
    const bool aligned = staged_aligned(v, ldv);
    const int64_t tiles = (m + memory::rows - 1) / memory::rows, step = gridDim.y;
    const double *own = stages + 16 * split + lane / 4 * STRIDE + 2 * (lane % 4);
    double sum[TILES][4] = {};
    for (int e = threadIdx.x; e < STAGES * size; e += THREADS)
        if (e % size >= staged_columns * STRIDE)
            stages[e] = 0; /* and stays so */
    bd_cuda_await();

    auto fetch = [&](int64_t tile, int stage) {
        double *to = stages + stage * size;
        if (tile < tiles && right >= 0)
            staged_fetch<memory::rows, STRIDE, THREADS>(to, v + left * ldv, ldv,
                                                        tile * memory::rows, m, before, aligned);
        if (tile < tiles)
            staged_fetch<memory::rows, STRIDE, THREADS>(to + before * STRIDE,
                                                        v + (right < 0 ? left : right) * ldv, ldv,
                                                        tile * memory::rows, m, columns, aligned);
        staged_commit();
    };
    int64_t tile = blockIdx.y;
    for (int stage = 0; stage < STAGES - 1; stage++)
        fetch(tile + stage * step, stage);
    for (int stage = 0; tile < tiles; tile += step, stage = (stage + 1) % STAGES) {
        staged_wait<STAGES - 2>();
        __syncthreads();
        fetch(tile + (STAGES - 1) * step, (stage + STAGES - 1) % STAGES);
        Shape::template take<STRIDE>(sum, own + stage * size, set, groups);
    }
    bd_cuda_let_follow();

    /* The sums of a set's warps. */
    staged_wait<0>();
    __syncthreads();
    double2 *others = reinterpret_cast<double2 *>(stages) + lane;
    if (split > 0)
#pragma unroll
        for (int e = 0; e < 2 * TILES; e++)
            others[(((split - 1) * SETS + set) * 2 * TILES + e) * 32] =
                make_double2(sum[e / 2][e % 2 * 2], sum[e / 2][e % 2 * 2 + 1]);
    __syncthreads();
    double2 *out = reinterpret_cast<double2 *>(part) +
                   ((int64_t)blockIdx.x * gridDim.y + blockIdx.y) * (Shape::count / 2) + lane;
    if (split == 0)
#pragma unroll
        for (int e = 0; e < 2 * TILES; e++) {
            double2 x = make_double2(sum[e / 2][e % 2 * 2], sum[e / 2][e % 2 * 2 + 1]);
            for (int k = 0; k < Shape::splits - 1; k++) {
                const double2 more = others[((k * SETS + set) * 2 * TILES + e) * 32];
                x.x += more.x;
                x.y += more.y;
            }
            out[(set * 2 * TILES + e) * 32] = x;
        }
}

/* Units of more columns than a triangle has, and thread blocks for each so that the device is
 * filled once, or twice where units are many. */
static int unit_count(int n)
{
    const int panels = (n + square::panel - 1) / square::panel;
    return n <= triangle<8>::most ? 1 : panels * (panels + 1) / 2;
}

template <class Shape> static int split_count(const struct bd_cuda *cuda, int64_t m, int n)
{
    const int64_t tiles = (m + staged_memory<Shape>::rows - 1) / staged_memory<Shape>::rows;
    const int units = unit_count(n), blocks = units == 1 ? cuda->sms : 2 * cuda->sms;
    const int64_t splits = blocks > units ? blocks / units : 1;
    return (int)(tiles < splits ? tiles : splits);
}

template <class Shape> static size_t staged_parts(const struct bd_cuda *cuda, int64_t m, int n)
{
    return (size_t)unit_count(n) * (size_t)split_count<Shape>(cuda, m, n) * Shape::count *
           sizeof(double);
}

template <class Shape>
static enum bd_status launch_staged(const struct gram_plan *plan, const double *v, int64_t ldv,
                                    cudaLaunchConfig_t *launch)
{
    using memory = staged_memory<Shape>;
    struct bd_cuda *cuda = plan->cuda;
    const int n = plan->data.n, units = unit_count(n);
    const int splits = split_count<Shape>(cuda, plan->m, n);
    double *part = static_cast<double *>(plan->parts);
    enum bd_status status =
        bd_cuda_allow_shared(cuda, (const void *)staged<Shape>, "shared memory for rows of V");
    if (status != BD_OK)
        return status;
    launch->gridDim = dim3((unsigned)units, (unsigned)splits);
    launch->blockDim = dim3(memory::threads);
    launch->dynamicSmemBytes =
        memory::stages * (size_t)memory::stage(Shape::width(n)) * sizeof(double);
    cudaLaunchKernelEx(launch, staged<Shape>, part, v, ldv, plan->m, n);
    bd_gram_add_up<Shape>(cuda, plan->data.g, part, n, splits, units, NULL);
    return bd_cuda_launched("the Gram matrix");
}

static int narrow_blocks(const struct bd_cuda *cuda, int64_t m, int n)
{
    return bd_gram_blocks(cuda, n <= 24 ? 2 : 1, 1, (m + 127) / 128);
}

extern "C" {

size_t bd_cuda_gram_form_workspace(const struct bd_cuda *cuda, int64_t m, int n, enum bd_type type)
{
    if (m == 0)
        return 0;
    if (type == BD_F32)
        return bd_gram_workspace(cuda, m, n);
    if (n <= narrow_most)
        return (size_t)narrow_blocks(cuda, m, n) * 6 * 128 * sizeof(double);
    return n <= triangle<4>::most   ? staged_parts<triangle<4>>(cuda, m, n)
           : n <= triangle<8>::most ? staged_parts<triangle<8>>(cuda, m, n)
                                    : staged_parts<square>(cuda, m, n);
}

enum bd_status bd_cuda_gram_form_enqueue(const struct gram_plan *plan, const void *v, int64_t ldv)
{
    struct bd_cuda *cuda = plan->cuda;
    const int n = plan->data.n;
    double *part = static_cast<double *>(plan->parts), *g = plan->data.g;
    if (plan->m == 0)
        return bd_cuda_check(cudaMemsetAsync(g, 0, (size_t)n * n * sizeof *g, cuda->stream),
                             "the Gram matrix");
    if (plan->type == BD_F32) {
        const struct bd_gram_matrix x = { static_cast<const float *>(v), ldv, plan->m };
        return bd_gram(cuda, g, x, plan->m, n, part, NULL);
    }
    const double *wide = static_cast<const double *>(v);
    cudaLaunchAttribute early = {};
    cudaLaunchConfig_t launch = {};
    launch.blockDim = dim3(256);
    launch.stream = cuda->stream;
    launch.attrs = &early;
    bd_cuda_overlap(cuda, &launch);
    if (n <= narrow_most) {
        const int blocks = narrow_blocks(cuda, plan->m, n);
        launch.gridDim = dim3((unsigned)blocks);
        if (n <= 24) {
            cudaLaunchKernelEx(&launch, narrow<3>, part, wide, ldv, plan->m, n);
            bd_gram_add_up<bd_gram_narrow_slots<3>>(cuda, g, part, n, blocks, 1, NULL);
        } else {
            cudaLaunchKernelEx(&launch, narrow<4>, part, wide, ldv, plan->m, n);
            bd_gram_add_up<bd_gram_narrow_slots<4>>(cuda, g, part, n, blocks, 1, NULL);
        }
        return bd_cuda_launched("the Gram matrix");
    }
    return n <= triangle<4>::most   ? launch_staged<triangle<4>>(plan, wide, ldv, &launch)
           : n <= triangle<8>::most ? launch_staged<triangle<8>>(plan, wide, ldv, &launch)
                                    : launch_staged<square>(plan, wide, ldv, &launch);
}

} /* extern "C" */
