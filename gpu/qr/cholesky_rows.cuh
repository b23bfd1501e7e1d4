/* Private to cholesky.cu and gpu/gram_qr/large: R^ of a scaled Gram matrix that is too large for
 * shared memory, over the device, 32 rows a launch.
 *
 * A thread block makes 32 columns of these rows: it subtracts the products of all rows before
 * from them, and factors its own copy of the diagonal block, which takes less time than another
 * launch. R^(i, j) is r[i * n + j]. The plain version is gram_cholesky_blocked
 * (gpu/gram_qr/blocked.cuh). */
#ifndef BD_GPU_QR_CHOLESKY_ROWS_CUH
#define BD_GPU_QR_CHOLESKY_ROWS_CUH

#include "gpu/gram_qr/blocked.cuh"

enum {
    rows_threads = 256,
    rows_side = 32, /* rows, and columns of a thread block */
    rows_tiles = 8, /* of eight columns: of the diagonal block, and these */
    rows_splits =
        rows_threads / 64, /* of the rows before; each has two warps, with 16 of the 32 rows each */
    rows_ld = 2 * rows_side + 1, /* neither rows nor columns share banks */
    rows_slot =
        rows_side * rows_ld / 2 + 8 /* of a warp's sums; two of them have room for all rows */
};

static_assert(rows_side == 2 * gram_side, "two blocks of 16");
static_assert(rows_slot >= 4 * rows_tiles * 32 && 2 * rows_slot >= rows_side * rows_ld,
              "room in a slot");

/* What is to be factored: the upper triangle of g (n x n, ld n) without its diagonal, rows and
 * columns times `inverse`, with `diagonal` on the diagonal. r may be the lower triangle of g
 * with its diagonal. Pivots below `floor`, if that is above 0, count as `floor`. */
struct rows_job {
    int n;
    const double *g, *inverse;
    double *r, diagonal, floor;
};

/* Shared memory of a thread block: slots of warps first, later the rows; and reciprocals of the
 * diagonal. */
struct rows_memory {
    double a[4 * rows_slot], reciprocal[rows_side];
    int end; /* the first row, if any, whose pivot is not positive */
};

/* The first column of a thread block beside the diagonal block, or n and more: there are none. */
static __device__ __forceinline__ int rows_first(int j0)
{
    return j0 + rows_side * ((int)blockIdx.x + 1);
}

/* A warp has 16 rows of the 32, the lane's own from rows_top on, and eight columns of each tile:
 * tiles 0 to 3 are the diagonal block. */
static __device__ __forceinline__ int rows_top(int j0)
{
    return j0 + gram_side * ((int)threadIdx.x / 32 % 2) + (int)threadIdx.x % 32 / 4;
}

static __device__ __forceinline__ int rows_column(int j0, int tile)
{
    return (tile < 4 ? j0 : rows_first(j0) - rows_side) + 8 * tile;
}

static __device__ __forceinline__ int rows_split(void)
{
    return (int)threadIdx.x / 64;
}

/* The start of the sums: minus the scaled G, in the two tiles of a split, and 0 in the others. */
static __device__ __forceinline__ void rows_take_g(double sum[rows_tiles][4],
                                                   const struct rows_job &job, int j0)
{
    const int top = rows_top(j0), t = threadIdx.x % 4, n = job.n;
#pragma unroll
    for (int e = 0; e < 4 * rows_tiles; e++) {
        const int i = top + e % 4 / 2 * 8, j = rows_column(j0, e / 4) + 2 * t + e % 2;
        const bool own = e / 4 / 2 == rows_split() && j < n;
        double scaled = 0;
        if (own && i < j)
            scaled = job.g[i + (int64_t)j * n] * job.inverse[i] * job.inverse[j];
        sum[e / 4][e % 4] = -(own && i == j ? job.diagonal : scaled);
    }
}

