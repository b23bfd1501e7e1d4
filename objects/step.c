/* Tracks from one mask to the next: SORT (match.c), with groups for components of several objects
 * (groups.c) and fragments for objects of several components (fragments.c). All rules are in
 * seconds and in sizes of the object, so that they hold at any frame rate and resolution. */
#include "objects/step.h"

#include <math.h>

#include "objects/fragments.h"
#include "objects/groups.h"
#include "objects/match.h"
#include "objects/meetings.h"
#include "objects/state.h"

static const double flood = .8;           /* of the mask: a component that large is no object */
static const double seen_share = .7;      /* of its time that a candidate must be seen */
static const double expected_share = .25; /* of a box, which is where it was expected */
static const double border_patience = .2; /* seconds; of what leaves the picture */
static const double border_slack = 3;     /* deviations of an edge */
static const double far_scales = .75;     /* from its origin: a fragment that is an object */
static const double odd_growth = 2;       /* a box that changed so much is believed less */
static const double odd_doubt = 3;
static const double settling = 1;       /* seconds */
static const double fastest_growth = 1; /* of a settled object: by so much of its size a second */
static const double fastest_shrinking = .4; /* the same; and less, as poles and holes hide parts */
static const double pieces_doubt = 1.5;     /* a box around fragments, too */
static const double hidden_confidence = .5, group_confidence = .8;
static const double instant = 1e-6; /* seconds that do not matter: times are rounded */
enum { least_frames = 3 };          /* in which an object must be seen */
enum { fragment_share = 10 };       /* a piece may be so much smaller than an object */

/* The part of a box in the picture, or at least a pixel at its border. */
static struct bd_extent inside_picture(const struct bd_tracker *tracker, struct bd_extent box)
{
    const double width = tracker->options.width, height = tracker->options.height;
    box.left = fmin(fmax(box.left, 0), width - 1);
    box.top = fmin(fmax(box.top, 0), height - 1);
    box.right = fmax(fmin(box.right, width), box.left + 1);
    box.bottom = fmax(fmin(box.bottom, height), box.top + 1);
    return box;
}

static void begin_frame(struct bd_tracker *tracker, double time)
{
    tracker->step = tracker->started ? time - tracker->time : 0;
    tracker->time = time;
    tracker->frame++;
    tracker->started = true;
    for (int t = 0; t < tracker->count; t++) {
        struct bd_track *track = &tracker->tracks[t];
        bd_kalman_predict(&track->kalman, tracker->step);
        track->expected = track->kalman;
        track->predicted = inside_picture(tracker, bd_kalman_box(&track->kalman));
        track->last = track->box;
        track->box = bd_kalman_box(&track->kalman);
        track->piece = -1;
        track->pieces = 0;
    }
}

/* The pieces of the mask. One that covers nearly all of it is a change of light: then there is
 * nothing to be seen. */
static void take_pieces(struct bd_tracker *tracker)
{
    const struct bd_tracker_options *o = &tracker->options;
    tracker->piece_count =
        bd_pieces_take(tracker->pieces, &tracker->components, 1 + o->min_area / fragment_share);
    if (tracker->piece_count && (double)tracker->pieces[0].area > flood * o->width * o->height)
        tracker->piece_count = 0;
    for (int i = 0; i < tracker->piece_count; i++) {
        tracker->holder[i] = -1;
        tracker->members[i] = 0;
    }
}

/* One axis of a box as it was seen, from *low to *high, becomes what is likely of an object of that
 * size which was predicted at `centre`. Where a part is hidden, as by a pole or by a hole of the
 * mask, one of its edges is wrong, and the one that is closer to its prediction counts more. */
static void mend_axis(const struct bd_tracker *tracker, const struct bd_track *track, double *low,
                      double *high, double centre, double size)
{
    const double change = fastest_growth * tracker->step * size, seen = *high - *low;
    const double less = fastest_shrinking * tracker->step * size;
    const double most = track->pieces > 1 ? size : size + change;
    const double length = fmin(fmax(seen, size - less), most);
    const double noise = bd_kalman_noise(&track->kalman);
    const double low_error = (*low - (centre - size / 2)) / noise;
    const double high_error = (*high - (centre + size / 2)) / noise;
    const double low_weight = 1 / (1 + pow(low_error, 4));
    const double high_weight = 1 / (1 + pow(high_error, 4));
    const double middle = (low_weight * (*low + length / 2) + high_weight * (*high - length / 2)) /
                          (low_weight + high_weight);
    *low = middle - length / 2;
    *high = middle + length / 2;
}

/* The same at the border of the picture, from 0 to `end`: what leaves keeps its size, and its inner
 * edge says where it is. What comes grows. False where the axis of the box is not at the border, or
 * where the object was predicted farther than `slack` from it: then a stranger is. */
static bool mend_border(double *low, double *high, double end, double centre, double size,
                        double slack)
{
    const bool first = *low <= 0 && centre - size / 2 < slack;
    const bool last = *high >= end && centre + size / 2 > end - slack;
    if (first && !last)
        *low = fmin(*low, *high - size);
    if (last && !first)
        *high = fmax(*high, *low + size);
    return first || last;
}

