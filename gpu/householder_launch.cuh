/* Private to householder*.cu: a kernel that begins before the one that was launched before it has
 * ended (programmatic dependent launch; before Hopper it waits as ever).
 *
 * A kernel waits for all that was launched before it by house_await, and only then lets the next
 * one begin by house_go_on. So what a kernel reads before house_await must not have been written by
 * the one before it, but by any earlier one it may. */
#ifndef BD_GPU_HOUSEHOLDER_LAUNCH_CUH
#define BD_GPU_HOUSEHOLDER_LAUNCH_CUH

#include "gpu/cuda.h"

static __device__ __forceinline__ void house_await(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

static __device__ __forceinline__ void house_go_on(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

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
    if (cuda->capability >= 90) {
        attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[0].val.programmaticStreamSerializationAllowed = 1;
        config.numAttrs = 1;
    }
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
