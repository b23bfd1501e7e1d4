/* The objects of the last frames, held back until all that were there are known. Later frames show
 * what was in them (bd_tracker_past): such boxes are added to the frames that are held, or replace
 * those of the same object. */
#ifndef BD_APP_PIPELINE_HINDSIGHT_H
#define BD_APP_PIPELINE_HINDSIGHT_H

#include "app/pipeline/pipeline.h"

struct bd_held_frame {
    int64_t index, pts; /* of the mask */
    double time;
    struct bd_object *objects; /* by numbers */
    int count, room;
};

/* All 0: no frame is held. */
struct bd_hindsight {
    struct bd_held_frame frames[bd_past_frames + 1]; /* a ring */
    int first, count;
};

/* Holds a frame. After each, bd_hindsight_next is to be called. BD_ERROR_MEMORY. */
enum bd_status bd_hindsight_add(struct bd_hindsight *hindsight, const struct bd_result *result);

/* The frame that was added so many frames before the last one (0: the last), or NULL. */
const struct bd_held_frame *bd_hindsight_ago(const struct bd_hindsight *hindsight, int ago);

/* The oldest frame, when no object of it can become known any more; `all`: also before, as at the
 * end of the film. NULL: there is none. It is valid until the next bd_hindsight_add. */
const struct bd_held_frame *bd_hindsight_next(struct bd_hindsight *hindsight, bool all);

void bd_hindsight_free(struct bd_hindsight *hindsight);

#endif
