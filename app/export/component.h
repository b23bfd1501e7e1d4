/* The largest connected piece of a mask. */
#ifndef BD_APP_EXPORT_COMPONENT_H
#define BD_APP_EXPORT_COMPONENT_H

#include "video/frame.h"

struct bd_component_finder; /* memory of the search, reused from mask to mask */

struct bd_box {
    int x, y, width, height; /* pixels */
    int64_t area;            /* set pixels of the component; 0: the mask is empty */
};

enum bd_status bd_component_finder_create(struct bd_component_finder **finder);
void bd_component_finder_destroy(struct bd_component_finder **finder);

/* Bounding box of the largest 8-connected component of `mask` (BD_GRAY8, 0 or 255).
 * BD_ERROR_MEMORY. */
enum bd_status bd_component_largest(struct bd_component_finder *finder, struct bd_box *box,
                                    const struct bd_frame *mask);

#endif
