/* Makes the parts of a result as small as they are shown: sampling a texture at less than half its
 * size would flicker, and small pictures are quicker to convert and to upload. Panes of the same
 * size share them. Main thread only. */
#ifndef BD_APP_VIEW_SHRINK_H
#define BD_APP_VIEW_SHRINK_H

#include "app/view/convert.h"
#include "app/view/worker.h"
#include "video/scale.h"

/* A part of a result, averaged over areas. */
struct bd_view_small {
    struct bd_frame frame;
    struct bd_scaler *scaler;
    int64_t serial; /* of the result */
};

struct bd_view_shrinker {
    struct bd_view_small input, mask, background;
};

/* Fills in those of *parts that `pane` is made from, with sides of at most width and height. They
 * are valid until the next call, as long as the result. A result with the same `serial` as before
 * is the same. */
enum bd_status bd_view_shrink(struct bd_view_shrinker *shrinker, struct bd_view_parts *parts,
                              const struct bd_view_result *result, int64_t serial,
                              enum bd_pane pane, int width, int height);

/* Frees the pictures. Safe on an all-zero shrinker. */
void bd_view_shrinker_destroy(struct bd_view_shrinker *shrinker);

#endif
