#include "app/export/async_writer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Copies in the queue: enough to even out key frames, few enough for 4K pictures with alpha. */
enum { capacity = 4 };

struct bd_async_writer {
    struct bd_writer *writer;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* Guarded by the mutex, except the pixels: the thread owns those of the `count` oldest frames,
     * from `first` on, and the caller owns the others. */
    struct bd_frame frames[capacity];
    int first, count;
    bool stop, reported;
    enum bd_status failure;
    char detail[bd_detail_size];
};

/* Called with the mutex held, which is released while the frame is encoded. */
static void write_oldest(struct bd_async_writer *self)
{
    enum bd_status status = BD_OK;
    if (!self->failure) {
        pthread_mutex_unlock(&self->mutex);
        status = bd_writer_write(self->writer, &self->frames[self->first]);
        pthread_mutex_lock(&self->mutex);
    }
    if (status) {
        self->failure = status;
        snprintf(self->detail, sizeof self->detail, "%s", bd_error_detail());
    }
    self->first = (self->first + 1) % capacity;
    self->count--;
    pthread_cond_broadcast(&self->changed);
}

static void *encode(void *user)
{
    struct bd_async_writer *self = user;
    pthread_mutex_lock(&self->mutex);
    while (self->count || !self->stop)
        if (self->count)
            write_oldest(self);
        else
            pthread_cond_wait(&self->changed, &self->mutex);
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

enum bd_status bd_async_writer_open(struct bd_async_writer **writer, const char *path,
                                    const struct bd_writer_options *options)
{
    *writer = NULL;
    struct bd_async_writer *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory for the writer", path);
    enum bd_status status = bd_writer_open(&self->writer, path, options);
    if (status) {
        free(self);
        return status;
    }
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->changed, NULL);
    if (pthread_create(&self->thread, NULL, encode, self)) {
        pthread_cond_destroy(&self->changed);
        pthread_mutex_destroy(&self->mutex);
        bd_writer_close(&self->writer);
        free(self);
        return bd_fail(BD_ERROR_MEMORY, "%s: cannot start the encoding thread", path);
    }
    *writer = self;
    return BD_OK;
}

/* Returns the failure of an earlier frame, once. Called with the mutex held. */
static enum bd_status report_failure(struct bd_async_writer *self)
{
    if (!self->failure || self->reported)
        return BD_OK;
    self->reported = true;
    return bd_fail(self->failure, "%s", self->detail);
}

enum bd_status bd_async_writer_write(struct bd_async_writer *writer, const struct bd_frame *frame)
{
    pthread_mutex_lock(&writer->mutex);
    while (writer->count == capacity)
        pthread_cond_wait(&writer->changed, &writer->mutex);
    enum bd_status status = report_failure(writer);
    struct bd_frame *slot = &writer->frames[(writer->first + writer->count) % capacity];
    pthread_mutex_unlock(&writer->mutex);
    if (!status)
        status = bd_frame_copy(slot, frame);
    if (status)
        return status;
    pthread_mutex_lock(&writer->mutex);
    writer->count++;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
    return BD_OK;
}

enum bd_status bd_async_writer_close(struct bd_async_writer **writer)
{
    struct bd_async_writer *self = *writer;
    if (!self)
        return BD_OK;
    pthread_mutex_lock(&self->mutex);
    self->stop = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    pthread_join(self->thread, NULL);
    enum bd_status closed = bd_writer_close(&self->writer), status = report_failure(self);
    for (int i = 0; i < capacity; i++)
        bd_frame_destroy(&self->frames[i]);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->mutex);
    free(self);
    *writer = NULL;
    return status ? status : closed;
}
