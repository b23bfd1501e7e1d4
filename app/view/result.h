/* What the separator thread hands to the window for each frame. */
#ifndef BD_APP_VIEW_RESULT_H
#define BD_APP_VIEW_RESULT_H

#include "app/pipeline/pipeline.h"

/* A separated frame: what the pictures of all panes are made from, so that a pane is made when it
 * is shown, and at once. It is a copy, so that the pipeline can continue; a decoded picture is
 * shared, not copied. */
struct bd_view_result {
    struct bd_frame input;      /* as decoded, or BD_RGB24 */
    struct bd_frame mask;       /* BD_GRAY8, as large as the input; none in a first frame */
    struct bd_frame background; /* in the processing size, BD_RGB24 or BD_GRAY8; likewise */
    struct bd_object *objects;  /* of the mask, in pixels of it; none in a first frame */
    int object_count, object_room;
    double position;   /* seconds from the beginning of the input */
    double foreground; /* share of the pixels, 0..1 */
    int rank, columns;
    int64_t dropped; /* frames of a live source dropped before separation */
    double seconds;  /* spent on separating this frame */
    bool jump; /* does not follow the last frame in time: after a seek, or a new round of --loop */
};

/* Copies what the panes are made from: the pictures and the objects. `out` is all zero or was
 * copied to before. BD_ERROR_MEMORY. */
enum bd_status bd_view_result_copy(struct bd_view_result *out, const struct bd_result *result);

/* Frees what was copied. Safe on an all-zero result. */
void bd_view_result_destroy(struct bd_view_result *result);

#endif
