#include "app/pipeline/follower.h"

#include <libavutil/common.h> /* before FFmpeg 5.1, AVERROR_EOF needs it */
#include <libavutil/error.h>
#include <libavutil/threadmessage.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/thread.h"

/* Frames that wait, with their masks: finding the objects of one can take as long as ten others. */
enum { least_waiting = 4, most_waiting = 62, most_waiting_bytes = 20 << 20 };

struct entry {
    struct bd_result result; /* with no pictures */
    struct bd_frame mask;
};

struct bd_follower {
    struct bd_pictures *pictures;
    bd_result_sink *sink;
    void *user;
    pthread_t thread;
    AVThreadMessageQueue *waiting; /* of struct entry */
    atomic_int failure;            /* enum bd_status of the first, stored after `detail` */
    char detail[bd_detail_size];
};

static void *follow(void *user)
{
    struct bd_follower *self = user;
    struct entry entry;
    enum bd_status status = BD_OK;
    while (av_thread_message_queue_recv(self->waiting, &entry, 0) >= 0) {
        bool failed = status != BD_OK;
        entry.result.mask = &entry.mask;
        if (!failed)
            status = bd_pictures_follow(self->pictures, &entry.result);
        if (!status)
            status = self->sink(self->user, &entry.result);
        bd_frame_destroy(&entry.mask);
        if (status && !failed) {
            snprintf(self->detail, sizeof self->detail, "%s", bd_error_detail());
            atomic_store(&self->failure, status);
        }
    }
    return NULL;
}

static unsigned capacity_for(int64_t mask_bytes)
{
    const int64_t count = most_waiting_bytes / mask_bytes;
    return (unsigned)(count < least_waiting  ? least_waiting
                      : count > most_waiting ? most_waiting
                                             : count);
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
    const unsigned capacity = capacity_for(bd_pictures_mask_bytes(pictures));
    if (av_thread_message_queue_alloc(&self->waiting, capacity, sizeof(struct entry)) < 0 ||
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
    struct entry entry = { .result = *result };
    struct bd_result *own = &entry.result;
    own->input = own->labels = own->background = own->foreground = own->overlay = NULL;
    enum bd_status status = bd_frame_share(&entry.mask, result->mask);
    if (status)
        return status;
    av_thread_message_queue_send(follower->waiting, &entry, 0);
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
