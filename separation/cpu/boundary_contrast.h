/* Boundary contrast on the CPU, as separation/shared/boundary_contrast.h defines it. */
#ifndef BD_SEPARATION_CPU_BOUNDARY_CONTRAST_H
#define BD_SEPARATION_CPU_BOUNDARY_CONTRAST_H

#include <stdint.h>

#include <backdrop/status.h>

struct bd_boundary_work; /* scratch memory for one size of picture */

struct bd_boundary {
    const uint8_t *outside, *inside; /* pictures, height x width x channels bytes, tight rows */
    int channels;
    const uint8_t *region; /* height x width, 0 or 1: where the two differ */
    const uint8_t *apart;  /* the same, or NULL: pixels that show neither */
    int least;             /* pixels: smaller components are left alone */
    int times;             /* by so much the contrast must be lower */
};

enum bd_status bd_boundary_work_create(struct bd_boundary_work **work, int width, int height);
void bd_boundary_work_destroy(struct bd_boundary_work **work);

/* lower (height x width bytes): 1 in the components of the region that have the lower contrast in
 * `inside`, else 0. It must not be the region. */
void bd_boundary_find(struct bd_boundary_work *work, uint8_t *lower,
                      const struct bd_boundary *boundary);

#endif
