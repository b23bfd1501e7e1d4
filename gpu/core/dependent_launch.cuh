/* A kernel that begins before the kernel before it has ended (programmatic dependent launch,
 * from compute capability 9.0 on; on older GPUs it waits for the end, as any kernel does). The
 * launch calls bd_cuda_overlap, and the kernel calls bd_cuda_await. If the kernel is to begin
 * before the last block of the kernel before has ended, that one calls bd_cuda_let_follow. What
 * a kernel reads before bd_cuda_await must not have been written by the kernel before it. */
#ifndef BD_GPU_CORE_DEPENDENT_LAUNCH_CUH
#define BD_GPU_CORE_DEPENDENT_LAUNCH_CUH

#include "gpu/cuda.h"

/* Waits for all that was launched before this kernel. */
static __device__ __forceinline__ void bd_cuda_await(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Lets the next kernel begin, once all blocks have called this or ended. */
static __device__ __forceinline__ void bd_cuda_let_follow(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Lets the launch overlap with the one before it. launch->attrs must have room for one more. Where
 * other lanes have work, thread blocks that wait would only take their places. */
static inline void bd_cuda_overlap(const struct bd_cuda *cuda, cudaLaunchConfig_t *launch)
{
    if (cuda->capability < 90 || cuda->crowded)
        return;
    cudaLaunchAttribute *overlap = &launch->attrs[launch->numAttrs++];
    overlap->id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap->val.programmaticStreamSerializationAllowed = 1;
}

/* Launches a kernel with `bytes` of dynamic shared memory so that it may overlap with the one
 * before it, in clusters of `cluster` blocks; 1: none. bd_cuda_launched reports a failure. */
template <class Kernel, class... Values>
static void bd_cuda_follow_in_clusters(const struct bd_cuda *cuda, unsigned cluster, Kernel *kernel,
                                       dim3 grid, dim3 block, size_t bytes, const Values &...values)
{
    cudaLaunchAttribute attributes[2] = {};
    cudaLaunchConfig_t launch = {};
    launch.gridDim = grid;
    launch.blockDim = block;
    launch.dynamicSmemBytes = bytes;
    launch.stream = cuda->stream;
    launch.attrs = attributes;
    bd_cuda_overlap(cuda, &launch);
    if (cluster > 1) {
        cudaLaunchAttribute *together = &attributes[launch.numAttrs++];
        together->id = cudaLaunchAttributeClusterDimension;
        together->val.clusterDim.x = cluster;
        together->val.clusterDim.y = together->val.clusterDim.z = 1;
    }
    cudaLaunchKernelEx(&launch, kernel, values...);
}

template <class Kernel, class... Values>
static void bd_cuda_follow(const struct bd_cuda *cuda, Kernel *kernel, dim3 grid, dim3 block,
                           size_t bytes, const Values &...values)
{
    bd_cuda_follow_in_clusters(cuda, 1, kernel, grid, block, bytes, values...);
}

#endif
