#include "app/pipeline/hindsight.h"

#include <stdlib.h>

enum { places = bd_past_frames + 1 };

static enum bd_status append(struct bd_held_frame *frame, const struct bd_object *objects,
                             int count)
{
    if (frame->count + count > frame->room) {
        const int room = 2 * (frame->count + count);
        struct bd_object *larger = realloc(frame->objects, (size_t)room * sizeof *larger);
        if (!larger)
            return bd_fail(BD_ERROR_MEMORY, "out of memory for the objects of a frame");
        frame->objects = larger;
        frame->room = room;
    }
    for (int i = 0; i < count; i++)
        frame->objects[frame->count++] = objects[i];
    return BD_OK;
}

/* The object in its place; it replaces that of the same number. */
static enum bd_status put(struct bd_held_frame *frame, const struct bd_object *object)
{
    int place = frame->count;
    while (place > 0 && frame->objects[place - 1].id > object->id)
        place--;
    if (place > 0 && frame->objects[place - 1].id == object->id) {
        frame->objects[place - 1] = *object;
        return BD_OK;
    }
    enum bd_status status = append(frame, object, 1);
    for (int i = frame->count - 1; !status && i > place; i--)
        frame->objects[i] = frame->objects[i - 1];
    if (!status)
        frame->objects[place] = *object;
    return status;
}

/* The place in the ring; -1: no such frame is held. */
static int place_of(const struct bd_hindsight *hindsight, int ago)
{
    if (ago < 0 || ago >= hindsight->count)
        return -1;
    return (hindsight->first + hindsight->count - 1 - ago) % places;
}

enum bd_status bd_hindsight_add(struct bd_hindsight *hindsight, const struct bd_result *result)
{
    struct bd_held_frame *frame =
        &hindsight->frames[(hindsight->first + hindsight->count) % places];
    frame->index = result->mask->index;
    frame->pts = result->mask->pts;
    frame->time = result->time;
    frame->count = 0;
    hindsight->count++;
    enum bd_status status = append(frame, result->objects, result->object_count);
    for (int i = 0; i < result->past_count && !status; i++) {
        const int place = place_of(hindsight, result->past[i].ago);
        if (place >= 0)
            status = put(&hindsight->frames[place], &result->past[i].object);
    }
    return status;
}

const struct bd_held_frame *bd_hindsight_ago(const struct bd_hindsight *hindsight, int ago)
{
    const int place = place_of(hindsight, ago);
    return place < 0 ? NULL : &hindsight->frames[place];
}

const struct bd_held_frame *bd_hindsight_next(struct bd_hindsight *hindsight, bool all)
{
    if (hindsight->count == 0 || (hindsight->count < places && !all))
        return NULL;
    const struct bd_held_frame *frame = &hindsight->frames[hindsight->first];
    hindsight->first = (hindsight->first + 1) % places;
    hindsight->count--;
    return frame;
}

void bd_hindsight_free(struct bd_hindsight *hindsight)
{
    for (int i = 0; i < places; i++)
        free(hindsight->frames[i].objects);
    *hindsight = (struct bd_hindsight){ 0 };
}
