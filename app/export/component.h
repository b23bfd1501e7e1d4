/* The largest connected piece of a mask. */
#ifndef BD_APP_EXPORT_COMPONENT_H
#define BD_APP_EXPORT_COMPONENT_H

#include "video/frame.h"
#include <backdrop/components.h>

struct bd_box {
    int x, y, width, height; /* pixels */
    int64_t area;            /* set pixels of the component; 0: the mask is empty */
};

/* Bounding box of the largest 8-connected component of `mask` (BD_GRAY8, 0 or 255). `components` is
 * the memory of the search: all zero or of an earlier call. BD_ERROR_MEMORY. */
enum bd_status bd_component_largest(struct bd_components *components, struct bd_box *box,
                                    const struct bd_frame *mask);

#endif
