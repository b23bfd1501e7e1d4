/* R from a Gram matrix (gpu/cholesky.h): right-looking blocked Cholesky, G = L L^T, R = L^T.
 *
 * One panel of 32 columns at a time: one warp factors the diagonal block (diagonal_block), then a
 * thread a row solves for the rows below it (solve_row), then the trailing matrix is updated on the
 * FP64 tensor cores (update_tile). Up to about n = 200 all that is one thread block with the
 * triangle in shared memory; one warp then updates and factors the next diagonal block while the
 * others update the rest, so that the chain of diagonal blocks is all that remains. Larger
 * matrices stay in global memory, two kernels a panel.
 *
 * Row i of L is stored with its elements 0 .. i adjacent: packed one row after the other in shared
 * memory, and in global memory as the part of column i of G from the diagonal upwards. */
#include "gpu/cholesky.h"

#include "gpu/gram.cuh"

enum {
    width = 32,  /* columns of a panel: the lanes of a warp */
    stride = 36, /* doubles between rows of a panel's copy: no bank conflicts in fragments */
    block_warps = 16
};

/* A diagonal block while it is factored, for the rows below it. */
struct diagonal {
    double l[width][width]; /* l[k][i] = L(i, k), i >= k */
    double inverse[width];  /* of L(k, k) */
};

struct packed_rows {
    double *data;

    __device__ __forceinline__ double *operator()(int i) const
    {
        return data + i * (i + 1) / 2;
    }
};

struct global_rows {
    double *g;
    int n;

    __device__ __forceinline__ double *operator()(int i) const
    {
        return g + (int64_t)i * n;
    }
};

static __device__ __forceinline__ double pivot_floor(int n)
{
    return 8.0 * n * 0x1p-53;
}

/* L of the `cols` x `cols` block at row and column j0, in place and in `d`, by one warp: lane i has
 * row i. The chain from pivot to pivot is kept short: a lane knows its own diagonal element (rest)
 * without waiting for the column of the step. */
template <class Rows>
static __device__ __forceinline__ void diagonal_block(const Rows &row, struct diagonal *d, int j0,
                                                      int cols, int n, double *least)
{
    const int lane = threadIdx.x % 32;
    const double lowest = pivot_floor(n);
    double a[width], rest = 1, smallest = *least;
#pragma unroll
    for (int k = 0; k < width; k++)
        a[k] = lane < cols && k <= lane ? row(j0 + lane)[j0 + k] : 0.0;
#pragma unroll
    for (int k = 0; k < width; k++)
        if (k == lane && lane < cols)
            rest = a[k];
#pragma unroll
    for (int k = 0; k < width; k++) {
        if (k >= cols)
            break;
        double pivot = __shfl_sync(0xffffffffu, rest, k);
        smallest = pivot < smallest ? pivot : isnan(pivot) ? 0 : smallest;
        pivot = pivot < lowest ? lowest : pivot; /* NaN stays */
        double inverse = rsqrt(pivot), l = (lane == k ? pivot : a[k]) * inverse;
        rest -= l * l;
        d->l[k][lane] = l;
        if (lane == k)
            d->inverse[k] = inverse;
        if (lane >= k && lane < cols)
            row(j0 + lane)[j0 + k] = l;
        __syncwarp();
#pragma unroll
        for (int j = k + 1; j < width; j++)
            a[j] -= l * d->l[k][j];
    }
    *least = smallest;
}

/* Row i below the diagonal block: x L11^T = a(i, j0 ..), in place; also to `copy` if not NULL. */
template <class Rows>
static __device__ __forceinline__ void solve_row(const Rows &row, const struct diagonal *d, int i,
                                                 int j0, double *copy)
{
    double x[width], *a = row(i) + j0;
#pragma unroll
    for (int k = 0; k < width; k++)
        x[k] = a[k];
#pragma unroll
    for (int k = 0; k < width; k++) {
        x[k] *= d->inverse[k];
#pragma unroll
        for (int j = k + 1; j < width; j++)
            x[j] -= x[k] * d->l[k][j];
    }
#pragma unroll
    for (int k = 0; k < width; k++)
        a[k] = x[k];
    if (copy)
#pragma unroll
        for (int k = 0; k < width; k++)
            copy[k] = x[k];
}

/* Tile number t of a lower triangle of tiles, row by row: (0, 0), (1, 0), (1, 1), (2, 0), .. */
static __device__ __forceinline__ void tile_place(int t, int *ti, int *tj)
{
    int i = (int)((sqrtf(8.0f * (float)t + 1) - 1) / 2);
    while (i * (i + 1) / 2 > t)
        i--;
    while ((i + 1) * (i + 2) / 2 <= t)
        i++;
    *ti = i;
    *tj = t - i * (i + 1) / 2;
}

/* Rows i0 .. i0 + 15 and columns c0 .. c0 + 15 of the trailing matrix, by one warp: less the
 * products of the rows of the panel; panel(i) points to the 32 elements of row i of it, i < n.
 * Fragments (gpu/gram.cuh): lane 4 g + t has elements t, 4 + t, 8 + t, 12 + t of row g. */
