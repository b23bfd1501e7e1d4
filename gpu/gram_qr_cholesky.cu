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
    side = gram_large_rows,       /* rows, and columns of a thread block */
    tiles = 8,                    /* of eight columns: of the diagonal block, and these */
    splits = threads / 32 / 2,    /* of the rows before, each two warps, 16 rows for each */
    ld = 2 * side + 1,            /* neither rows nor columns share banks */
    slot_size = side * ld / 2 + 8 /* of a warp's sums; two of them have room for all rows */
};

static_assert(side == 2 * gram_side && gram_most % threads == 0, "two blocks of 16; whole parts");
static_assert(slot_size >= 4 * tiles * 32 && 2 * slot_size >= side * ld, "room in a slot");

/* Rows j0 - 32 .. j0 - 1 into the estimate that is kept in d.scratch. */
template <int PARTS>
static __device__ __forceinline__ void estimate(const struct gram_data &d, int j0)
{
    struct gram_estimate<threads, PARTS> e;
    const int from = j0 - side, n = d.n;
    if (from > 0)
        gram_load_estimate(&e, d);
    if (gram_take_columns(&e, d.r, n, n, from, j0, from == 0, gram_most_squared) < j0)
        e.greatest = HUGE_VAL; /* and stays that */
    gram_keep_estimate(e, d);
}

/* Of rows j0 + 16 h .. of R^ and eight columns, of the diagonal block (tiles 0 to 3) or from
 * `first` on: the lane's own first row, and the first column. */
static __device__ __forceinline__ int top_row(int j0, int h)
{
    return j0 + gram_side * h + (int)threadIdx.x % 32 / 4;
}

static __device__ __forceinline__ int left_column(int j0, int first, int tile)
{
    return (tile < 4 ? j0 : first - side) + 8 * tile;
}

/* The scaled G there, less than 0, of the two tiles of a split, and 0 of the others: what products
 * are added to. */
static __device__ __forceinline__ void take_g(double sum[tiles][4], const struct gram_data &d,
                                              double diagonal, int j0, int h, int split, int first)
{
    const int top = top_row(j0, h), t = threadIdx.x % 4, n = d.n;
#pragma unroll
    for (int e = 0; e < 4 * tiles; e++) {
        const int tile = e / 4, i = top + e % 4 / 2 * 8;
        const int j = left_column(j0, first, tile) + 2 * t + e % 2;
        const bool own = tile / 2 == split && i <= j && j < n;
        const double scaled = own ? d.g[i + (int64_t)j * n] * d.inverse[i] * d.inverse[j] : 0.0;
        sum[tile][e % 4] = -(own && i == j ? diagonal : scaled);
    }
}

/* The products of the rows before j0, of which a split has 16 in each `splits` times 16, are added;
 * by one warp. */
static __device__ __forceinline__ void add_products(double sum[tiles][4], const struct gram_data &d,
                                                    int j0, int h, int split, int first)
{
    const int group = threadIdx.x % 32 / 4, t = threadIdx.x % 4, n = d.n, top = top_row(j0, h);
#pragma unroll 1
    for (int k = gram_side * split; k < j0; k += gram_side * splits) {
        double low[4], high[4], right[tiles][4];
        const double *rows = d.r + (int64_t)(k + 4 * t) * n;
#pragma unroll
        for (int s = 0; s < 4; s++) {
            low[s] = rows[s * n + min(top, n - 1)];
            high[s] = rows[s * n + min(top + 8, n - 1)];
#pragma unroll
            for (int tile = 0; tile < tiles; tile++)
                right[tile][s] = rows[s * n + min(left_column(j0, first, tile) + group, n - 1)];
        }
#pragma unroll
        for (int tile = 0; tile < tiles; tile++)
            bd_gram_multiply(sum[tile], low, high, right[tile]);
    }
}

