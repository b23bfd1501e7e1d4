#include "app/pipeline/initialise.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "video/scale.h"

/* Fewer frames make no better background than the first frame alone. */
enum { handful = 5 };

/* Memory for pictures that wait: a window of 50 at the usual size is 46 MB. Where it is full the
 * thread waits. */
enum { most_bytes = 128 << 20 };

/* Threads of a part's decoder, where there are several parts. */
enum { part_threads = 4 };

/* A stretch of the pictures, and the thread that makes them. */
struct part {
    struct bd_initialiser *prime;
    pthread_t thread;
    int begin, end; /* the pictures' numbers */
    /* Guarded by the mutex: */
    bool ended; /* makes no more pictures, because of `status` */
    enum bd_status status;
    char detail[bd_detail_size];
};

struct bd_initialiser {
    const char *input;
    struct bd_reader_options options; /* `interrupted` asks for `stop` too */
    bool (*interrupted)(void *user);
    void *user;
    int width, height, window;
    double memory; /* seconds */
    enum bd_pixel_format format;
    atomic_bool stop; /* asked by the reader without the mutex */

    struct part parts[bd_initialiser_most_parts];
    int part_count;
    pthread_mutex_t mutex;
    pthread_cond_t changed;

    /* Guarded by the mutex. Picture i is at i % capacity, its part's while it is made, and the
     * consumer's when it is shown. */
    struct bd_frame *pictures; /* each made when it is used first */
    bool *made;                /* window */
    int capacity;
    int shown; /* pictures that the consumer is done with */
};

static bool asked_to_stop(void *user)
{
    struct bd_initialiser *prime = user;
    return atomic_load(&prime->stop) || (prime->interrupted && prime->interrupted(prime->user));
}

/* Where picture `number` is to be made, when there is room for it; NULL if it is wanted no more. */
static struct bd_frame *place_for(struct bd_initialiser *prime, int number)
{
    struct bd_frame *picture = NULL;
    pthread_mutex_lock(&prime->mutex);
    while (number >= prime->shown + prime->capacity && !prime->stop)
        pthread_cond_wait(&prime->changed, &prime->mutex);
    if (!prime->stop)
        picture = &prime->pictures[number % prime->capacity];
    pthread_mutex_unlock(&prime->mutex);
    return picture;
}

/* Makes a picture of the frame and lets it wait. */
static enum bd_status add_picture(struct bd_initialiser *prime, int number,
                                  struct bd_scaler **scaler, const struct bd_frame *frame)
{
    struct bd_frame *picture = place_for(prime, number);
    if (!picture)
        return bd_fail(BD_ERROR_INTERRUPTED, "the look ahead was ended");
    enum bd_status status = bd_frame_ensure(picture, prime->width, prime->height, prime->format);
    if (!status)
        status = bd_scale(scaler, picture, frame, BD_SCALE_AREA);
    if (status)
        return status;
    pthread_mutex_lock(&prime->mutex);
    prime->made[number] = true;
    pthread_cond_broadcast(&prime->changed);
    pthread_mutex_unlock(&prime->mutex);
    return BD_OK;
}

/* Seconds from a picture to the next. */
static double step_of(const struct bd_initialiser *prime, const struct bd_reader_info *info)
{
    const struct bd_reader_options *options = &prime->options;
    double span = fmin(prime->memory, bd_initialiser_most_seconds);
    double length = options->duration > 0 ? options->duration : info->duration - options->start;
    if (length > 0)
        span = fmin(span, length);
    return span / prime->window;
}

/* Adds the part's pictures. BD_END: the input has no more. */
static enum bd_status add_pictures(struct part *part, struct bd_reader *reader)
{
    struct bd_initialiser *prime = part->prime;
    const struct bd_reader_info *info = bd_reader_get_info(reader);
    struct bd_scaler *scaler = NULL;
    struct bd_frame frame = { 0 };
    double tick = (double)info->time_base.num / (double)info->time_base.den;
    double step = step_of(prime, info), span = step * prime->window;
    /* Times count from the first frame. */
    enum bd_status status = bd_reader_read(reader, &frame);
    int64_t first = frame.pts;
    if (!status && part->begin > 0)
        status = bd_reader_seek(reader, fmax(0, prime->options.start + part->begin * step - tick));
    for (int i = part->begin; !status && i < part->end; i++) {
        if (i > 0)
            status =
                bd_reader_read_from(reader, first + (int64_t)ceil(i * step / tick - 0.5), &frame);
        if (status || (double)(frame.pts - first) * tick >= span)
            break;
        status = add_picture(prime, i, &scaler, &frame);
    }
    bd_scaler_destroy(&scaler);
    bd_frame_destroy(&frame);
    return status;
}

static void *look_ahead(void *user)
{
    struct part *part = user;
    struct bd_initialiser *prime = part->prime;
    struct bd_reader *reader = NULL;
    enum bd_status status = bd_reader_open(&reader, prime->input, &prime->options);
    if (!status)
        status = add_pictures(part, reader);
    bd_reader_close(&reader);
    pthread_mutex_lock(&prime->mutex);
    part->status = status;
    if (status)
        snprintf(part->detail, sizeof part->detail, "%s", bd_error_detail());
    part->ended = true;
    pthread_cond_broadcast(&prime->changed);
    pthread_mutex_unlock(&prime->mutex);
    return NULL;
}

