/* Background in other light on the GPU, bit for bit what separation/shared/illumination.h defines.
 */
#ifndef BD_GPU_SEPARATION_MASK_ILLUMINATION_CUH
#define BD_GPU_SEPARATION_MASK_ILLUMINATION_CUH

#include "gpu/cuda.h"
#include "gpu/separation/mask/mask.h"
#include "separation/shared/illumination.h"

/* Enqueues the search on the backend's stream. All in device memory, height x width, tight rows.
 * shadow: 1 where `known` is, or a pixel is background in other light; else 0. flags: enum
 * bd_cuda_mask_flag, of which bd_cuda_mask_set counts. known: the shadows, 1 or 0, not `shadow`
 * itself; NULL: none. f and l: frame and background, of 1 or 3 channels. */
enum bd_status bd_cuda_illumination_find(struct bd_cuda *cuda, uint8_t *shadow,
                                         const uint8_t *flags, const uint8_t *known,
                                         const uint8_t *f, const uint8_t *l, int width, int height,
                                         int channels);

#endif
