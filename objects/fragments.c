/* A mask often has holes through an object: a belt of the wall's colour leaves a head and legs.
 * Pieces that are close together are one object. A piece that is farther away, or one of two
 * upright bodies side by side, is a candidate: it is an object when it stays so for long enough. */
#include "objects/fragments.h"

#include <math.h>

static const double near_share = .12;  /* of the object's width or height: a close gap */
static const double back_share = .1;   /* the same for a candidate to be a fragment again */
static const double inside_share = .8; /* of a piece that lies where the object should be: then */
static const double inside_gap = 2;    /* times larger gaps are close */
static const double young = 1;         /* seconds */
static const double young_gap = .25;   /* times the gaps that are close */
static const double origin_share = .5; /* of a piece that lies in a track: it came out of it */
static const double scattered_share = .1; /* of an object's area: so many pixels are still it */
static const double bodies_seconds = .6;  /* until two bodies side by side are two objects */
static const double body_share = .35;     /* areas, and */
static const double body_height = .7;     /* heights of the smaller against the larger */
static const double slender = 1.1;        /* height by width: a person, not a vehicle */
static const double lane_apart = .35;     /* heights between the middles of vehicles in two lanes */
static const double body_apart = .6;      /* of half the sum of their widths, between centres */

/* How far a box is from a track: up to 1 it is close, when gaps of `share` of its size are. Where
 * a middle part is missing, the pieces lie where the object should be; then gaps may be larger.
 * What is young may be several objects that came as one component, so gaps must be smaller. */
static double distance(const struct bd_tracker *tracker, const struct bd_track *track,
                       const struct bd_extent *box, double share)
{
    if (tracker->time - track->object.since < young)
        share *= young_gap;
    else if (bd_extent_shared(&track->predicted, box) > inside_share * bd_extent_area(box))
        share *= inside_gap;
    const double x = bd_extent_gap_x(&track->box, box) / (share * track->kalman.width);
    const double y = bd_extent_gap_y(&track->box, box) / (share * track->kalman.height);
    return fmax(x, y);
}

/* People stand beside each other on the same ground; vehicles drive in lanes, one ahead. Halves of
 * one vehicle behind a pole are at the same height, and halves of a person one above the other. */
static bool stand_apart(const struct bd_extent *a, const struct bd_extent *b)
{
    const double width_a = bd_extent_width(a), width_b = bd_extent_width(b);
    const double height_a = bd_extent_height(a), height_b = bd_extent_height(b);
    const double most = fmax(height_a, height_b), least = fmin(height_a, height_b);
    if (height_a > slender * width_a && height_b > slender * width_b)
        return least > body_height * most && -bd_extent_gap_y(a, b) > body_height * least;
    return height_a < slender * width_a && height_b < slender * width_b &&
           fabs(a->top + a->bottom - b->top - b->bottom) / 2 > lane_apart * most;
}

static bool two_bodies(const struct bd_extent *a, double area_a, const struct bd_extent *b,
                       double area_b)
{
    const double apart = fabs(a->left + a->right - b->left - b->right) / 2;
    return fmin(area_a, area_b) > body_share * fmax(area_a, area_b) &&
           apart > body_apart * (bd_extent_width(a) + bd_extent_width(b)) / 2 && stand_apart(a, b);
}

/* The track, other than `self` (may be NULL), of which a box is a fragment; *bodies: it would be,
 * but for being a body of its own. -1: none. */
static int owner_of(const struct bd_tracker *tracker, const struct bd_track *self,
                    const struct bd_extent *box, int64_t area, double share, bool *bodies)
{
    double least = 1;
    int owner = -1;
    *bodies = false;
    for (int t = 0; t < tracker->count; t++) {
        const struct bd_track *track = &tracker->tracks[t];
        if (track == self || track->piece < 0 || tracker->holder[track->piece] != t ||
            track->area < area)
            continue;
        const double away = distance(tracker, track, box, share);
        if (away > least)
            continue;
        if (two_bodies(&track->box, (double)track->area, box, (double)area)) {
            *bodies = true;
            continue;
        }
        least = away;
        owner = t;
    }
    return owner;
}

