/* Private to the CUDA backend: G := X^T X in float64 of a tall float32 matrix, on the FP64 tensor
 * cores. Products of two floats are exact in double, so that R from a Cholesky factorisation of G
 * (gpu/cholesky.h) is as good in float32 as one from Householder reflectors.
 *
 * X comes from a Loader, which may form it on the fly:
 *     struct Loader { __device__ void load4(int64_t i, int j, float x[4]) const; };
 * gives rows i .. i + 3 (i a multiple of 4; rows >= m as 0) of column j, 0 <= j < n. It is passed
 * to the kernels by value. NaN and Inf in X make the elements of G they belong to NaN or Inf.
 *
 * The matrix instruction multiplies 16 x 16 by 16 x 8. For G both operands are columns of X, and
 * the order of the rows does not matter as long as both agree, so lane 4 g + t of a warp holds rows
 * 4 t .. 4 t + 3 of column g of a group of 8 columns: what one load4 gives, whichever operand it is
 * for. Two such groups are the left operand (16 columns), one is the right.
 *
 * Work is cut along the rows into tiles, shared out to a persistent grid; the sums of the blocks
 * are added by a second kernel in a fixed order, so that the same X gives the same bits. */
#ifndef BD_GPU_GRAM_CUH
#define BD_GPU_GRAM_CUH

#include "gpu/cuda.h"

/* A column-major matrix in device memory, m rows, any lda >= m, any alignment. */
struct bd_gram_matrix {
    const float *a;
    int64_t lda, m;

    __device__ __forceinline__ void load4(int64_t i, int j, float x[4]) const
    {
        const float *p = a + i + j * lda;
        if (i + 4 <= m && (reinterpret_cast<uintptr_t>(p) & 15) == 0) {
            float4 v = *reinterpret_cast<const float4 *>(p);
            x[0] = v.x, x[1] = v.y, x[2] = v.z, x[3] = v.w;
        } else {
            for (int k = 0; k < 4; k++)
                x[k] = i + k < m ? p[k] : 0.0f;
        }
    }
};

/* C (16 x 8) += [low high]^T b: 16 columns times 8 columns, over 16 rows. Lane 4 g + t has
 * C(g, 2 t), C(g, 2 t + 1), C(g + 8, 2 t), C(g + 8, 2 t + 1). */
__device__ __forceinline__ void bd_gram_multiply(double c[4], const double low[4],
                                                 const double high[4], const double b[4])
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(low[0]), "d"(high[0]), "d"(low[1]), "d"(high[1]), "d"(low[2]), "d"(high[2]),
          "d"(low[3]), "d"(high[3]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
#else
#pragma unroll
    for (int k = 0; k < 4; k++) {
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(c[0]), "+d"(c[1])
            : "d"(low[k]), "d"(b[k]));
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(c[2]), "+d"(c[3])
            : "d"(high[k]), "d"(b[k]));
    }
#endif
}

__device__ __forceinline__ void bd_gram_widen(double wide[4], const float x[4])
{
#pragma unroll
    for (int k = 0; k < 4; k++)
        wide[k] = x[k];
}

/* What the warps of a set accumulate: tiles of 16 x 8 of G, in one or two segments a warp. A
 * segment is a row group (16 columns of X, on the left) by `length` column groups (8, on the right)
 * from number `first` on. Lengths are known at compile time for each kind of warp, since sums are
 * in registers; `share` is the largest number of tiles of a warp, and the others have as many or
 * one fewer. On the diagonal the first two column groups are those of the row group.
 *
 * The upper triangle of 8 C columns, folded: warp w has row groups w and 2 warps - 1 - w. */
template <int C, int SETS> struct bd_gram_folded {
    static constexpr int sets = SETS, rows = (C + 1) / 2, columns = 16 * rows;
    static constexpr int warps = (rows + 1) / 2, kinds = warps, share = C % 4 ? C : C + 2;
    static constexpr bool pair = false;

    static __host__ __device__ constexpr int kind(int warp)
    {
        return warp;
    }
    static __host__ __device__ constexpr int row(int warp, int segment)
    {
        return segment ? 2 * warps - 1 - warp : warp;
    }
    static __host__ __device__ constexpr int first(int warp, int segment)
    {
        return 2 * row(warp, segment);
    }
    static __host__ __device__ constexpr int length(int kind, int segment)
    {
        return row(kind, segment) < rows ? C - 2 * row(kind, segment) : 0;
    }
    static __host__ __device__ constexpr bool diagonal(int, int)
    {
        return true;
    }
};

