/* Which of the architectures that the library was compiled for the GPU runs the code of. */
#include "gpu/cuda.h"

__global__ void no_work(void)
{
}

extern "C" int bd_cuda_architecture(void)
{
    struct cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, (const void *)no_work);
    return error == cudaSuccess ? attributes.ptxVersion : 0;
}
