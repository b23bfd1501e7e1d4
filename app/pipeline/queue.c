#include "app/pipeline/queue.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"

/* Frames beside those that wait: the one that is decoded, and those that the consumer holds. */
enum { others = 1 + bd_queue_most_held };

/* Most memory for the pixels of waiting frames: 12 of 768x576 in RGB, 2 of 1920x1080. Eight of
 * these took 56 MB more, half of it as they were decoded, and four films came no faster. At least
 * so many wait all the same: one is scaled while the other one waits. */
enum { most_bytes = 16 << 20, least_frames = 2 };

/* How far a waiting frame is. */
enum stage { DECODED, IN_WORK, READY };

struct slot {
    struct bd_frame frame, picture;
    enum stage stage;
    enum bd_status status; /* of preparing */
    char detail[bd_detail_size];
};

struct worker {
    struct bd_queue *queue;
    pthread_t thread;
    int number;
};

struct bd_queue {
    struct bd_reader *reader;
    struct bd_queue_options options;

    pthread_t thread; /* started, if `decoding` */
    bool decoding;
    struct worker workers[bd_queue_most_threads];
    int worker_count; /* started */
    pthread_mutex_t mutex;
    /* Each wakes one kind of thread, so that a frame causes few wake-ups. */
    pthread_cond_t room;    /* the decoder: there is room, or a seek is wanted */
    pthread_cond_t decoded; /* a worker: there is a frame to prepare */
    pthread_cond_t ready;   /* the consumer: the oldest frame is ready, or a seek is done */

    /* A slot is in exactly one state: with the decoder, held by the consumer, free, or waiting. */
    struct slot *slots; /* slot_count */
    int slot_count;
    int *free, free_count;                    /* slot_count; the last is used first */
    int *waiting, waiting_count;              /* slot_count, oldest first */
    int capacity;                             /* frames of this size that may wait */
    int room_for;                             /* frames that may wait now: more, if `starting` */
    int in_work;                              /* of those that wait */
    int unprepared;                           /* of those that wait: not READY */
    int held[bd_queue_most_held], held_count; /* by the consumer, oldest first */

    bool stop, seek_wanted, seek_done, starting;
    bool pause; /* workers start no further frame */
    double seek_to;
    enum bd_status ended; /* BD_OK while frames come */
    enum bd_status seek_status;
    char detail[bd_detail_size], seek_detail[bd_detail_size];
    atomic_int_fast64_t dropped, damaged;
};

/* Removes number `i` from the waiting slots and returns its slot. */
static int take(struct bd_queue *queue, int i)
{
    int index = queue->waiting[i];
    queue->unprepared -= queue->slots[index].stage == DECODED;
    queue->waiting_count--;
    memmove(queue->waiting + i, queue->waiting + i + 1,
            (size_t)(queue->waiting_count - i) * sizeof *queue->waiting);
    return index;
}

/* The oldest waiting frame that no worker has in work; there are fewer workers than `capacity`. */
static int take_to_drop(struct bd_queue *queue)
{
    int i = 0;
    while (queue->slots[queue->waiting[i]].stage == IN_WORK)
        i++;
    return take(queue, i);
}

/* Wakes the consumer if it can go on. */
static void wake_consumer(struct bd_queue *queue)
{
    bool none = !queue->waiting_count;
    if (none ? queue->ended != BD_OK : queue->slots[queue->waiting[0]].stage == READY)
        pthread_cond_signal(&queue->ready);
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
    pthread_cond_signal(&queue->ready);
}

/* Lets fewer frames wait where each holds many pixels. */
static void fit_room(struct bd_queue *queue, const struct bd_frame *frame)
{
    const struct bd_queue_options *options = &queue->options;
    const int64_t pixels = frame->data ? frame->stride * frame->height : 0;
    const int64_t all = bd_frame_bytes(frame) + options->picture_bytes;
    const int64_t most = pixels ? most_bytes / pixels : options->capacity;
    const int64_t held = options->start_bytes ? options->start_bytes / all : queue->room_for;
    if (most < queue->capacity && !options->drop)
        queue->capacity = most > least_frames ? (int)most : least_frames;
    if (!queue->starting || held < queue->room_for)
        queue->room_for = queue->starting && held > queue->capacity ? (int)held : queue->capacity;
}

