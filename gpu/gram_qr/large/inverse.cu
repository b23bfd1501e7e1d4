/* T and R_total from R^ in global memory (gpu/gram_qr/plan.h), over the device.
 *
 * T is made in blocks of 16 x 16: block (i, j) is -W_i times the sum of R(i, k) T(k, j) over k =
 * i + 1 .. j, W_i the inverse of diagonal block i, as long as i and j are in the same block of
 * columns; above that it is the sum without W_i. A thread block has eight columns, and its warps
 * share the rows. Each finished block of T is subtracted from all rows above at once, so that a
 * step takes as long as two products. The plain version is gram_invert_column (solver.cuh). */
#include "gpu/core/dependent_launch.cuh"
#include "gpu/core/gram_multiply.cuh"
#include "gpu/gram_qr/large/large.h"
#include "gpu/gram_qr/solver.cuh"

enum {
    side = 16,
    square = side * side,
    threads = 512,
    warps = threads / 32,
    column_ld = 9, /* between rows of eight columns: no bank conflicts */
    join_threads = 256
};

/* Where the block of columns that has column `column` of 16 begins among these; cuts: their bits
 * of starts. */
static __device__ __forceinline__ int begin_of(unsigned cuts, int column)
{
    const unsigned before = cuts & ((2u << column) - 1);
    return before ? 31 - __clz((int)before) : 0;
}

/* Writes the diagonal blocks of T, row by row, to d.scratch, a warp each: W where no block of
 * columns begins within one. Rows and columns from n on are 0. */
__global__ __launch_bounds__(32) void invert_diagonals(const __grid_constant__ struct gram_data d)
{
    __shared__ double block[side][side + 1];
    const int lane = threadIdx.x, n = d.n, j0 = (int)blockIdx.x * side, j = j0 + lane;
    bd_cuda_await();
    bd_cuda_let_follow();
    if (d.decision->identity)
        return;
    for (int e = lane; e < square; e += 32) {
        const int i = e / side, k = e % side;
        block[i][k] = i <= k && j0 + k < n ? d.r[(int64_t)(j0 + i) * n + j0 + k] : 0.0;
    }
    __syncwarp();
    if (lane >= side)
        return;
    const int first = begin_of(gram_cuts(d.decision->starts, (int)blockIdx.x), lane);
    double x[side];
#pragma unroll
    for (int i = 0; i < side; i++)
        x[i] = i == lane && j < n ? 1.0 : 0.0;
#pragma unroll
    for (int i = side - 1; i >= 0; i--)
        if (i <= lane && i >= first && j < n) {
            x[i] /= block[i][i];
#pragma unroll
            for (int k = 0; k < i; k++)
                x[k] = fma(-block[k][i], x[i], x[k]);
        }
#pragma unroll
    for (int i = 0; i < side; i++)
        d.scratch[(int64_t)blockIdx.x * square + i * side + lane] = x[i];
}

/* Loads rows `group` and group + 8 of 16 x 16 elements as the left operand of bd_gram_multiply;
 * columns from `columns` on are 0. `from` points to the first element. */
static __device__ __forceinline__ void load_left(double x[2][4], const double *from, int apart,
                                                 int columns)
{
    const int lane = threadIdx.x % 32, group = lane / 4, t = lane % 4;
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
        for (int s = 0; s < 4; s++)
            x[h][s] = 4 * t + s < columns ? from[(int64_t)(group + 8 * h) * apart + 4 * t + s] : 0;
}

/* Stores 16 rows of eight columns of a product in shared memory; loads them as its right
 * operand. */
static __device__ __forceinline__ void keep_columns(double *to, const double sum[4])
{
    const int lane = threadIdx.x % 32, group = lane / 4, t = lane % 4;
#pragma unroll
    for (int e = 0; e < 4; e++)
        to[(group + e / 2 * 8) * column_ld + 2 * t + e % 2] = sum[e];
}

static __device__ __forceinline__ void get_columns(double x[4], const double *from)
{
    const int lane = threadIdx.x % 32, group = lane / 4, t = lane % 4;
#pragma unroll
    for (int s = 0; s < 4; s++)
        x[s] = from[(4 * t + s) * column_ld + group];
}

/* Columns 8 half .. 8 half + 7 of T, half from the last on: a warp has rows 16 (warp + 16 part) ..
 * of each part. */
template <int PARTS>
__global__ __launch_bounds__(threads, 1) void invert(const __grid_constant__ struct gram_data d,
                                                     int *overflow)
{
    __shared__ double known[2][side * column_ld], left_over[side * column_ld];
    const int half = (int)(gridDim.x - 1 - blockIdx.x), last = half / 2, n = d.n;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, t = lane % 4;
    double sum[PARTS][4] = {}, r[PARTS][2][4], w[2][4];
    bd_cuda_await();
    bd_cuda_let_follow();
    /* By all threads or none: another block may have found that T overflows. */
    if (__syncthreads_or(d.decision->identity))
        return;
    const bool single = d.decision->single != 0;
    const unsigned *starts = d.decision->starts;
    auto cuts = [&](int block) { return gram_cuts(starts, block); };
    int first = last, bad = 0; /* first: of the rows that are solved for */
    if (!(cuts(last) & 0xfffeu))
        while (!cuts(first))
            first--;
    auto put = [&](int i, const double x[4]) {
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int j = 8 * half + 2 * t + e % 2;
            const double value = j >= n ? 0 : single ? (double)(float)x[e] : x[e];
            d.packed[gram_packed(side * i + group + e / 2 * 8, j)] = value;
            bad |= !isfinite(value);
        }
    };
    /* Loads what step i needs: R(., i), and W_(i - 1). */
    auto load = [&](int i) {
#pragma unroll
        for (int part = 0; part < PARTS; part++) {
            const int row = warp + part * warps;
            if (row < i)
                load_left(r[part], d.r + (int64_t)side * row * n + side * i, n, n - side * i);
        }
        if (i > first && (i - 1) % warps == warp)
            load_left(w, d.scratch + (int64_t)(i - 1) * square, side, side);
    };
    load(last);
    if (warp == 0) {
        double x[4];
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int row = group + e / 2 * 8, column = half % 2 * 8 + 2 * t + e % 2;
            x[e] = d.scratch[(int64_t)last * square + row * side + column];
        }
        put(last, x);
