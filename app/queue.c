#include "app/queue.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { max_capacity = 16, max_frames = max_capacity + 1 + bd_queue_most_held };

struct bd_queue {
    struct bd_reader *reader;
    int capacity;
    bool drop;

    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;

    /* A frame is in one place: the thread's hand, the consumer's hand, free, or waiting. */
    struct bd_frame frames[max_frames];
    int free[max_frames], free_count;
    int waiting[max_capacity], waiting_count, waiting_first;
    int held[bd_queue_most_held], held_count; /* by the consumer, oldest first */

    bool stop, seek_wanted, seek_done;
    double seek_to;
    enum bd_status ended; /* BD_OK while frames come */
    enum bd_status seek_status;
    char detail[bd_detail_size], seek_detail[bd_detail_size];
    int64_t dropped, damaged;
};

static int take_oldest(struct bd_queue *queue)
{
    int index = queue->waiting[queue->waiting_first];
    queue->waiting_first = (queue->waiting_first + 1) % queue->capacity;
    queue->waiting_count--;
    return index;
}

static void forget_waiting(struct bd_queue *queue)
{
    while (queue->waiting_count)
        queue->free[queue->free_count++] = take_oldest(queue);
}

/* Called with the mutex held, which is released while the reader works. */
static void seek_now(struct bd_queue *queue)
{
    double seconds = queue->seek_to;
    queue->seek_wanted = false;
    pthread_mutex_unlock(&queue->mutex);
    enum bd_status status = bd_reader_seek(queue->reader, seconds);
    pthread_mutex_lock(&queue->mutex);
    queue->seek_status = status;
    if (status)
        snprintf(queue->seek_detail, sizeof queue->seek_detail, "%s", bd_error_detail());
    else
        queue->ended = BD_OK;
    queue->seek_done = true;
    pthread_cond_broadcast(&queue->changed);
}

/* Reads one frame into frames[index]. Called with the mutex held, released while reading. */
static void read_now(struct bd_queue *queue, int index)
{
    pthread_mutex_unlock(&queue->mutex);
    enum bd_status status = bd_reader_read(queue->reader, &queue->frames[index]);
    int64_t damaged = bd_reader_damaged(queue->reader);
    pthread_mutex_lock(&queue->mutex);
    queue->damaged = damaged;
    if (queue->seek_wanted || status) {
        queue->free[queue->free_count++] = index;
        if (status && !queue->seek_wanted) {
            queue->ended = status;
            snprintf(queue->detail, sizeof queue->detail, "%s", bd_error_detail());
        }
    } else {
        if (queue->waiting_count == queue->capacity) {
            queue->free[queue->free_count++] = take_oldest(queue);
            queue->dropped++;
        }
        int slot = (queue->waiting_first + queue->waiting_count++) % queue->capacity;
        queue->waiting[slot] = index;
    }
    pthread_cond_broadcast(&queue->changed);
}

static void *decode(void *user)
{
    struct bd_queue *queue = user;
    pthread_mutex_lock(&queue->mutex);
    while (!queue->stop) {
        bool room = queue->drop || queue->waiting_count < queue->capacity;
        if (queue->seek_wanted)
            seek_now(queue);
        else if (queue->ended || !room)
            pthread_cond_wait(&queue->changed, &queue->mutex);
        else
            read_now(queue, queue->free[--queue->free_count]);
    }
    pthread_mutex_unlock(&queue->mutex);
    return NULL;
}

enum bd_status bd_queue_open(struct bd_queue **queue, struct bd_reader *reader, int capacity,
                             bool drop)
{
    *queue = NULL;
    if (capacity < 2 || capacity > max_capacity)
        return bd_fail(BD_ERROR_ARGUMENT, "a queue of %d frames: must be 2..%d", capacity,
                       max_capacity);
    struct bd_queue *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the frame queue");
    self->reader = reader;
    self->capacity = capacity;
    self->drop = drop;
    /* those that can wait, one for the thread's hand, and the consumer's */
    for (int i = 0; i < capacity + 1 + bd_queue_most_held; i++)
        self->free[self->free_count++] = i;
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->changed, NULL);
    if (pthread_create(&self->thread, NULL, decode, self)) {
        pthread_cond_destroy(&self->changed);
        pthread_mutex_destroy(&self->mutex);
        free(self);
        return bd_fail(BD_ERROR_MEMORY, "cannot start the decoding thread");
    }
    *queue = self;
    return BD_OK;
}

enum bd_status bd_queue_next(struct bd_queue *queue, const struct bd_frame **frame)
{
    enum bd_status status = BD_OK;
    pthread_mutex_lock(&queue->mutex);
    while (!queue->waiting_count && !queue->ended)
        pthread_cond_wait(&queue->changed, &queue->mutex);
    if (queue->held_count == bd_queue_most_held) {
        status = bd_fail(BD_ERROR_ARGUMENT, "%d frames are held: one must be given back first",
                         bd_queue_most_held);
    } else if (queue->waiting_count) {
        int index = queue->held[queue->held_count++] = take_oldest(queue);
        *frame = &queue->frames[index];
    } else {
        status = queue->ended == BD_END ? BD_END : bd_fail(queue->ended, "%s", queue->detail);
    }
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
    return status;
}

void bd_queue_release(struct bd_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    if (queue->held_count) {
        queue->free[queue->free_count++] = queue->held[0];
        queue->held_count--;
        memmove(queue->held, queue->held + 1, (size_t)queue->held_count * sizeof *queue->held);
        pthread_cond_broadcast(&queue->changed);
    }
    pthread_mutex_unlock(&queue->mutex);
}

enum bd_status bd_queue_seek(struct bd_queue *queue, double seconds)
{
    pthread_mutex_lock(&queue->mutex);
    queue->seek_wanted = true;
    queue->seek_done = false;
    queue->seek_to = seconds;
    forget_waiting(queue);
    pthread_cond_broadcast(&queue->changed);
    while (!queue->seek_done)
        pthread_cond_wait(&queue->changed, &queue->mutex);
    enum bd_status status = queue->seek_status;
    if (status)
        bd_fail(status, "%s", queue->seek_detail);
    pthread_mutex_unlock(&queue->mutex);
    return status;
}

int64_t bd_queue_dropped(struct bd_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    int64_t dropped = queue->dropped;
    pthread_mutex_unlock(&queue->mutex);
    return dropped;
}

int64_t bd_queue_damaged(struct bd_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    int64_t damaged = queue->damaged;
    pthread_mutex_unlock(&queue->mutex);
    return damaged;
}

void bd_queue_close(struct bd_queue **queue)
{
    struct bd_queue *self = *queue;
    if (!self)
        return;
    pthread_mutex_lock(&self->mutex);
    self->stop = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    pthread_join(self->thread, NULL);
    for (int i = 0; i < max_frames; i++)
        bd_frame_destroy(&self->frames[i]);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->mutex);
    free(self);
    *queue = NULL;
}
