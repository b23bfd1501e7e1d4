/* Shadows and background in other light on the GPU, bit for bit what separation/shared/shadow.h,
 * shadow_colour.h and illumination.h define. */
#ifndef BD_GPU_SEPARATION_MASK_LIGHT_CUH
#define BD_GPU_SEPARATION_MASK_LIGHT_CUH

#include "gpu/cuda.h"
#include "gpu/separation/mask/mask.h"
#include "separation/shared/shadow.h"
#include "separation/shared/shadow_colour.h"

/* Whether a pixel of the mask may be shadow. f and l: its channels in the three lower bytes, 0
 * above. */
static __device__ __forceinline__ bool bd_shadow_pixel(uint32_t f, uint32_t l)
{
    return bd_shadow_fits(__dp4a(f, f, 0u), __dp4a(f, l, 0u), __dp4a(l, l, 0u), 1, bd_shadow_most);
}

/* What is known of the colours of shadows, in device memory; all 0 before any evidence. */
struct bd_cuda_shadow_scene {
    struct bd_shadow_scene known;
    unsigned done; /* thread blocks that have added their evidence of a frame; 0 between */
};

/* How a frame uses them. */
struct bd_cuda_shadow_colours {
    struct bd_cuda_shadow_scene *scene;
    const unsigned *loaded; /* in device memory, the number of the frame; NULL: it is `look` */
    unsigned look;
    int learn; /* 0: the frame is no evidence */
};

/* Enqueues the searches on the backend's stream. All in device memory, height x width, tight rows.
 * shadow: 1 where a pixel is shadow or background in other light, else 0. colours: of shadows;
 * NULL: shadows are not looked for. other_light: it is looked for. flags: enum bd_cuda_mask_flag,
 * of which bd_cuda_mask_set and, with three channels, bd_cuda_mask_plausible count
 * (bd_shadow_pixel). f and l: frame and background, of 1 or 3 channels. */
enum bd_status bd_cuda_light_find(struct bd_cuda *cuda, uint8_t *shadow,
                                  const struct bd_cuda_shadow_colours *colours, bool other_light,
                                  const uint8_t *flags, const uint8_t *f, const uint8_t *l,
                                  int width, int height, int channels);

#endif
