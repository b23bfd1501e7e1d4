/* Boundary contrast on the GPU, bit for bit what separation/shared/boundary_contrast.h defines.
 * Everything is enqueued on the backend's stream; nothing waits and nothing is allocated after
 * create. */
#ifndef BD_GPU_SEPARATION_MASK_BOUNDARY_CONTRAST_H
#define BD_GPU_SEPARATION_MASK_BOUNDARY_CONTRAST_H

#include <stdint.h>

#include "gpu/separation/mask/mask.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bd_cuda_boundary_work; /* sums for the components of one size of picture */

/* As struct bd_boundary of the CPU, in device memory. */
struct bd_cuda_boundary {
    const uint8_t *outside, *inside; /* pictures, height x width x channels bytes, tight rows */
    int channels;                    /* 1 or 3 */
    const uint8_t *region;           /* height x width, 0 or 1 */
    int median;                      /* the region is what this filter leaves of it (1 .. 15) */
    const uint8_t *apart; /* height x width, from 128 on: pixels that show neither, unless they are
                             in the region; or NULL */
    int least;            /* pixels: smaller components are left alone */
    int times;            /* by so much the contrast must be lower; at most 600 */
};

/* Each call of bd_cuda_boundary_find uses the scratch memory of `mask`, which must outlive *work.
 * BD_ERROR_MEMORY. */
enum bd_status bd_cuda_boundary_create(struct bd_cuda_mask *mask,
                                       struct bd_cuda_boundary_work **work);
void bd_cuda_boundary_destroy(struct bd_cuda_boundary_work *work); /* accepts NULL */

/* lower (height x width bytes in device memory, tight rows): 1 in the components of the region that
 * have the lower contrast in `inside`, else 0. It may be the region. */
enum bd_status bd_cuda_boundary_find(struct bd_cuda_boundary_work *work, uint8_t *lower,
                                     const struct bd_cuda_boundary *boundary);

#ifdef __cplusplus
}
#endif
#endif
