/* Private to form.cu: G = V^T V of float64 and more columns than registers hold. Tiles of 16 SPLITS
 * SLICES rows of V arrive in shared memory by a pipeline of asynchronous copies
 * (gpu/core/pipeline.cuh). A warp takes SLICES times 16 rows of a tile; SETS warps share these
 * rows, and each has TILES of the tiles of 16 x 8 of G.
 *
 * A Shape says which tiles of G a unit of thread blocks has. Beside those numbers it has
 *
 *     panel           columns that are loaded at a time; 0: all there are
 *     width(n)        columns that are loaded, at most
 *     share(block)    the unit of a thread block, and which of its tiles of rows are the block's
 *     panels(unit)    columns that are loaded: from `left` on and, unless it is negative, from
 *                     `right` on; `columns`: how many there are of the latter, or of the only ones
 *     place(slot, unit, n, ..)  the element of G of a slot; false: there is none
 *     take(sum, rows, set, groups)  the sums of one set over 16 rows; `groups` of 8 columns */
#ifndef BD_GPU_GRAM_QR_PIPELINED_CUH
#define BD_GPU_GRAM_QR_PIPELINED_CUH

#include "gpu/core/dependent_launch.cuh"
#include "gpu/core/gram_multiply.cuh"
#include "gpu/core/pipeline.cuh"

/* Thread blocks of a unit that has two panels, and of one that has one. */
struct block_counts {
    int pair, single;
};

/* A thread block takes every tile of rows that is number `own` of `blocks`, those of its unit. */
struct block_share {
    int unit, own, blocks;
};

