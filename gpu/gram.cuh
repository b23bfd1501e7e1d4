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

/* Which blocks of 16 x 16 of G a warp of a thread block accumulates; a block of threads stages
 * 16 T columns. Its rows are the 16 columns of group `left`, its columns those of the groups
 * right(left, 0 .. D - 1).
 *
 * The triangle, cyclically: row group i takes the column groups i, i + 1, .. i + T / 2 modulo T.
 * So each pair of groups meets once (twice at distance T / 2 if T is even), and all warps do the
 * same work. */
template <int T> struct bd_gram_triangle {
    enum { groups = T, D = T / 2 + 1, own = 1 };

    static __device__ __forceinline__ int left(int warp)
    {
        return warp;
    }
    static __device__ __forceinline__ int right(int warp, int d)
    {
        return warp + d < T ? warp + d : warp + d - T;
    }
    /* Matrix column of the first staged column, and of the middle one. */
    static __device__ __forceinline__ void columns(int unit, int *first, int *middle)
    {
        *first = unit * 16 * T;
        *middle = *first + 8 * T;
    }
    /* Elements of G that are computed twice are taken from one place. */
    static __device__ __forceinline__ bool taken(int warp, int d, int row, int col)
    {
        return d == 0 ? row >= col : 2 * d != T || warp < T / 2;
    }
};

/* A pair of panels of 8 T columns each, for matrices of more columns than a triangle holds: the
 * rows of G are those of the first panel, the columns those of the second. Units are the four such
 * pairs of each two triangles P < Q, numbered Q (Q - 1) / 2 + P. */
template <int T> struct bd_gram_pair {
    enum { groups = T, D = T / 4, own = 0 };

    static __device__ __forceinline__ int left(int warp)
    {
        return warp % (T / 2);
    }
    static __device__ __forceinline__ int right(int warp, int d)
    {
        return T / 2 + warp / (T / 2) * D + d;
    }
    static __device__ __forceinline__ void columns(int unit, int *first, int *middle)
    {
        int q = 1, p = unit / 4;
        while (p >= q)
            p -= q++;
        *first = (2 * p + unit % 2) * 8 * T;
        *middle = (2 * q + unit / 2 % 2) * 8 * T;
    }
    static __device__ __forceinline__ bool taken(int, int, int, int)
    {
        return true;
    }
};

/* The sums of one thread block: Part::groups x D x 2 tiles of 16 x 8, each as two halves of 8 x 8
 * in the order of the lanes. */
