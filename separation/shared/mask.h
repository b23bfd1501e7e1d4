/* The specification of a mask: the steps from a frame f and its background l (bytes) to a clean
 * binary picture. Both backends give the same mask to the bit for the same bytes f and l and the
 * same noise levels; float arithmetic is rounded operation by operation (no fused multiply-adds).
 *
 * 1. d is the maximum over channels of |f - l|. The limit of a pixel is gain times its noise level,
 *    within least .. most grey levels. What was learned from the frame before does not count yet:
 *    so a GPU may compare a frame while the mask of the one before is made. A pixel is foreground
 *    if d > limit, and plain background if d <= plain limit.
 * 2. Shadows (shadow.h, shadow_colour.h), background in other light (illumination.h), and what
 *    moves in place (recurrence.h) are taken out.
 * 3. Median filter: set where more than half of the side x side neighbours are set; beyond the
 *    picture's border the nearest pixel inside counts.
 * 4. 8-connected components of fewer than min_area pixels are removed. So are small ones that have
 *    not lasted. A component has lasted for one frame more than those of the frame before that it
 *    overlaps, the longest of them; if there is none, for one frame. One of fewer than
 *    bd_mask_passing_times min_area pixels must have lasted for `lasting` frames: drops of rain,
 *    glitter and noise pass, objects stay. In the first frame all have lasted. Then components that
 *    flash (flash.h) are removed. At last holes (4-connected components of clear pixels that do not
 *    touch the picture's border) of at most max_hole pixels are filled.
 * 5. Contact shadows (contact_shadow.h) and mirror images (mirror.h) are cut out. Both are looked
 *    for in the mask as it is now, neither after the other.
 * 6. Trimming: a pixel of the mask is cleared that touches (at a side or a corner) a pixel outside
 *    the mask that is plain background, and whose d is less than 7/20 of the largest of the nine
 *    around it: it is mostly background.
 *
 * The guard is the mask and all shadows, dilated: set where any pixel within `guard` rows and
 * columns is set. Then noise levels and ages are learned: outside the guard
 * noise := noise + noise_rate (d - noise); in the mask and in shadows the age grows by the seconds
 * since the frame before, elsewhere it shrinks four times as fast, to 0. A pixel that is older than
 * the memory leaves the guard. */
#ifndef BD_SEPARATION_SHARED_MASK_H
#define BD_SEPARATION_SHARED_MASK_H

#include <stdbool.h>
#include <stdint.h>

/* How the inline rules of this folder are declared: C compilers and nvcc, for the host and the GPU,
 * compile the same text, so that both backends decide alike to the bit. */
#ifdef __CUDACC__
#define BD_RULE static __host__ __device__ __forceinline__
#else
#define BD_RULE static inline
#endif

enum { bd_mask_trim_part = 7, bd_mask_trim_of = 20 };

enum {
    bd_mask_lasting =
        4, /* frames, at most; with 3 synth:rain has .817, with 10 highway loses .001 */
    bd_mask_passing_times = 8 /* min_area; with 12 synth:tree and CAVIAR2 lose .002 */
};

/* Whether a component passes: it is small and has not lasted for `lasting` frames. frames: so many,
 * this one included. */
BD_RULE bool bd_mask_passes(int64_t area, int least, int frames, int lasting)
{
    return frames < lasting && area < (int64_t)bd_mask_passing_times * least;
}

#endif