/* Appends a decoded frame to the waiting ones. */
static void add(struct bd_queue *queue, int index)
{
    if (queue->waiting_count == queue->room_for) {
        queue->free[queue->free_count++] = take_to_drop(queue);
        queue->dropped++;
    }
    fit_room(queue, &queue->slots[index].frame);
    queue->slots[index].status = BD_OK;
    queue->slots[index].stage = queue->options.prepare ? DECODED : READY;
    queue->waiting[queue->waiting_count++] = index;
    if (queue->options.prepare) {
        queue->unprepared++;
        pthread_cond_signal(&queue->decoded);
    }
}

/* Reads one frame into a slot. Called with the mutex held, released while reading. */
static void read_now(struct bd_queue *queue, int index)
{
    pthread_mutex_unlock(&queue->mutex);
    enum bd_status status = bd_reader_read(queue->reader, &queue->slots[index].frame);
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
        add(queue, index);
    }
    wake_consumer(queue);
}

static void *decode(void *user)
{
    struct bd_queue *queue = user;
    pthread_mutex_lock(&queue->mutex);
    while (!queue->stop) {
        bool room = queue->options.drop ||
                    (queue->waiting_count < queue->room_for && queue->unprepared < queue->capacity);
        if (queue->seek_wanted)
            seek_now(queue);
        else if (queue->ended || !room)
            pthread_cond_wait(&queue->room, &queue->mutex);
        else
            read_now(queue, queue->free[--queue->free_count]);
    }
    pthread_mutex_unlock(&queue->mutex);
    return NULL;
}

/* The oldest frame that no worker has started to prepare; NULL: there is none. */
static struct slot *next_to_prepare(struct bd_queue *queue)
{
    for (int i = 0; i < queue->waiting_count && !queue->pause; i++)
        if (queue->slots[queue->waiting[i]].stage == DECODED)
            return &queue->slots[queue->waiting[i]];
    return NULL;
}

/* Called with the mutex held, released while the frame is prepared. */
static void prepare_now(struct bd_queue *queue, struct slot *slot, int thread)
{
    slot->stage = IN_WORK;
    queue->in_work++;
    pthread_mutex_unlock(&queue->mutex);
    enum bd_status status =
        queue->options.prepare(queue->options.user, thread, &slot->picture, &slot->frame);
    pthread_mutex_lock(&queue->mutex);
    queue->in_work--;
    queue->unprepared--;
    slot->stage = READY;
    pthread_cond_signal(&queue->room);
    slot->status = status;
    if (status)
        snprintf(slot->detail, sizeof slot->detail, "%s", bd_error_detail());
    if (queue->pause)
        pthread_cond_signal(&queue->ready);
    wake_consumer(queue);
}

static void *work(void *user)
{
    struct worker *worker = user;
    struct bd_queue *queue = worker->queue;
    pthread_mutex_lock(&queue->mutex);
    while (!queue->stop) {
        struct slot *slot = next_to_prepare(queue);
        if (slot)
            prepare_now(queue, slot, worker->number);
        else
            pthread_cond_wait(&queue->decoded, &queue->mutex);
    }
    pthread_mutex_unlock(&queue->mutex);
    return NULL;
}

static enum bd_status check(const struct bd_queue_options *options)
{
    if (options->capacity < 2 || options->capacity > bd_queue_most_frames)
        return bd_fail(BD_ERROR_ARGUMENT, "a queue of %d frames: must be 2..%d", options->capacity,
                       bd_queue_most_frames);
    if (options->start < 0 || options->start > bd_queue_most_frames ||
        (options->start && options->drop))
        return bd_fail(BD_ERROR_ARGUMENT, "a start of %d frames: must be 0..%d, and 0 to drop",
                       options->start, bd_queue_most_frames);
    int most = options->capacity - 1;
    if (most > bd_queue_most_threads)
        most = bd_queue_most_threads;
    if (options->prepare && (options->threads < 1 || options->threads > most))
        return bd_fail(BD_ERROR_ARGUMENT, "%d threads that prepare: must be 1..%d",
                       options->threads, most);
    return BD_OK;
}