template <class Shape> struct pipelined_memory {
    enum {
        rows = 16 * Shape::splits * Shape::slices,
        stride = pipeline_stride<rows, double>(),
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

/* The fragment of 8 columns at `rows`, which is the lane's own place in the first of them: rows t,
 * 4 + t, 8 + t and 12 + t, one by one, so that each comes to the register where it is wanted. */
template <int STRIDE>
static __device__ __forceinline__ void fragment(double x[4], const double *rows, int group)
{
#pragma unroll
    for (int s = 0; s < 4; s++)
        x[s] = rows[8 * group * STRIDE + 4 * s];
}

/* The upper triangle of up to 16 ROWS columns: set s has the tiles of row groups (of 16 columns) s
 * and ROWS - 1 - s, of the column groups (of 8) that there are: all sets as many where n is large.
 */
template <int ROWS> struct triangle {
    enum {
        most = 16 * ROWS, /* columns */
        sets = ROWS / 2,
        splits = 8 / sets,
        slices = 1,
        tiles = 2 * ROWS + 2,
        count = sets * tiles * 128,
        panel = 0
    };

    static __device__ __forceinline__ struct block_share share(int block,
                                                               const struct block_counts &counts)
    {
        return { 0, block, counts.single };
    }

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
            if (!at_hand(group + 1) && group + 1 < groups) /* ahead of its use */
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

/* The products of two panels of 128 columns, p <= q of unit q (q + 1) / 2 + p: the left one is
 * loaded first, and the right one behind it. Set s has the row groups (of 16 columns) s % 4 and
 * 7 - s % 4, and of the column groups (of 8) the even or the odd ones: of a single panel, whose
 * lower triangle is not needed, all sets have 9 of 16 tiles. */
template <int SLICES> struct squares {
    enum {
        panel = 128,
        sets = 8,
        splits = 1,
        slices = SLICES,
        tiles = 16,
        count = sets * tiles * 128
    };
    enum { single_cost = 12, pair_cost = 16 }; /* measured: tiles are not all of the cost */

    static __host__ __device__ int width(int)
    {
        return 2 * panel;
    }

    static __device__ __forceinline__ void panels_of(int unit, int *p, int *q)
    {
        *q = 0;
        for (*p = unit; *p > *q;)
            *p -= ++*q;
    }

    static __device__ __forceinline__ struct block_share share(int block,
                                                               const struct block_counts &counts)
    {
        struct block_share s = { 0, block, counts.single };
        for (int p = 0, q = 0; s.own >= s.blocks; s.unit++) {
            s.own -= s.blocks;
            if (p++ == q)
                p = 0, q++;
            s.blocks = p == q ? counts.single : counts.pair;
        }
        return s;
    }

    static __device__ __forceinline__ void panels(int unit, int n, int *left, int *right,
                                                  int *columns)
    {
        int p, q;
        panels_of(unit, &p, &q);
        *left = p * panel;
        *right = p < q ? q * panel : -1;
        *columns = min(n - q * panel, (int)panel);
    }

    static __device__ __forceinline__ bool place(int slot, int unit, int n, int *row, int *col)
    {
        const int lane = slot / 2 % 32, set = slot / 128 / tiles, tile = slot / 128 % tiles;
        int left, right, columns;
        panels(unit, n, &left, &right, &columns);
        *row = left + 16 * (tile < 8 ? set % 4 : 7 - set % 4) + slot / 64 % 2 * 8 + lane / 4;
        *col =
            (right < 0 ? left : right) + 8 * (tile % 8 * 2 + set / 4) + 2 * (lane % 4) + slot % 2;
        return *row <= *col && *col < n;
    }

    /* ALL: of two whole panels; else column groups below `there`, of a single panel those on and
     * above the diagonal. */
    template <int STRIDE, bool ALL>
    static __device__ __forceinline__ void take_set(double (*sum)[4], const double *rows,
                                                    const double *right, int set, int there)
    {
        const int high = set % 4, low = 7 - high, odd = set / 4;
        const bool single = !ALL && right == rows;
        double top[2][4], bottom[2][4], others[2][4];
#pragma unroll
        for (int h = 0; h < 2; h++) {
            fragment<STRIDE>(top[h], rows, 2 * high + h);
            fragment<STRIDE>(bottom[h], rows, 2 * low + h);
        }
        fragment<STRIDE>(others[0], right, odd);
#pragma unroll
        for (int k = 0; k < tiles / 2; k++) {
            if (!ALL && 2 * k + odd >= there)
                break;
            if (k + 1 < tiles / 2)
                fragment<STRIDE>(others[(k + 1) % 2], right, 2 * (k + 1) + odd);
            if (!single || k >= high)
                bd_gram_multiply(sum[k], top[0], top[1], others[k % 2]);
            if (!single || k >= low)
                bd_gram_multiply(sum[tiles / 2 + k], bottom[0], bottom[1], others[k % 2]);
        }
    }

    template <int STRIDE>
    static __device__ __forceinline__ void take(double (*sum)[4], const double *rows, int set,
                                                int groups)
    {
        constexpr int most = panel / 8;
        if (groups == 2 * most)
            take_set<STRIDE, true>(sum, rows, rows + panel * STRIDE, set, most);
        else if (groups > most)
            take_set<STRIDE, false>(sum, rows, rows + panel * STRIDE, set, groups - most);
        else
            take_set<STRIDE, false>(sum, rows, rows, set, groups);
    }
};

using square = squares<2>;
using low_square = squares<1>; /* where shared memory is small */

/* part: gridDim.x x Shape::count, of the thread blocks of a unit one after the other. */
template <class Shape, int STAGES>
__global__ __launch_bounds__(pipelined_memory<Shape>::threads,
                             1) void pipelined(double *part, const double *v, int64_t ldv,
                                               int64_t m, int n, struct block_counts counts)
{
    using memory = pipelined_memory<Shape>;
    constexpr int STRIDE = memory::stride, SETS = Shape::sets;
    constexpr int TILES = Shape::tiles, THREADS = memory::threads;
    extern __shared__ __align__(16) double stages[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    /* The quarters of a multiprocessor have warps w and w + 4: of different sets. */
    const int set = warp % SETS ^ (warp < 4 || SETS > 4 ? 0 : SETS - 1), split = warp / SETS;
    int left, right, columns;
    const struct block_share share = Shape::share(blockIdx.x, counts);
    Shape::panels(share.unit, n, &left, &right, &columns);
    const int before = right < 0 ? 0 : (int)Shape::panel, loaded_columns = before + columns;
    const int size = memory::stage(n), groups = (loaded_columns + 7) / 8;
    const bool aligned = pipeline_aligned(v, ldv);
    const int tiles = (int)((m + memory::rows - 1) / memory::rows);
    const double *own = stages + 16 * Shape::slices * split + lane / 4 * STRIDE + lane % 4;
    double sum[TILES][4] = {};
    for (int e = threadIdx.x; e < STAGES * size; e += THREADS)
        if (e % size >= loaded_columns * STRIDE)
            stages[e] = 0; /* and stays so */
    bd_cuda_await();

    auto fetch_panel = [&](double *to, int64_t row, int column, int count) {
        if constexpr (Shape::panel > 0)
            if (aligned && count == Shape::panel && m - row >= memory::rows)
                return pipeline_fetch_whole<memory::rows, STRIDE, THREADS, Shape::panel>(
                    to, v + row + column * ldv, ldv);
        pipeline_fetch<memory::rows, STRIDE, THREADS>(to, v + column * ldv, ldv, row, m, count,
                                                      aligned);
    };
    auto fetch = [&](int tile, int stage) {
        const int64_t row = (int64_t)tile * memory::rows;
        double *to = stages + stage * size;
        if (right >= 0)
            fetch_panel(to, row, left, before);
        fetch_panel(to + before * STRIDE, row, right < 0 ? left : right, columns);
    };
    auto take = [&](int, int stage) {
#pragma unroll 1
        for (int slice = 0; slice < Shape::slices; slice++)
            Shape::template take<STRIDE>(sum, own + stage * size + 16 * slice, set, groups);
    };
    pipeline_tiles<STAGES>(share.own, share.blocks, tiles, fetch, take);
    bd_cuda_let_follow();

    /* The sums of a set's warps. */
    pipeline_wait<0>();
    __syncthreads();
    double2 *others = reinterpret_cast<double2 *>(stages) + lane;
    if (split > 0)
#pragma unroll
        for (int e = 0; e < 2 * TILES; e++)
            others[(((split - 1) * SETS + set) * 2 * TILES + e) * 32] =
                make_double2(sum[e / 2][e % 2 * 2], sum[e / 2][e % 2 * 2 + 1]);
    __syncthreads();
    double2 *out =
        reinterpret_cast<double2 *>(part) + (int64_t)blockIdx.x * (Shape::count / 2) + lane;
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

/* G := the sums of the thread blocks of squares, a thread a slot of unit blockIdx.y. */
__global__ __launch_bounds__(256) void add_squares(double *g, const double *part, int n,
                                                   struct block_counts counts)
{
    const int slot = blockIdx.x * 256 + threadIdx.x, unit = blockIdx.y;
    int p, q, row, col;
    square::panels_of(unit, &p, &q);
    bd_cuda_await();
    if (!square::place(slot, unit, n, &row, &col))
        return;
    const int blocks = p == q ? counts.single : counts.pair;
    /* Of the units before this one q have one panel. */
    const int before = (unit - q) * counts.pair + q * counts.single;
    const double *own = part + (int64_t)before * square::count + slot;
    double sum = 0;
#pragma unroll 8
    for (int block = 0; block < blocks; block++)
        sum += own[(int64_t)block * square::count];
    g[row + (int64_t)col * n] = g[col + (int64_t)row * n] = sum;
}

#endif
