#include "app/pipeline/finisher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/pipeline/follower.h"
#include "base/clock.h"
#include "base/thread.h"

struct bd_finisher {
    struct bd_pictures *pictures;
    struct bd_stabiliser *stabiliser;
    struct bd_sinks sinks;
    struct bd_follower *follower; /* NULL: objects are not later than pictures */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t given, finished;
    bool stop; /* the thread has to end */

    struct bd_separated frames[bd_finisher_frames]; /* `count` from `oldest` on are the thread's */
    int oldest, count;

    enum bd_status failure; /* of the first frame that failed */
    char detail[bd_detail_size];
};

enum bd_status bd_finish(struct bd_separated *frame, struct bd_pictures *pictures,
                         struct bd_stabiliser *stabiliser, bool objects)
{
    double begin = bd_clock_seconds();
    bd_stabiliser_restore(stabiliser, frame->motion, &frame->separation);
    enum bd_status status = bd_pictures_make(pictures, &frame->result, frame->result.input,
                                             &frame->separation, &frame->settings);
    if (!status && objects)
        status = bd_pictures_follow(pictures, &frame->result);
    frame->result.seconds += bd_clock_seconds() - begin;
    return status;
}

/* Pictures, then the sinks. */
static enum bd_status finish(struct bd_finisher *self, struct bd_separated *frame)
{
    const struct bd_result *result = &frame->result;
    enum bd_status status = bd_finish(frame, self->pictures, self->stabiliser, !self->follower);
    if (!status)
        status = self->sinks.pictures(self->sinks.user, result);
    if (status)
        return status;
    return self->follower ? bd_follower_give(self->follower, result)
                          : self->sinks.objects(self->sinks.user, result);
}

static void *work(void *user)
{
    struct bd_finisher *self = user;
    pthread_mutex_lock(&self->mutex);
    for (;;) {
        while (!self->count && !self->stop)
            pthread_cond_wait(&self->given, &self->mutex);
        if (!self->count)
            break;
        struct bd_separated *frame = &self->frames[self->oldest];
        pthread_mutex_unlock(&self->mutex);
        enum bd_status status = self->failure ? self->failure : finish(self, frame);
        pthread_mutex_lock(&self->mutex);
        if (status && !self->failure) {
            self->failure = status;
            snprintf(self->detail, sizeof self->detail, "%s", bd_error_detail());
        }
        self->oldest = (self->oldest + 1) % bd_finisher_frames;
        self->count--;
        pthread_cond_signal(&self->finished);
    }
    pthread_mutex_unlock(&self->mutex);
    return NULL;
}

enum bd_status bd_finisher_open(struct bd_finisher **finisher, struct bd_pictures *pictures,
                                struct bd_stabiliser *stabiliser, const struct bd_sinks *sinks,
                                bool later)
{
    struct bd_finisher *self = calloc(1, sizeof *self);
    *finisher = NULL;
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "no memory for the thread that makes pictures");
    self->pictures = pictures;
    self->stabiliser = stabiliser;
    self->sinks = *sinks;
    enum bd_status status =
        later ? bd_follower_open(&self->follower, pictures, sinks->objects, sinks->user) : BD_OK;
    if (status) {
        free(self);
        return status;
    }
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->given, NULL);
    pthread_cond_init(&self->finished, NULL);
    if (!bd_thread_start(&self->thread, "finish", work, self)) {
        bd_follower_close(&self->follower);
        free(self);
        return bd_fail(BD_ERROR_MEMORY, "cannot start the thread that makes pictures");
    }
    *finisher = self;
    return BD_OK;
}

enum bd_status bd_finisher_wait(struct bd_finisher *self, int most)
{
    pthread_mutex_lock(&self->mutex);
    while (self->count > most)
        pthread_cond_wait(&self->finished, &self->mutex);
    enum bd_status failure = self->failure;
    pthread_mutex_unlock(&self->mutex);
    return failure ? bd_fail(failure, "%s", self->detail) : BD_OK;
}

void bd_finisher_give(struct bd_finisher *self, const struct bd_separated *frame)
{
    pthread_mutex_lock(&self->mutex);
    self->frames[(self->oldest + self->count) % bd_finisher_frames] = *frame;
    self->count++;
    pthread_cond_signal(&self->given);
    pthread_mutex_unlock(&self->mutex);
}

enum bd_status bd_finisher_close(struct bd_finisher **finisher)
{
    struct bd_finisher *self = *finisher;
    pthread_mutex_lock(&self->mutex);
    self->stop = true;
    pthread_cond_signal(&self->given);
    pthread_mutex_unlock(&self->mutex);
    pthread_join(self->thread, NULL);
    /* A frame whose objects failed comes before one whose pictures did. */
    enum bd_status status = bd_follower_close(&self->follower);
    if (!status && self->failure)
        status = bd_fail(self->failure, "%s", self->detail);
    pthread_mutex_destroy(&self->mutex);
    pthread_cond_destroy(&self->given);
    pthread_cond_destroy(&self->finished);
    free(self);
    *finisher = NULL;
    return status;
}