/* Adds the products of the rows before j0; a split has 16 rows of each rows_splits times 16. */
static __device__ __forceinline__ void rows_add_products(double sum[rows_tiles][4],
                                                         const struct rows_job &job, int j0)
{
    const int group = threadIdx.x % 32 / 4, t = threadIdx.x % 4, n = job.n, top = rows_top(j0);
#pragma unroll 1
    for (int k = gram_side * rows_split(); k < j0; k += gram_side * rows_splits) {
        double low[4], high[4], right[rows_tiles][4];
        const double *rows = job.r + (int64_t)(k + 4 * t) * n;
#pragma unroll
        for (int s = 0; s < 4; s++) {
            low[s] = rows[s * n + min(top, n - 1)];
            high[s] = rows[s * n + min(top + 8, n - 1)];
#pragma unroll
            for (int tile = 0; tile < rows_tiles; tile++)
                right[tile][s] = rows[s * n + min(rows_column(j0, tile) + group, n - 1)];
        }
#pragma unroll
        for (int tile = 0; tile < rows_tiles; tile++)
            bd_gram_multiply(sum[tile], low, high, right[tile]);
    }
}

/* Adds the sums of all splits; the first split writes them, negated, to the rows in a. By all
 * threads. */
static __device__ __forceinline__ void rows_add_splits(double sum[rows_tiles][4], double *a)
{
    const int lane = threadIdx.x % 32, split = rows_split(), h = threadIdx.x / 32 % 2;
#pragma unroll
    for (int others = rows_splits / 2; others > 0; others /= 2) {
        double *slot = a + (2 * (split % others + (others == 1 ? 1 : 0)) + h) * rows_slot;
        if (split >= others && split < 2 * others)
#pragma unroll
            for (int e = 0; e < 4 * rows_tiles; e++)
                slot[32 * e + lane] = sum[e / 4][e % 4];
        __syncthreads();
        if (split < others)
#pragma unroll
            for (int e = 0; e < 4 * rows_tiles; e++)
                sum[e / 4][e % 4] += slot[32 * e + lane];
    }
    if (split == 0)
#pragma unroll
        for (int e = 0; e < 4 * rows_tiles; e++)
            a[(gram_side * h + lane / 4 + e % 4 / 2 * 8) * rows_ld + e / 4 * 8 + 2 * (lane % 4) +
              e % 2] = -sum[e / 4][e % 4];
    __syncthreads();
}

/* Makes `count` rows of R^ in place, all `columns` of them; by all threads. */
static __device__ __forceinline__ void rows_factor(struct rows_memory &memory, int count,
                                                   int columns, double floor)
{
    const int warp = threadIdx.x / 32;
#pragma unroll 1
    for (int i0 = 0; i0 < count; i0 += gram_side) {
        if (i0 > 0 && gram_side * (warp + 1) < columns)
            gram_take_product(memory.a, rows_ld, columns, 0, 1, 1 + warp);
        __syncwarp();
        if (warp == 0)
            gram_factor_diagonal(memory.a, rows_ld, columns, i0, floor, memory.reciprocal,
                                 &memory.end);
        __syncthreads();
        const int wanted = min(count, i0 + gram_side), made = min(memory.end, wanted);
        gram_factor_right(memory.a, rows_ld, columns, i0, made - i0, memory.reciprocal);
        __syncthreads();
        if (made < wanted)
            return;
    }
}

/* Makes rows j0 .. j0 + 31 from the sums of rows_take_g. Returns how many rows come before the
 * first one whose pivot is not positive. */
static __device__ __forceinline__ int
rows_make(double sum[rows_tiles][4], const struct rows_job &job, struct rows_memory &memory, int j0)
{
    const int n = job.n, count = min(n - j0, (int)rows_side), first = rows_first(j0);
    const int columns = min(n - first, (int)rows_side);
    if (threadIdx.x == 0)
        memory.end = rows_side;
    rows_add_products(sum, job, j0);
    rows_add_splits(sum, memory.a);
    rows_factor(memory, count, columns > 0 ? rows_side + columns : count, job.floor);
    const int made = min(memory.end, count);
    for (int e = threadIdx.x; e < made * 2 * rows_side; e += rows_threads) {
        const int i = e / (2 * rows_side), j = e % (2 * rows_side);
        double *row = job.r + (int64_t)(j0 + i) * n;
        if (j >= rows_side && j - rows_side < columns)
            row[first + j - rows_side] = memory.a[i * rows_ld + j];
        else if (blockIdx.x == 0 && i <= j && j < count)
            row[j0 + j] = memory.a[i * rows_ld + j];
    }
    return made;
}

/* Thread blocks for rows j0 .. j0 + 31. */
static inline unsigned rows_blocks(int n, int j0)
{
    const int rest = n - j0 - rows_side;
    return rest > 0 ? (unsigned)(rest + rows_side - 1) / rows_side : 1;
}

#endif
