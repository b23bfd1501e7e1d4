/* The last frames of an input, each with a number that counts from 0. Their memory is used again.
 */
#ifndef BD_APP_EXPORT_CLIPS_RING_H
#define BD_APP_EXPORT_CLIPS_RING_H

#include <stdbool.h>

#include "video/frame.h"

struct bd_ring_frame {
    struct bd_frame picture;
    int64_t time; /* nanoseconds */
};

struct bd_ring {
    struct bd_ring_frame *frames; /* number n is at n % capacity */
    int64_t capacity;
    int64_t first, next; /* numbers of the oldest frame, and of the one that comes next */
    struct bd_frame spare;
};

/* For as many frames like `frame` as fit into `bytes`, two at least. BD_ERROR_MEMORY. */
enum bd_status bd_ring_create(struct bd_ring *ring, const struct bd_frame *frame, int64_t bytes);

/* Safe on an all-zero ring. */
void bd_ring_destroy(struct bd_ring *ring);

static inline struct bd_ring_frame *bd_ring_at(const struct bd_ring *ring, int64_t number)
{
    return &ring->frames[number % ring->capacity];
}

/* Whether the oldest frame must go before another one comes. */
static inline bool bd_ring_is_full(const struct bd_ring *ring)
{
    return ring->next - ring->first == ring->capacity;
}

/* Copies the pixels and times of a frame to where the next one goes. It is in the ring when the
 * caller then raises `next`. Not where the ring is full. BD_ERROR_MEMORY. */
enum bd_status bd_ring_fill(struct bd_ring *ring, const struct bd_frame *frame, int64_t time);

/* Forgets the oldest frame. */
void bd_ring_drop(struct bd_ring *ring);

#endif
