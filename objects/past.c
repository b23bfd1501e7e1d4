#include "objects/past.h"

#include "objects/state.h"

/* Tells the kept boxes of a track, the earliest first. */
static void tell(struct bd_tracker *tracker, const struct bd_track *track)
{
    struct bd_past_rows *past = &tracker->past;
    const int64_t kept = past->count < bd_most_past ? past->count : bd_most_past;
    for (int64_t i = past->count - kept; i < past->count && past->told_count < bd_most_past; i++) {
        const struct bd_past_row *row = &past->rows[i % bd_most_past];
        const int64_t ago = tracker->frame - row->frame;
        if (row->serial != track->serial || ago > bd_past_frames)
            continue;
        struct bd_past *told = &past->told[past->told_count++];
        *told = (struct bd_past){ (int)ago, row->time, row->object };
        told->object.id = track->object.id;
    }
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
