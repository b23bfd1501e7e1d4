#include "app/pipeline/initialise.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/thread.h"
#include "video/scale.h"

/* With fewer frames the background is no better than the first frame alone. */
enum { handful = 5 };

/* Most memory for pictures; a window of 50 at the usual size takes 46 MB. A thread waits while it
 * is used up. */
enum { most_bytes = 128 << 20 };

/* Most memory for the frames that follow pictures, 13 of 1920x1080 in colour; and fewest of them:
 * between two frames a bough goes one way too, in the mean of many it does not. */
enum { most_after_bytes = 80 << 20, least_after = 12 };

/* Threads of the decoder of a part, if there are several parts. */
enum { part_threads = 4 };

/* A range of the pictures, and the thread that makes them. */
struct part {
    struct bd_initialiser *initialiser;
    pthread_t thread;
    int begin, end; /* numbers of its pictures */
    /* Guarded by the mutex: */
    bool ended; /* `status` says why it makes no more pictures */
    enum bd_status status;
    char detail[bd_detail_size];
};

struct bd_initialiser {
    const char *input;
    struct bd_reader_options options; /* with our own `interrupted`, which checks `stop` too */
    bool (*interrupted)(void *user);
    void *user;
    int width, height, window;
    double memory; /* seconds */
    enum bd_pixel_format format;
    atomic_bool stop; /* the reader reads it without the mutex */

    struct part parts[bd_initialiser_most_parts];
    int part_count;
    pthread_mutex_t mutex;
    pthread_cond_t changed;

    /* Guarded by the mutex. Picture i is at i % capacity. It belongs to its part while it is made,
     * and to the consumer from then on until `shown` passes it. */
    struct bd_frame *pictures; /* capacity; allocated on first use */
    bool *made;                /* window */
    /* window: the frame after picture i; without data where none was wanted, or there is none. It
     * belongs to the part and to the consumer as the picture does, but stays. */
    struct bd_frame *after;
    int every; /* a frame is wanted after one picture in so many; 0: after none */
    int capacity;
    int shown; /* pictures that the consumer is done with */
};

static bool asked_to_stop(void *user)
{
    struct bd_initialiser *initialiser = user;
    return atomic_load(&initialiser->stop) ||
           (initialiser->interrupted && initialiser->interrupted(initialiser->user));
}

/* Waits for room for picture `number`; NULL if the threads are to stop. */
static struct bd_frame *place_for(struct bd_initialiser *initialiser, int number)
{
    struct bd_frame *picture = NULL;
    pthread_mutex_lock(&initialiser->mutex);
    while (number >= initialiser->shown + initialiser->capacity && !initialiser->stop)
        pthread_cond_wait(&initialiser->changed, &initialiser->mutex);
    if (!initialiser->stop)
        picture = &initialiser->pictures[number % initialiser->capacity];
    pthread_mutex_unlock(&initialiser->mutex);
    return picture;
}

static enum bd_status shrink(const struct bd_initialiser *initialiser, struct bd_frame *picture,
                             struct bd_scaler **scaler, const struct bd_frame *frame)
{
    enum bd_status status =
        bd_frame_ensure(picture, initialiser->width, initialiser->height, initialiser->format);
    return status ? status : bd_scale(scaler, picture, frame, BD_SCALE_AREA);
}

/* Scales the frame to picture `number`. If the frame after it is wanted, that is read in its place
 * and scaled too. */
static enum bd_status add_picture(struct bd_initialiser *initialiser, int number,
                                  struct bd_scaler **scaler, struct bd_reader *reader,
                                  struct bd_frame *frame, bool wants_after)
{
    struct bd_frame *picture = place_for(initialiser, number);
    if (!picture)
        return bd_fail(BD_ERROR_INTERRUPTED, "the look-ahead was ended");
    enum bd_status status = shrink(initialiser, picture, scaler, frame);
    if (status)
        return status;
    if (wants_after)
        status = bd_reader_read_from(reader, frame->pts + 1, frame);
    if (wants_after && !status)
        status = shrink(initialiser, &initialiser->after[number], scaler, frame);
    if (status)
        bd_frame_destroy(&initialiser->after[number]);
    pthread_mutex_lock(&initialiser->mutex);
    initialiser->made[number] = true;
    pthread_cond_broadcast(&initialiser->changed);
    pthread_mutex_unlock(&initialiser->mutex);
    return status;
}