/* The triangle of 16 T columns, cyclically, T even: warp w has row group w by the T + 2 column
 * groups from its own on, modulo 2 T. So each two row groups meet (those farthest apart twice: 7%
 * more work than needed for T = 12), and all warps have the same code, which fits in fewer
 * registers than a folded triangle's. */
template <int T, int SETS> struct bd_gram_cyclic {
    static constexpr int sets = SETS, columns = 16 * T, warps = T, kinds = 1, share = T + 2;
    static constexpr bool pair = false;

    static __host__ __device__ constexpr int kind(int)
    {
        return 0;
    }
    static __host__ __device__ constexpr int row(int warp, int)
    {
        return warp;
    }
    static __host__ __device__ constexpr int first(int warp, int)
    {
        return 2 * warp;
    }
    static __host__ __device__ constexpr int length(int, int segment)
    {
        return segment ? 0 : T + 2;
    }
    static __host__ __device__ constexpr bool diagonal(int, int)
    {
        return true;
    }
};

/* Matrices of more columns than a triangle holds also need the products of columns of different
 * triangles: two panels of 96 columns, one on each side. */
struct bd_gram_pair {
    static constexpr int sets = 1, columns = 192, warps = 12, kinds = 1, share = 6;
    static constexpr bool pair = true;

    static __host__ __device__ constexpr int kind(int)
    {
        return 0;
    }
    static __host__ __device__ constexpr int row(int warp, int)
    {
        return warp % 6;
    }
    static __host__ __device__ constexpr int first(int warp, int)
    {
        return 12 + 6 * (warp / 6);
    }
    static __host__ __device__ constexpr int length(int, int segment)
    {
        return segment ? 0 : 6;
    }
    static __host__ __device__ constexpr bool diagonal(int, int)
    {
        return false;
    }
};

/* Columns of the matrix that come first and at the middle of what unit `unit` stages: for triangles
 * one after the other; for pairs units are the four panel pairs of each two triangles p < q,
 * numbered q (q - 1) / 2 + p. */
template <class Part>
static __device__ __forceinline__ void bd_gram_columns(int unit, int *first, int *middle)
{
    const int half = Part::columns / 2;
    *first = unit * Part::columns;
    *middle = *first + half;
    if (Part::pair) {
        int q = 1, p = unit / 4;
        while (p >= q)
            p -= q++;
        *first = (2 * p + unit % 2) * half;
        *middle = (2 * q + unit / 2 % 2) * half;
    }
}

/* The sums of one thread block: `share` tiles for each warp of a set, each tile as two halves of 8
 * x 8 in the order of the lanes. */
template <class Part> struct bd_gram_slots {
    static constexpr int count = Part::warps * Part::share * 128;

    /* Row and column of G in slot number `slot`; false if it is not to be written. */
    static __device__ __forceinline__ bool place(int slot, int unit, int n, int *row, int *col)
    {
        const int tile = slot / 128, half = slot / 64 % 2, lane = slot / 2 % 32;
        const int warp = tile / Part::share, kind = Part::kind(warp), half_cols = Part::columns / 2;
        const int length = Part::length(kind, 0), segment = tile % Part::share >= length;
        const int t = tile % Part::share - (segment ? length : 0);
        const int r = 16 * Part::row(warp, segment) + 8 * half + lane / 4;
        const int group = (Part::first(warp, segment) + t) % (Part::columns / 8);
        const int c = 8 * group + 2 * (lane % 4) + slot % 2;
        /* The other triangle's tiles are this one's mirrored, but the last two of each cycle have
         * been counted by the first warps already. */
        const bool twice = c < r && (t < 2 || t >= Part::columns / 16);
        int first, middle;
        bd_gram_columns<Part>(unit, &first, &middle);
        *row = r < half_cols ? first + r : middle + r - half_cols;
        *col = c < half_cols ? first + c : middle + c - half_cols;
        return t < Part::length(kind, segment) && !twice && *row < n && *col < n;
    }
};

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
    double left[2][4];
    bd_gram_fragment(left[0], rows, 2 * row);
    bd_gram_fragment(left[1], rows, 2 * row + 1);
