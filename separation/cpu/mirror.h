/* Mirror images, on the CPU (separation/shared/mirror.h). */
#ifndef BD_SEPARATION_CPU_MIRROR_H
#define BD_SEPARATION_CPU_MIRROR_H

#include "separation/cpu/mask.h"
#include "separation/shared/mirror.h"

/* What is known of the places of a scene. */
struct bd_mirror_places {
    int across, down, power;         /* cells, and bd_recurrence_cell_power */
    struct bd_mirror_counts *counts; /* across x down */
    uint8_t *map;                    /* across x down: 0 or 1, images are cut there */
    struct bd_mirror_counts *sums;   /* across: of columns, while the map is made */
    bool any;                        /* the map is not empty */
};

/* For pictures of width x height. BD_ERROR_MEMORY; what was taken is freed by destroy. */
enum bd_status bd_mirror_create(struct bd_mirror_places *places, int width, int height);
void bd_mirror_destroy(struct bd_mirror_places *places);

/* Forgets all evidence and the map. */
void bd_mirror_reset(struct bd_mirror_places *places);

/* Forgets half of the evidence. */
void bd_mirror_forget(struct bd_mirror_places *places);

/* The map from the counts. */
void bd_mirror_make_map(struct bd_mirror_places *places);

/* image (height x width) := 1 where mirror images are to be cut out of the mask, else 0. Returns
 * whether there are any; the image is undefined if not. f and l are frame and background, rgb.
 * evidence: objects are counted in the places. */
bool bd_mirror_find(struct bd_mask_work *work, uint8_t *image, struct bd_mirror_places *places,
                    const uint8_t *mask, const uint8_t *f, const uint8_t *l, bool evidence);

#endif