/* Ends the threads that were started, and frees. */
static void end(struct bd_initialiser *prime)
{
    pthread_mutex_lock(&prime->mutex);
    atomic_store(&prime->stop, true);
    pthread_cond_broadcast(&prime->changed);
    pthread_mutex_unlock(&prime->mutex);
    for (int i = 0; i < prime->part_count; i++)
        pthread_join(prime->parts[i].thread, NULL);
    for (int i = 0; prime->pictures && i < prime->capacity; i++)
        bd_frame_destroy(&prime->pictures[i]);
    free(prime->pictures);
    free(prime->made);
    pthread_cond_destroy(&prime->changed);
    pthread_mutex_destroy(&prime->mutex);
    free(prime);
}

static bool start_parts(struct bd_initialiser *prime, int parts)
{
    for (int i = 0; i < parts; i++) {
        struct part *part = &prime->parts[i];
        *part = (struct part){ .prime = prime,
                               .begin = i * prime->window / parts,
                               .end = (i + 1) * prime->window / parts };
        if (pthread_create(&part->thread, NULL, look_ahead, part))
            return false;
        prime->part_count++;
    }
    return true;
}

enum bd_status bd_initialiser_start(struct bd_initialiser **prime, const char *input,
                                    const struct bd_reader_options *options,
                                    const struct bd_separator_options *settings,
                                    enum bd_pixel_format format, int parts)
{
    *prime = NULL;
    struct bd_initialiser *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the look ahead");
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->changed, NULL);
    self->input = input;
    self->options = *options;
    self->interrupted = options->interrupted;
    self->user = options->user;
    self->options.interrupted = asked_to_stop;
    self->options.user = self;
    self->width = settings->width;
    self->height = settings->height;
    self->window = settings->window;
    self->memory = settings->memory;
    self->format = format;
    double room = most_bytes / ((double)self->width * self->height * (double)format);
    self->capacity = (int)fmax(1, fmin(self->window, room));
    if (self->capacity < self->window) /* the later parts would have to wait for the first */
        parts = 1;
    if (parts > 1 && !self->options.threads)
        self->options.threads = part_threads;
    self->pictures = calloc((size_t)self->capacity, sizeof *self->pictures);
    self->made = calloc((size_t)self->window, sizeof *self->made);
    if (!self->pictures || !self->made || !start_parts(self, parts)) {
        end(self);
        return bd_fail(BD_ERROR_MEMORY, "cannot start the look ahead");
    }
    *prime = self;
    return BD_OK;
}

/* The part that picture `number` is in. */
static const struct part *part_of(const struct bd_initialiser *prime, int number)
{
    int i = 0;
    while (number >= prime->parts[i].end)
        i++;
    return &prime->parts[i];
}

/* The next picture, when it is made. NULL: no more come, *status says why. */
static const struct bd_frame *next_picture(struct bd_initialiser *prime, enum bd_status *status)
{
    const struct bd_frame *picture = NULL;
    int number = prime->shown;
    *status = BD_OK;
    if (number == prime->window)
        return NULL;
    const struct part *part = part_of(prime, number);
    pthread_mutex_lock(&prime->mutex);
    while (!prime->made[number] && !part->ended)
        pthread_cond_wait(&prime->changed, &prime->mutex);
    if (prime->made[number])
        picture = &prime->pictures[number % prime->capacity];
    else if (part->status != BD_OK && part->status != BD_END)
        *status = bd_fail(part->status, "%s", part->detail);
    pthread_mutex_unlock(&prime->mutex);
    return picture;
}

static void release(struct bd_initialiser *prime)
{
    pthread_mutex_lock(&prime->mutex);
    prime->shown++;
    pthread_cond_broadcast(&prime->changed);
    pthread_mutex_unlock(&prime->mutex);
}

enum bd_status bd_initialiser_finish(struct bd_initialiser **prime, struct bd_separator *separator,
                                     struct bd_stabiliser *steady)
{
    const struct bd_frame *picture, *registered;
    struct bd_shift shift;
    enum bd_status status = BD_OK;
    int shown = 0;
    while (!status && (picture = next_picture(*prime, &status))) {
        bd_stabiliser_take(steady, picture, bd_stabiliser_ahead, &registered, &shift);
        status = bd_separator_look_ahead(separator, registered->data, registered->stride);
        release(*prime);
        shown++;
    }
    if (status == BD_OK)
        status =
            shown >= handful ? bd_separator_initialise(separator) : bd_separator_reset(separator);
    else if (status != BD_ERROR_INTERRUPTED && shown > 0)
        status = bd_separator_reset(separator); /* the main reader will meet the same damage */
    bd_initialiser_close(prime);
    return status;
}

void bd_initialiser_close(struct bd_initialiser **prime)
{
    if (*prime)
        end(*prime);
    *prime = NULL;
}
