#include "app/prime.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "video/scale.h"

/* A minute of footage shows most of what stands behind moving objects, and decoding it takes a
 * second or so; fewer frames than `handful` make no better background than the first frame alone.
 */
enum { most_seconds = 60, handful = 5 };

/* Memory for pictures that wait: a window of 50 at the usual size is 46 MB. Where it is full the
 * thread waits. */
enum { most_bytes = 128 << 20 };

struct bd_prime {
    const char *input;
    struct bd_reader_options options; /* `interrupted` asks for `stop` too */
    bool (*interrupted)(void *user);
    void *user;
    int width, height, window;
    double memory; /* seconds */
    enum bd_pixel_format format;
    atomic_bool stop; /* asked by the reader without the mutex */

    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;

    /* Guarded by the mutex. A picture is the thread's while it is made, and the consumer's while it
     * is shown; it counts as waiting until then. */
    struct bd_frame *pictures; /* a ring of `capacity`, each made when it is used first */
    int capacity, first, waiting;
    bool ended; /* no more pictures come, because of `status` */
    enum bd_status status;
    char detail[bd_detail_size];
};

static bool asked_to_stop(void *user)
{
    struct bd_prime *prime = user;
    return atomic_load(&prime->stop) || (prime->interrupted && prime->interrupted(prime->user));
}

/* The picture to fill next, when there is room for it; NULL if it is wanted no more. */
static struct bd_frame *next_picture(struct bd_prime *prime)
{
    struct bd_frame *picture = NULL;
    pthread_mutex_lock(&prime->mutex);
    while (prime->waiting == prime->capacity && !prime->stop)
        pthread_cond_wait(&prime->changed, &prime->mutex);
    if (!prime->stop)
        picture = &prime->pictures[(prime->first + prime->waiting) % prime->capacity];
    pthread_mutex_unlock(&prime->mutex);
    return picture;
}

/* Makes a picture of the frame and lets it wait. */
static enum bd_status add_picture(struct bd_prime *prime, struct bd_scaler **scaler,
                                  const struct bd_frame *frame)
{
    struct bd_frame *picture = next_picture(prime);
    if (!picture)
        return bd_fail(BD_ERROR_INTERRUPTED, "the look ahead was ended");
    enum bd_status status = bd_frame_ensure(picture, prime->width, prime->height, prime->format);
    if (!status)
        status = bd_scale(scaler, picture, frame, BD_SCALE_AREA);
    if (status)
        return status;
    pthread_mutex_lock(&prime->mutex);
    prime->waiting++;
    pthread_cond_broadcast(&prime->changed);
    pthread_mutex_unlock(&prime->mutex);
    return BD_OK;
}

/* Adds the pictures of the first seconds. BD_END: the input has no more. */
static enum bd_status add_pictures(struct bd_prime *prime, struct bd_reader *reader)
{
    const struct bd_reader_info *info = bd_reader_get_info(reader);
    const struct bd_reader_options *options = &prime->options;
    struct bd_scaler *scaler = NULL;
    struct bd_frame frame = { 0 };
    double tick = (double)info->time_base.num / (double)info->time_base.den;
    double span = fmin(prime->memory, most_seconds);
    double length = options->duration > 0 ? options->duration : info->duration - options->start;
    if (length > 0)
        span = fmin(span, length);
    double step = span / prime->window;
    int64_t first = 0, next = INT64_MIN;
    enum bd_status status = BD_OK;
    for (int added = 0; !status && added < prime->window; added++) {
        status = bd_reader_read_from(reader, next, &frame);
        if (status)
            break;
        if (added == 0)
            first = frame.pts;
        if ((double)(frame.pts - first) * tick >= span)
            break;
        status = add_picture(prime, &scaler, &frame);
        next = first + (int64_t)ceil((double)(added + 1) * step / tick - 0.5);
    }
    bd_scaler_destroy(&scaler);
    bd_frame_destroy(&frame);
    return status;
}

static void *look_ahead(void *user)
{
    struct bd_prime *prime = user;
    struct bd_reader *reader = NULL;
    enum bd_status status = bd_reader_open(&reader, prime->input, &prime->options);
    if (!status)
        status = add_pictures(prime, reader);
    bd_reader_close(&reader);
    pthread_mutex_lock(&prime->mutex);
    prime->status = status;
    if (status)
        snprintf(prime->detail, sizeof prime->detail, "%s", bd_error_detail());
    prime->ended = true;
    pthread_cond_broadcast(&prime->changed);
    pthread_mutex_unlock(&prime->mutex);
    return NULL;
}

static void destroy(struct bd_prime *prime)
{
    for (int i = 0; prime->pictures && i < prime->capacity; i++)
        bd_frame_destroy(&prime->pictures[i]);
    free(prime->pictures);
    pthread_cond_destroy(&prime->changed);
    pthread_mutex_destroy(&prime->mutex);
    free(prime);
}

enum bd_status bd_prime_start(struct bd_prime **prime, const char *input,
                              const struct bd_reader_options *options,
                              const struct bd_separator_options *settings,
                              enum bd_pixel_format format)
{
    *prime = NULL;
    struct bd_prime *self = calloc(1, sizeof *self);
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
    self->pictures = calloc((size_t)self->capacity, sizeof *self->pictures);
    if (!self->pictures || pthread_create(&self->thread, NULL, look_ahead, self)) {
        destroy(self);
        return bd_fail(BD_ERROR_MEMORY, "cannot start the look ahead");
    }
    *prime = self;
    return BD_OK;
}

/* The oldest picture that waits, when there is one. NULL: no more come, *status says why. */
static const struct bd_frame *oldest_picture(struct bd_prime *prime, enum bd_status *status)
{
    const struct bd_frame *picture = NULL;
    pthread_mutex_lock(&prime->mutex);
    while (!prime->waiting && !prime->ended)
        pthread_cond_wait(&prime->changed, &prime->mutex);
    if (prime->waiting)
        picture = &prime->pictures[prime->first];
    else if (prime->status == BD_OK || prime->status == BD_END)
        *status = BD_OK;
    else
        *status = bd_fail(prime->status, "%s", prime->detail);
    pthread_mutex_unlock(&prime->mutex);
    return picture;
}

static void release_oldest(struct bd_prime *prime)
{
    pthread_mutex_lock(&prime->mutex);
    prime->first = (prime->first + 1) % prime->capacity;
    prime->waiting--;
    pthread_cond_broadcast(&prime->changed);
    pthread_mutex_unlock(&prime->mutex);
}

enum bd_status bd_prime_finish(struct bd_prime **prime, struct bd_separator *separator)
{
    const struct bd_frame *picture;
    enum bd_status status = BD_OK;
    int shown = 0;
    while (!status && (picture = oldest_picture(*prime, &status))) {
        status = bd_separator_preview(separator, picture->data, picture->stride);
        release_oldest(*prime);
        shown++;
    }
    if (status == BD_OK)
        status = shown >= handful ? bd_separator_prime(separator) : bd_separator_reset(separator);
    else if (status != BD_ERROR_INTERRUPTED && shown > 0)
        status = bd_separator_reset(separator); /* the main reader will meet the same damage */
    bd_prime_close(prime);
    return status;
}

void bd_prime_close(struct bd_prime **prime)
{
    struct bd_prime *self = *prime;
    if (!self)
        return;
    pthread_mutex_lock(&self->mutex);
    atomic_store(&self->stop, true);
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    pthread_join(self->thread, NULL);
    destroy(self);
    *prime = NULL;
}