template <class Part> struct bd_gram_slots {
    enum { tiles = Part::groups * Part::D * 2, count = tiles * 128 };

    /* Row and column of G in slot number `slot`; false if it is not to be written. */
    static __device__ __forceinline__ bool place(int slot, int unit, int n, int *row, int *col)
    {
        int tile = slot / 128, half = slot / 64 % 2, lane = slot / 2 % 32;
        int warp = tile / (2 * Part::D), d = tile / 2 % Part::D, first, middle;
        int r = 16 * Part::left(warp) + 8 * half + lane / 4;
        int c = 16 * Part::right(warp, d) + 8 * (tile % 2) + 2 * (lane % 4) + slot % 2;
        bool taken = Part::taken(warp, d, r, c);
        Part::columns(unit, &first, &middle);
        *row = r < 8 * Part::groups ? first + r : middle + r - 8 * Part::groups;
        *col = c < 8 * Part::groups ? first + c : middle + c - 8 * Part::groups;
        return taken && *row < n && *col < n;
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

/* Sums of the row tiles blockIdx.x, blockIdx.x + gridDim.x, .. of unit blockIdx.y to
 * part[unit][block][slot]. A block has SPLIT sets of Part::groups warps; each set takes its share
 * of a tile's row blocks. While a tile is multiplied the next one is on its way to registers, two
 * quads a thread and row block, and then to the other half of the shared memory. */
template <class Loader, class Part, int SPLIT>
__global__ __launch_bounds__(32 * Part::groups * SPLIT,
                             1) void bd_gram_tiles(double *part,
                                                   const __grid_constant__ Loader loader, int64_t m,
                                                   int n, const int *stop)
{
    constexpr int COLS = 16 * Part::groups, THREADS = 32 * Part::groups * SPLIT;
    constexpr int BLOCKS = SPLIT < 2 ? 2 : SPLIT, ROWS = 16 * BLOCKS, STAGE = COLS * ROWS / 4;
    constexpr int QUADS = ROWS / 4,
                  STEP = THREADS / QUADS; /* columns that one load of all covers */
    static_assert(2 * STEP * (BLOCKS / SPLIT) == COLS, "two quads a thread and row block");
    static_assert((SPLIT - 1) * Part::groups * 256 * sizeof(double) <= 2 * STAGE * sizeof(float4),
                  "the sums of the other sets fit in the stages");
    __shared__ float4 stages[2 * STAGE];
    if (stop && *stop)
        return;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % Part::groups;
    const int set = threadIdx.x / (32 * Part::groups);
    const int quad = threadIdx.x % QUADS, column = threadIdx.x / QUADS;
    const int64_t tiles = (m + ROWS - 1) / ROWS;
    int first, middle;
    Part::columns(blockIdx.y, &first, &middle);
    middle -= COLS / 2;
    if (!Part::own && middle + COLS / 2 >= n)
        return;

    /* Quads number 2 part and 2 part + 1 of this thread. */
    auto load = [&](int64_t tile, int share, float x[2][4]) {
#pragma unroll
        for (int u = 0; u < 2; u++) {
            int s = column + (2 * share + u) * STEP, j = s < COLS / 2 ? first + s : middle + s;
            if (tile < tiles && j < n)
                loader.load4(tile * ROWS + 4 * quad, j, x[u]);
            else
                x[u][0] = x[u][1] = x[u][2] = x[u][3] = 0.0f;
        }
    };
    auto store = [&](float4 *stage, int share, const float x[2][4]) {
#pragma unroll
        for (int u = 0; u < 2; u++)
            stage[bd_gram_quad<COLS>(quad / 4, column + (2 * share + u) * STEP, quad % 4)] =
                make_float4(x[u][0], x[u][1], x[u][2], x[u][3]);
    };

    double sum[Part::D][2][4] = {};
    int64_t tile = blockIdx.x;
    for (int share = 0; share < BLOCKS / SPLIT; share++) {
        float x[2][4];
        load(tile, share, x);
        store(stages, share, x);
    }
    __syncthreads();
    for (int now = 0; tile < tiles; tile += gridDim.x, now ^= 1) {
        const float4 *stage = stages + now * STAGE;
#pragma unroll 1
        for (int share = 0; share < BLOCKS / SPLIT; share++) {
            float next[2][4];
            load(tile + gridDim.x, share, next);
            const int block = share * SPLIT + set;
            const float4 *rows = stage + block * COLS * 4 + (lane ^ (block & 1) * 4);
            double left[2][4];
            bd_gram_fragment(left[0], rows, 2 * Part::left(warp));
            bd_gram_fragment(left[1], rows, 2 * Part::left(warp) + 1);
#pragma unroll
            for (int d = 0; d < Part::D; d++)
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    if (Part::own && d == 0) {
                        bd_gram_multiply(sum[d][h], left[0], left[1], left[h]);
                        continue;
                    }
                    double right[4];
                    bd_gram_fragment(right, rows, 2 * Part::right(warp, d) + h);
                    bd_gram_multiply(sum[d][h], left[0], left[1], right);
                }
            store(stages + (now ^ 1) * STAGE, share, next);
        }
        __syncthreads();
    }

    /* The sums of the sets join those of set 0, one d at a time, in the stages' memory. */
    double2 *others = reinterpret_cast<double2 *>(stages);
    double2 *out = reinterpret_cast<double2 *>(part) +
                   ((int64_t)blockIdx.y * gridDim.x + blockIdx.x) * bd_gram_slots<Part>::count / 2;
#pragma unroll
    for (int d = 0; d < Part::D; d++) {
        if (SPLIT > 1) {
            if (set > 0)
                for (int e = 0; e < 4; e++) /* two halves of two tiles */
                    others[(((set - 1) * Part::groups + warp) * 4 + e) * 32 + lane] =
                        make_double2(sum[d][e / 2][e % 2 * 2], sum[d][e / 2][e % 2 * 2 + 1]);
            __syncthreads();
        }
        for (int e = 0; set == 0 && e < 4; e++) {
            double2 total = make_double2(sum[d][e / 2][e % 2 * 2], sum[d][e / 2][e % 2 * 2 + 1]);
            for (int other = 0; other < SPLIT - 1; other++) {
                double2 more = others[((other * Part::groups + warp) * 4 + e) * 32 + lane];
                total.x += more.x;
                total.y += more.y;
            }
            out[((warp * Part::D + d) * 4 + e) * 32 + lane] = total;
        }
        if (SPLIT > 1)
            __syncthreads();
    }
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

/* Bytes of workspace for the Gram matrix of an m x n matrix, n <= 1024. */
static inline size_t bd_gram_workspace(const struct bd_cuda *cuda, int64_t m, int n)
{
    int triangles = bd_gram_triangles(n), pairs = 2 * triangles * (triangles - 1);
    int64_t tiles = (m + 31) / 32;
    size_t slots = bd_gram_slots<bd_gram_triangle<12>>::count;
    if (n <= 32)
        return (size_t)bd_gram_blocks(cuda, 2, 1, tiles) * 6 * 128 * sizeof(double);
    if (n <= 64)
        slots = bd_gram_slots<bd_gram_triangle<4>>::count;
    else if (n <= 112)
        slots = bd_gram_slots<bd_gram_triangle<7>>::count;
    else if (n <= 128)
        slots = bd_gram_slots<bd_gram_triangle<8>>::count;
    size_t bytes = triangles * bd_gram_blocks(cuda, 1, triangles, tiles) * slots * sizeof(double);
    if (pairs == 0)
        return bytes;
    size_t more = pairs * bd_gram_blocks(cuda, 1, pairs, tiles) *
                  (size_t)bd_gram_slots<bd_gram_pair<12>>::count * sizeof(double);
    return bytes > more ? bytes : more;
}

template <class Slots>
static void bd_gram_add_up(struct bd_cuda *cuda, double *g, const double *part, int n, int blocks,
                           int units, const int *stop)
{
    bd_gram_sum<Slots><<<dim3(Slots::count / 32, (unsigned)units), dim3(32, 8), 0, cuda->stream>>>(
        g, part, n, blocks, stop);
}

template <class Loader, class Part, int SPLIT>
static void bd_gram_run(struct bd_cuda *cuda, double *g, const Loader &loader, int64_t m, int n,
                        double *part, int units, const int *stop)
{
    int rows = SPLIT < 2 ? 32 : 16 * SPLIT;
    int blocks = bd_gram_blocks(cuda, 1, units, (m + rows - 1) / rows);
    bd_gram_tiles<Loader, Part, SPLIT>
        <<<dim3((unsigned)blocks, (unsigned)units), 32 * Part::groups * SPLIT, 0, cuda->stream>>>(
            part, loader, m, n, stop);
    bd_gram_add_up<bd_gram_slots<Part>>(cuda, g, part, n, blocks, units, stop);
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
    if (n <= 24)
        bd_gram_run_narrow<Loader, 3>(cuda, g, loader, m, n, part, stop);
    else if (n <= 32)
        bd_gram_run_narrow<Loader, 4>(cuda, g, loader, m, n, part, stop);
    else if (n <= 64)
        bd_gram_run<Loader, bd_gram_triangle<4>, 4>(cuda, g, loader, m, n, part, 1, stop);
    else if (n <= 112)
        bd_gram_run<Loader, bd_gram_triangle<7>, 2>(cuda, g, loader, m, n, part, 1, stop);
    else if (n <= 128)
        bd_gram_run<Loader, bd_gram_triangle<8>, 2>(cuda, g, loader, m, n, part, 1, stop);
    else
        bd_gram_run<Loader, bd_gram_triangle<12>, 1>(cuda, g, loader, m, n, part, triangles, stop);
    if (pairs > 0)
        bd_gram_run<Loader, bd_gram_pair<12>, 1>(cuda, g, loader, m, n, part, pairs, stop);
    return bd_cuda_launched("the Gram matrix");
}

#endif
