#include "app/export/async_writer.h"

#include <libavutil/common.h> /* before FFmpeg 5.1, AVERROR_EOF needs it */
#include <libavutil/error.h>
#include <libavutil/threadmessage.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/thread.h"

/* Pictures beside the one that is encoded, which has been converted or is shared: one waits while
 * the next frame is separated. Four took 69 MB more for the four films of 1920x1080 and were no
 * faster. */
enum { capacity = 1 };

struct bd_async_writer {
    struct bd_writer *writer;
    pthread_t thread;
    /* Of struct bd_frame: pictures that wait to be encoded, and memory for further copies, or none.
     */
    AVThreadMessageQueue *waiting, *spare;
    atomic_int failure; /* enum bd_status, stored after `detail` */
    char detail[bd_detail_size];
    bool reported;
};

static void *encode(void *user)
{
    struct bd_async_writer *self = user;
    struct bd_frame picture;
    enum bd_status status = BD_OK;
    while (av_thread_message_queue_recv(self->waiting, &picture, 0) >= 0) {
        bool failed = status != BD_OK;
        if (!failed)
            status = bd_writer_take(self->writer, &picture);
        if (picture.shared) /* they are not memory for copies */
            bd_frame_destroy(&picture);
        av_thread_message_queue_send(self->spare, &picture, 0);
        if (!status)
            status = bd_writer_encode(self->writer);
        if (status && !failed) {
            snprintf(self->detail, sizeof self->detail, "%s", bd_error_detail());
            atomic_store(&self->failure, status);
        }
    }
    return NULL;
}

static bool start(struct bd_async_writer *self)
{
    struct bd_frame empty = { 0 };
    if (av_thread_message_queue_alloc(&self->waiting, capacity, sizeof empty) < 0 ||
        av_thread_message_queue_alloc(&self->spare, capacity, sizeof empty) < 0)
        return false;
    for (int i = 0; i < capacity; i++)
        av_thread_message_queue_send(self->spare, &empty, 0);
    return bd_thread_start(&self->thread, "encode", encode, self);
}

static void destroy(struct bd_async_writer *self)
{
    struct bd_frame picture;
    while (self->spare &&
           av_thread_message_queue_recv(self->spare, &picture, AV_THREAD_MESSAGE_NONBLOCK) >= 0)
        bd_frame_destroy(&picture);
    av_thread_message_queue_free(&self->waiting);
    av_thread_message_queue_free(&self->spare);
    free(self);
}

enum bd_status bd_async_writer_open(struct bd_async_writer **writer, const char *path,
                                    const struct bd_writer_options *options)
{
    *writer = NULL;
    struct bd_async_writer *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "%s: no memory for the writer", path);
    enum bd_status status = bd_writer_open(&self->writer, path, options);
    if (!status && !start(self)) {
        bd_writer_close(&self->writer);
        status = bd_fail(BD_ERROR_MEMORY, "%s: cannot start the encoding thread", path);
    }
    if (status) {
        destroy(self);
        return status;
    }
    *writer = self;
    return BD_OK;
}

/* Returns the failure of an earlier frame, once. */
static enum bd_status report_failure(struct bd_async_writer *self)
{
    enum bd_status failure = (enum bd_status)atomic_load(&self->failure);
    if (!failure || self->reported)
        return BD_OK;
    self->reported = true;
    return bd_fail(failure, "%s", self->detail);
}

enum bd_status bd_async_writer_write(struct bd_async_writer *writer, const struct bd_frame *frame)
{
    struct bd_frame picture;
    av_thread_message_queue_recv(writer->spare, &picture, 0);
    enum bd_status status = report_failure(writer);
    if (!status)
        status = bd_frame_share(&picture, frame);
    av_thread_message_queue_send(status ? writer->spare : writer->waiting, &picture, 0);
    return status;
}

void bd_async_writer_keep_old(struct bd_async_writer *writer)
{
    bd_writer_keep_old(writer->writer);
}

enum bd_status bd_async_writer_close(struct bd_async_writer **writer)
{
    struct bd_async_writer *self = *writer;
    if (!self)
        return BD_OK;
    av_thread_message_queue_set_err_recv(self->waiting, AVERROR_EOF); /* after the last frame */
    pthread_join(self->thread, NULL);
    enum bd_status closed = bd_writer_close(&self->writer), status = report_failure(self);
    destroy(self);
    *writer = NULL;
    return status ? status : closed;
}
