/* Tracks from one mask to the next: SORT (match.c), with groups for components of several objects
 * (groups.c) and fragments for objects of several components (fragments.c). All rules are in
 * seconds and in sizes of the object, so that they hold at any frame rate and resolution. */
#include <backdrop/tracker.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "objects/fragments.h"
#include "objects/groups.h"
#include "objects/match.h"
#include "objects/state.h"

static const double longest_step = 5;     /* seconds; a longer one between frames is a seek */
static const double flood = .8;           /* of the mask: a component that large is no object */
static const double seen_share = .7;      /* of its time that a candidate must be seen */
static const double border_patience = .2; /* seconds; of what leaves the picture */
static const double far_scales = .75;     /* from its parent: a fragment that is an object */
static const double odd_growth = 2;       /* a box that changed so much is believed less */
static const double odd_doubt = 3;
static const double pieces_doubt = 1.5; /* a box around fragments, too */
static const double hidden_confidence = .5, group_confidence = .8;
enum { default_share = 2000, fragment_share = 10, most_side = 32768 };

static enum bd_status check_options(const struct bd_tracker_options *o)
{
    if (o->width < 1 || o->height < 1 || o->width > most_side || o->height > most_side)
        return bd_fail(BD_ERROR_ARGUMENT, "masks of %d x %d: must be 1 x 1 to %d x %d", o->width,
                       o->height, most_side, most_side);
    if (o->min_area < 0)
        return bd_fail(BD_ERROR_ARGUMENT, "min_area = %d: must not be negative", o->min_area);
    if (!(o->confirm >= 0 && isfinite(o->confirm)))
        return bd_fail(BD_ERROR_ARGUMENT, "confirm = %g seconds: must not be negative", o->confirm);
    if (!(o->patience >= 0 && isfinite(o->patience)))
        return bd_fail(BD_ERROR_ARGUMENT, "patience = %g seconds: must not be negative",
                       o->patience);
    return BD_OK;
}

static void set_defaults(struct bd_tracker_options *o)
{
    if (o->min_area == 0)
        o->min_area = (int)((int64_t)o->width * o->height / default_share);
    if (o->min_area == 0)
        o->min_area = 1;
    if (o->confirm == 0)
        o->confirm = .2;
    if (o->patience == 0)
        o->patience = 1;
}

enum bd_status bd_tracker_create(struct bd_tracker **out, const struct bd_tracker_options *options)
{
    if (!out)
        return bd_fail(BD_ERROR_ARGUMENT, "tracker is NULL");
    *out = NULL;
    if (!options)
        return bd_fail(BD_ERROR_ARGUMENT, "options is NULL");
    enum bd_status status = check_options(options);
    if (status != BD_OK)
        return status;
    struct bd_tracker *tracker = calloc(1, sizeof *tracker);
    if (!tracker)
        return bd_fail(BD_ERROR_MEMORY, "no memory for a tracker");
    tracker->options = *options;
    tracker->next = 1;
    set_defaults(&tracker->options);
    status = bd_components_create(&tracker->components, options->width, options->height);
    if (status != BD_OK)
        bd_tracker_destroy(&tracker);
    *out = tracker;
    return status;
}

void bd_tracker_destroy(struct bd_tracker **inout)
{
    if (!inout || !*inout)
        return;
    bd_components_destroy(&(*inout)->components);
    free(*inout);
    *inout = NULL;
}

void bd_tracker_reset(struct bd_tracker *tracker)
{
    if (!tracker)
        return;
    tracker->count = 0;
    tracker->started = false;
}

static void begin_frame(struct bd_tracker *tracker, double time)
{
    if (tracker->started && (time < tracker->time || time > tracker->time + longest_step))
        bd_tracker_reset(tracker);
    tracker->step = tracker->started ? time - tracker->time : 0;
    tracker->time = time;
    tracker->started = true;
    for (int t = 0; t < tracker->count; t++) {
        struct bd_track *track = &tracker->tracks[t];
        bd_kalman_predict(&track->kalman, tracker->step);
        track->predicted = bd_kalman_box(&track->kalman);
        track->last = track->box;
        track->box = track->predicted;
        track->piece = -1;
        track->pieces = 0;
    }
}

/* The pieces of the mask. One that covers nearly all of it is a change of light: then there is
 * nothing to be seen. */
static void take_pieces(struct bd_tracker *tracker, const uint8_t *mask, int64_t stride)
{
    const struct bd_tracker_options *o = &tracker->options;
    bd_components_find(&tracker->components, mask, stride, 255, 0, true);
    tracker->piece_count =
        bd_pieces_take(tracker->pieces, &tracker->components, 1 + o->min_area / fragment_share);
    if (tracker->piece_count && (double)tracker->pieces[0].area > flood * o->width * o->height)
        tracker->piece_count = 0;
    for (int i = 0; i < tracker->piece_count; i++) {
        tracker->holder[i] = -1;
        tracker->members[i] = 0;
    }
}

/* The box of a track that has its pieces for itself. */
static void see_alone(struct bd_track *track)
{
    const double growth = bd_extent_area(&track->box) / bd_extent_area(&track->predicted);
    double doubt = track->pieces > 1 ? pieces_doubt : 1;
    if (growth > odd_growth || growth * odd_growth < 1)
        doubt = odd_doubt;
    track->needless = 0;
    bd_kalman_correct(&track->kalman, &track->box, doubt);
}

static const struct bd_track *find_object(const struct bd_tracker *tracker, int64_t id)
{
    for (int t = 0; t < tracker->count; t++)
        if (tracker->tracks[t].object.id == id)
            return &tracker->tracks[t];
    return NULL;
}