template <class Rows, class Panel>
static __device__ __forceinline__ void update_tile(const Rows &row, const Panel &panel, int i0,
                                                   int c0, int n)
{
    const int lane = threadIdx.x % 32, group = lane / 4, t = lane % 4;
    double sum[2][4] = {};
#pragma unroll
    for (int half = 0; half < width; half += 16) {
        double f[4][4]; /* rows i0 + group, i0 + 8 + group, c0 + group, c0 + 8 + group */
#pragma unroll
        for (int part = 0; part < 4; part++) {
            int i = (part < 2 ? i0 : c0) + part % 2 * 8 + group;
            const double *p = panel(i < n ? i : n - 1) + half + t;
#pragma unroll
            for (int k = 0; k < 4; k++)
                f[part][k] = p[4 * k];
        }
        bd_gram_multiply(sum[0], f[0], f[1], f[2]);
        bd_gram_multiply(sum[1], f[0], f[1], f[3]);
    }
#pragma unroll
    for (int e = 0; e < 8; e++) {
        int i = i0 + e / 2 % 2 * 8 + group, j = c0 + e / 4 * 8 + 2 * t + e % 2;
        if (i < n && j <= i)
            row(i)[j] -= sum[e / 4][e % 4];
    }
}

/* 1 / x for the scaling of columns: zero columns stay zero, NaN and Inf make NaN. */
static __device__ __forceinline__ double reciprocal(double x)
{
    return x == 0 ? 0 : 1 / x;
}

/* The bytes of shared memory of factor_block: diagonal, scales and their inverses, copy of a panel,
 * triangle. */
static size_t block_bytes(int n)
{
    size_t below = n > width ? (size_t)(n - width) : 0;
    return ((size_t)n * (n + 1) / 2 + 2 * (size_t)n + below * stride) * sizeof(double) +
           sizeof(struct diagonal);
}

struct panel_copy {
    const double *data;
    int first; /* the row of the matrix that comes first */

    __device__ __forceinline__ const double *operator()(int i) const
    {
        return data + (i - first) * stride;
    }
};

/* All in one thread block. With a report, R in float64 to the upper triangle of g. */
__global__ __launch_bounds__(512, 1) void factor_block(float *r, int64_t ldr, double *g, int n,
                                                       double *report, const int *stop)
{
    extern __shared__ double2 memory[];
    if (stop && *stop)
        return;
    struct diagonal *d = reinterpret_cast<struct diagonal *>(memory);
    double *scale = reinterpret_cast<double *>(d + 1);
    double *inverse = scale + n, *copy = inverse + n,
           *triangle = copy + (n > width ? (n - width) * stride : 0);
    const struct packed_rows row = { triangle };
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    for (int j = threadIdx.x; j < n; j += blockDim.x)
        inverse[j] = reciprocal(scale[j] = sqrt(g[j + (int64_t)j * n]));
    __syncthreads();
    for (int i = warp; i < n; i += block_warps) {
        const double by = inverse[i];
#pragma unroll 8
        for (int j = lane; j <= i; j += 32)
            row(i)[j] = g[j + (int64_t)i * n] * by * inverse[j];
    }
    __syncthreads();

    double least = 1;
    if (warp == 0)
        diagonal_block(row, d, 0, min(n, (int)width), n, &least);
    __syncthreads();
    for (int j0 = 0; j0 + width < n; j0 += width) {
        const int below = j0 + width, rest = n - below, tiles = (rest + 15) / 16;
        if ((int)threadIdx.x < rest)
            solve_row(row, d, below + threadIdx.x, j0, copy + threadIdx.x * stride);
        __syncthreads();
        const struct panel_copy panel = { copy, below };
        /* Warp 0: the tiles of the next diagonal block, which it then factors. */
        int t = warp == 0 ? 0 : warp + 2, step = warp == 0 ? 1 : block_warps - 1;
        int end = tiles * (tiles + 1) / 2;
        if (warp == 0)
            end = min(end, 3);
        for (; t < end; t += step) {
            int ti, tj;
            tile_place(t, &ti, &tj);
            update_tile(row, panel, below + 16 * ti, below + 16 * tj, n);
        }
        __syncwarp();
        if (warp == 0)
            diagonal_block(row, d, below, min(rest, (int)width), n, &least);
        __syncthreads();
    }

    for (int j = warp; j < n; j += block_warps)
        for (int i = lane; i < n; i += 32) {
            double x = i <= j ? row(j)[i] * scale[j] : 0.0;
            r[i + j * ldr] = (float)x;
            if (report && i <= j)
                g[i + (int64_t)j * n] = x;
        }
    if (!report)
        return;
    for (int j = threadIdx.x; j < n; j += blockDim.x)
        report[1 + j] = scale[j];
    if (threadIdx.x == 0)
        report[0] = least;
}

/* Larger matrices: the scales are kept in what is not used of g, below the diagonal. */
static __device__ __forceinline__ double *scale_of(double *g, int n, int j)
{
    return j > 0 ? g + j : g + n + 2;
}

