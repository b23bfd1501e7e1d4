/* Private to gpu/qr/householder: launches of its kernels, each of which begins before the kernel
 * before it has ended.
 *
 * A kernel waits by bd_cuda_await for all that was launched before it, and only then lets the
 * next one begin by bd_cuda_let_follow. So what a kernel reads before bd_cuda_await may have
 * been written by any earlier kernel but the one just before it. */
#ifndef BD_GPU_QR_HOUSEHOLDER_LAUNCH_CUH
#define BD_GPU_QR_HOUSEHOLDER_LAUNCH_CUH

#include "gpu/core/dependent_launch.cuh"

/* Launches a kernel that has both calls in it, with `bytes` of dynamic shared memory; `values` as
 * for cudaLaunchKernel. cluster: blocks of a cluster, 0: none. */
static inline enum bd_status house_launch(const struct bd_cuda *cuda, const void *kernel, dim3 grid,
                                          unsigned threads, size_t bytes, void **values,
                                          unsigned cluster, const char *what)
{
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = bytes;
    config.stream = cuda->stream;
    config.attrs = attributes;
    bd_cuda_overlap(cuda, &config);
    if (cluster > 1) {
        attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
        attributes[config.numAttrs].val.clusterDim.x = cluster;
        attributes[config.numAttrs].val.clusterDim.y = 1;
        attributes[config.numAttrs].val.clusterDim.z = 1;
        config.numAttrs++;
    }
    return bd_cuda_check(cudaLaunchKernelExC(&config, kernel, values), what);
}

#endif
