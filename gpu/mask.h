/* Private to the CUDA backend: from the raw binary picture of the live separator to a clean mask,
 * bit for bit what linalg/cpu/mask.h defines (median, removal of small components, filling of
 * holes, dilation), with one bit a pixel between the kernels. Everything is enqueued on the
 * backend's stream, with launches that depend only on the size and on `params`, so that it can be
 * captured into a graph; nothing waits and nothing is allocated after create. */
#ifndef BD_GPU_MASK_H
#define BD_GPU_MASK_H

#include <stdint.h>

#include "gpu/cuda.h"
#include "linalg/separator_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bd_cuda_mask; /* scratch memory on the GPU for one size of picture */

/* For pictures of width x height pixels (each at least 1). BD_ERROR_MEMORY. */
enum bd_status bd_cuda_mask_create(struct bd_cuda *cuda, int width, int height,
                                   struct bd_cuda_mask **mask);
void bd_cuda_mask_destroy(struct bd_cuda_mask *mask); /* accepts NULL */

/* All but params is device memory; pictures are height x width bytes with tight rows.
 * mask: 255 or 0. guard: 1 or 0, the mask dilated by params->guard rows and columns. raw: a pixel
 * is set if the lowest bit of its byte is (1 and 255 both do); mask may be raw. d_foreground: how
 * many pixels of the mask are set. Of params: median (1 .. 15), min_area, max_hole and guard.
 * Pictures that are 16-byte aligned and whose width is a multiple of 16 are read and written 16
 * bytes at a time; others work, a little slower. */
enum bd_status bd_cuda_mask_clean(struct bd_cuda_mask *work, uint8_t *mask, uint8_t *guard,
                                  const uint8_t *raw, const struct bd_detect_params *params,
                                  int *d_foreground);

#ifdef __cplusplus
}
#endif
#endif
