#include <backdrop/tracker.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "objects/backward.h"
#include "objects/history.h"
#include "objects/state.h"
#include "objects/step.h"

static const double longest_step = 5; /* seconds; a longer one between frames is a seek */
enum { default_share = 2000, most_side = 32768 };

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
    if (status == BD_OK)
        status = bd_history_create(&tracker->history);
    if (status == BD_OK)
        status = bd_backward_create(&tracker->backward);
    if (status == BD_OK)
        status = bd_assignment_create(&tracker->assignment, bd_most_tracks);
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
    bd_history_destroy(&(*inout)->history);
    bd_backward_destroy(&(*inout)->backward);
    bd_assignment_destroy(&(*inout)->assignment);
    free(*inout);
    *inout = NULL;
}

void bd_tracker_reset(struct bd_tracker *tracker)
{
    if (!tracker)
        return;
    tracker->count = 0;
    tracker->meeting_count = 0;
    tracker->past.told_count = 0;
    tracker->started = false;
    bd_history_forget(tracker->history);
}

static enum bd_status check_frame(const struct bd_tracker *tracker, const uint8_t *mask,
                                  int64_t stride, double time)
{
    if (!tracker || !mask)
        return bd_fail(BD_ERROR_ARGUMENT, "%s is NULL", tracker ? "mask" : "tracker");
    if (stride < tracker->options.width || stride > INT64_MAX / tracker->options.height)
        return bd_fail(BD_ERROR_ARGUMENT, "stride = %lld: must be at least the %d bytes of a row",
                       (long long)stride, tracker->options.width);
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
    const int64_t first = tracker->next;
    if (tracker->started && (time < tracker->time || time > tracker->time + longest_step))
        bd_tracker_reset(tracker);
    bd_components_find(&tracker->components, mask, stride, 255, 0, true);
    bd_tracker_step(tracker, time);
    bd_history_keep(tracker->history, tracker);
    bd_past_keep(tracker, first);
    bd_backward_tell(tracker, first);
    *count = tracker->reported_count;
    *objects = tracker->reported;
    return BD_OK;
}