/* What is left of a track that has fallen into pieces, none of which is like it. */
static void gather_scattered(struct bd_tracker *tracker, int t)
{
    const struct bd_track *track = &tracker->tracks[t];
    int mine[bd_most_pieces], count = 0;
    int64_t area = 0;
    for (int i = 0; i < tracker->piece_count; i++) {
        const struct bd_piece *piece = &tracker->pieces[i];
        const double shared = bd_extent_shared(&track->predicted, &piece->box);
        if (tracker->holder[i] >= 0 || shared < origin_share * bd_extent_area(&piece->box))
            continue;
        mine[count++] = i;
        area += piece->area;
    }
    if ((double)area < scattered_share * (double)track->area)
        return;
    for (int i = 0; i < count; i++)
        bd_track_hold(tracker, t, mine[i]);
}

/* A candidate that is close to an object is a fragment of it; its piece is free again. */
static void forget_fragments(struct bd_tracker *tracker)
{
    for (int t = 0; t < tracker->count; t++) {
        struct bd_track *track = &tracker->tracks[t];
        bool bodies = false;
        if (track->object.id || track->piece < 0 ||
            owner_of(tracker, track, &track->box, track->area, back_share, &bodies) < 0)
            continue;
        track->gone = true;
        tracker->members[track->piece]--;
        tracker->holder[track->piece] = -1;
        track->piece = -1;
    }
}

/* The track that a new piece came out of, or NULL. */
static const struct bd_track *origin_of(const struct bd_tracker *tracker,
                                        const struct bd_extent *box)
{
    double most = origin_share * bd_extent_area(box);
    const struct bd_track *origin = NULL;
    for (int t = 0; t < tracker->count; t++) {
        const struct bd_track *track = &tracker->tracks[t];
        const double shared =
            fmax(bd_extent_shared(&track->predicted, box), bd_extent_shared(&track->last, box));
        if (track->unseen > 0 || shared < most)
            continue;
        most = shared;
        origin = track;
    }
    return origin;
}

static void begin(struct bd_tracker *tracker, int piece, bool bodies)
{
    const struct bd_piece *seen = &tracker->pieces[piece];
    if (seen->area < tracker->options.min_area || tracker->count == bd_most_tracks)
        return;
    const struct bd_track *origin = origin_of(tracker, &seen->box);
    struct bd_track *track = &tracker->tracks[tracker->count];
    *track = (struct bd_track){ .piece = -1,
                                .certainty = 1,
                                .predicted = seen->box,
                                .serial = ++tracker->serial,
                                .origin = origin ? origin->serial : 0,
                                .parted = INFINITY };
    track->object.since = tracker->time;
    track->needs = tracker->options.confirm;
    track->own = bodies || (origin && !origin->object.id);
    if (bodies)
        track->needs = fmax(track->needs, bodies_seconds);
    bd_kalman_start(&track->kalman, &seen->box, origin ? origin->object.vx : 0,
                    origin ? origin->object.vy : 0);
    bd_track_hold(tracker, tracker->count++, piece);
}

void bd_fragments_share(struct bd_tracker *tracker)
{
    for (int t = 0; t < tracker->count; t++)
        if (tracker->tracks[t].piece < 0 && !tracker->tracks[t].gone)
            gather_scattered(tracker, t);
    forget_fragments(tracker);
    for (int i = 0; i < tracker->piece_count; i++) {
        const struct bd_piece *piece = &tracker->pieces[i];
        bool bodies = false;
        if (tracker->holder[i] >= 0)
            continue;
        const int owner = owner_of(tracker, NULL, &piece->box, piece->area, near_share, &bodies);
        if (owner >= 0)
            bd_track_hold(tracker, owner, i);
        else
            begin(tracker, i, bodies);
    }
}
