/* The masks of the last frames, as runs, and whose their pieces were. */
#ifndef BD_OBJECTS_HISTORY_H
#define BD_OBJECTS_HISTORY_H

#include <backdrop/tracker.h>

#include "objects/pieces.h"

struct bd_history;
struct bd_tracker;

/* Memory for bd_past_frames masks; fewer are kept where they are very ragged. BD_ERROR_MEMORY. */
enum bd_status bd_history_create(struct bd_history **history);
void bd_history_destroy(struct bd_history **history);

void bd_history_forget(struct bd_history *history);

/* Keeps the mask of the tracker's present frame. */
void bd_history_keep(struct bd_history *history, const struct bd_tracker *tracker);

/* Where a track was said to be. */
struct bd_kept_box {
    int64_t serial;
    struct bd_extent box;
};

/* A mask of the past. */
struct bd_kept_mask {
    double time;
    int32_t first, count;           /* where its runs are */
    int64_t holder[bd_most_pieces]; /* serials of the tracks that held its pieces; 0: none did */
    int box_count;
    struct bd_kept_box boxes[bd_most_pieces]; /* of the objects in groups */
};

/* The mask `ago` frames before the last one that was kept, whose components *components become
 * until the next is kept; NULL: it is no longer known. */
const struct bd_kept_mask *bd_history_load(struct bd_history *history, int ago,
                                           struct bd_components *components);

#endif