#pragma unroll
    for (int t = 0; t < LENGTH; t++) {
        double right[4];
        if (DIAGONAL && t < 2) {
            bd_gram_multiply(sum[t], left[0], left[1], left[t]);
        } else {
            const int two = first + t / 2 * 2;
            bd_gram_fragment(right, rows, (two < GROUPS ? two : two - GROUPS) + t % 2);
            bd_gram_multiply(sum[t], left[0], left[1], right);
        }
    }
}

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
    const int lane = threadIdx.x % 32, set = threadIdx.x / THREADS;
    const int warp = Part::kinds == Part::warps ? KIND : threadIdx.x / 32 % Part::warps;
    const int quad = threadIdx.x % 8, column = threadIdx.x % THREADS / 8;
    const int64_t tiles = (m + 31) / 32, stride = (int64_t)gridDim.x * Part::sets;
    float4 *stages = memory + set * 2 * STAGE;
    int first, middle;
    bd_gram_columns<Part>(blockIdx.y, &first, &middle);
    middle -= Part::columns / 2;

    auto load = [&](int64_t tile, int u, float x[4]) {
        const int s = column + u * STEP, j = s < Part::columns / 2 ? first + s : middle + s;
        x[0] = x[1] = x[2] = x[3] = 0.0f;
        if (tile < tiles && j < n && u < PER)
            loader.load4(tile * 32 + 4 * quad, j, x);
    };
    auto store = [&](float4 *stage, int u, const float x[4]) {
        if (u < PER)
            stage[bd_gram_quad<Part::columns>(quad / 4, column + u * STEP, quad % 4)] =
                make_float4(x[0], x[1], x[2], x[3]);
    };

    double sum[L0 + L1][4] = {};
    int64_t tile = (int64_t)blockIdx.x * Part::sets + set;
#pragma unroll
    for (int u = 0; u < PER; u++) {
        float x[4];
        load(tile, u, x);
        store(stages, u, x);
    }
    bd_gram_wait(set, THREADS);