/* Seconds between two pictures. */
static double step_of(const struct bd_initialiser *initialiser, const struct bd_reader_info *info)
{
    const struct bd_reader_options *options = &initialiser->options;
    double span = fmin(initialiser->memory, bd_initialiser_most_seconds);
    double length = options->duration > 0 ? options->duration : info->duration - options->start;
    if (length > 0)
        span = fmin(span, length);
    return span / initialiser->window;
}

/* Seconds by which a picture may come before its time, where a key frame is there: that needs no
 * other frame, and has the best quality. At a constant rate it comes after the previous picture,
 * and after the frame that follows that. */
static double slack_of(double step, struct bd_rational rate)
{
    const double frames = 3;
    bool known = rate.num > 0 && rate.den > 0;
    return known ? fmax(0, step - frames * (double)rate.den / (double)rate.num) : 0;
}

/* Makes the pictures of the part. BD_END: the input has no more frames. */
static enum bd_status add_pictures(struct part *part, struct bd_reader *reader)
{
    struct bd_initialiser *initialiser = part->initialiser;
    const struct bd_reader_info *info = bd_reader_get_info(reader);
    struct bd_scaler *scaler = NULL;
    struct bd_frame frame = { 0 };
    double tick = (double)info->time_base.num / (double)info->time_base.den;
    double step = step_of(initialiser, info), span = step * initialiser->window;
    const struct bd_rational rate = info->frame_rate;
    const bool apart = rate.den > 0 && step * (double)rate.num >= 2.0 * (double)rate.den;
    const int every = apart ? initialiser->every : 0;
    const double slack = slack_of(step, rate);
    /* Times count from the first frame. */
    enum bd_status status = bd_reader_read(reader, &frame);
    int64_t first = frame.pts;
    if (!status && part->begin > 0)
        status = bd_reader_seek(
            reader, fmax(0, initialiser->options.start + part->begin * step - slack - tick));
    bool fresh = false; /* `frame` is one after a picture */
    for (int i = part->begin; !status && i < part->end; i++) {
        const int64_t wanted = first + (int64_t)ceil(i * step / tick - 0.5);
        const int64_t earliest = wanted - (int64_t)(slack / tick);
        if (i > 0 && !(fresh && frame.pts >= wanted))
            status = bd_reader_read_near(reader, earliest > frame.pts ? earliest : frame.pts + 1,
                                         wanted, &frame);
        fresh = every > 0 && i % every == 0;
        if (status || (double)(frame.pts - first) * tick >= span)
            break;
        status = add_picture(initialiser, i, &scaler, reader, &frame, fresh);
    }
    bd_scaler_destroy(&scaler);
    bd_frame_destroy(&frame);
    return status;
}

static void *look_ahead(void *user)
{
    struct part *part = user;
    struct bd_initialiser *initialiser = part->initialiser;
    struct bd_reader *reader = NULL;
    enum bd_status status = bd_reader_open(&reader, initialiser->input, &initialiser->options);
    if (!status)
        status = add_pictures(part, reader);
    bd_reader_close(&reader);
    pthread_mutex_lock(&initialiser->mutex);
    part->status = status;
    if (status)
        snprintf(part->detail, sizeof part->detail, "%s", bd_error_detail());
    part->ended = true;
    pthread_cond_broadcast(&initialiser->changed);
    pthread_mutex_unlock(&initialiser->mutex);
    return NULL;
}

static bool start_parts(struct bd_initialiser *initialiser, int parts)
{
    for (int i = 0; i < parts; i++) {
        struct part *part = &initialiser->parts[i];
        *part = (struct part){ .initialiser = initialiser,
                               .begin = i * initialiser->window / parts,
                               .end = (i + 1) * initialiser->window / parts };
        if (!bd_thread_start(&part->thread, "look ahead", look_ahead, part))
            return false;
        initialiser->part_count++;
    }
    return true;
}

/* For `every`: as small as the memory allows. */
static int choose_every(const struct bd_initialiser *initialiser)
{
    const int window = initialiser->window;
    const int64_t bytes =
        (int64_t)initialiser->width * initialiser->height * (int64_t)initialiser->format;
    const int64_t room = most_after_bytes / bytes;
    int every = 1;
    while (every < window && (window + every - 1) / every > room)
        every++;
    return window / every >= least_after ? every : 0;
}

