/* SVD of R above bd_cuda_svd_most: by LAPACK on the host, with the cpu backend's table. */
#include <math.h>
#include <stdlib.h>

#include "gpu/svd/small_svd.cuh"
#include "linalg/shared/svd_ops.h"

enum bd_status bd_cuda_svd_lapack_open(struct svd_plan *plan)
{
    size_t square = (size_t)(plan->n * plan->n) * sizeof(float);
    plan->host_r = (float *)malloc(square);
    plan->host_v = (float *)malloc(square);
    if (!plan->host_r || !plan->host_v)
        return bd_fail(BD_ERROR_MEMORY, "no memory for the SVD of %lld x %lld", (long long)plan->n,
                       (long long)plan->n);
    return bd_cpu_svd_ops.create(NULL, plan->n, &plan->lapack);
}

void bd_cuda_svd_lapack_close(struct svd_plan *plan)
{
    bd_cpu_svd_ops.destroy(plan->lapack);
    free(plan->host_r);
    free(plan->host_v);
}

/* *stopped := whether *stop is not 0 on the device. */
static cudaError_t read_stop(struct svd_plan *plan, const int *stop, int *stopped)
{
    *stopped = 0;
    if (!stop)
        return cudaSuccess;
    cudaError_t error = cudaMemcpyAsync(plan->host_ranks, stop, sizeof *stop,
                                        cudaMemcpyDeviceToHost, plan->cuda->stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(plan->cuda->stream);
    *stopped = error == cudaSuccess && plan->host_ranks[0] != 0;
    return error;
}

enum bd_status bd_cuda_svd_lapack(struct svd_plan *plan, const float *r, int64_t ldr,
                                  const int *stop)
{
    size_t column = (size_t)plan->n * sizeof(float), n = (size_t)plan->n;
    cudaStream_t stream = plan->cuda->stream;
    int stopped;
    cudaError_t error = read_stop(plan, stop, &stopped);
    if (stopped)
        return BD_OK;
    if (error == cudaSuccess)
        error = cudaMemcpy2DAsync(plan->host_r, column, r, (size_t)ldr * sizeof(float), column, n,
                                  cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    enum bd_status status = bd_cuda_check(error, "copying R to the host");
    if (status == BD_OK)
        status = bd_cpu_svd_ops.compute(plan->lapack, plan->host_r, plan->n, plan->host_sigma,
                                        plan->host_v, plan->n);
    for (size_t i = 0; status != BD_OK && i < n * n; i++) {
        plan->host_v[i] = NAN;
        plan->host_sigma[i % n] = NAN;
    }
    /* the info after sigma stays 0 */
    error =
        cudaMemcpyAsync(plan->data.sigma, plan->host_sigma, column, cudaMemcpyHostToDevice, stream);
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(plan->data.v_out, plan->host_v, column * n, cudaMemcpyHostToDevice,
                                stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    return status == BD_OK ? bd_cuda_check(error, "copying V from the host") : status;
}