/* The products of all splits, so that their first has the sum; by all threads. slots: of warps. */
static __device__ __forceinline__ void add_splits(double sum[tiles][4], double *slots, int h,
                                                  int split)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int others = splits / 2; others > 0; others /= 2) {
        double *slot = slots + (2 * (split % others + (others == 1 ? 1 : 0)) + h) * slot_size;
        if (split >= others && split < 2 * others)
#pragma unroll
            for (int e = 0; e < 4 * tiles; e++)
                slot[32 * e + lane] = sum[e / 4][e % 4];
        __syncthreads();
        if (split < others)
#pragma unroll
            for (int e = 0; e < 4 * tiles; e++)
                sum[e / 4][e % 4] += slot[32 * e + lane];
    }
}

/* `count` rows of R^ in place of what is left, all `columns` of them; by all threads. *end: the
 * first row, if any, whose pivot is not positive. */
static __device__ __forceinline__ void factor_rows(double *a, int count, int columns,
                                                   double *reciprocal, int *end)
{
    const int warp = threadIdx.x / 32;
#pragma unroll 1
    for (int i0 = 0; i0 < count; i0 += gram_side) {
        if (i0 > 0 && gram_side * (warp + 1) < columns)
            gram_take_product(a, ld, columns, 0, 1, 1 + warp);
        __syncwarp();
        if (warp == 0)
            gram_factor_diagonal(a, ld, columns, i0, 0, reciprocal, end);
        __syncthreads();
        const int wanted = min(count, i0 + gram_side), made = min(*end, wanted);
        gram_factor_right(a, ld, columns, i0, made - i0, reciprocal);
        __syncthreads();
        if (made < wanted)
            return;
    }
}

/* Rows j0 .. j0 + 31 of up to PARTS times `threads` columns; diagonal: that of the scaled G. */
template <int PARTS>
__global__ __launch_bounds__(threads, 1) void make_rows(const __grid_constant__ struct gram_data d,
                                                        double diagonal, int j0)
{
    __shared__ double a[4 * slot_size], reciprocal[side]; /* the slots before, then the rows */
    __shared__ int end;
    const int n = d.n, count = min(n - j0, (int)side), warp = threadIdx.x / 32;
    const int first = j0 + side * ((int)blockIdx.x + 1), columns = min(n - first, (int)side);
    const int h = warp % 2, split = warp / 2, lane = threadIdx.x % 32;
    double sum[tiles][4];
    take_g(sum, d, diagonal, j0, h, split, first); /* of kernels before the one before */
    bd_cuda_await();
    bd_cuda_let_follow();
    /* A pivot of rows before was not positive. What the blocks of one launch find among its own
     * rows, and write down, does not stop others of it. */
    if (d.decision->identity || d.decision->end < j0)
        return;
    if (j0 > 0 && blockIdx.x == gridDim.x - 1) {
        if (!gram_is_near(d.decision->apart))
            estimate<PARTS>(d, j0);
        return;
    }
    if (threadIdx.x == 0)
        end = side;
    add_products(sum, d, j0, h, split, first);
    add_splits(sum, a, h, split);
    if (split == 0)
#pragma unroll
        for (int e = 0; e < 4 * tiles; e++)
            a[(gram_side * h + lane / 4 + e % 4 / 2 * 8) * ld + e / 4 * 8 + 2 * (lane % 4) +
              e % 2] = -sum[e / 4][e % 4];
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
    const auto kernel = n <= threads       ? make_rows<1>
                        : n <= 2 * threads ? make_rows<2>
                                           : make_rows<gram_most / threads>;
    for (int j0 = 0; j0 < n; j0 += side) {
        const int rest = n - j0 - side, blocks = rest > 0 ? (rest + side - 1) / side : 1;
        bd_cuda_follow(plan->cuda, kernel, dim3((unsigned)(blocks + (j0 > 0))), dim3(threads), 0,
                       plan->data, 1 + shift, j0);
    }
    return bd_cuda_launched("R of the Gram matrix");
}
