/* Shadows on the GPU, bit for bit what separation/shared/shadow.h defines. The search is enqueued
 * on the backend's stream. */
#ifndef BD_GPU_SEPARATION_MASK_SHADOW_H
#define BD_GPU_SEPARATION_MASK_SHADOW_H

#include <stdint.h>

#include "gpu/cuda.h"
#include "gpu/separation/mask/mask.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All in device memory, height x width, tight rows. shadow: 1 where a pixel is shadow, else 0.
 * flags: enum bd_cuda_mask_flag, of which bd_cuda_mask_plausible counts (bd_shadow_pixel in
 * shadow.cuh). f and l: frame and background, rgb. */
enum bd_status bd_cuda_shadow_find(struct bd_cuda *cuda, uint8_t *shadow, const uint8_t *flags,
                                   const uint8_t *f, const uint8_t *l, int width, int height);

#ifdef __cplusplus
}
#endif
#endif
