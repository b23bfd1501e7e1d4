/* Flashes, on the CPU (separation/shared/flash.h). */
#ifndef BD_SEPARATION_CPU_FLASH_H
#define BD_SEPARATION_CPU_FLASH_H

#include "separation/cpu/state.h"
#include "separation/shared/flash.h"

/* For frames of this shape; the pool outlives it. BD_ERROR_MEMORY; destroy frees what was taken,
 * and accepts NULL. */
enum bd_status bd_flash_create(struct bd_flash **flash, struct bd_pool *pool,
                               const struct bd_separation_shape *shape);
void bd_flash_destroy(struct bd_flash **flash);

/* Forgets all cells. */
void bd_flash_reset(struct bd_flash *flash);

/* The next frame, with tight rows. quiet: frames, up to bd_flash_most_quiet; 0: no search in this
 * one. learn: flashes may count. */
void bd_flash_follow(struct bd_flash *flash, const uint8_t *frame, int quiet, bool learn);

/* The map of places (sums of enum bd_flash_flag, across x down cells); NULL: there are none, or the
 * last frame had no search. */
const uint8_t *bd_flash_places(const struct bd_flash *flash);

/* Clears those components of the mask (height x width, 0 or 1) that are background; none where the
 * last frame had no search. */
void bd_flash_remove(struct bd_flash *flash, struct bd_mask_work *work, uint8_t *mask);

#endif
