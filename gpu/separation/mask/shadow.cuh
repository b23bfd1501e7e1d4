/* Private to the search for shadows, and to the comparison before it: the conditions of
 * separation/cpu/shadow.h, in integers. */
#ifndef BD_GPU_SEPARATION_MASK_SHADOW_CUH
#define BD_GPU_SEPARATION_MASK_SHADOW_CUH

#include <stdint.h>

#include "separation/cpu/shadow.h" /* for its numbers */

/* The condition on (f, f), (f, l), (l, l) and the number of pixels they are sums over: products
 * stay below 2^45. */
static __device__ __forceinline__ bool bd_shadow_fits(uint32_t ff, uint32_t fl, uint32_t ll,
                                                      uint32_t count, uint32_t most)
{
    return 2 * fl > ll && fl < ll &&
           (uint64_t)ff * ll - (uint64_t)fl * fl < (uint64_t)(3 * most * most * count) * ll;
}

/* Whether a pixel of the mask may be shadow. f and l: its channels in the three lower bytes, 0
 * above. */
static __device__ __forceinline__ bool bd_shadow_pixel(uint32_t f, uint32_t l)
{
    return bd_shadow_fits(__dp4a(f, f, 0u), __dp4a(f, l, 0u), __dp4a(l, l, 0u), 1, bd_shadow_most);
}

#endif
