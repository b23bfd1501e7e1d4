/* R from a Gram matrix (cholesky.h): blocked Cholesky, G = L L^T, R = L^T.
 *
 * Up to about 200 columns one panel of 32 columns at a time, right-looking, by one thread block
 * with the triangle in shared memory: one warp factors the diagonal block (diagonal_block), then a
 * thread per row solves for the rows below it (solve_row), then the trailing matrix is updated
 * on the FP64 tensor cores (update_tile). The diagonal blocks, one warp's work, take most of the
 * time, and the rest goes on beside them. Row i of L has its elements 0 .. i adjacent, one row
 * after the other. Larger matrices stay in global memory, left-looking, 32 rows of R a launch
 * (cholesky_rows.cuh). The plain version is on the host, in tests/gpu/gram.cu. */
#include "gpu/qr/cholesky.h"

#include "gpu/core/dependent_launch.cuh"
#include "gpu/core/triangle.cuh"
#include "gpu/qr/cholesky_panel.cuh"
#include "gpu/qr/cholesky_rows.cuh"

enum { block_warps = 12, most = 224 /* columns in a thread block's shared memory */ };

/* 1 / x for the scaling of columns: zero columns stay zero, NaN and Inf give NaN. */
static __device__ __forceinline__ double reciprocal(double x)
{
    return x == 0 ? 0 : 1 / x;
}

/* Bytes of shared memory of factor_block: diagonal, scales and their inverses, the copy of a
 * panel, the triangle. */
static size_t block_bytes(int n)
{
    size_t below = n > width ? (size_t)(n - width) : 0;
    return ((size_t)n * (n + 1) / 2 + 2 * (size_t)n + below * stride) * sizeof(double) +
           sizeof(struct diagonal);
}

/* __syncthreads() for code that differs by warp. */
static __device__ __forceinline__ void wait_for_all(void)
{
    asm volatile("bar.sync 0;" : : : "memory");
}

/* L in place of the scaled G, by all warps of a thread block. strict: it stops after a panel with a
 * pivot below `lowest` and returns false.
 *
 * Warp 0 factors diagonal blocks, eight columns from barrier to barrier, and the warps with rows
 * below follow it eight columns behind. What the next diagonal block needs of the trailing
 * matrix is updated first, the rest while warp 0 has its first eight columns. So each panel has
 * six barriers, and each warp has code of its own between them. */
static __device__ __forceinline__ bool factor_triangle(const struct packed_rows &row,
                                                       struct diagonal *d, double *copy, int n,
                                                       double lowest, bool strict)
{
    const int warp = threadIdx.x / 32;
    for (int j0 = 0;; j0 += width) {
        /* `rest` rows below the panel; `tiles` that the panel before left to be updated */
        const int below = j0 + width, rest = n - below, size = (n - j0 + 15) / 16;
        const int tiles = j0 > 0 ? size * (size + 1) / 2 : 0;
        const struct panel_copy panel = { copy, j0 };
        auto update = [&](int t) {
            int ti, tj;
            tile_place(t, &ti, &tj);
            update_tile(row, panel, j0 + 16 * ti, j0 + 16 * tj, n);
        };
        if (warp < min(tiles, 3))
            update(warp);
        wait_for_all();
        if (warp == 0) {
            diagonal_block(row, d, j0, min(n - j0, (int)width), lowest, [&](int) {
                if (rest > 0)
                    wait_for_all();
            });
        } else {
            for (int t = warp + 2; t < tiles; t += block_warps - 1)
                update(t);
            if (32 * (warp - 1) < rest)
                solve_row(row, d, below + threadIdx.x - 32, n, j0,
                          copy + (threadIdx.x - 32) * stride, [&](int) { wait_for_all(); });
            else if (rest > 0)
                for (int k0 = 0; k0 < width; k0 += 8)
                    wait_for_all();
        }
        wait_for_all();
        const bool failed = strict && d->least[j0 / width % 2] < lowest;
        if (rest <= 0 || failed)
            return !failed;
    }
}

/* The whole factorisation in one thread block. With a report, R in float64 goes to the upper
 * triangle of g. */
