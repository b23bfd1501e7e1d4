#include "app/eval/objects.h"

#include <stdlib.h>

#include "app/eval/object_truth.h"

struct bd_eval_objects {
    struct bd_object_truth *truth;
    struct bd_tracking *tracking;
    struct bd_track_box *found; /* of a frame */
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
    free((*objects)->found);
    free(*objects);
    *objects = NULL;
}

enum bd_status bd_eval_objects_add(struct bd_eval_objects *objects, int64_t index,
                                   const struct bd_result *result)
{
    const struct bd_track_box *truth;
    int truth_count, count = 0;
    if (result->object_count > objects->room) {
        struct bd_track_box *more =
            realloc(objects->found, (size_t)result->object_count * sizeof *more);
        if (!more)
            return bd_fail(BD_ERROR_MEMORY, "out of memory for the scores of objects");
        objects->found = more;
        objects->room = result->object_count;
    }
    for (int i = 0; i < result->object_count; i++) {
        const struct bd_object *object = &result->objects[i];
        if (object->seen)
            objects->found[count++] = (struct bd_track_box){ .id = object->id,
                                                             .x = object->x,
                                                             .y = object->y,
                                                             .width = object->width,
                                                             .height = object->height };
    }
    enum bd_status status = bd_object_truth_get(objects->truth, index, &truth, &truth_count);
    return status ? status
                  : bd_tracking_add(objects->tracking, truth, truth_count, objects->found, count);
}

enum bd_status bd_eval_objects_scores(struct bd_track_scores *scores,
                                      const struct bd_eval_objects *objects)
{
    return bd_tracking_scores(scores, objects->tracking);
}
