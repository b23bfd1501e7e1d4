#include "objects/backward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "objects/history.h"
#include "objects/state.h"
#include "objects/step.h"

static const double long_ago = 10;     /* seconds since which all tracks are known, backwards */
static const double least_inside = .3; /* of an object that is in the picture */
static const double alike = .7;        /* of a piece's box: then an object is all of it */

/* An object whose boxes at some times are made anew. */
struct subject {
    const struct bd_track *track; /* as it is now */
    const struct bd_track *mate;  /* what it parted from, which must be seen too; NULL: anything */
    double from, until;           /* times, the first included */
    bool whole;                   /* ends where the object is all of its piece */
    bool renamed; /* it had another number: its boxes are told also where it is alone */
};

struct look {
    struct bd_tracker *tracker, *back;
    int count;
    struct subject subjects[4 * bd_most_tracks];
};

enum bd_status bd_backward_create(struct bd_tracker **backward)
{
    *backward = calloc(1, sizeof **backward);
    return *backward ? BD_OK : bd_fail(BD_ERROR_MEMORY, "no memory for a tracker");
}

void bd_backward_destroy(struct bd_tracker **backward)
{
    free(*backward);
    *backward = NULL;
}

static void reverse_axis(struct bd_kalman_axis *axis)
{
    axis->v = -axis->v;
    axis->xv = -axis->xv;
}

/* The state of the present frame, with time reversed. */
static void turn(struct bd_tracker *back, const struct bd_tracker *tracker)
{
    back->options = tracker->options;
    back->components = tracker->components;
    back->assignment = tracker->assignment;
    back->started = true;
    back->time = -tracker->time;
    back->next = tracker->next;
    back->serial = tracker->serial;
    back->count = tracker->count;
    memcpy(back->tracks, tracker->tracks, (size_t)tracker->count * sizeof *tracker->tracks);
    for (int t = 0; t < back->count; t++) {
        struct bd_track *track = &back->tracks[t];
        reverse_axis(&track->kalman.centre_x);
        reverse_axis(&track->kalman.centre_y);
        track->object.vx = -track->object.vx;
        track->object.vy = -track->object.vy;
        track->object.since = -tracker->time - long_ago;
        track->own = true;
        track->origin = 0;
    }
}

static void add(struct look *look, struct subject subject)
{
    if (subject.from < subject.until)
        look->subjects[look->count++] = subject;
}

/* What this frame has shown of a track. */
static void find_subjects(struct look *look, const struct bd_track *track, int64_t first)
{
    const struct bd_tracker *tracker = look->tracker;
    const double parted = track->parted + bd_parting_delay;
    if (!track->object.id || track->piece < 0)
        return;
    const struct bd_track *origin =
        track->object.id >= first ? bd_track_find(look->tracker, track->origin) : NULL;
    if (origin && origin->object.id) {
        const double from = origin->object.since, until = track->object.since;
        add(look, (struct subject){ track, origin, from, until, false, false });
        add(look, (struct subject){ origin, track, from, until, false, false });
    }
    if (track->part_left < INFINITY)
        add(look,
            (struct subject){ track, NULL, track->object.since, track->part_left, true, false });
    if (track->exchanged < INFINITY)
        add(look, (struct subject){ track, NULL, track->exchanged, tracker->time, false, true });
    else if (tracker->time >= parted && tracker->time - tracker->step < parted) {
        const double from = track->joined;
        add(look, (struct subject){ track, NULL, from, track->parted, false, false });
    }
}

/* Whether two that have parted were one: they are in one piece, or one of them is in a piece that
 * the other held at that time. */
static bool were_one(const struct bd_track *a, const struct bd_track *b,
                     const struct bd_kept_mask *mask)
{
    return b && b->piece >= 0 &&
           (a->piece == b->piece || mask->holder[a->piece] == b->serial ||
            mask->holder[b->piece] == a->serial);
}

static bool inside(const struct bd_tracker *tracker, const struct bd_extent *box)
{
    const struct bd_extent picture = { 0, 0, tracker->options.width, tracker->options.height };
    return bd_extent_shared(&picture, box) > least_inside * bd_extent_area(box);
}

static double between(double from, double to, double share)
{
    return from + share * (to - from);
}

/* Forwards a box in a group is sure at first, backwards at last: it lies between the two. */
static void blend(struct bd_tracker *back, struct bd_track *track, const struct subject *subject,
                  const struct bd_kept_mask *mask, const struct bd_extent *found)
{
    const double share = (mask->time - subject->from) / (subject->until - subject->from);
    for (int i = 0; i < mask->box_count; i++) {
        const struct bd_extent *said = &mask->boxes[i].box;
        if (mask->boxes[i].serial != track->serial)
            continue;
        const struct bd_extent box = { between(said->left, found->left, share),
                                       between(said->top, found->top, share),
                                       between(said->right, found->right, share),
                                       between(said->bottom, found->bottom, share) };
        bd_track_place(back, track, &box);
    }
}

/* Tells the box of a subject in a mask of the past. False where nothing more is known of it. */
static bool tell(struct look *look, const struct subject *subject, const struct bd_kept_mask *mask,
                 int ago)
{
    struct bd_tracker *back = look->back;
    struct bd_track *track = bd_track_find(back, subject->track->serial);
    if (mask->time >= subject->until)
        return true;
    if (!track || track->piece < 0 || mask->time < subject->from)
        return false;
    const struct bd_extent box = bd_kalman_box(&track->kalman);
    const struct bd_extent *piece = &back->pieces[track->piece].box;
    const bool alone = back->members[track->piece] == 1;
    const bool all = alone && bd_extent_area(&box) > alike * bd_extent_area(piece);
    const struct bd_track *mate = subject->mate ? bd_track_find(back, subject->mate->serial) : NULL;
    if (!inside(back, &box) || (subject->whole && all))
        return false;
    if (subject->mate && !were_one(track, mate, mask))
        return false;
    if (subject->whole && mask->holder[track->piece] != track->serial)
        return false;
    if (alone && !subject->mate && !subject->whole && !subject->renamed)
        return true; /* the group has not begun yet, backwards */
    if (alone && !all)
        bd_track_place(back, track, &box);
    if (!subject->mate && !subject->whole)
        blend(back, track, subject, mask, alone && !all ? &box : &track->box);
    bd_past_tell(look->tracker, subject->track, track, mask->time, ago);
    return true;
}

void bd_backward_tell(struct bd_tracker *tracker, int64_t first)
{
    struct look look; /* large, so the subjects are not cleared for each frame */
    look.tracker = tracker;
    look.back = tracker->backward;
    look.count = 0;
    for (int t = 0; t < tracker->count; t++)
        find_subjects(&look, &tracker->tracks[t], first);
    if (look.count == 0)
        return;
    turn(look.back, tracker);
    for (int i = 0; i < look.count; i++)
        bd_track_find(look.back, look.subjects[i].track->serial)->subject = true;
    for (int ago = 1; look.count > 0 && ago <= bd_past_frames; ago++) {
        int kept = 0;
        const struct bd_kept_mask *mask =
            bd_history_load(tracker->history, ago, &look.back->components);
        if (!mask)
            return;
        bd_tracker_step(look.back, -mask->time);
        for (int i = 0; i < look.count; i++)
            if (tell(&look, &look.subjects[i], mask, ago))
                look.subjects[kept++] = look.subjects[i];
        look.count = kept;
    }
}
