/* The steps from a raw binary picture to a clean mask on the CPU, as separation/shared/mask.h
 * defines them. Pictures are height x width bytes with tight rows; "set" is 1, "clear" is 0. */
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

/* dst := the median of src. side odd, 1 .. 15. dst may be src. */
void bd_mask_median(struct bd_mask_work *work, uint8_t *dst, const uint8_t *src, int side);

/* Clears the set components (8-connected) of fewer than `least` pixels. */
void bd_mask_remove_small(struct bd_mask_work *work, uint8_t *mask, int least);

/* Sets the clear components (4-connected) of at most `most` pixels that do not touch the border. */
void bd_mask_fill_holes(struct bd_mask_work *work, uint8_t *mask, int most);

/* Clears the pixels at the mask's edges that are mostly background. plain: 0 or 1; difference:
 * |f - l|. */
void bd_mask_trim(struct bd_mask_work *work, uint8_t *mask, const uint8_t *plain,
                  const uint8_t *difference);

/* dst := src dilated by `radius` rows and columns. dst must not be src. */
void bd_mask_dilate(struct bd_mask_work *work, uint8_t *dst, const uint8_t *src, int radius);

#endif
