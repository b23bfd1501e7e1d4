/* The condition of separation/shared/shadow.h for a pixel that lies in registers: for the search
 * for shadows, and for the comparison before it. */
#ifndef BD_GPU_SEPARATION_MASK_SHADOW_CUH
#define BD_GPU_SEPARATION_MASK_SHADOW_CUH

#include "separation/shared/shadow.h"

/* Whether a pixel of the mask may be shadow. f and l: its channels in the three lower bytes, 0
 * above. */
static __device__ __forceinline__ bool bd_shadow_pixel(uint32_t f, uint32_t l)
{
    return bd_shadow_fits(__dp4a(f, f, 0u), __dp4a(f, l, 0u), __dp4a(l, l, 0u), 1, bd_shadow_most);
}

#endif