__global__ __launch_bounds__(384, 1) void factor_block(float *r, int64_t ldr, double *g, int n,
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
        bd_cuda_load_triangle<4>(g, n, [&](int i, int j, double x, bool wanted) {
            const double scaled = x * inverse[i] * inverse[j] + (i == j ? shift : 0);
            if (wanted)
                row(i)[j] = scaled;
        });
        __syncthreads();
        again = !factor_triangle(row, d, copy, n, shift > 0 ? noise(n) / 16 : noise(n), shift == 0);
        shift = again ? noise(n) : shift;
        __syncthreads();
    } while (again);

    for (int j = warp; j < n; j += block_warps) {
        const double by = scale[j];
#pragma unroll
        for (int part = 0; part < most; part += 32) {
            const int i = part + lane;
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

/* Larger matrices, always shifted. R^ is made row by row in the lower triangle of g and on its
 * diagonal. Behind g are the norms of the columns and their inverses. */
__global__ void find_scales(double *g, int n, double *report, const int *stop)
{
    double *scale = g + (int64_t)n * n;
    if (stop && *stop)
        return;
    for (int j = threadIdx.x; j < n; j += blockDim.x) {
        const double norm = sqrt(g[j + (int64_t)j * n]);
        scale[j] = norm;
        scale[n + j] = reciprocal(norm);
        if (report)
            report[1 + j] = norm;
    }
    if (report && threadIdx.x == 0)
        report[0] = noise(n);
}

/* Rows j0 .. j0 + 31 of R^ (cholesky_rows.cuh). */
__global__ __launch_bounds__(rows_threads, 1) void make_rows(double *g, int n, int j0,
                                                             const int *stop)
{
    __shared__ struct rows_memory memory;
    const struct rows_job job = { n, g, g + (int64_t)n * n + n, g, 1 + noise(n), noise(n) / 16 };
    double sum[rows_tiles][4];
    rows_take_g(sum, job, j0); /* G was written by kernels before the one before */
    bd_cuda_await();
    bd_cuda_let_follow();
    if (stop && *stop)
        return;
    rows_make(sum, job, memory, j0);
}

/* Writes 32 x 32 elements of R; in float64 to the upper triangle of g, too, with `keep`. */
__global__ __launch_bounds__(256) void write_r(float *r, int64_t ldr, double *g, int n, int keep,
                                               const int *stop)
{
    __shared__ double tile[32][33];
    const int x = threadIdx.x % 32, y = threadIdx.x / 32, i0 = blockIdx.x * 32,
              j0 = blockIdx.y * 32;
    const double *scale = g + (int64_t)n * n;
    if (stop && *stop)
        return;
    for (int i = y; i < 32 && i0 <= j0; i += 8)
        if (i0 + i < n && j0 + x < n && i0 + i <= j0 + x)
            tile[i][x] = g[(int64_t)(i0 + i) * n + j0 + x] * scale[j0 + x];
    __syncthreads();
    for (int j = y; j < 32; j += 8) {
        if (i0 + x >= n || j0 + j >= n)
            continue;
        const bool upper = i0 + x <= j0 + j;
        r[i0 + x + (j0 + j) * ldr] = upper ? (float)tile[x][j] : 0.0f;
        if (keep && upper)
            g[i0 + x + (int64_t)(j0 + j) * n] = tile[x][j];
    }
}

static void factor_global(const struct bd_cuda *cuda, float *r, int64_t ldr, double *g, int n,
                          double *report, const int *stop)
{
    const dim3 tiles((unsigned)(n + 31) / 32, (unsigned)(n + 31) / 32), block(rows_threads);
    cudaStream_t stream = cuda->stream;
    find_scales<<<1, 512, 0, stream>>>(g, n, report, stop);
    make_rows<<<rows_blocks(n, 0), block, 0, stream>>>(g, n, 0, stop);
    for (int j0 = rows_side; j0 < n; j0 += rows_side)
        bd_cuda_follow(cuda, make_rows, dim3(rows_blocks(n, j0)), block, 0, g, n, j0, stop);
    write_r<<<tiles, 256, 0, stream>>>(r, ldr, g, n, report != NULL, stop);
}

enum bd_status bd_cuda_cholesky(struct bd_cuda *cuda, float *r, int64_t ldr, double *g, int n,
                                const int *stop, double *report)
{
    size_t bytes = block_bytes(n);
    if (n > most || bytes > (size_t)cuda->shared_most) {
        factor_global(cuda, r, ldr, g, n, report, stop);
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
