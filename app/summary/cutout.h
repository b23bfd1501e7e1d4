/* Cuts the objects of a frame out of it. */
#ifndef BD_APP_SUMMARY_CUTOUT_H
#define BD_APP_SUMMARY_CUTOUT_H

#include "app/pipeline/pipeline.h"
#include "app/summary/tubes.h"
#include <backdrop/components.h>

/* What is around an object, in pixels: for soft edges, and to compare its light with the plate's.
 */
enum { bd_patch_margin = 8 };

struct bd_cutout {
    struct bd_components components; /* of the mask */
    int *owners; /* for each run that is a root, the object that its component is part of; -1: none
                  */
    struct bd_patch patch;
    size_t mask_room; /* bytes of patch.mask */
};

/* For masks of width x height. BD_ERROR_MEMORY leaves nothing open. */
enum bd_status bd_cutout_create(struct bd_cutout *cutout, int width, int height);
void bd_cutout_destroy(struct bd_cutout *cutout);

/* Finds which components of the mask are whose. Needs pixels of the input in colour, and labels
 * with shadows where shadows are to be cut out too. */
void bd_cutout_begin(struct bd_cutout *cutout, const struct bd_result *result);

/* Cuts out an object of that frame, which is seen: *patch is the cutout's, valid until the next
 * call; its area is 0 where no pixel is the object's. BD_ERROR_MEMORY. */
enum bd_status bd_cutout_cut(struct bd_cutout *cutout, const struct bd_result *result, int object,
                             const struct bd_patch **patch);

#endif