/* A track has its pieces for itself. When a stranger touches it, or it falls into pieces, its box
 * changes, but its size does not: by that it is known again later. */
static void see_alone(struct bd_tracker *tracker, int t)
{
    struct bd_track *track = &tracker->tracks[t];
    struct bd_kalman *k = &track->kalman;
    struct bd_extent box = track->box;
    const bool settled = tracker->time - track->object.since > settling;
    const double growth = bd_extent_area(&box) / bd_extent_area(&track->predicted);
    double doubt = track->pieces > 1 ? pieces_doubt : 1;
    if (growth > odd_growth || growth * odd_growth < 1)
        doubt = odd_doubt;
    const double slack = settled ? border_slack * bd_kalman_noise(k) : INFINITY;
    const struct bd_tracker_options *o = &tracker->options;
    if (!mend_border(&box.left, &box.right, o->width, k->centre_x.x, k->width, slack) && settled)
        mend_axis(tracker, track, &box.left, &box.right, k->centre_x.x, k->width);
    if (!mend_border(&box.top, &box.bottom, o->height, k->centre_y.x, k->height, slack) && settled)
        mend_axis(tracker, track, &box.top, &box.bottom, k->centre_y.x, k->height);
    track->needless = 0;
    bd_kalman_correct(k, &box, doubt);
    if (track->pieces == 1)
        bd_shape_learn(tracker, t);
}

static void look_how_far(struct bd_tracker *tracker, struct bd_track *track)
{
    if (track->own || !track->origin)
        return;
    const struct bd_track *origin = bd_track_find(tracker, track->origin);
    track->own = !origin || fmax(bd_extent_gap_x(&track->box, &origin->box),
                                 bd_extent_gap_y(&track->box, &origin->box)) >
                                far_scales * bd_kalman_scale(&track->kalman);
}

/* Whether the places of the tracks in a piece are worth their time. Backwards, those of subjects
 * are. */
static bool matters(const struct bd_tracker *tracker, int piece)
{
    bool any = tracker->history != NULL;
    for (int t = 0; t < tracker->count && !any; t++)
        any = tracker->tracks[t].piece == piece && tracker->tracks[t].subject;
    return any;
}

static void see(struct bd_tracker *tracker)
{
    for (int i = 0; i < tracker->piece_count; i++) {
        const int t = tracker->holder[i];
        if (t < 0 || tracker->tracks[t].piece != i)
            continue;
        if (tracker->members[i] > 1 && matters(tracker, i))
            bd_groups_fit(tracker, i);
        else if (tracker->members[i] == 1)
            see_alone(tracker, t);
    }
}

/* Whether what is not seen has left the picture, or is about to. */
static bool leaves(const struct bd_tracker *tracker, const struct bd_track *track)
{
    const struct bd_extent *box = &track->box;
    return (box->left <= 0 && track->kalman.centre_x.v < 0) ||
           (box->top <= 0 && track->kalman.centre_y.v < 0) ||
           (box->right >= tracker->options.width && track->kalman.centre_x.v > 0) ||
           (box->bottom >= tracker->options.height && track->kalman.centre_y.v > 0);
}

static bool outside(const struct bd_tracker *tracker, const struct bd_track *track)
{
    const struct bd_extent picture = { 0, 0, tracker->options.width, tracker->options.height };
    return bd_extent_shared(&picture, &track->box) <= 0;
}

/* A candidate that has been seen twice has a speed: what is not where it should be then is another
 * component of noise. */
static bool expected(const struct bd_track *track)
{
    const double least = fmin(bd_extent_area(&track->predicted), bd_extent_area(&track->box));
    return track->object.id || track->frames < 2 ||
           bd_extent_shared(&track->predicted, &track->box) > expected_share * least;
}

static void count_time(struct bd_tracker *tracker, struct bd_track *track)
{
    if (track->piece < 0 || !expected(track))
        track->missed += tracker->step;
    else
        track->frames++;
    if (track->piece < 0) {
        track->unseen += tracker->step;
        return;
    }
    if (track->unseen > 0)
        track->certainty *= 1 - .5 * fmin(1, track->unseen / tracker->options.patience);
    track->unseen = 0;
    track->seen_for += tracker->step;
    look_how_far(tracker, track);
}

/* A candidate has proved to be an object, or has left. What it came out of was smaller than it was
 * thought to be, and an object is as it is now. */
static void part(struct bd_tracker *tracker, const struct bd_track *child)
{
    struct bd_track *track = bd_track_find(tracker, child->origin);
    if (!track || track->piece < 0 || tracker->members[track->piece] > 1 || track->pieces > 1)
        return;
    track->part_left = fmin(track->part_left, child->object.since);
    if (child->gone)
        return;
    const double vx = track->kalman.centre_x.v, vy = track->kalman.centre_y.v;
    bd_kalman_start(&track->kalman, &track->box, vx, vy);
    track->shape.known = false;
    bd_shape_learn(tracker, (int)(track - tracker->tracks));
}

