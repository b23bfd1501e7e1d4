#include "app/export/clips/ring.h"

#include <stdlib.h>

enum { most_frames = 65536 };

enum bd_status bd_ring_create(struct bd_ring *ring, const struct bd_frame *frame, int64_t bytes)
{
    int64_t fit = bytes / (frame->stride * frame->height);
    *ring = (struct bd_ring){ .capacity = fit < 2 ? 2 : fit > most_frames ? most_frames : fit };
    ring->frames = calloc((size_t)ring->capacity, sizeof *ring->frames);
    return ring->frames ? BD_OK : bd_fail(BD_ERROR_MEMORY, "out of memory for the clips");
}

void bd_ring_destroy(struct bd_ring *ring)
{
    for (int64_t i = 0; ring->frames && i < ring->capacity; i++)
        bd_frame_destroy(&ring->frames[i].picture);
    bd_frame_destroy(&ring->spare);
    free(ring->frames);
    *ring = (struct bd_ring){ 0 };
}

enum bd_status bd_ring_fill(struct bd_ring *ring, const struct bd_frame *frame, int64_t time)
{
    struct bd_ring_frame *place = bd_ring_at(ring, ring->next);
    place->picture = ring->spare;
    ring->spare = (struct bd_frame){ 0 };
    place->time = time;
    enum bd_status status = bd_frame_copy(&place->picture, frame);
    bd_frame_set_yuv(&place->picture, NULL); /* which would take half as much again */
    return status;
}

void bd_ring_drop(struct bd_ring *ring)
{
    struct bd_frame *oldest = &bd_ring_at(ring, ring->first++)->picture;
    bd_frame_destroy(&ring->spare);
    ring->spare = *oldest;
    *oldest = (struct bd_frame){ 0 };
}