static enum bd_status make_slots(struct bd_queue *queue)
{
    const struct bd_queue_options *options = &queue->options;
    queue->starting = options->start > 0;
    queue->room_for = options->start > options->capacity ? options->start : options->capacity;
    size_t count = (size_t)queue->room_for + others;
    queue->slots = calloc(count, sizeof *queue->slots);
    queue->free = calloc(count, sizeof *queue->free);
    queue->waiting = calloc(count, sizeof *queue->waiting);
    if (!queue->slots || !queue->free || !queue->waiting)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the frame queue");
    queue->slot_count = queue->free_count = (int)count;
    for (int i = 0; i < queue->slot_count; i++)
        queue->free[i] = i;
    return BD_OK;
}

/* Starts the workers, then the decoder. */
static enum bd_status start(struct bd_queue *queue)
{
    int wanted = queue->options.prepare ? queue->options.threads : 0;
    for (int i = 0; i < wanted; i++) {
        struct worker *worker = &queue->workers[i];
        *worker = (struct worker){ .queue = queue, .number = i };
        if (!bd_thread_start(&worker->thread, "scale", work, worker))
            return bd_fail(BD_ERROR_MEMORY, "cannot start a thread that scales frames");
        queue->worker_count++;
    }
    if (!bd_thread_start(&queue->thread, "decode", decode, queue))
        return bd_fail(BD_ERROR_MEMORY, "cannot start the decoding thread");
    queue->decoding = true;
    return BD_OK;
}

enum bd_status bd_queue_open(struct bd_queue **queue, struct bd_reader *reader,
                             const struct bd_queue_options *options)
{
    *queue = NULL;
    enum bd_status status = check(options);
    if (status)
        return status;
    struct bd_queue *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the frame queue");
    self->reader = reader;
    self->options = *options;
    self->capacity = options->capacity;
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->room, NULL);
    pthread_cond_init(&self->decoded, NULL);
    pthread_cond_init(&self->ready, NULL);
    status = make_slots(self);
    if (!status)
        status = start(self);
    if (status)
        bd_queue_close(&self);
    *queue = self;
    return status;
}

/* Hands the oldest frame, which is ready, to the consumer. */
static enum bd_status hand_over(struct bd_queue *queue, const struct bd_frame **frame,
                                const struct bd_frame **picture)
{
    int index = take(queue, 0);
    struct slot *slot = &queue->slots[index];
    queue->starting &=
        queue->waiting_count >= queue->capacity; /* else the consumer has caught up */
    if (!queue->starting)
        queue->room_for = queue->capacity;
    pthread_cond_signal(&queue->room);
    if (slot->status) {
        queue->free[queue->free_count++] = index;
        return bd_fail(slot->status, "%s", slot->detail);
    }
    queue->held[queue->held_count++] = index;
    *frame = &slot->frame;
    if (picture)
        *picture = queue->options.prepare ? &slot->picture : &slot->frame;
    return BD_OK;
}

enum bd_status bd_queue_next(struct bd_queue *queue, const struct bd_frame **frame,
                             const struct bd_frame **picture)
{
    enum bd_status status = BD_OK;
    pthread_mutex_lock(&queue->mutex);
    while (queue->waiting_count ? queue->slots[queue->waiting[0]].stage != READY : !queue->ended)
        pthread_cond_wait(&queue->ready, &queue->mutex);
    if (queue->held_count == bd_queue_most_held)
        status = bd_fail(BD_ERROR_ARGUMENT, "%d frames are held: one must be given back first",
                         bd_queue_most_held);
    else if (queue->waiting_count)
        status = hand_over(queue, frame, picture);
    else
        status = queue->ended == BD_END ? BD_END : bd_fail(queue->ended, "%s", queue->detail);
    pthread_mutex_unlock(&queue->mutex);
    return status;
}

