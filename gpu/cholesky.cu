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
#include "gpu/triangle.cuh"

enum {
    parts = 7,   /* of 32 rows in a column, at most, of what one thread block factors */
    width = 32,  /* columns of a panel: the lanes of a warp */
    stride = 36, /* doubles between rows of a panel's copy: no bank conflicts in fragments */
    block_warps = 16
};

/* A diagonal block while it is factored, for the rows below it. */
struct diagonal {
    double l[width][width]; /* l[k][i] = L(i, k), i >= k */
    double inverse[width];  /* of L(k, k) */
    double least[2];        /* the smallest pivot of even and odd panels */
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

/* What the rounding of G and of its factorisation stays below, for a unit diagonal: pivots below it
 * mean nothing, and with it added to the diagonal all of them are positive. */
static __device__ __forceinline__ double noise(int n)
{
    return 8.0 * n * 0x1p-53;
}

/* 1 / sqrt(x) to double precision for x of ordinary size (or NaN), with no branch for others. */
static __device__ __forceinline__ double inverse_root(double x)
{
    double y;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    double e = fma(-x * y, y, 1.0); /* y is good to 20 bits, a step of third order to 60 */
    return fma(y * e, fma(0.375, e, 0.5), y);
}

/* a(m) -= sum over s < 8 of l[s] d->l[k0 + s][k0 + m] for the columns k0 + m, m = 8 .. 31, that are
 * in the block; then the row moves left by 8, so that loops over k0 need no more code than one turn
 * of them: a(0) is always the element of column k0. */
static __device__ __forceinline__ void take_eight(double a[width], const double l[8],
                                                  const struct diagonal *d, int k0)
{
#pragma unroll
    for (int chunk = 8; chunk < width; chunk += 8) {
        if (k0 + chunk < width)
#pragma unroll
            for (int s = 0; s < 8; s++)
#pragma unroll
                for (int m = 0; m < 8; m++)
                    a[chunk + m] -= l[s] * d->l[k0 + s][k0 + chunk + m];
    }
#pragma unroll
    for (int m = 0; m + 8 < width; m++)
        a[m] = a[m + 8];
}

/* L of the `cols` x `cols` block at row and column j0, in place and in `d`, by one warp: lane i has
 * row i. Pivots below `lowest` are raised to it. The chain from pivot to pivot is kept short: a
 * lane knows its own diagonal element (rest) without waiting for the column of the step. tell(k0)
 * says that columns k0 .. k0 + 7 are in `d`. */
template <class Rows, class Tell>
static __device__ __forceinline__ void diagonal_block(const Rows &row, struct diagonal *d, int j0,
                                                      int cols, double lowest, const Tell &tell)
{
    const int lane = threadIdx.x % 32;
    double a[width], rest = 1, smallest = 1, *mine = row(j0 + (lane < cols ? lane : 0)) + j0;
#pragma unroll
    for (int k = 0; k < width; k++)
        a[k] = lane < cols && k <= lane ? mine[k] : 0.0;
    if (lane < cols)
        rest = mine[lane];
#pragma unroll 1
    for (int k0 = 0; k0 < cols; k0 += 8) {
        double l[8];
#pragma unroll
        for (int s = 0; s < 8; s++) {
            const int k = k0 + s;
            double pivot = __shfl_sync(0xffffffffu, rest, k);
            const double raised = pivot < lowest ? lowest : pivot; /* NaN stays */
            const double inverse = inverse_root(raised);
            l[s] = (lane == k ? raised : a[s]) * inverse;
            rest -= l[s] * l[s];
            smallest = pivot < smallest ? pivot : smallest;
            d->l[k][lane] = l[s];
            if (lane == k)
                d->inverse[k] = inverse;
            if (lane >= k && lane < cols)
                mine[k] = l[s];
            __syncwarp();
#pragma unroll
            for (int m = s + 1; m < 8; m++)
                a[m] -= l[s] * d->l[k][k0 + m];
        }
        tell(k0);
        take_eight(a, l, d, k0);
    }
    if (lane == 0)
        d->least[j0 / width % 2] = smallest;
}

/* Row i below the diagonal block, if i < n: x L11^T = a(i, j0 ..), in place; also to `copy` if not
 * NULL. wait(k0) returns when columns k0 .. k0 + 7 are in `d`. */
template <class Rows, class Wait>
static __device__ __forceinline__ void solve_row(const Rows &row, const struct diagonal *d, int i,
                                                 int n, int j0, double *copy, const Wait &wait)
{
    double x[width], *a = row(i < n ? i : n - 1) + j0;
#pragma unroll
    for (int k = 0; k < width; k++)
        x[k] = a[k];
#pragma unroll 1
    for (int k0 = 0; k0 < width; k0 += 8) {
        double l[8];
        wait(k0);
#pragma unroll
        for (int s = 0; s < 8; s++) {
            l[s] = x[s] * d->inverse[k0 + s];
            if (i < n)
                a[k0 + s] = l[s];
            if (i < n && copy)
                copy[k0 + s] = l[s];
#pragma unroll
            for (int m = s + 1; m < 8; m++)
                x[m] -= l[s] * d->l[k0 + s][k0 + m];
        }
        take_eight(x, l, d, k0);
    }
}

/* Tile number t of a lower triangle of tiles, row by row: (0, 0), (1, 0), (1, 1), (2, 0), .. */
static __device__ __forceinline__ void tile_place(int t, int *ti, int *tj)
{
    int i = 0;
    while (t > i)
        t -= ++i;
    *ti = i;
    *tj = t;
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

/* Barriers between some of the warps, by number. */
static __device__ __forceinline__ void barrier_wait(int barrier, int warps)
{
    asm volatile("bar.sync %0, %1;" : : "r"(barrier), "r"(32 * warps) : "memory");
}

static __device__ __forceinline__ void barrier_arrive(int barrier, int warps)
{
    asm volatile("bar.arrive %0, %1;" : : "r"(barrier), "r"(32 * warps) : "memory");
}

/* L in place of the scaled G, by all warps of a thread block; `strict`: gives up after a panel with
 * a pivot below `lowest`, and returns false. Warp 0 factors diagonal blocks and the warps with rows
 * below follow it eight columns behind. Then warps 0 to 2 update the next diagonal block, on which
 * warp 0 goes on while the others update the rest. */
static __device__ __forceinline__ bool factor_triangle(const struct packed_rows &row,
                                                       struct diagonal *d, double *copy, int n,
                                                       double lowest, bool strict)
{
    enum { eight = 1, next_diagonal = 5, all_but_first = 6 };
    const int warp = threadIdx.x / 32;
    for (int j0 = 0;; j0 += width) {
        const int below = j0 + width, rest = n - below, tiles = (rest + 15) / 16;
        const int solving = rest > 0 ? 1 + (rest + 31) / 32 : 1; /* warps, with warp 0 */
        if (warp == 0)
            diagonal_block(row, d, j0, min(n - j0, (int)width), lowest, [&](int k0) {
                if (solving > 1)
                    barrier_arrive(eight + k0 / 8, solving);
            });
        else if (warp < solving)
            solve_row(row, d, below + threadIdx.x - 32, n, j0, copy + (threadIdx.x - 32) * stride,
                      [&](int k0) { barrier_wait(eight + k0 / 8, solving); });
        __syncthreads();
        const bool failed = strict && d->least[j0 / width % 2] < lowest;
        if (rest <= 0 || failed)
            return !failed;
        const struct panel_copy panel = { copy, below };
        const int end = tiles * (tiles + 1) / 2;
        auto update = [&](int t) {
            int ti, tj;
            tile_place(t, &ti, &tj);
            update_tile(row, panel, below + 16 * ti, below + 16 * tj, n);
        };
        if (warp < min(end, 3))
            update(warp);
        if (warp == 0)
            barrier_wait(next_diagonal, 3);
        else if (warp < 3)
            barrier_arrive(next_diagonal, 3);
        for (int t = warp + 2; warp > 0 && t < end; t += block_warps - 1)
            update(t);
        if (warp > 0)
            barrier_wait(all_but_first, block_warps - 1);
    }
}

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
    bool again;
    double shift = 0;
    do {
        bd_cuda_load_triangle<parts>(g, n, [&](int i, int j, double x) {
            row(i)[j] = x * inverse[i] * inverse[j] + (i == j ? shift : 0);
        });
        __syncthreads();
        again = !factor_triangle(row, d, copy, n, shift > 0 ? noise(n) / 16 : noise(n), shift == 0);
        shift = again ? noise(n) : shift;
        __syncthreads();
    } while (again);

    for (int j = warp; j < n; j += block_warps) {
        const double by = scale[j];
#pragma unroll
        for (int part = 0; part < parts; part++) {
            const int i = 32 * part + lane;
            const double x = i <= j ? row(j)[i] * by : 0.0;
            if (i < n)
                r[i + j * ldr] = (float)x;
            if (report && i <= j)
                g[i + (int64_t)j * n] = x;
        }
    }
    if (!report)
        return;
    for (int j = threadIdx.x; j < n; j += blockDim.x)
        report[1 + j] = scale[j];
    if (threadIdx.x == 0)
        report[0] = shift;
}

/* Larger matrices, always shifted. The scales are kept in what is not used of g, below the
 * diagonal. */
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
        report[0] = noise(n);
}