enum bd_status bd_initialiser_start(struct bd_initialiser **initialiser, const char *input,
                                    const struct bd_reader_options *options,
                                    const struct bd_separator_options *settings,
                                    enum bd_pixel_format format, int parts)
{
    *initialiser = NULL;
    struct bd_initialiser *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the look-ahead");
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->changed, NULL);
    self->input = input;
    self->options = *options;
    self->interrupted = options->interrupted;
    self->user = options->user;
    self->options.interrupted = asked_to_stop;
    self->options.user = self;
    self->options.faults = BD_LOG_DEBUG; /* the main reader tells them */
    self->width = settings->width;
    self->height = settings->height;
    self->window = settings->window;
    self->memory = settings->memory;
    self->format = format;
    double room = most_bytes / ((double)self->width * self->height * (double)format);
    self->capacity = (int)fmax(1, fmin(self->window, room));
    if (self->capacity < self->window) /* later parts would wait for the first one */
        parts = 1;
    if (parts > 1) {
        self->options.decoders = 0; /* parts are decoded side by side already */
        if (!self->options.threads)
            self->options.threads = part_threads;
    }
    self->every = choose_every(self);
    self->pictures = calloc((size_t)self->capacity, sizeof *self->pictures);
    self->after = calloc((size_t)self->window, sizeof *self->after);
    self->made = calloc((size_t)self->window, sizeof *self->made);
    if (!self->pictures || !self->after || !self->made || !start_parts(self, parts)) {
        bd_initialiser_close(&self);
        return bd_fail(BD_ERROR_MEMORY, "cannot start the look-ahead");
    }
    *initialiser = self;
    return BD_OK;
}

/* The part that picture `number` is in. */
static const struct part *part_of(const struct bd_initialiser *initialiser, int number)
{
    int i = 0;
    while (number >= initialiser->parts[i].end)
        i++;
    return &initialiser->parts[i];
}

/* Waits for the next picture. NULL: there are no more, and *status says why. */
static const struct bd_frame *next_picture(struct bd_initialiser *initialiser,
                                           enum bd_status *status)
{
    const struct bd_frame *picture = NULL;
    int number = initialiser->shown;
    *status = BD_OK;
    if (number == initialiser->window)
        return NULL;
    const struct part *part = part_of(initialiser, number);
    pthread_mutex_lock(&initialiser->mutex);
    while (!initialiser->made[number] && !part->ended)
        pthread_cond_wait(&initialiser->changed, &initialiser->mutex);
    if (initialiser->made[number])
        picture = &initialiser->pictures[number % initialiser->capacity];
    else if (part->status != BD_OK && part->status != BD_END)
        *status = bd_fail(part->status, "%s", part->detail);
    pthread_mutex_unlock(&initialiser->mutex);
    return picture;
}

static void release(struct bd_initialiser *initialiser)
{
    pthread_mutex_lock(&initialiser->mutex);
    initialiser->shown++;
    pthread_cond_broadcast(&initialiser->changed);
    pthread_mutex_unlock(&initialiser->mutex);
}

static const struct bd_frame *register_ahead(struct bd_stabiliser *stabiliser,
                                             const struct bd_frame *picture)
{
    const struct bd_frame *registered;
    struct bd_similarity motion;
    bd_stabiliser_register(stabiliser, picture, bd_stabiliser_ahead, &registered, &motion);
    return registered;
}

/* Shows the separator one picture. */
static enum bd_status show(struct bd_separator *separator, struct bd_stabiliser *stabiliser,
                           const struct bd_frame *picture)
{
    const struct bd_frame *shown = register_ahead(stabiliser, picture);
    return bd_separator_look_ahead(separator, shown->data, shown->stride);
}

/* Registers the frame after a picture, in place. */
static enum bd_status register_after(struct bd_stabiliser *stabiliser, struct bd_frame *after)
{
    const struct bd_frame *registered = register_ahead(stabiliser, after);
    return registered == after ? BD_OK : bd_frame_copy(after, registered);
}

/* Learns the background from the pictures that were shown, of the first `seconds`. */
static enum bd_status learn(struct bd_separator *separator, int shown, double seconds)
{
    return shown >= handful ? bd_separator_initialise_start(separator, seconds)
                            : bd_separator_reset(separator);
}

/* Counts the frames of the first `most` seconds that wait, and returns how many seconds they stand
 * for: INFINITY if no others follow. */