static void look_how_far(const struct bd_tracker *tracker, struct bd_track *track)
{
    if (track->far || !track->object.parent)
        return;
    const struct bd_track *parent = find_object(tracker, track->object.parent);
    track->far = !parent || fmax(bd_extent_gap_x(&track->box, &parent->box),
                                 bd_extent_gap_y(&track->box, &parent->box)) >
                                far_scales * bd_kalman_scale(&track->kalman);
}

static void see(struct bd_tracker *tracker)
{
    for (int i = 0; i < tracker->piece_count; i++) {
        const int t = tracker->holder[i];
        if (t < 0 || tracker->tracks[t].piece != i)
            continue;
        if (tracker->members[i] > 1)
            bd_groups_fit(tracker, i);
        else
            see_alone(&tracker->tracks[t]);
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

/* Counts the time for which a track was seen; decides whether it becomes an object, or ends. */
static void judge(struct bd_tracker *tracker, struct bd_track *track)
{
    const double age = tracker->time - track->object.since;
    if (track->piece >= 0) {
        if (track->unseen > 0)
            track->certainty *= 1 - .5 * fmin(1, track->unseen / tracker->options.patience);
        track->unseen = 0;
        track->seen_for += tracker->step;
        look_how_far(tracker, track);
    } else {
        track->unseen += tracker->step;
        track->missed += tracker->step;
    }
    if (!track->object.id) {
        const double most = (1 - seen_share) * fmax(age, track->needs);
        if (track->missed > most)
            track->gone = true;
        else if (track->piece >= 0 && age > 0 && age >= track->needs)
            track->object.id = tracker->next++;
        return;
    }
    double patience = tracker->options.patience;
    if (leaves(tracker, track))
        patience = fmin(patience, border_patience);
    if (track->piece < 0 && (track->unseen > patience || outside(tracker, track)))
        track->gone = true;
}

static int within(double x, int least, int most)
{
    return x < least ? least : x > most ? most : (int)lrint(x);
}

/* Fills in the object of a track; `group` is the number of its group. */
static void describe(const struct bd_tracker *tracker, struct bd_track *track, int group)
{
    const struct bd_tracker_options *o = &tracker->options;
    struct bd_object *object = &track->object;
    object->x = within(track->box.left, 0, o->width - 1);
    object->y = within(track->box.top, 0, o->height - 1);
    object->width = within(track->box.right, object->x + 1, o->width) - object->x;
    object->height = within(track->box.bottom, object->y + 1, o->height) - object->y;
    object->vx = track->kalman.centre_x.v;
    object->vy = track->kalman.centre_y.v;
    object->group = group;
    object->seen = track->piece >= 0;
    object->confidence = track->certainty;
    if (object->seen)
        object->area = track->area;
    if (group)
        object->confidence *= group_confidence;
    if (!object->seen)
        object->confidence *= hidden_confidence * (1 - fmin(1, track->unseen / o->patience));
}

/* Lists the objects by their numbers, and numbers the groups. */
static int report(struct bd_tracker *tracker)
{
    int count = 0, groups = 0;
    int group_of[bd_most_pieces] = { 0 };
    for (int t = 0; t < tracker->count; t++) {
        struct bd_track *track = &tracker->tracks[t];
        const int piece = track->piece;
        if (piece >= 0 && tracker->members[piece] > 1 && !group_of[piece])
            group_of[piece] = ++groups;
        describe(tracker, track, piece >= 0 ? group_of[piece] : 0);
        if (!track->object.id)
            continue;
        int place = count++;
        for (; place > 0 && tracker->reported[place - 1].id > track->object.id; place--)
            tracker->reported[place] = tracker->reported[place - 1];
        tracker->reported[place] = track->object;
    }
    return count;
}

static void forget_gone(struct bd_tracker *tracker)
{
    int kept = 0;
    for (int t = 0; t < tracker->count; t++) {
        const struct bd_track *track = &tracker->tracks[t];
        if (!track->gone)
            tracker->tracks[kept++] = *track;
        else if (track->piece >= 0)
            tracker->members[track->piece]--;
    }
    tracker->count = kept;
}

static enum bd_status check_frame(const struct bd_tracker *tracker, const uint8_t *mask,
                                  int64_t stride, double time)
{
    if (!tracker || !mask)
        return bd_fail(BD_ERROR_ARGUMENT, "%s is NULL", tracker ? "mask" : "tracker");
    if (stride < tracker->options.width)
        return bd_fail(BD_ERROR_ARGUMENT, "stride = %lld: rows have %d bytes", (long long)stride,
                       tracker->options.width);
    if (!isfinite(time))
        return bd_fail(BD_ERROR_ARGUMENT, "time = %g: must be finite", time);
    return BD_OK;
}

enum bd_status bd_tracker_add(struct bd_tracker *tracker, const uint8_t *mask, int64_t stride,
                              double time, const struct bd_object **objects, int *count)
{
    if (objects)
        *objects = NULL;
    if (count)
        *count = 0;
    if (!objects || !count)
        return bd_fail(BD_ERROR_ARGUMENT, "%s is NULL", objects ? "count" : "objects");
    const enum bd_status status = check_frame(tracker, mask, stride, time);
    if (status != BD_OK)
        return status;
    begin_frame(tracker, time);
    take_pieces(tracker, mask, stride);
    bd_match(tracker);
    bd_groups_join(tracker);
    bd_groups_doubt(tracker);
    bd_fragments_share(tracker);
    see(tracker);
    for (int t = 0; t < tracker->count; t++)
        judge(tracker, &tracker->tracks[t]);
    forget_gone(tracker);
    *count = report(tracker);
    *objects = tracker->reported;
    return BD_OK;
}
