/* Two filters know nothing of each other: one has seen an object until it met another, the other
 * one since they parted. The distance between their states, after the white noise of acceleration
 * of the time between, says how likely it is that both saw the same object. */
#include "objects/meetings.h"

#include <math.h>

static const double least_gain = 1;  /* of a squared distance: 1.6 times as likely */
static const double most_unlike = 2; /* times the area: others are told apart by their sizes */
static const double group_doubt = 2; /* a box in a component of several */

static bool is_seen(const struct bd_track *track)
{
    return track->object.id && track->piece >= 0;
}

static struct bd_meeting *find(struct bd_tracker *tracker, int64_t a, int64_t b)
{
    for (int i = 0; i < tracker->meeting_count; i++)
        if (tracker->meetings[i].a == a && tracker->meetings[i].b == b)
            return &tracker->meetings[i];
    return NULL;
}

/* Whether their sizes do not tell two apart. */
static bool are_alike(const struct bd_track *a, const struct bd_track *b)
{
    const double unlike = bd_kalman_scale(&a->expected) / bd_kalman_scale(&b->expected);
    return unlike * unlike < most_unlike && unlike * unlike * most_unlike > 1;
}

/* Two objects that are seen, the first one of the lower serial number. */
static void note_pair(struct bd_tracker *tracker, struct bd_track *a, struct bd_track *b)
{
    struct bd_meeting *meeting = find(tracker, a->serial, b->serial);
    const bool together = a->piece == b->piece;
    if (meeting && together) {
        meeting->parted = INFINITY;
    } else if (meeting && meeting->parted == INFINITY) {
        meeting->parted = tracker->time;
        bd_kalman_start(&a->since_parted, &a->box, 0, 0);
        bd_kalman_start(&b->since_parted, &b->box, 0, 0);
    } else if (together && are_alike(a, b) && tracker->meeting_count < bd_most_meetings) {
        tracker->meetings[tracker->meeting_count++] =
            (struct bd_meeting){ a->serial, b->serial,   tracker->time,
                                 INFINITY,  a->expected, b->expected };
    }
}

static void note_pairs(struct bd_tracker *tracker)
{
    for (int t = 0; t < tracker->count; t++)
        for (int u = 0; u < tracker->count; u++) {
            struct bd_track *a = &tracker->tracks[t], *b = &tracker->tracks[u];
            if (a->serial < b->serial && is_seen(a) && is_seen(b))
                note_pair(tracker, a, b);
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

static void swap_lengths(double *a, double *b)
{
    const double kept = *a;
    *a = *b;
    *b = kept;
}

/* Each gets what is known of the other one's past. */
static void exchange(struct bd_track *a, struct bd_track *b)
{
    swap_numbers(&a->serial, &b->serial);
    swap_numbers(&a->origin, &b->origin);
    swap_numbers(&a->object.id, &b->object.id);
    swap_numbers(&a->object.parent, &b->object.parent);
    swap_lengths(&a->object.since, &b->object.since);
    swap_lengths(&a->seen_for, &b->seen_for);
    const bool own = a->own;
    a->own = b->own;
    b->own = own;
}

static void settle(const struct bd_tracker *tracker, const struct bd_meeting *meeting,
                   struct bd_track *a, struct bd_track *b)
{
    const double passed = tracker->time - meeting->met;
    const double kept = bd_kalman_distance(&meeting->before_a, &a->since_parted, passed) +
                        bd_kalman_distance(&meeting->before_b, &b->since_parted, passed);
    const double exchanged = bd_kalman_distance(&meeting->before_a, &b->since_parted, passed) +
                             bd_kalman_distance(&meeting->before_b, &a->since_parted, passed);
    if (kept - exchanged < least_gain)
        return;
    exchange(a, b);
    a->exchanged = b->exchanged = meeting->met;
}

void bd_meetings_settle(struct bd_tracker *tracker)
{
    int left = 0;
    follow(tracker);
    note_pairs(tracker);
    for (int t = 0; t < tracker->count; t++)
        tracker->tracks[t].exchanged = INFINITY;
    for (int i = 0; i < tracker->meeting_count; i++) {
        const struct bd_meeting *meeting = &tracker->meetings[i];
        struct bd_track *a = bd_track_find(tracker, meeting->a);
        struct bd_track *b = bd_track_find(tracker, meeting->b);
        if (!a || !b)
            continue;
        if (tracker->time < meeting->parted + bd_parting_delay)
            tracker->meetings[left++] = *meeting;
        else
            settle(tracker, meeting, a, b);
    }
    tracker->meeting_count = left;
}
