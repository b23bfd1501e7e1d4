#include "objects/past.h"

#include <string.h>

#include "objects/state.h"

/* Tells a box in its place; it replaces one of the same object and frame. */
static void put(struct bd_past_rows *past, const struct bd_past *box)
{
    int place = past->told_count;
    for (; place > 0; place--) {
        const struct bd_past *before = &past->told[place - 1];
        if (before->object.id < box->object.id ||
            (before->object.id == box->object.id && before->ago >= box->ago))
            break;
    }
    if (place > 0 && past->told[place - 1].object.id == box->object.id &&
        past->told[place - 1].ago == box->ago) {
        past->told[place - 1] = *box;
        return;
    }
    if (past->told_count == bd_most_past)
        return;
    memmove(&past->told[place + 1], &past->told[place],
            (size_t)(past->told_count++ - place) * sizeof *past->told);
    past->told[place] = *box;
}

/* Tells the kept boxes of a track. */
static void tell(struct bd_tracker *tracker, const struct bd_track *track)
{
    struct bd_past_rows *past = &tracker->past;
    const int64_t kept = past->count < bd_most_past ? past->count : bd_most_past;
    for (int64_t i = past->count - kept; i < past->count; i++) {
        const struct bd_past_row *row = &past->rows[i % bd_most_past];
        const int64_t ago = tracker->frame - row->frame;
        if (row->serial != track->serial || ago > bd_past_frames)
            continue;
        struct bd_past box = { (int)ago, row->time, row->object };
        box.object.id = track->object.id;
        put(past, &box);
    }
}

void bd_past_tell(struct bd_tracker *tracker, const struct bd_track *track,
                  const struct bd_track *then, double time, int ago)
{
    struct bd_past box = { ago, time, then->object };
    box.object.vx = -box.object.vx;
    box.object.vy = -box.object.vy;
    box.object.since = track->object.since;
    box.object.parent = track->object.parent;
    put(&tracker->past, &box);
}

void bd_past_keep(struct bd_tracker *tracker, int64_t first)
{
    struct bd_past_rows *past = &tracker->past;
    past->told_count = 0;
    for (int t = 0; t < tracker->count; t++) {
        const struct bd_track *track = &tracker->tracks[t];
        if (track->object.id >= first)
            tell(tracker, track);
        if (track->object.id)
            continue;
        past->rows[past->count++ % bd_most_past] =
            (struct bd_past_row){ track->serial, tracker->frame, tracker->time, track->object };
    }
}

enum bd_status bd_tracker_past(const struct bd_tracker *tracker, const struct bd_past **past,
                               int *count)
{
    if (past)
        *past = NULL;
    if (count)
        *count = 0;
    if (!tracker || !past || !count)
        return bd_fail(BD_ERROR_ARGUMENT, "%s is NULL",
                       !tracker ? "tracker"
                       : !past  ? "past"
                                : "count");
    *past = tracker->past.told;
    *count = tracker->past.told_count;
    return BD_OK;
}
