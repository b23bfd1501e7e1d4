/* Two filters know nothing of each other: one has seen an object until it met another, the other
 * one since they parted. The distance between their states, after the white noise of acceleration
 * of the time between, says how likely it is that both saw the same object. */
#include "objects/meetings.h"

#include <math.h>
#include <string.h>

static const double least_gain = 1;  /* of a squared distance: 1.6 times as likely */
static const double most_unlike = 2; /* times the area: others are told apart by their sizes */
static const double group_doubt = 2; /* a box in a component of several */

static bool has_met(const struct bd_tracker *tracker, int64_t a, int64_t b)
{
    bool met = false;
    for (int i = 0; i < tracker->meeting_count && !met; i++)
        met = (tracker->meetings[i].a == a && tracker->meetings[i].b == b) ||
              (tracker->meetings[i].a == b && tracker->meetings[i].b == a);
    return met;
}

/* Whether their sizes do not tell two apart. */
static bool are_alike(const struct bd_track *a, const struct bd_track *b)
{
    const double unlike = bd_kalman_scale(&a->expected) / bd_kalman_scale(&b->expected);
    return unlike * unlike < most_unlike && unlike * unlike * most_unlike > 1;
}

/* Notes that two objects are in one piece. */
static void note_meeting(struct bd_tracker *tracker, const struct bd_track *a,
                         const struct bd_track *b)
{
    if (tracker->meeting_count == bd_most_meetings || !are_alike(a, b) ||
        has_met(tracker, a->serial, b->serial))
        return;
    tracker->meetings[tracker->meeting_count++] = (struct bd_meeting){ a->serial,     b->serial,
                                                                       tracker->time, INFINITY,
                                                                       a->expected,   b->expected };
}

static void note_meetings(struct bd_tracker *tracker)
{
    for (int t = 0; t < tracker->count; t++)
        for (int u = t + 1; u < tracker->count; u++) {
            const struct bd_track *a = &tracker->tracks[t], *b = &tracker->tracks[u];
            if (a->piece >= 0 && a->piece == b->piece && a->object.id && b->object.id)
                note_meeting(tracker, a, b);
        }
}

/* Notes whether two are in one piece still, or again. */
static void note_parting(const struct bd_tracker *tracker, struct bd_meeting *meeting,
                         struct bd_track *a, struct bd_track *b)
{
    if (a->piece < 0 || b->piece < 0)
        return;
    if (a->piece == b->piece) {
        meeting->parted = INFINITY;
    } else if (meeting->parted == INFINITY) {
        meeting->parted = tracker->time;
        bd_kalman_start(&a->since_parted, &a->box, 0, 0);
        bd_kalman_start(&b->since_parted, &b->box, 0, 0);
    }
}

/* Follows all as if nothing of them had been known before they parted. */
static void follow(struct bd_tracker *tracker)
{
    for (int t = 0; t < tracker->count; t++) {
        struct bd_track *track = &tracker->tracks[t];
        bd_kalman_predict(&track->since_parted, tracker->step);
        if (track->piece >= 0)
            bd_kalman_correct(&track->since_parted, &track->box,
                              track->object.group ? group_doubt : 1);
    }
}

static void swap_numbers(int64_t *a, int64_t *b)
{
    const int64_t kept = *a;
    *a = *b;
    *b = kept;
}

static void swap_times(double *a, double *b)
{
    const double kept = *a;
    *a = *b;
    *b = kept;
}

/* A serial number that was one of the two becomes the other one. */
static void rename_serial(int64_t *serial, int64_t a, int64_t b)
{
    *serial = *serial == a ? b : *serial == b ? a : *serial;
}

/* What came after the two had met was noted of the wrong one. */
static void rename_since(struct bd_tracker *tracker, const struct bd_meeting *of)
{
    for (int i = 0; i < tracker->meeting_count; i++) {
        struct bd_meeting *meeting = &tracker->meetings[i];
        if (meeting->met <= of->met)
            continue;
        rename_serial(&meeting->a, of->a, of->b);
        rename_serial(&meeting->b, of->a, of->b);
    }
    for (int t = 0; t < tracker->count; t++)
        if (tracker->tracks[t].object.since > of->met)
            rename_serial(&tracker->tracks[t].origin, of->a, of->b);
}

/* Each gets what is known of the other one's past. */
static void exchange(struct bd_track *a, struct bd_track *b)
{
    swap_numbers(&a->serial, &b->serial);
    swap_numbers(&a->origin, &b->origin);
    swap_numbers(&a->object.id, &b->object.id);
    swap_numbers(&a->object.parent, &b->object.parent);
    swap_times(&a->object.since, &b->object.since);
    swap_times(&a->seen_for, &b->seen_for);
    const bool own = a->own;
    a->own = b->own;
    b->own = own;
}

static void settle(struct bd_tracker *tracker, const struct bd_meeting *meeting, struct bd_track *a,
                   struct bd_track *b)
{
    const double passed = tracker->time - meeting->met;
    const double same = bd_kalman_distance(&meeting->before_a, &a->since_parted, passed) +
                        bd_kalman_distance(&meeting->before_b, &b->since_parted, passed);
    const double other = bd_kalman_distance(&meeting->before_a, &b->since_parted, passed) +
                         bd_kalman_distance(&meeting->before_b, &a->since_parted, passed);
    if (same - other < least_gain)
        return;
    exchange(a, b);
    rename_since(tracker, meeting);
    a->exchanged = fmin(a->exchanged, meeting->met);
    b->exchanged = fmin(b->exchanged, meeting->met);
}

void bd_meetings_settle(struct bd_tracker *tracker)
{
    follow(tracker);
    for (int t = 0; t < tracker->count; t++)
        tracker->tracks[t].exchanged = INFINITY;
    for (int i = 0; i < tracker->meeting_count;) {
        struct bd_meeting *meeting = &tracker->meetings[i];
        struct bd_track *a = bd_track_find(tracker, meeting->a);
        struct bd_track *b = bd_track_find(tracker, meeting->b);
        if (a && b)
            note_parting(tracker, meeting, a, b);
        if (a && b &&
            (tracker->time < meeting->parted + bd_parting_delay || a->piece < 0 || b->piece < 0)) {
            i++;
            continue;
        }
        const struct bd_meeting ended = *meeting;
        memmove(meeting, meeting + 1, (size_t)(--tracker->meeting_count - i) * sizeof *meeting);
        if (a && b)
            settle(tracker, &ended, a, b);
    }
    note_meetings(tracker);
}