__global__ void find_scales(double *g, int n, double *report, const int *stop)
{
    if (stop && *stop)
        return;
    for (int j = threadIdx.x; j < n; j += blockDim.x)
        *scale_of(g, n, j) = sqrt(g[j + (int64_t)j * n]);
    if (!report)
        return;
    for (int j = threadIdx.x; j < n; j += blockDim.x)
        report[1 + j] = sqrt(g[j + (int64_t)j * n]);
    if (threadIdx.x == 0)
        report[0] = 1;
}

/* A thread block a column of g. */
__global__ void apply_scales(double *g, int n, const int *stop)
{
    if (stop && *stop)
        return;
    const int i = blockIdx.x;
    const double by = reciprocal(*scale_of(g, n, i));
    for (int j = threadIdx.x; j <= i; j += blockDim.x)
        g[j + (int64_t)i * n] *= by * reciprocal(*scale_of(g, n, j));
}

/* The diagonal block at j0 and the rows below it, in one thread block. */
__global__ __launch_bounds__(512, 1) void factor_panel(double *g, int n, int j0, double *least,
                                                       const int *stop)
{
    __shared__ struct diagonal d;
    if (stop && *stop)
        return;
    const struct global_rows row = { g, n };
    if (threadIdx.x < 32) {
        double smallest = least ? *least : 1;
        diagonal_block(row, &d, j0, min(n - j0, (int)width), n, &smallest);
        if (least && threadIdx.x == 0)
            *least = smallest;
    }
    __syncthreads();
#pragma unroll 1
    for (int i = j0 + width + threadIdx.x; i < n; i += blockDim.x) {
        /* Or the compiler reads all of d ahead of the loop, into local memory. */
        asm volatile("" ::: "memory");
        solve_row(row, &d, i, j0, NULL);
    }
}

struct panel_in_place {
    const double *g;
    int n, j0;

    __device__ __forceinline__ const double *operator()(int i) const
    {
        return g + (int64_t)i * n + j0;
    }
};

/* The trailing matrix behind the panel at j0: a warp a tile of 16 x 16. */
__global__ __launch_bounds__(256) void update_trailing(double *g, int n, int j0, int tiles,
                                                       const int *stop)
{
    int t = blockIdx.x * 8 + threadIdx.x / 32, below = j0 + width, ti, tj;
    if ((stop && *stop) || t >= tiles)
        return;
    const struct global_rows row = { g, n };
    const struct panel_in_place panel = { g, n, j0 };
    tile_place(t, &ti, &tj);
    update_tile(row, panel, below + 16 * ti, below + 16 * tj, n);
}

/* A thread block a column of R. The scales are left alone: other blocks may not have read theirs,
 * and none is above the diagonal. */
__global__ void write_r(float *r, int64_t ldr, double *g, int n, int keep, const int *stop)
{
    if (stop && *stop)
        return;
    const int j = blockIdx.x;
    const double by = *scale_of(g, n, j);
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        double x = i <= j ? g[i + (int64_t)j * n] * by : 0.0;
        r[i + j * ldr] = (float)x;
        if (keep && i <= j)
            g[i + (int64_t)j * n] = x;
    }
}

static void factor_global(cudaStream_t stream, float *r, int64_t ldr, double *g, int n,
                          double *report, const int *stop)
{
    find_scales<<<1, 512, 0, stream>>>(g, n, report, stop);
    apply_scales<<<(unsigned)n, 128, 0, stream>>>(g, n, stop);
    for (int j0 = 0; j0 < n; j0 += width) {
        int tiles = (n - j0 - width + 15) / 16;
        factor_panel<<<1, 32 * block_warps, 0, stream>>>(g, n, j0, report, stop);
        if (tiles <= 0)
            break;
        tiles = tiles * (tiles + 1) / 2;
        update_trailing<<<(unsigned)((tiles + 7) / 8), 256, 0, stream>>>(g, n, j0, tiles, stop);
    }
    write_r<<<(unsigned)n, 128, 0, stream>>>(r, ldr, g, n, report != NULL, stop);
}

static enum bd_status factor(struct bd_cuda *cuda, float *r, int64_t ldr, double *g, int n,
                             double *report, const int *stop)
{
    size_t bytes = block_bytes(n);
    if (bytes > (size_t)cuda->shared_most) {
        factor_global(cuda->stream, r, ldr, g, n, report, stop);
        return bd_cuda_launched("the Cholesky factorisation");
    }
    enum bd_status status = bd_cuda_check(
        cudaFuncSetAttribute(factor_block, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
        "the shared memory of the Cholesky factorisation");
    if (status != BD_OK)
        return status;
    factor_block<<<1, 32 * block_warps, bytes, cuda->stream>>>(r, ldr, g, n, report, stop);
    return bd_cuda_launched("the Cholesky factorisation");
}

enum bd_status bd_cuda_cholesky(struct bd_cuda *cuda, float *r, int64_t ldr, double *g, int n,
                                const int *stop)
{
    return factor(cuda, r, ldr, g, n, NULL, stop);
}

enum bd_status bd_cuda_cholesky_keep(struct bd_cuda *cuda, float *r, int64_t ldr, double *g, int n,
                                     double *report, const int *stop)
{
    return factor(cuda, r, ldr, g, n, report, stop);
}
