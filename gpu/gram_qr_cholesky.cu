/* R^ by Cholesky of more columns than shared memory holds (gram_qr_factor.h), over the device: 32
 * rows of it at a time, and what they take from the rest. */
#include "gpu/gram_qr_factor.h"
#include "gpu/gram_qr_small.cuh"

enum {
    panel_rows = 32,
    panel_threads = 128,
    block_ld = panel_rows + 1 /* neither rows nor columns share banks */
};

/* Nothing is to be done for rows from j0 on: a pivot before them was not positive. What the blocks
 * of one launch find among its own rows, and write down, does not stop others of it. */
static __device__ __forceinline__ bool is_over(const struct gram_data &d, int j0)
{
    return d.decision->identity || d.decision->end < j0;
}

/* Rows j0 .. j0 + 31 of R^: a thread a column right of the diagonal block, which every thread block
 * factors for itself. */
__global__ __launch_bounds__(panel_threads) void panel(const __grid_constant__ struct gram_data d,
                                                       int j0)
{
    __shared__ double block[panel_rows * block_ld], inverse[panel_rows];
    const int n = d.n, rows = min(n - j0, (int)panel_rows);
    const double *a = d.scratch + (int64_t)j0 * n;
    if (is_over(d, j0))
        return;
    for (int e = threadIdx.x; e < rows * rows; e += panel_threads)
        block[e / rows * block_ld + e % rows] = a[(int64_t)(e / rows) * n + j0 + e % rows];
    const int end = gram_cholesky(block, block_ld, rows, 0);
    if (threadIdx.x < rows)
        inverse[threadIdx.x] = 1 / block[threadIdx.x * block_ld + threadIdx.x];
    __syncthreads();
    double *r = d.r + (int64_t)j0 * n;
    if (blockIdx.x == 0)
        for (int e = threadIdx.x; e < end * rows; e += panel_threads)
            if (e / rows <= e % rows)
                r[(int64_t)(e / rows) * n + j0 + e % rows] = block[e / rows * block_ld + e % rows];
    const int j = j0 + panel_rows + blockIdx.x * panel_threads + threadIdx.x;
    if (j < n) {
        double x[panel_rows];
#pragma unroll
        for (int i = 0; i < panel_rows; i++)
            x[i] = a[(int64_t)i * n + j];
#pragma unroll
        for (int i = 0; i < panel_rows; i++) {
            x[i] *= inverse[i];
#pragma unroll
            for (int k = i + 1; k < panel_rows; k++)
                x[k] -= block[i * block_ld + k] * x[i];
            if (i < end)
                r[(int64_t)i * n + j] = x[i];
        }
    }
    if (blockIdx.x == 0 && threadIdx.x == 0 && end < rows)
        d.decision->end = j0 + end;
}

/* Takes the products of rows j0 .. j0 + 31 of R^ from the rest, a thread block 32 x 32 of it. */
__global__ __launch_bounds__(256) void trail(const __grid_constant__ struct gram_data d, int j0)
{
    __shared__ double left[panel_rows][block_ld], right[panel_rows][block_ld];
    const int n = d.n, first = j0 + panel_rows;
    const int i0 = first + blockIdx.y * 32, c0 = first + blockIdx.x * 32;
    const int x = threadIdx.x % 32, y = threadIdx.x / 32;
    if (is_over(d, first) || blockIdx.x < blockIdx.y)
        return;
    for (int k = y; k < panel_rows; k += 8) {
        const double *row = d.r + (int64_t)(j0 + k) * n;
        left[k][x] = i0 + x < n ? row[i0 + x] : 0.0;
        right[k][x] = c0 + x < n ? row[c0 + x] : 0.0;
    }
    __syncthreads();
    double sum[4] = {};
#pragma unroll 8
    for (int k = 0; k < panel_rows; k++)
#pragma unroll
        for (int e = 0; e < 4; e++)
            sum[e] = fma(left[k][y + 8 * e], right[k][x], sum[e]);
#pragma unroll
    for (int e = 0; e < 4; e++) {
        const int i = i0 + y + 8 * e;
        if (i < n && c0 + x < n)
            d.scratch[(int64_t)i * n + c0 + x] -= sum[e];
    }
}

extern "C" void bd_cuda_gram_cholesky_enqueue(const struct gram_plan *plan)
{
    const int n = plan->data.n;
    cudaStream_t stream = plan->cuda->stream;
    for (int j0 = 0; j0 < n; j0 += panel_rows) {
        const int rest = n - j0 - panel_rows;
        const unsigned blocks = rest > 0 ? (unsigned)(rest + panel_threads - 1) / panel_threads : 1;
        const unsigned tiles = (unsigned)(rest + 31) / 32;
        panel<<<blocks, panel_threads, 0, stream>>>(plan->data, j0);
        if (rest > 0)
            trail<<<dim3(tiles, tiles), 256, 0, stream>>>(plan->data, j0);
    }
}