/* A candidate that was seen in most frames becomes an object. */
static void judge_candidate(struct bd_tracker *tracker, struct bd_track *track)
{
    const double age = tracker->time - track->object.since;
    if (track->missed > (1 - seen_share) * fmax(age, track->needs) + instant)
        track->gone = true;
    else if (track->piece >= 0 && track->frames >= least_frames && age > track->needs - instant)
        track->object.id = tracker->next++;
    else
        return;
    part(tracker, track);
}

static void judge_object(struct bd_tracker *tracker, struct bd_track *track)
{
    double patience = tracker->options.patience;
    if (leaves(tracker, track))
        patience = fmin(patience, border_patience);
    if (track->piece < 0 && (track->unseen > patience + instant || outside(tracker, track)))
        track->gone = true;
}

/* Decides which candidates become objects, and which tracks end. */
static void judge(struct bd_tracker *tracker)
{
    for (int t = 0; t < tracker->count; t++)
        tracker->tracks[t].part_left = INFINITY;
    for (int t = 0; t < tracker->count; t++) {
        struct bd_track *track = &tracker->tracks[t];
        count_time(tracker, track);
        if (track->object.id)
            judge_object(tracker, track);
        else
            judge_candidate(tracker, track);
    }
}

static int within(double x, int least, int most)
{
    return x < least ? least : x > most ? most : (int)lrint(x);
}

void bd_track_place(const struct bd_tracker *tracker, struct bd_track *track,
                    const struct bd_extent *box)
{
    const struct bd_tracker_options *o = &tracker->options;
    struct bd_object *object = &track->object;
    object->x = within(box->left, 0, o->width - 1);
    object->y = within(box->top, 0, o->height - 1);
    object->width = within(box->right, object->x + 1, o->width) - object->x;
    object->height = within(box->bottom, object->y + 1, o->height) - object->y;
}

/* Notes when a track comes into a group and when it is alone again; `group` as for describe. */
static void note_group(struct bd_tracker *tracker, struct bd_track *track, int group)
{
    const bool was = track->object.group > 0;
    if (group && !was)
        track->joined = tracker->time;
    if (group)
        track->parted = INFINITY;
    else if (was && track->piece >= 0)
        track->parted = tracker->time;
}

/* Fills in the object of a track; `group` is the number of its group. */
static void describe(struct bd_tracker *tracker, struct bd_track *track, int group)
{
    struct bd_object *object = &track->object;
    bd_track_place(tracker, track, &track->box);
    object->vx = track->kalman.centre_x.v;
    object->vy = track->kalman.centre_y.v;
    object->group = group;
    if (!object->parent && track->origin) {
        const struct bd_track *origin = bd_track_find(tracker, track->origin);
        object->parent = origin ? origin->object.id : 0;
    }
    object->seen = track->piece >= 0;
    object->confidence = track->certainty;
    object->area = object->seen ? track->area : 0;
    if (group)
        object->confidence *= group_confidence;
    if (!object->seen)
        object->confidence *=
            hidden_confidence * (1 - fmin(1, track->unseen / tracker->options.patience));
}

/* Lists the objects by their numbers, and numbers the groups. */
static void report(struct bd_tracker *tracker)
{
    int count = 0, groups = 0;
    int group_of[bd_most_pieces] = { 0 };
    for (int t = 0; t < tracker->count; t++) {
        struct bd_track *track = &tracker->tracks[t];
        const int piece = track->piece;
        if (piece >= 0 && tracker->members[piece] > 1 && !group_of[piece])
            group_of[piece] = ++groups;
        note_group(tracker, track, piece >= 0 ? group_of[piece] : 0);
        describe(tracker, track, piece >= 0 ? group_of[piece] : 0);
        if (!track->object.id)
            continue;
        int place = count++;
        for (; place > 0 && tracker->reported[place - 1].id > track->object.id; place--)
            tracker->reported[place] = tracker->reported[place - 1];
        tracker->reported[place] = track->object;
    }
    tracker->reported_count = count;
}

static void forget_gone(struct bd_tracker *tracker)
{
    int kept = 0, place[bd_most_tracks];
    for (int t = 0; t < tracker->count; t++) {
        const struct bd_track *track = &tracker->tracks[t];
        place[t] = track->gone ? -1 : kept;
        if (!track->gone)
            tracker->tracks[kept++] = *track;
        else if (track->piece >= 0)
            tracker->members[track->piece]--;
    }
    for (int i = 0; i < tracker->piece_count; i++)
        if (tracker->holder[i] >= 0)
            tracker->holder[i] = place[tracker->holder[i]];
    tracker->count = kept;
}

void bd_tracker_step(struct bd_tracker *tracker, double time)
{
    begin_frame(tracker, time);
    take_pieces(tracker);
    bd_match(tracker);
    bd_groups_join(tracker);
    bd_groups_doubt(tracker);
    bd_fragments_share(tracker);
    see(tracker);
    judge(tracker);
    forget_gone(tracker);
    if (tracker->history)
        bd_meetings_settle(tracker);
    report(tracker);
}
