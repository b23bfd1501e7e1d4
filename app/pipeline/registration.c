#include "app/pipeline/registration.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/thread.h"

struct bd_registration {
    struct bd_queue *queue;
    struct bd_stabiliser *stabiliser;
    struct bd_rational time_base;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t ready; /* for the caller: there is a frame, or the end */
    pthread_cond_t room;  /* for the thread: the picture is taken, a scene is learned, or `stop` */

    struct bd_registered next;
    bool full;            /* `next` is there, and its picture is not taken */
    bool paused, stop;    /* after a relocation, until it is learned; the thread has to end */
    int held;             /* frames of the queue that were not returned */
    enum bd_status ended; /* BD_OK while frames come */
    char detail[bd_detail_size];
};

/* The thread waits while the flag is set. Called with the mutex held; false: it must end. */
static bool wait_while(struct bd_registration *self, const bool *flag)
{
    while (!self->stop && *flag)
        pthread_cond_wait(&self->room, &self->mutex);
    return !self->stop;
}

/* Changes a flag that the thread waits for. */
static void tell(struct bd_registration *self, bool *flag, bool value)
{
    pthread_mutex_lock(&self->mutex);
    *flag = value;
    pthread_cond_signal(&self->room);
    pthread_mutex_unlock(&self->mutex);
}

/* Registers the next frame of the queue. False: there is none, or the thread must end. */
static bool register_next(struct bd_registration *self)
{
    struct bd_registered next = { 0 };
    const struct bd_frame *picture;
    enum bd_status status = bd_queue_next(self->queue, &next.frame, &picture);
    if (!status)
        bd_stabiliser_measure(self->stabiliser, picture,
                              bd_frame_time(next.frame, self->time_base));
    pthread_mutex_lock(&self->mutex);
    self->held += !status;
    bool goes_on = wait_while(self, &self->full) && !status;
    pthread_mutex_unlock(&self->mutex);
    if (goes_on) {
        bd_stabiliser_move(self->stabiliser, picture, &next.picture, &next.motion);
        next.moved = bd_stabiliser_moved(self->stabiliser);
    }
    pthread_mutex_lock(&self->mutex);
    self->next = next;
    self->full = goes_on;
    self->paused = next.moved;
    self->ended = status;
    if (status)
        snprintf(self->detail, sizeof self->detail, "%s", bd_error_detail());
    pthread_cond_signal(&self->ready);
    /* What comes after a relocation is measured by the new scene. */
    wait_while(self, &self->paused);
    pthread_mutex_unlock(&self->mutex);
    return goes_on;
}

static void *work(void *user)
{
    struct bd_registration *self = user;
    while (register_next(self))
        ;
    return NULL;
}

enum bd_status bd_registration_open(struct bd_registration **registration, struct bd_queue *queue,
                                    struct bd_stabiliser *stabiliser, struct bd_rational time_base)
{
    struct bd_registration *self = *registration = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "no memory for the registration");
    *self = (struct bd_registration){ .queue = queue,
                                      .stabiliser = stabiliser,
                                      .time_base = time_base };
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->ready, NULL);
    pthread_cond_init(&self->room, NULL);
    if (bd_thread_start(&self->thread, "register", work, self))
        return BD_OK;
    free(self);
    *registration = NULL;
    return bd_fail(BD_ERROR_MEMORY, "cannot start the thread that registers frames");
}

enum bd_status bd_registration_next(struct bd_registration *self, struct bd_registered *registered)
{
    pthread_mutex_lock(&self->mutex);
    while (!self->full && !self->ended)
        pthread_cond_wait(&self->ready, &self->mutex);
    enum bd_status status = self->full ? BD_OK : self->ended;
    if (!status) {
        *registered = self->next;
        self->held--;
    }
    pthread_mutex_unlock(&self->mutex);
    return !status || status == BD_END ? status : bd_fail(status, "%s", self->detail);
}

void bd_registration_taken(struct bd_registration *self)
{
    tell(self, &self->full, false);
}

void bd_registration_go_on(struct bd_registration *self)
{
    tell(self, &self->paused, false);
}

int bd_registration_close(struct bd_registration **registration)
{
    struct bd_registration *self = *registration;
    if (!self)
        return 0;
    tell(self, &self->stop, true);
    pthread_join(self->thread, NULL);
    int held = self->held;
    pthread_mutex_destroy(&self->mutex);
    pthread_cond_destroy(&self->ready);
    pthread_cond_destroy(&self->room);
    free(self);
    *registration = NULL;
    return held;
}
