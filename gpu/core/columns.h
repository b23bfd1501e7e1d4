/* Private to the CUDA backend: copies and zeros of columns that are any distance apart. CUDA's
 * 2D copies take distances below 2 GiB only, and a column of 2^29 floats is that long: where
 * columns are farther apart, each column is a copy of its own. */
#ifndef BD_GPU_CORE_COLUMNS_H
#define BD_GPU_CORE_COLUMNS_H

#include "gpu/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* to := from, `count` columns of `bytes` bytes each, to_pitch and from_pitch bytes apart, which
 * do not overlap. `kind` says which of the two is on the host. Enqueued on `stream`. */
cudaError_t bd_cuda_copy_columns(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                 size_t bytes, size_t count, enum cudaMemcpyKind kind,
                                 cudaStream_t stream);

/* Sets `count` columns of `bytes` bytes each, `pitch` bytes apart, to 0. Enqueued on `stream`. */
cudaError_t bd_cuda_clear_columns(void *to, size_t pitch, size_t bytes, size_t count,
                                  cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
