#include "app/eval/objects.h"

#include <stdlib.h>

#include "app/eval/object_truth.h"
#include "app/pipeline/hindsight.h"

struct bd_eval_objects {
    struct bd_object_truth *truth;
    struct bd_tracking *tracking;
    struct bd_hindsight hindsight;
    bool counts[bd_past_frames + 1]; /* whether a held picture counts, at its index modulo these */
    struct bd_track_box *found;      /* of a frame */
    int room;
};

enum bd_status bd_eval_objects_open(struct bd_eval_objects **objects,
                                    const struct bd_sequence *sequence)
{
    struct bd_eval_objects *self = calloc(1, sizeof *self);
    *objects = NULL;
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the scores of objects");
    enum bd_status status = bd_object_truth_open(&self->truth, sequence);
    if (!status)
        status = bd_tracking_create(&self->tracking);
    if (status)
        bd_eval_objects_close(&self);
    *objects = self;
    return status;
}

void bd_eval_objects_close(struct bd_eval_objects **objects)
{
    if (!*objects)
        return;
    bd_object_truth_close(&(*objects)->truth);
    bd_tracking_destroy(&(*objects)->tracking);
    bd_hindsight_free(&(*objects)->hindsight);
    free((*objects)->found);
    free(*objects);
    *objects = NULL;
}

static enum bd_status score(struct bd_eval_objects *objects, const struct bd_held_frame *frame)
{
    const struct bd_track_box *truth;
    int truth_count, count = 0;
    if (frame->count > objects->room) {
        struct bd_track_box *more = realloc(objects->found, (size_t)frame->count * sizeof *more);
        if (!more)
            return bd_fail(BD_ERROR_MEMORY, "out of memory for the scores of objects");
        objects->found = more;
        objects->room = frame->count;
    }
    for (int i = 0; i < frame->count; i++) {
        const struct bd_object *object = &frame->objects[i];
        if (object->seen)
            objects->found[count++] = (struct bd_track_box){ .id = object->id,
                                                             .x = object->x,
                                                             .y = object->y,
                                                             .width = object->width,
                                                             .height = object->height };
    }
    enum bd_status status = bd_object_truth_get(objects->truth, frame->index, &truth, &truth_count);
    return status ? status
                  : bd_tracking_add(objects->tracking, truth, truth_count, objects->found, count);
}

/* Scores the held frames of which all objects are known; `all`: the others, too. */
static enum bd_status score_held(struct bd_eval_objects *objects, bool all)
{
    enum bd_status status = BD_OK;
    const struct bd_held_frame *frame;
    while (!status && (frame = bd_hindsight_next(&objects->hindsight, all)))
        if (objects->counts[frame->index % (bd_past_frames + 1)])
            status = score(objects, frame);
    return status;
}

enum bd_status bd_eval_objects_add(struct bd_eval_objects *objects, const struct bd_result *result,
                                   bool counts)
{
    objects->counts[result->mask->index % (bd_past_frames + 1)] = counts;
    enum bd_status status = bd_hindsight_add(&objects->hindsight, result);
    return status ? status : score_held(objects, false);
}

enum bd_status bd_eval_objects_scores(struct bd_track_scores *scores,
                                      struct bd_eval_objects *objects)
{
    enum bd_status status = score_held(objects, true);
    return status ? status : bd_tracking_scores(scores, objects->tracking);
}
