/* The results between the separator thread and the main thread: a pool of slots, and the order in
 * which the filled ones wait. Not thread-safe: the worker calls it under its lock. A slot is in
 * exactly one state: free, with the separator thread (from free_slot to push or release), waiting,
 * or with the main thread (from take to release). */
#ifndef BD_APP_VIEW_QUEUE_H
#define BD_APP_VIEW_QUEUE_H

#include "app/view/worker.h"

enum { BD_VIEW_QUEUE_MAX = 8, BD_VIEW_SLOTS_MAX = BD_VIEW_QUEUE_MAX + 2 };

struct bd_view_queue {
    struct bd_view_result slots[BD_VIEW_SLOTS_MAX]; /* pictures are allocated on first use */
    struct bd_view_result *ready[BD_VIEW_QUEUE_MAX], *unused[BD_VIEW_SLOTS_MAX];
    int ready_count, unused_count;
    int capacity; /* most that wait; 1 .. BD_VIEW_QUEUE_MAX */
    bool live;
    int64_t dropped; /* results that a live source dropped unseen */
};

/* Chooses the capacity so that all slots, of `bytes` each, together stay within a memory budget. */
void bd_view_queue_create(struct bd_view_queue *queue, int64_t bytes, bool live);

/* Frees the pictures. Safe on an all-zero queue. */
void bd_view_queue_destroy(struct bd_view_queue *queue);

/* A slot to fill. When the queue is full: NULL, or for live sources the oldest that waits. */
struct bd_view_result *bd_view_queue_free_slot(struct bd_view_queue *queue);

void bd_view_queue_push(struct bd_view_queue *queue, struct bd_view_result *result);
void bd_view_queue_release(struct bd_view_queue *queue, struct bd_view_result *result);

/* As bd_view_worker_peek and bd_view_worker_take. */
const struct bd_view_result *bd_view_queue_peek(const struct bd_view_queue *queue, int i);
struct bd_view_result *bd_view_queue_take(struct bd_view_queue *queue, bool latest);

/* Drops all waiting results. */
void bd_view_queue_clear(struct bd_view_queue *queue);

#endif
