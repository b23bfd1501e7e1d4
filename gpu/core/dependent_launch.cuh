/* A kernel that begins before the one that was launched before it has ended (programmatic dependent
 * launch, from compute capability 9.0 on; before, it follows as any kernel): bd_cuda_overlap in the
 * launch, bd_cuda_let_follow in the kernel before, if it is to begin before that one's last block
 * does, and bd_cuda_await in itself. What a kernel reads before bd_cuda_await must not have been
 * written by the one before it. */
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

/* The launch may overlap with the one before it. The attributes have room for one more. */
static inline void bd_cuda_overlap(const struct bd_cuda *cuda, cudaLaunchConfig_t *launch)
{
    if (cuda->capability < 90)
        return;
    cudaLaunchAttribute *overlap = &launch->attrs[launch->numAttrs++];
    overlap->id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap->val.programmaticStreamSerializationAllowed = 1;
}

/* Launches a kernel so that it may overlap with the one before it, with `bytes` of dynamic shared
 * memory. A failure is seen by bd_cuda_launched. */
template <class Kernel, class... Values>
static void bd_cuda_follow(const struct bd_cuda *cuda, Kernel *kernel, dim3 grid, dim3 block,
                           size_t bytes, const Values &...values)
{
    cudaLaunchAttribute early = {};
    cudaLaunchConfig_t launch = {};
    launch.gridDim = grid;
    launch.blockDim = block;
    launch.dynamicSmemBytes = bytes;
    launch.stream = cuda->stream;
    launch.attrs = &early;
    bd_cuda_overlap(cuda, &launch);
    cudaLaunchKernelEx(&launch, kernel, values...);
}

#endif