#pragma unroll
        for (int e = 0; e < 4; e++) /* rows above the first of their block are finished already */
            if (group + e / 2 * 8 < begin_of(cuts(last), half % 2 * 8 + 2 * t + e % 2))
                x[e] = 0;
        keep_columns(known[last % 2], x);
    }
    __syncthreads();
#pragma unroll 1
    for (int i = last;; i--) {
        double right[4];
        get_columns(right, known[i % 2]);
#pragma unroll
        for (int part = 0; part < PARTS; part++)
            if (warp + part * warps < i)
                bd_gram_multiply(sum[part], r[part][0], r[part][1], right);
        if (i == first)
            break;
        if ((i - 1) % warps == warp) {
            double x[4] = {};
#pragma unroll
            for (int part = 0; part < PARTS; part++)
                if (part == (i - 1) / warps)
#pragma unroll
                    for (int e = 0; e < 4; e++)
                        x[e] = -sum[part][e];
            keep_columns(left_over, x);
            __syncwarp();
            get_columns(right, left_over);
            double solved[4] = {};
            bd_gram_multiply(solved, w[0], w[1], right);
            keep_columns(known[(i - 1) % 2], solved);
            put(i - 1, solved);
        }
        load(i - 1);
        __syncthreads();
    }
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        const int row = warp + part * warps;
        const double x[4] = { -sum[part][0], -sum[part][1], -sum[part][2], -sum[part][3] };
        if (row < first)
            put(row, x);
    }
    if (overflow && bad) {
        d.decision->identity = 1;
        *overflow = 1;
    }
}

/* Computes data.other; a warp has 16 x 8 of it. */
__global__ __launch_bounds__(join_threads) void join(const __grid_constant__ struct gram_data d,
                                                     int pass)
{
    const int lane = threadIdx.x % 32, group = lane / 4, t = lane % 4, n = d.n;
    const int half = (int)blockIdx.x,
              block = (int)blockIdx.y * (join_threads / 32) + threadIdx.x / 32;
    bd_cuda_await();
    bd_cuda_let_follow();
    if (d.decision->identity || side * block >= n)
        return;
    double sum[4] = {};
    auto left = [&](int i, int j) {
        return i <= j && j < n ? d.r[(int64_t)i * n + j] * d.norms[j] : 0.0;
    };
    const int top = side * block + group, column = 8 * half + group;
#pragma unroll 2
    for (int k = block; pass > 0 && k <= half / 2; k++) {
        double low[4], high[4], right[4];
#pragma unroll
        for (int s = 0; s < 4; s++) {
            const int j = side * k + 4 * t + s;
            low[s] = left(top, j);
            high[s] = left(top + 8, j);
            right[s] = j <= column && column < n ? d.total[j + (int64_t)column * n] : 0.0;
        }
        bd_gram_multiply(sum, low, high, right);
    }
#pragma unroll
    for (int e = 0; e < 4; e++) {
        const int i = top + e / 2 * 8, j = 8 * half + 2 * t + e % 2;
        if (i < n && j < n)
            d.other[i + (int64_t)j * n] = pass > 0 ? sum[e] : left(i, j);
        if (j == 0 && i < n)
            d.exponents[i] = 0;
    }
}

enum bd_status bd_cuda_gram_inverse_enqueue(const struct gram_plan *plan, int *overflow)
{
    const int n = plan->data.n, blocks = (n + side - 1) / side;
    const dim3 grid(2 * (unsigned)blocks); /* columns from n on become 0 */
    bd_cuda_follow(plan->cuda, invert_diagonals, dim3((unsigned)blocks), dim3(32), 0, plan->data);
    bd_cuda_follow(plan->cuda,
                   blocks <= warps       ? invert<1>
                   : blocks <= 2 * warps ? invert<2>
                                         : invert<4>,
                   grid, dim3(threads), 0, plan->data, overflow);
    return bd_cuda_launched("inverting R");
}

enum bd_status bd_cuda_gram_join_enqueue(const struct gram_plan *plan, int pass)
{
    const int n = plan->data.n, rows = side * (join_threads / 32);
    bd_cuda_follow(plan->cuda, join, dim3((unsigned)(n + 7) / 8, (unsigned)((n + rows - 1) / rows)),
                   dim3(join_threads), 0, plan->data, pass);
    return bd_cuda_launched("R of all passes");
}