/* A thread block a column of g. */
__global__ void apply_scales(double *g, int n, const int *stop)
{
    if (stop && *stop)
        return;
    const int i = blockIdx.x;
    const double by = reciprocal(*scale_of(g, n, i));
    for (int j = threadIdx.x; j <= i; j += blockDim.x)
        g[j + (int64_t)i * n] =
            g[j + (int64_t)i * n] * by * reciprocal(*scale_of(g, n, j)) + (i == j ? noise(n) : 0);
}

/* The diagonal block at j0 and the rows below it, in one thread block. */
__global__ __launch_bounds__(512, 1) void factor_panel(double *g, int n, int j0, const int *stop)
{
    __shared__ struct diagonal d;
    if (stop && *stop)
        return;
    const struct global_rows row = { g, n };
    if (threadIdx.x < 32)
        diagonal_block(row, &d, j0, min(n - j0, (int)width), noise(n) / 16, [](int) {});
    __syncthreads();
#pragma unroll 1
    for (int i = j0 + width + threadIdx.x; i < n; i += blockDim.x)
        solve_row(row, &d, i, n, j0, NULL, [](int) {});
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
        factor_panel<<<1, 32 * block_warps, 0, stream>>>(g, n, j0, stop);
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
    if (n > 32 * parts || bytes > (size_t)cuda->shared_most) {
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
