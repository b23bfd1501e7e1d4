/* Private to gpu/gram_qr_form.cu: G = V^T V of float64 and more columns than registers hold. V is
 * staged (staged_rows.cuh) in tiles of 16 SPLITS rows, of which a warp has 16; SETS warps share
 * these, and each has TILES of the tiles of 16 x 8 of G. A column is 8 elements longer than a tile,
 * so that the fragments of two columns, 64 bytes each, are in different banks.
 *
 * A Shape says which tiles of G a unit of thread blocks has. Beside those numbers it has
 *     width(n)        columns that are staged, at most
 *     panels(unit)    columns that are staged: from `left` on and, unless it is negative, from
 *                     `right` on; `columns`: how many there are of the latter, or of the only ones
 *     place(slot)     the element of G of a slot (bd_gram_sum)
 *     take(sum, rows) the sums of one set over 16 rows */
#ifndef BD_GPU_GRAM_QR_STAGED_CUH
#define BD_GPU_GRAM_QR_STAGED_CUH

#include "gpu/dependent_launch.cuh"
#include "gpu/gram_multiply.cuh"
#include "gpu/staged_rows.cuh"

template <class Shape> struct staged_memory {
    enum {
        rows = 16 * Shape::splits,
        stride = rows + 8,
        threads = 32 * Shape::sets * Shape::splits
    };
    /* Doubles of a stage: whole groups of 16 columns. */
    static __host__ __device__ __forceinline__ int stage(int n)
    {
        return (Shape::width(n) + 15) / 16 * 16 * stride;
    }
    /* Bytes of so many stages, which have room for the sums of all but the first split. */
    static size_t bytes(int n, int stages)
    {
        const size_t rows_of_v = (size_t)stages * (size_t)stage(n) * sizeof(double);
        const size_t sums = (size_t)(Shape::splits - 1) * Shape::count * sizeof(double);
        return rows_of_v > sums ? rows_of_v : sums;
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
template <class Shape, int STAGES>
__global__ __launch_bounds__(staged_memory<Shape>::threads,
                             1) void staged(double *part, const double *v, int64_t ldv, int64_t m,
                                            int n)
{
    using memory = staged_memory<Shape>;
    constexpr int STRIDE = memory::stride, SETS = Shape::sets;
    constexpr int TILES = Shape::tiles, THREADS = memory::threads;
    extern __shared__ __align__(16) double stages[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    /* The quarters of a multiprocessor have warps w and w + 4: of different sets. */
    const int set = warp % SETS ^ (warp < 4 ? 0 : SETS - 1), split = warp / SETS;
    int left, right, columns;
    Shape::panels(blockIdx.x, n, &left, &right, &columns);
    const int before = right < 0 ? 0 : square::panel, staged_columns = before + columns;
    const int size = memory::stage(n), groups = (staged_columns + 7) / 8;
    const bool aligned = staged_aligned(v, ldv);
    const int tiles = (int)((m + memory::rows - 1) / memory::rows);
    const double *own = stages + 16 * split + lane / 4 * STRIDE + 2 * (lane % 4);
    double sum[TILES][4] = {};
    for (int e = threadIdx.x; e < STAGES * size; e += THREADS)
        if (e % size >= staged_columns * STRIDE)
            stages[e] = 0; /* and stays so */
    bd_cuda_await();

    auto fetch = [&](int tile, int stage) {
        const int64_t row = (int64_t)tile * memory::rows;
        double *to = stages + stage * size;
        if (right >= 0)
            staged_fetch<memory::rows, STRIDE, THREADS>(to, v + left * ldv, ldv, row, m, before,
                                                        aligned);
        staged_fetch<memory::rows, STRIDE, THREADS>(to + before * STRIDE,
                                                    v + (right < 0 ? left : right) * ldv, ldv, row,
                                                    m, columns, aligned);
    };
    auto take = [&](int, int stage) {
        Shape::template take<STRIDE>(sum, own + stage * size, set, groups);
    };
    staged_tiles<STAGES>((int)blockIdx.y, (int)gridDim.y, tiles, fetch, take);
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

#endif
