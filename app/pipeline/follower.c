#include "app/pipeline/follower.h"

#include <libavutil/common.h> /* before FFmpeg 5.1, AVERROR_EOF needs it */
#include <libavutil/error.h>
#include <libavutil/threadmessage.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/thread.h"

struct bd_follower {
    struct bd_pictures *pictures;
    bd_result_sink *sink;
    void *user;
    pthread_t thread;
    AVThreadMessageQueue *waiting; /* of struct bd_result */
    atomic_int failure;            /* enum bd_status of the first, stored after `detail` */
    char detail[bd_detail_size];
};

static void *follow(void *user)
{
    struct bd_follower *self = user;
    struct bd_result result;
    enum bd_status status = BD_OK;
    while (av_thread_message_queue_recv(self->waiting, &result, 0) >= 0) {
        if (status)
            continue;
        status = bd_pictures_follow(self->pictures, &result);
        if (!status)
            status = self->sink(self->user, &result);
        if (status) {
            snprintf(self->detail, sizeof self->detail, "%s", bd_error_detail());
            atomic_store(&self->failure, status);
        }
    }
    return NULL;
}

enum bd_status bd_follower_open(struct bd_follower **follower, struct bd_pictures *pictures,
                                bd_result_sink *sink, void *user)
{
    struct bd_follower *self = calloc(1, sizeof *self);
    *follower = NULL;
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "no memory for the thread that finds objects");
    self->pictures = pictures;
    self->sink = sink;
    self->user = user;
    /* Frames that wait, beside the one whose objects are found and the one whose mask is made. */
    const unsigned capacity = (unsigned)bd_pictures_masks(pictures) - 2;
    if (av_thread_message_queue_alloc(&self->waiting, capacity, sizeof(struct bd_result)) < 0 ||
        !bd_thread_start(&self->thread, "follow", follow, self)) {
        av_thread_message_queue_free(&self->waiting);
        free(self);
        return bd_fail(BD_ERROR_MEMORY, "cannot start the thread that finds objects");
    }
    *follower = self;
    return BD_OK;
}

/* The failure so far. */
static enum bd_status report(struct bd_follower *self)
{
    enum bd_status failure = (enum bd_status)atomic_load(&self->failure);
    return failure ? bd_fail(failure, "%s", self->detail) : BD_OK;
}

enum bd_status bd_follower_give(struct bd_follower *follower, const struct bd_result *result)
{
    struct bd_result own = *result;
    own.input = own.labels = own.background = own.foreground = own.overlay = NULL;
    av_thread_message_queue_send(follower->waiting, &own, 0);
    return report(follower);
}

enum bd_status bd_follower_close(struct bd_follower **follower)
{
    struct bd_follower *self = *follower;
    if (!self)
        return BD_OK;
    av_thread_message_queue_set_err_recv(self->waiting, AVERROR_EOF); /* after the last frame */
    pthread_join(self->thread, NULL);
    enum bd_status status = report(self);
    av_thread_message_queue_free(&self->waiting);
    free(self);
    *follower = NULL;
    return status;
}
