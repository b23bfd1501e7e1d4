/* Shadows on the CPU, as separation/shared/shadow.h defines them. */
#ifndef BD_SEPARATION_CPU_SHADOW_H
#define BD_SEPARATION_CPU_SHADOW_H

#include <stdint.h>

#include "base/pool.h"
#include <backdrop/status.h>

struct bd_shadow_work; /* scratch memory for one size of picture */

/* The pool does the work, and outlives it. */
enum bd_status bd_shadow_work_create(struct bd_shadow_work **work, struct bd_pool *pool, int width,
                                     int height);
void bd_shadow_work_destroy(struct bd_shadow_work **work);

/* shadow: 1 where a pixel of `mask` is shadow, else 0; all height x width bytes with tight rows. f
 * and l are frame and background, rgb. */
void bd_shadow_find(struct bd_shadow_work *work, uint8_t *shadow, const uint8_t *mask,
                    const uint8_t *f, const uint8_t *l);

#endif
