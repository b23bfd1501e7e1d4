/* R^ by Cholesky of more columns than shared memory holds (gram_qr_large.h), over the device: 32
 * rows of it a launch, of which a thread block makes 32 columns. It takes the products of all rows
 * before from them, and factors the diagonal block for itself: that is less than another launch.
 * Meanwhile one block takes the rows of the launch before into the condition estimate. */
#include "gpu/dependent_launch.cuh"
#include "gpu/gram_qr_blocked.cuh"
#include "gpu/gram_qr_large.h"
#include "gpu/gram_qr_large_estimate.cuh"

enum {
    threads = 256,
    side = gram_large_rows, /* rows, and columns of a thread block */
    ld = 2 * side + 1       /* neither rows nor columns share banks */
};

static_assert(side == 2 * gram_side && threads * 4 >= gram_most, "two blocks of 16; four parts");

/* Rows j0 - 32 .. j0 - 1 into the estimate that is kept in d.scratch. */
static __device__ __forceinline__ void estimate(const struct gram_data &d, int j0)
{
    struct gram_estimate<threads, 4> e;
    const int from = j0 - side, n = d.n;
    if (from > 0)
        gram_load_estimate(&e, d);
    if (gram_take_columns(&e, d.r, n, n, from, j0, from == 0, gram_most_squared) < j0)
        e.greatest = HUGE_VAL; /* and stays that */
    gram_keep_estimate(e, d);
}

/* Columns 8 c .. 8 c + 7 of rows 16 h .. of what is left for rows j0 .. of R^, to `a`, by one warp:
 * of the columns at `first`, which are columns `to` of a. */
static __device__ __forceinline__ void take_rest(double *a, const struct gram_data &d,
                                                 double diagonal, int j0, int h, int first, int to)
{
    const int lane = threadIdx.x % 32, group = lane / 4, t = lane % 4, n = d.n;
    const int top = j0 + gram_side * h + group;
    const double *low = d.r + 4 * t * n + min(top, n - 1);
    const double *high = d.r + 4 * t * n + min(top + 8, n - 1);
    const double *right = d.r + 4 * t * n + min(first + group, n - 1);
    double sum[4] = {};
#pragma unroll 4
    for (int k = 0; k < j0; k += 16) {
        double x[4], y[4], z[4];
#pragma unroll
        for (int s = 0; s < 4; s++) {
            x[s] = low[(int64_t)(k + s) * n];
            y[s] = high[(int64_t)(k + s) * n];
            z[s] = right[(int64_t)(k + s) * n];
        }
        bd_gram_multiply(sum, x, y, z);
    }
#pragma unroll
    for (int e = 0; e < 4; e++) {
        const int i = top + e / 2 * 8, j = first + 2 * t + e % 2;
        if (i > j || j >= n)
            continue;
        const double scaled = d.g[i + (int64_t)j * n] * d.inverse[i] * d.inverse[j];
        a[(i - j0) * ld + to + 2 * t + e % 2] = (i == j ? diagonal : scaled) - sum[e];
    }
}

/* `count` rows of R^ in place of what is left, all `columns` of them; by all threads. *end: the
 * first row, if any, whose pivot is not positive. */
static __device__ __forceinline__ void factor_rows(double *a, int count, int columns,
                                                   double *reciprocal, int *end)
{
    const int warp = threadIdx.x / 32;
    if (warp == 0)
        gram_factor_diagonal(a, ld, columns, 0, 0, reciprocal, end);
    __syncthreads();
    const int made = *end;
    gram_factor_right(a, ld, columns, 0, min(made, (int)gram_side), reciprocal);
    __syncthreads();
    if (made < count || count <= gram_side)
        return;
    if (gram_side * (warp + 1) < columns)
        gram_take_product(a, ld, columns, 0, 1, 1 + warp);
    __syncwarp();
    if (warp == 0)
        gram_factor_diagonal(a, ld, columns, gram_side, 0, reciprocal, end);
    __syncthreads();
    gram_factor_right(a, ld, columns, gram_side, min(*end, count) - gram_side, reciprocal);
    __syncthreads();
}

/* Rows j0 .. j0 + 31; diagonal: that of the scaled G. */
__global__ __launch_bounds__(threads) void make_rows(const __grid_constant__ struct gram_data d,
                                                     double diagonal, int j0)
{
    __shared__ double a[side * ld], reciprocal[side];
    __shared__ int end;
    const int n = d.n, count = min(n - j0, (int)side), warp = threadIdx.x / 32;
    const int first = j0 + side * ((int)blockIdx.x + 1), columns = min(n - first, (int)side);
    bd_cuda_await();
    /* A pivot of rows before was not positive. What the blocks of one launch find among its own
     * rows, and write down, does not stop others of it. */
    if (d.decision->identity || d.decision->end < j0)
        return;
    if (j0 > 0 && blockIdx.x == gridDim.x - 1) {
        estimate(d, j0);
        return;
    }
    if (threadIdx.x == 0)
        end = side;
    take_rest(a, d, diagonal, j0, warp / 4, j0 + warp % 4 * 8, warp % 4 * 8);
    if (columns > 0)
        take_rest(a, d, diagonal, j0, warp / 4, first + warp % 4 * 8, side + warp % 4 * 8);
    __syncthreads();
    factor_rows(a, count, columns > 0 ? side + columns : count, reciprocal, &end);
    const int made = min(end, count);
    for (int e = threadIdx.x; e < made * 2 * side; e += threads) {
        const int i = e / (2 * side), j = e % (2 * side);
        double *row = d.r + (int64_t)(j0 + i) * n;
        if (j >= side && j - side < columns)
            row[first + j - side] = a[i * ld + j];
        else if (blockIdx.x == 0 && i <= j && j < count)
            row[j0 + j] = a[i * ld + j];
    }
    if (blockIdx.x == 0 && threadIdx.x == 0 && made < count)
        d.decision->end = j0 + made;
}

extern "C" enum bd_status bd_cuda_gram_cholesky_enqueue(const struct gram_plan *plan, double shift)
{
    const int n = plan->data.n;
    for (int j0 = 0; j0 < n; j0 += side) {
        const int rest = n - j0 - side, blocks = rest > 0 ? (rest + side - 1) / side : 1;
        bd_cuda_follow(plan->cuda, make_rows, dim3((unsigned)(blocks + (j0 > 0))), dim3(threads), 0,
                       plan->data, 1 + shift, j0);
    }
    return bd_cuda_launched("R of the Gram matrix");
}
