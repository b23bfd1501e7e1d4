/* The steps of a mask on the CPU, as separation/shared/ defines them: mask.h, shadow.h,
 * illumination.h, contact_shadow.h and boundary_contrast.h there. Pictures are height x width bytes
 * with tight rows (pixels of `channels` bytes where that is said); in masks "set" is 1, "clear" is
 * 0. */
#ifndef BD_SEPARATION_CPU_MASK_H
#define BD_SEPARATION_CPU_MASK_H

#include <stdint.h>

#include "base/pool.h"
#include <backdrop/status.h>

struct bd_mask_work; /* scratch memory for one size of picture */

/* The pool does the work, and outlives it. */
enum bd_status bd_mask_work_create(struct bd_mask_work **work, struct bd_pool *pool, int width,
                                   int height);
void bd_mask_work_destroy(struct bd_mask_work **work);

/* rest := `all` without `less`; rest is neither. */
void bd_mask_leave_out(struct bd_mask_work *work, uint8_t *rest, const uint8_t *all,
                       const uint8_t *less);

/* dst := the median of src. side odd, 1 .. 15. dst may be src. */
void bd_mask_median(struct bd_mask_work *work, uint8_t *dst, const uint8_t *src, int side);

/* Clears the set components (8-connected) of fewer than `least` pixels, and with `frames` (0: not
 * asked) those that have not lasted for so many (bd_mask_passes). For each pixel `lasting` has the
 * frames for which its component, of at least `least` pixels, has lasted: in, of the frame before;
 * out, of this one. At most bd_mask_lasting, and 0 outside of such components. */
void bd_mask_remove_small(struct bd_mask_work *work, uint8_t *mask, uint8_t *lasting, int frames,
                          int least);

/* Sets the clear components (4-connected) of at most `most` pixels that do not touch the border. */
void bd_mask_fill_holes(struct bd_mask_work *work, uint8_t *mask, int most);

/* Clears the pixels at the mask's edges that are mostly background. plain: 0 or 1; difference:
 * |f - l|. */
void bd_mask_trim(struct bd_mask_work *work, uint8_t *mask, const uint8_t *plain,
                  const uint8_t *difference);

/* dst := src dilated by `radius` rows and columns. dst must not be src. */
void bd_mask_dilate(struct bd_mask_work *work, uint8_t *dst, const uint8_t *src, int radius);

/* Sets shadow where a pixel of the mask is background in other light, and leaves it alone
 * elsewhere. f and l are frame and background. */
void bd_illumination_find(struct bd_mask_work *work, uint8_t *shadow, const uint8_t *mask,
                          const uint8_t *f, const uint8_t *l, int channels);

/* Takes the contact shadows of the mask's components out of it. What is taken out becomes 1 in
 * shadow, which is left alone elsewhere. f and l are frame and background. */
void bd_contact_shadow_cut(struct bd_mask_work *work, uint8_t *mask, uint8_t *shadow,
                           const uint8_t *f, const uint8_t *l, int channels);

struct bd_boundary {
    const uint8_t *outside, *inside; /* pictures of `channels` */
    int channels;
    const uint8_t *region; /* 0 or 1: where the two differ */
    const uint8_t *apart;  /* the same, or NULL: pixels that show neither */
    int least;             /* pixels: smaller components are left alone */
    int times;             /* by so much the contrast must be lower */
};

/* lower: 1 in the components of the region that have the lower contrast in `inside`, else 0. It
 * must not be the region. */
void bd_boundary_find(struct bd_mask_work *work, uint8_t *lower,
                      const struct bd_boundary *boundary);

#endif
