/* Singular-value thresholding by the last SVD of R: W, or its factor F (backdrop/small_svd.h). */
#include "gpu/svd/small_svd.cuh"
#include "gpu/svd/small_svd.h"

/* max(0, 1 - tau / sigma); NaN stays NaN. */
__device__ static double weight(float sigma, double tau)
{
    return (double)sigma <= tau ? 0 : 1 - tau / (double)sigma;
}

/* How many of the descending sigma are above the threshold; n where they are NaN. By one warp. */
__device__ static int count_above(const float *sigma, int n, double threshold)
{
    int count = 0;
    for (int i = threadIdx.x % 32; i - (int)(threadIdx.x % 32) < n; i += 32)
        count += __popc(__ballot_sync(~0u, i < n && !((double)sigma[i] <= threshold)));
    return count;
}

__device__ static void count_ranks(const float *sigma, int n, double tau, int *ranks)
{
    int l = count_above(sigma, n, tau + (double)FLT_EPSILON * (double)sigma[0]);
    int above = count_above(sigma, n, tau);
    if (threadIdx.x == 0) {
        ranks[0] = l;
        ranks[1] = above;
    }
}

/* W := V diag(weight) V^T. A block of four warps a tile of those that reach above the diagonal:
 * blockIdx.x is its row of tiles, blockIdx.y its column. Each warp takes every fourth step of
 * sixteen k. */
__global__ void __launch_bounds__(128)
    weights_kernel(float *w, int64_t ldw, const float *sigma, const float *v, int n, double tau,
                   int *ranks, const int *stop)
{
    __shared__ double sums[4][4][32];
    if ((stop && *stop) || blockIdx.x > blockIdx.y / 2)
        return;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (ranks && blockIdx.x == 0 && blockIdx.y == 0 && warp == 0)
        count_ranks(sigma, n, tau, ranks);
    int row = blockIdx.x * svd_rows + lane / 4, column = blockIdx.y * svd_columns;
    /* rows outside n x n are those of row n - 1: nothing is written of them */
    const float *a0 = v + min(row, n - 1), *a1 = v + min(row + 8, n - 1);
    const float *b = v + min(column + lane / 4, n - 1);
    double sum[4] = {};
#pragma unroll 2
    for (int first = 16 * warp; first < n; first += 64) {
        double low[4], high[4], right[4];
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int k = first + 4 * i + lane % 4;
            int64_t at = (int64_t)min(k, n - 1) * n;
            double scale = k < n ? weight(sigma[min(k, n - 1)], tau) : 0;
            low[i] = (double)a0[at] * scale;
            high[i] = (double)a1[at] * scale;
            right[i] = (double)b[at];
        }
        bd_gram_multiply(sum, low, high, right);
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        sums[i][warp][lane] = sum[i];
    __syncthreads();
    /* warp c adds up and writes element c of each lane */
    double all =
        (sums[warp][0][lane] + sums[warp][1][lane]) + (sums[warp][2][lane] + sums[warp][3][lane]);
    int i = row + 8 * (warp / 2), j = column + 2 * (lane % 4) + warp % 2;
    if (i <= j && j < n)
        w[i + j * ldw] = w[j + i * ldw] = (float)all;
}

/* F := V_r diag(sqrt(weight)) and F^T. A thread an element: blockIdx.y the column of F. */
__global__ void factor_kernel(float *f, int64_t ldf, float *ft, int64_t ldft, const float *sigma,
                              const float *v, int n, double tau, int *ranks)
{
    int64_t i = blockIdx.y, j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x < 32)
        count_ranks(sigma, n, tau, ranks);
    if (j < n && !((double)sigma[i] <= tau))
        f[j + i * ldf] = ft[i + j * ldft] =
            (float)((double)v[j + i * n] * sqrt(weight(sigma[i], tau)));
}

extern "C" {

enum bd_status bd_cuda_svd_weights_enqueue(void *work, float *w, int64_t ldw, double tau,
                                           int *ranks, const int *stop)
{
    const struct svd_plan *plan = (const struct svd_plan *)work;
    unsigned n = (unsigned)plan->n;
    dim3 tiles((n + svd_rows - 1) / svd_rows, (n + svd_columns - 1) / svd_columns);
    weights_kernel<<<tiles, 128, 0, plan->cuda->stream>>>(
        w, ldw, plan->data.sigma, plan->data.v_out, (int)plan->n, tau, ranks, stop);
    return bd_cuda_launched("weights of the singular values");
}

/* Waits for the ranks that were enqueued. */
static enum bd_status get_rank(struct svd_plan *plan, int64_t *rank)
{
    cudaError_t error = cudaMemcpyAsync(plan->host_ranks, plan->device_ranks, 2 * sizeof(int),
                                        cudaMemcpyDeviceToHost, plan->cuda->stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(plan->cuda->stream);
    enum bd_status status = bd_cuda_check(error, "weights of the singular values");
    *rank = status == BD_OK ? plan->host_ranks[1] : 0;
    return status;
}

enum bd_status bd_cuda_svd_weights(void *work, float *w, int64_t ldw, int64_t *rank, double tau)
{
    struct svd_plan *plan = (struct svd_plan *)work;
    enum bd_status status =
        bd_cuda_svd_weights_enqueue(work, w, ldw, tau, plan->device_ranks, NULL);
    return status == BD_OK ? get_rank(plan, rank) : status;
}

enum bd_status bd_cuda_svd_factor(void *work, float *f, int64_t ldf, float *ft, int64_t ldft,
                                  int64_t *rank, double tau)
{
    struct svd_plan *plan = (struct svd_plan *)work;
    unsigned n = (unsigned)plan->n;
    factor_kernel<<<dim3((n + 127) / 128, n), 128, 0, plan->cuda->stream>>>(
        f, ldf, ft, ldft, plan->data.sigma, plan->data.v_out, (int)n, tau, plan->device_ranks);
    enum bd_status status = bd_cuda_launched("factors of the singular-value thresholding");
    return status == BD_OK ? get_rank(plan, rank) : status;
}

} /* extern "C" */