enum bd_status bd_queue_peek(struct bd_queue *queue, int number, const struct bd_frame **frame,
                             const struct bd_frame **picture)
{
    enum bd_status status = BD_END;
    pthread_mutex_lock(&queue->mutex);
    while (number < queue->waiting_count ? queue->slots[queue->waiting[number]].stage != READY
                                         : !queue->ended && queue->waiting_count < queue->room_for)
        pthread_cond_wait(&queue->ready, &queue->mutex);
    if (number >= queue->waiting_count) {
        status = queue->ended ? BD_END : BD_ERROR_MEMORY;
    } else {
        struct slot *slot = &queue->slots[queue->waiting[number]];
        status = slot->status ? BD_END : BD_OK;
        *frame = &slot->frame;
        *picture = queue->options.prepare ? &slot->picture : &slot->frame;
    }
    pthread_mutex_unlock(&queue->mutex);
    return status;
}

/* Frees the slot. Beyond those of a queue without `start`, the pixels are freed too, and the slot
 * is used last. */
static void free_slot(struct bd_queue *queue, int index)
{
    int at = queue->free_count;
    if (queue->free_count >= queue->options.capacity + others) {
        bd_frame_destroy(&queue->slots[index].frame);
        bd_frame_destroy(&queue->slots[index].picture);
        memmove(queue->free + 1, queue->free, (size_t)at * sizeof *queue->free);
        at = 0;
    }
    queue->free[at] = index;
    queue->free_count++;
}

/* The decoder is not woken: it waits for room among the waiting frames, never for a free slot. */
void bd_queue_release(struct bd_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    if (queue->held_count) {
        free_slot(queue, queue->held[0]);
        queue->held_count--;
        memmove(queue->held, queue->held + 1, (size_t)queue->held_count * sizeof *queue->held);
    }
    pthread_mutex_unlock(&queue->mutex);
}

bool bd_queue_starting(struct bd_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    bool starting = queue->room_for > queue->capacity && queue->waiting_count > 0;
    pthread_mutex_unlock(&queue->mutex);
    return starting;
}

enum bd_status bd_queue_seek(struct bd_queue *queue, double seconds)
{
    pthread_mutex_lock(&queue->mutex);
    queue->pause = true;
    while (queue->in_work)
        pthread_cond_wait(&queue->ready, &queue->mutex);
    queue->pause = false;
    while (queue->waiting_count)
        queue->free[queue->free_count++] = take(queue, 0);
    queue->seek_wanted = true;
    queue->seek_done = false;
    queue->seek_to = seconds;
    pthread_cond_signal(&queue->room);
    while (!queue->seek_done)
        pthread_cond_wait(&queue->ready, &queue->mutex);
    enum bd_status status = queue->seek_status;
    if (status)
        bd_fail(status, "%s", queue->seek_detail);
    pthread_mutex_unlock(&queue->mutex);
    return status;
}

int64_t bd_queue_dropped(struct bd_queue *queue)
{
    return atomic_load(&queue->dropped);
}

int64_t bd_queue_damaged(struct bd_queue *queue)
{
    return atomic_load(&queue->damaged);
}

void bd_queue_close(struct bd_queue **queue)
{
    struct bd_queue *self = *queue;
    if (!self)
        return;
    pthread_mutex_lock(&self->mutex);
    self->stop = true;
    pthread_cond_broadcast(&self->room);
    pthread_cond_broadcast(&self->decoded);
    pthread_mutex_unlock(&self->mutex);
    for (int i = 0; i < self->worker_count; i++)
        pthread_join(self->workers[i].thread, NULL);
    if (self->decoding)
        pthread_join(self->thread, NULL);
    for (int i = 0; i < self->slot_count; i++) {
        bd_frame_destroy(&self->slots[i].frame);
        bd_frame_destroy(&self->slots[i].picture);
    }
    free(self->slots);
    free(self->free);
    free(self->waiting);
    pthread_cond_destroy(&self->room);
    pthread_cond_destroy(&self->decoded);
    pthread_cond_destroy(&self->ready);
    pthread_mutex_destroy(&self->mutex);
    free(self);
    *queue = NULL;
}
