/* Private to the CPU backend: which of two pictures continues its surroundings without a seam.
 *
 * An object has a contour where it ends, and the background behind it has none there. So where two
 * pictures of a scene differ in a region, the one with the smaller jumps across the border of the
 * region shows the background, and the other one an object. (As the test that tells objects left
 * from objects removed by edges along a contour: Cheung and Kamath 2005; Spagnolo et al. 2006.) */
#ifndef BD_SEPARATION_CPU_BOUNDARY_CONTRAST_H
#define BD_SEPARATION_CPU_BOUNDARY_CONTRAST_H

#include "separation/cpu/components.h"

struct bd_boundary_work; /* scratch memory for one size of picture */

struct bd_boundary {
    const uint8_t *outside, *inside; /* pictures, height x width x channels bytes, tight rows */
    int channels;
    const uint8_t *region; /* height x width, 0 or 1: where the two differ */
    const uint8_t *apart;  /* the same, or NULL: pixels that show neither (something that moves) */
    int least;             /* pixels: smaller components are left alone */
    int times;             /* by so much the jumps must be smaller */
};

enum bd_status bd_boundary_work_create(struct bd_boundary_work **work, int width, int height);
void bd_boundary_work_destroy(struct bd_boundary_work **work);

/* smoother (height x width bytes): 1 in the 8-connected components of the region across whose
 * border `inside`, put there into `outside`, has jumps that are `times` times smaller than those of
 * `outside` itself; else 0. A jump is the sum over channels of the absolute difference between a
 * pixel inside and one outside, in the four directions, where the border lies between them; one
 * pixel to either side of the border is stepped over, since it mixes both, as far as the component
 * is wide enough. Where a jump would lead to pixels apart, or across a gap back into the region,
 * the border cannot be judged: that may be so for at most half of it. smoother must not be the
 * region. */
void bd_boundary_find(struct bd_boundary_work *work, uint8_t *smoother,
                      const struct bd_boundary *seam);

#endif
