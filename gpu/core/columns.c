#include "gpu/core/columns.h"

#include <limits.h>

/* cudaDevAttrMaxPitch of every GPU so far. */
static const size_t most_pitch = INT_MAX;

cudaError_t bd_cuda_copy_columns(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                 size_t bytes, size_t count, enum cudaMemcpyKind kind,
                                 cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    if (bytes == 0 || count == 0)
        return cudaSuccess;
    if (count == 1 || (to_pitch == bytes && from_pitch == bytes))
        return cudaMemcpyAsync(to, from, bytes * count, kind, stream);
    if (to_pitch <= most_pitch && from_pitch <= most_pitch)
        return cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, bytes, count, kind, stream);
    for (size_t j = 0; j < count && error == cudaSuccess; j++)
        error = cudaMemcpyAsync((char *)to + j * to_pitch, (const char *)from + j * from_pitch,
                                bytes, kind, stream);
    return error;
}

cudaError_t bd_cuda_clear_columns(void *to, size_t pitch, size_t bytes, size_t count,
                                  cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    if (bytes == 0 || count == 0)
        return cudaSuccess;
    if (count == 1 || pitch == bytes)
        return cudaMemsetAsync(to, 0, bytes * count, stream);
    if (pitch <= most_pitch)
        return cudaMemset2DAsync(to, pitch, 0, bytes, count, stream);
    for (size_t j = 0; j < count && error == cudaSuccess; j++)
        error = cudaMemsetAsync((char *)to + j * pitch, 0, bytes, stream);
    return error;
}
