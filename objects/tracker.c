#include <backdrop/tracker.h>

#include <stdlib.h>
#include <string.h>

#include <backdrop/components.h>

enum { most_objects = 256 };

struct bd_tracker {
    struct bd_tracker_options options;
    struct bd_components components;
    struct track {
        struct bd_object object;
        double last;
    } tracks[most_objects];
    int count;
    struct bd_object confirmed[most_objects];
    int64_t next;
    double time;
};

enum bd_status bd_tracker_create(struct bd_tracker **tracker,
                                 const struct bd_tracker_options *options)
{
    struct bd_tracker *self = calloc(1, sizeof *self);
    *tracker = NULL;
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for a tracker");
    self->options = *options;
    if (self->options.min_area == 0)
        self->options.min_area = options->width * options->height / 2000;
    if (self->options.confirm <= 0)
        self->options.confirm = .2;
    if (self->options.patience <= 0)
        self->options.patience = 1;
    self->next = 1;
    enum bd_status status =
        bd_components_create(&self->components, options->width, options->height);
    if (status)
        bd_tracker_destroy(&self);
    *tracker = self;
    return status;
}

void bd_tracker_destroy(struct bd_tracker **tracker)
{
    if (!*tracker)
        return;
    bd_components_destroy(&(*tracker)->components);
    free(*tracker);
    *tracker = NULL;
}

void bd_tracker_reset(struct bd_tracker *tracker)
{
    tracker->count = 0;
}

static int64_t overlap(const struct bd_object *object, const struct bd_run *run)
{
    int left = object->x > run->left ? object->x : run->left;
    int right =
        object->x + object->width - 1 < run->right ? object->x + object->width - 1 : run->right;
    int top = object->y > run->y ? object->y : run->y;
    int bottom =
        object->y + object->height - 1 < run->bottom ? object->y + object->height - 1 : run->bottom;
    return right < left || bottom < top ? 0
                                        : (int64_t)(right - left + 1) * (int64_t)(bottom - top + 1);
}

static struct track *find_track(struct bd_tracker *tracker, const struct bd_run *run)
{
    struct track *best = NULL;
    int64_t most = 0;
    for (int i = 0; i < tracker->count; i++) {
        int64_t shared = overlap(&tracker->tracks[i].object, run);
        if (tracker->tracks[i].object.seen || shared <= most)
            continue;
        most = shared;
        best = &tracker->tracks[i];
    }
    if (!best && tracker->count < most_objects) {
        best = &tracker->tracks[tracker->count++];
        *best = (struct track){ .object.since = tracker->time };
    }
    return best;
}

enum bd_status bd_tracker_add(struct bd_tracker *tracker, const uint8_t *mask, int64_t stride,
                              double time, const struct bd_object **objects, int *count)
{
    if (time < tracker->time || time > tracker->time + 5)
        bd_tracker_reset(tracker);
    tracker->time = time;
    bd_components_find(&tracker->components, mask, stride, 255, 0, true);
    for (int i = 0; i < tracker->count; i++)
        tracker->tracks[i].object.seen = false;
    for (int32_t i = 0; i < tracker->components.count; i++) {
        const struct bd_run *run = &tracker->components.runs[i];
        if (run->parent != i || run->area < tracker->options.min_area)
            continue;
        struct track *track = find_track(tracker, run);
        if (!track)
            continue;
        struct bd_object *object = &track->object;
        object->x = run->left;
        object->y = run->y;
        object->width = run->right - run->left + 1;
        object->height = run->bottom - run->y + 1;
        object->area = run->area;
        object->confidence = 1;
        object->seen = true;
        track->last = time;
        if (!object->id && time - object->since >= tracker->options.confirm)
            object->id = tracker->next++;
    }
    int kept = 0;
    *count = 0;
    for (int i = 0; i < tracker->count; i++) {
        struct track *track = &tracker->tracks[i];
        if (time - track->last > tracker->options.patience)
            continue;
        if (track->object.id)
            tracker->confirmed[(*count)++] = track->object;
        tracker->tracks[kept++] = *track;
    }
    tracker->count = kept;
    *objects = tracker->confirmed;
    return BD_OK;
}