#pragma unroll 1
    for (int now = 0; tile < tiles; tile += stride, now ^= 1) {
#pragma unroll 1
        for (int block = 0; block < 2; block++) {
            float next[HALF][4];
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
                store(stages + (now ^ 1) * STAGE, block * HALF + u, next[u]);
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

/* Up to 8 GROUPS columns, 3 or 4 groups: bound by memory, so a warp takes its fragments straight
 * from the loader, two row blocks of 16 at a time, the next ones on their way. Tiles of G: rows
 * of groups {0, 1} by all groups, rows of {2, 3} by groups 2 and above. */
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
};

template <class Loader, int GROUPS>
__global__ __launch_bounds__(256, GROUPS == 3 ? 2 : 1) void bd_gram_narrow(
    double *part, const __grid_constant__ Loader loader, int64_t m, int n, const int *stop)
{
    constexpr int TILES = bd_gram_narrow_slots<GROUPS>::tiles;
    constexpr int HALVES = 2, ROWS = 16 * HALVES;
    __shared__ double2 others[4][TILES * 2][32];
    if (stop && *stop)
        return;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int64_t tiles = (m + ROWS - 1) / ROWS, stride = (int64_t)gridDim.x * 8;

    auto load = [&](int64_t tile, float x[HALVES][GROUPS][4]) {
#pragma unroll
        for (int half = 0; half < HALVES; half++)
#pragma unroll
            for (int group = 0; group < GROUPS; group++) {
                int j = 8 * group + lane / 4;
                if (tile < tiles && j < n)
                    loader.load4(tile * ROWS + 16 * half + 4 * (lane % 4), j, x[half][group]);
                else
                    for (int k = 0; k < 4; k++)
                        x[half][group][k] = 0.0f;
            }
    };

    double sum[TILES][4] = {};
    float x[HALVES][GROUPS][4], next[HALVES][GROUPS][4];
    int64_t tile = (int64_t)blockIdx.x * 8 + warp;
    load(tile, x);
    for (; tile < tiles; tile += stride) {
        load(tile + stride, next);
#pragma unroll
        for (int half = 0; half < HALVES; half++) {
            double wide[4][4] = {};
#pragma unroll
            for (int group = 0; group < GROUPS; group++)
                bd_gram_widen(wide[group], x[half][group]);
#pragma unroll
            for (int group = 0; group < GROUPS; group++)
                bd_gram_multiply(sum[group], wide[0], wide[1], wide[group]);
#pragma unroll
            for (int group = 2; group < GROUPS; group++)
                bd_gram_multiply(sum[GROUPS + group - 2], wide[2], wide[3], wide[group]);
        }
#pragma unroll
        for (int half = 0; half < HALVES; half++)
#pragma unroll
            for (int group = 0; group < GROUPS; group++)
#pragma unroll
                for (int k = 0; k < 4; k++)
                    x[half][group][k] = next[half][group][k];
    }

    /* Warps 4 .. 7 join warps 0 .. 3, these 0 and 1, these 0. */
    for (int count = 4; count > 0; count /= 2) {
        if (warp >= count && warp < 2 * count)
#pragma unroll
            for (int e = 0; e < TILES * 2; e++)
                others[warp - count][e][lane] =
                    make_double2(sum[e / 2][e % 2 * 2], sum[e / 2][e % 2 * 2 + 1]);
        __syncthreads();
        if (warp < count)
#pragma unroll
            for (int e = 0; e < TILES * 2; e++) {
                double2 more = others[warp][e][lane];
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

/* G (n x n) := sums over the thread blocks; part is units x blocks x Slots::count. Thread (x, y)
 * adds blocks y, y + 8, .. of one slot, then y = 0 adds the eight sums. */
template <class Slots>
__global__ __launch_bounds__(256) void bd_gram_sum(double *g, const double *part, int n, int blocks,
                                                   const int *stop)
{
    __shared__ double sums[8][32];
    if (stop && *stop)
        return;
    const int slot = blockIdx.x * 32 + threadIdx.x;
    int row, col;
    const bool wanted = Slots::place(slot, blockIdx.y, n, &row, &col);
    const double *p = part + (int64_t)blockIdx.y * blocks * Slots::count + slot;
    double sum = 0;
    if (wanted)
#pragma unroll 8
        for (int block = threadIdx.y; block < blocks; block += 8)
            sum += p[(int64_t)block * Slots::count];
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || !wanted)
        return;
    for (int y = 1; y < 8; y++)
        sum += sums[y][threadIdx.x];
    g[row + (int64_t)col * n] = sum;
    g[col + (int64_t)row * n] = sum;
}

/* The classes of n: the widest n of each, and the most thread blocks a multiprocessor has. */
enum {
    bd_gram_most = 1024,
    bd_gram_wide = 192 /* columns of a triangle of the widest class; wider matrices take several */
};

static inline int bd_gram_triangles(int n)
{
    return (n + bd_gram_wide - 1) / bd_gram_wide;
}

/* Thread blocks for each of `units`, so that all together fill the device `times` times. */
static inline int bd_gram_blocks(const struct bd_cuda *cuda, int times, int units, int64_t tiles)
{
    int64_t blocks = (times * cuda->sms + units - 1) / units;
    return (int)(blocks < tiles ? blocks : tiles);
}

/* The classes of n, up to the widest triangle. */
using bd_gram_to_64 = bd_gram_cyclic<4, 4>;
using bd_gram_to_104 = bd_gram_folded<13, 2>;
using bd_gram_to_128 = bd_gram_folded<16, 2>;
using bd_gram_to_192 = bd_gram_cyclic<12, 1>;

/* Bytes of workspace for the Gram matrix of an m x n matrix, n <= 1024. */
static inline size_t bd_gram_workspace(const struct bd_cuda *cuda, int64_t m, int n)
{
    int triangles = bd_gram_triangles(n), pairs = 2 * triangles * (triangles - 1);
    int64_t tiles = (m + 31) / 32;
    size_t slots = bd_gram_slots<bd_gram_to_192>::count;
    if (n <= 32)
        return (size_t)bd_gram_blocks(cuda, 2, 1, tiles) * 6 * 128 * sizeof(double);
    if (n <= 64)
        slots = bd_gram_slots<bd_gram_to_64>::count;
    else if (n <= 104)
        slots = bd_gram_slots<bd_gram_to_104>::count;
    else if (n <= 128)
        slots = bd_gram_slots<bd_gram_to_128>::count;
    size_t bytes = triangles * bd_gram_blocks(cuda, 1, triangles, tiles) * slots * sizeof(double);
    if (pairs == 0)
        return bytes;
    size_t more = pairs * bd_gram_blocks(cuda, 1, pairs, tiles) *
                  (size_t)bd_gram_slots<bd_gram_pair>::count * sizeof(double);
    return bytes > more ? bytes : more;
}

template <class Slots>
static void bd_gram_add_up(struct bd_cuda *cuda, double *g, const double *part, int n, int blocks,
                           int units, const int *stop)
{
    bd_gram_sum<Slots><<<dim3(Slots::count / 32, (unsigned)units), dim3(32, 8), 0, cuda->stream>>>(
        g, part, n, blocks, stop);
}

template <class Loader, class Part>
static enum bd_status bd_gram_run(struct bd_cuda *cuda, double *g, const Loader &loader, int64_t m,
                                  int n, double *part, int units, const int *stop)
{
    const int bytes = Part::sets * 2 * Part::columns * 8 * (int)sizeof(float4);
    int blocks = bd_gram_blocks(cuda, 1, units, (m + 32 * Part::sets - 1) / (32 * Part::sets));
    enum bd_status status =
        bd_cuda_check(cudaFuncSetAttribute(bd_gram_tiles<Loader, Part>,
                                           cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
                      "the shared memory of the Gram matrix");
    if (status != BD_OK)
        return status;
    bd_gram_tiles<Loader, Part>
        <<<dim3((unsigned)blocks, (unsigned)units), 32 * Part::warps * Part::sets, bytes,
           cuda->stream>>>(part, loader, m, n, stop);
    bd_gram_add_up<bd_gram_slots<Part>>(cuda, g, part, n, blocks, units, stop);
    return BD_OK;
}

template <class Loader, int GROUPS>
static void bd_gram_run_narrow(struct bd_cuda *cuda, double *g, const Loader &loader, int64_t m,
                               int n, double *part, const int *stop)
{
    int blocks = bd_gram_blocks(cuda, GROUPS == 3 ? 2 : 1, 1, (m + 255) / 256);
    bd_gram_narrow<Loader, GROUPS>
        <<<(unsigned)blocks, 256, 0, cuda->stream>>>(part, loader, m, n, stop);
    bd_gram_add_up<bd_gram_narrow_slots<GROUPS>>(cuda, g, part, n, blocks, 1, stop);
}

/* G := X^T X, n x n, float64, column-major, ld = n, both triangles. X is m x n, m >= 1,
 * 1 <= n <= 1024. `workspace` holds bd_gram_workspace(cuda, m, n) bytes, 16-byte aligned. `stop`:
 * if not NULL and *stop != 0 on the device, the kernels return at once and G stays as it is. */
template <class Loader>
enum bd_status bd_gram(struct bd_cuda *cuda, double *g, const Loader &loader, int64_t m, int n,
                       void *workspace, const int *stop)
{
    double *part = static_cast<double *>(workspace);
    int triangles = bd_gram_triangles(n), pairs = 2 * triangles * (triangles - 1);
    enum bd_status status = BD_OK;
    if (n <= 24)
        bd_gram_run_narrow<Loader, 3>(cuda, g, loader, m, n, part, stop);
    else if (n <= 32)
        bd_gram_run_narrow<Loader, 4>(cuda, g, loader, m, n, part, stop);
    else if (n <= 64)
        status = bd_gram_run<Loader, bd_gram_to_64>(cuda, g, loader, m, n, part, 1, stop);
    else if (n <= 104)
        status = bd_gram_run<Loader, bd_gram_to_104>(cuda, g, loader, m, n, part, 1, stop);
    else if (n <= 128)
        status = bd_gram_run<Loader, bd_gram_to_128>(cuda, g, loader, m, n, part, 1, stop);
    else
        status = bd_gram_run<Loader, bd_gram_to_192>(cuda, g, loader, m, n, part, triangles, stop);
    if (status == BD_OK && pairs > 0)
        status = bd_gram_run<Loader, bd_gram_pair>(cuda, g, loader, m, n, part, pairs, stop);
    if (status != BD_OK)
        return status;
    return bd_cuda_launched("the Gram matrix");
}

#endif
