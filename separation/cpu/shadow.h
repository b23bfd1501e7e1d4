/* The search for shadows on the CPU (separation/shared/shadow.h and shadow_colour.h). */
#ifndef BD_SEPARATION_CPU_SHADOW_H
#define BD_SEPARATION_CPU_SHADOW_H

#include "separation/cpu/mask.h"
#include "separation/shared/shadow_colour.h"

/* The colours of a scene's shadows. */
struct bd_shadow_colours {
    struct bd_shadow_scene scene;
    struct bd_shadow_evidence *added; /* threads x bd_shadow_colour_count: of a frame, 0 between */
    int threads;
};

/* For a pool of so many threads. BD_ERROR_MEMORY. */
enum bd_status bd_shadow_create(struct bd_shadow_colours *colours, int threads);
void bd_shadow_destroy(struct bd_shadow_colours *colours);

/* Forgets all evidence. */
void bd_shadow_reset(struct bd_shadow_colours *colours);

/* shadow: 1 where a pixel of `mask` is shadow, else 0. f and l are frame and background.
 * evidence: the colours are learned from the frame, for those that follow. */
void bd_shadow_find(struct bd_mask_work *work, uint8_t *shadow, struct bd_shadow_colours *colours,
                    const uint8_t *mask, const uint8_t *f, const uint8_t *l, int channels,
                    bool evidence);

#endif
