/* Where objects were before they were confirmed: the latest boxes of all candidates are kept. */
#ifndef BD_OBJECTS_PAST_H
#define BD_OBJECTS_PAST_H

#include <backdrop/tracker.h>

struct bd_tracker;

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
    struct bd_past told[bd_most_past];
};

/* Keeps the boxes of the candidates of this frame, and tells those of the objects whose numbers are
 * `first` or above: this frame has confirmed them. */
void bd_past_keep(struct bd_tracker *tracker, int64_t first);

#endif