static double wait_for_start(struct bd_queue *queue, double tick, double most, int *count)
{
    const struct bd_frame *frame, *picture;
    enum bd_status status;
    double seconds = 0;
    int64_t first = 0;
    *count = 0;
    while (!(status = bd_queue_peek(queue, *count, &frame, &picture))) {
        if (*count == 0)
            first = frame->pts;
        seconds = (double)(frame->pts - first) * tick;
        if (seconds >= most)
            break;
        ++*count;
    }
    return status == BD_END ? INFINITY : seconds;
}

enum bd_status bd_initialise_from_queue(struct bd_queue *queue, struct bd_rational time_base,
                                        double seconds, struct bd_separator *separator,
                                        struct bd_stabiliser *stabiliser)
{
    const struct bd_frame *frame, *picture;
    int count, window = bd_separator_options(separator)->window;
    double tick = (double)time_base.num / (double)time_base.den;
    double known = wait_for_start(queue, tick, seconds, &count);
    int shown = count < window ? count : window;
    enum bd_status status = BD_OK;
    for (int i = 0; !status && i < shown; i++) {
        status = bd_queue_peek(queue, (int)((int64_t)i * count / shown), &frame, &picture);
        if (!status)
            status = show(separator, stabiliser, picture);
    }
    bd_log(BD_LOG_INFO, "%d frames are held back; the background comes from %d of them", count,
           shown);
    if (!status)
        status = learn(separator, shown, known);
    for (int i = 0; !status && i < shown && count >= 2 * shown; i++) {
        status = bd_queue_peek(queue, (int)((int64_t)i * count / shown) + 1, &frame, &picture);
        if (status)
            break;
        const struct bd_frame *after = register_ahead(stabiliser, picture);
        status = bd_separator_look_after(separator, i, after->data, after->stride);
    }
    return status;
}

enum bd_status bd_initialiser_next(struct bd_initialiser *initialiser,
                                   struct bd_separator *separator, struct bd_stabiliser *stabiliser,
                                   double *share)
{
    enum bd_status status;
    const struct bd_frame *picture = next_picture(initialiser, &status);
    if (!picture)
        return status ? status : BD_END;
    status = show(separator, stabiliser, picture);
    if (status)
        return status;
    const int number = initialiser->shown;
    if (initialiser->after[number].data)
        status = register_after(stabiliser, &initialiser->after[number]);
    release(initialiser);
    *share = (double)initialiser->shown / initialiser->window;
    return status;
}

/* Whether it is the reader that ends the pictures with this status. */
static bool is_readers(struct bd_initialiser *initialiser, enum bd_status status)
{
    bool its = false;
    pthread_mutex_lock(&initialiser->mutex);
    if (initialiser->shown < initialiser->window)
        its = part_of(initialiser, initialiser->shown)->status == status;
    pthread_mutex_unlock(&initialiser->mutex);
    return its;
}

enum bd_status bd_initialiser_finish(struct bd_initialiser **initialiser,
                                     struct bd_separator *separator,
                                     struct bd_stabiliser *stabiliser)
{
    enum bd_status status;
    double share;
    do
        status = bd_initialiser_next(*initialiser, separator, stabiliser, &share);
    while (!status);
    int shown = (*initialiser)->shown;
    if (status == BD_END) {
        status = learn(separator, shown, INFINITY);
        for (int i = 0; !status && i < shown; i++) {
            const struct bd_frame *after = &(*initialiser)->after[i];
            if (after->data)
                status = bd_separator_look_after(separator, i, after->data, after->stride);
        }
    } else if (status != BD_ERROR_INTERRUPTED && shown > 0 && is_readers(*initialiser, status)) {
        status = bd_separator_reset(separator); /* the main reader will report the same damage */
    }
    bd_initialiser_close(initialiser);
    return status;
}

void bd_initialiser_close(struct bd_initialiser **initialiser)
{
    struct bd_initialiser *self = *initialiser;
    if (!self)
        return;
    pthread_mutex_lock(&self->mutex);
    atomic_store(&self->stop, true);
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    for (int i = 0; i < self->part_count; i++)
        pthread_join(self->parts[i].thread, NULL);
    for (int i = 0; self->pictures && i < self->capacity; i++)
        bd_frame_destroy(&self->pictures[i]);
    for (int i = 0; self->after && i < self->window; i++)
        bd_frame_destroy(&self->after[i]);
    free(self->pictures);
    free(self->after);
    free(self->made);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->mutex);
    free(self);
    *initialiser = NULL;
}
