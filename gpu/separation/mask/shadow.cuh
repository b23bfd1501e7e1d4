/* Shadows on the GPU, bit for bit what separation/shared/shadow.h defines. */
#ifndef BD_GPU_SEPARATION_MASK_SHADOW_CUH
#define BD_GPU_SEPARATION_MASK_SHADOW_CUH

#include "gpu/cuda.h"
#include "gpu/separation/mask/mask.h"
#include "separation/shared/shadow.h"

/* Whether a pixel of the mask may be shadow. f and l: its channels in the three lower bytes, 0
 * above. */
static __device__ __forceinline__ bool bd_shadow_pixel(uint32_t f, uint32_t l)
{
    return bd_shadow_fits(__dp4a(f, f, 0u), __dp4a(f, l, 0u), __dp4a(l, l, 0u), 1, bd_shadow_most);
}

/* Enqueues the search on the backend's stream. All in device memory, height x width, tight rows.
 * shadow: 1 where a pixel is shadow, else 0. flags: enum bd_cuda_mask_flag, of which
 * bd_cuda_mask_plausible counts (bd_shadow_pixel). f and l: frame and background, rgb. */
enum bd_status bd_cuda_shadow_find(struct bd_cuda *cuda, uint8_t *shadow, const uint8_t *flags,
                                   const uint8_t *f, const uint8_t *l, int width, int height);

#endif
