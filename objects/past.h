/* What a mask has shown of earlier ones. The latest boxes of all candidates are kept: they say
 * where an object was before it was confirmed. */
#ifndef BD_OBJECTS_PAST_H
#define BD_OBJECTS_PAST_H

#include <backdrop/tracker.h>

struct bd_tracker;
struct bd_track;

enum { bd_most_past = 2048 }; /* boxes: of a hundred candidates, the last twenty frames */

/* The box of a candidate in a frame. */
struct bd_past_row {
    int64_t serial, frame; /* of the track; of bd_tracker_add's calls */
    double time;
    struct bd_object object;
};

struct bd_past_rows {
    int64_t count;                         /* of rows ever; the last bd_most_past are kept */
    struct bd_past_row rows[bd_most_past]; /* a ring */
    int told_count;
    struct bd_past told[bd_most_past]; /* by numbers, then by times */
};

/* Keeps the boxes of the candidates of this frame, and tells those of the objects whose numbers are
 * `first` or above: this frame has confirmed them. */
void bd_past_keep(struct bd_tracker *tracker, int64_t first);

/* Tells as well where a track was `ago` frames before: at the box of `then`, the same track in a
 * tracker that runs backwards. */
void bd_past_tell(struct bd_tracker *tracker, const struct bd_track *track,
                  const struct bd_track *then, double time, int ago);

#endif
