#include "app/pipeline/registration.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/thread.h"

/* What is measured of a frame, or why there is none. */
struct measured {
    enum bd_status status;
    struct bd_registered frame; /* its picture is not moved */
    struct bd_camera camera;
};

struct bd_registration {
    struct bd_queue *queue;
    struct bd_stabiliser *stabiliser;
    struct bd_rational time_base;
    pthread_t measuring, moving;
    pthread_mutex_t mutex;
    pthread_cond_t ready; /* for the caller: there is a frame, or the end */
    pthread_cond_t room;  /* for the threads: a flag has changed */

    struct measured measured;
    bool waits;                /* `measured` is there, and nobody moves its frame */
    struct bd_registered next; /* with its picture moved */
    bool full;                 /* `next` is there, and its picture is not taken */
    bool paused, stop;         /* until a relocation is learned; the threads have to end */
    int held;                  /* frames of the queue that were not returned */
    enum bd_status ended;      /* BD_OK while frames come */
    char detail[bd_detail_size];
};

/* A thread waits while the flag has that value. Called with the mutex held; false: it must end. */
static bool wait_while(struct bd_registration *self, const bool *flag, bool value)
{
    while (!self->stop && *flag == value)
        pthread_cond_wait(&self->room, &self->mutex);
    return !self->stop;
}

/* Changes a flag that threads wait for. With the mutex. */
static void set(struct bd_registration *self, bool *flag, bool value)
{
    *flag = value;
    pthread_cond_broadcast(&self->room);
}

static void tell(struct bd_registration *self, bool *flag, bool value)
{
    pthread_mutex_lock(&self->mutex);
    set(self, flag, value);
    pthread_mutex_unlock(&self->mutex);
}

/* Measures the next frame of the queue. False: there is none, or the thread must end. */
static bool measure_next(struct bd_registration *self)
{
    struct measured measured = { 0 };
    struct bd_registered *next = &measured.frame;
    measured.status = bd_queue_next(self->queue, &next->frame, &next->picture);
    if (!measured.status) {
        bd_stabiliser_measure(self->stabiliser, next->picture,
                              bd_frame_time(next->frame, self->time_base), &measured.camera);
        next->motion = measured.camera.motion;
        next->moved = bd_stabiliser_moved(self->stabiliser);
    }
    pthread_mutex_lock(&self->mutex);
    self->held += !measured.status;
    bool goes_on = wait_while(self, &self->waits, true);
    if (goes_on) {
        self->measured = measured;
        if (measured.status)
            snprintf(self->detail, sizeof self->detail, "%s", bd_error_detail());
        self->paused = next->moved;
        set(self, &self->waits, true);
        /* What comes after a relocation is measured by the new scene. */
        goes_on = wait_while(self, &self->paused, true) && !measured.status;
    }
    pthread_mutex_unlock(&self->mutex);
    return goes_on;
}

/* Moves the frame that was measured, once the picture of the one before is taken. As above. */
static bool move_next(struct bd_registration *self)
{
    pthread_mutex_lock(&self->mutex);
    bool goes_on = wait_while(self, &self->full, true) && wait_while(self, &self->waits, false);
    const struct measured measured = self->measured;
    if (goes_on)
        set(self, &self->waits, false);
    pthread_mutex_unlock(&self->mutex);
    struct bd_registered next = measured.frame;
    goes_on = goes_on && !measured.status;
    if (goes_on)
        next.picture = bd_stabiliser_move(self->stabiliser, next.picture, &measured.camera);
    pthread_mutex_lock(&self->mutex);
    self->next = next;
    self->full = goes_on;
    self->ended = measured.status;
    pthread_cond_signal(&self->ready);
    pthread_mutex_unlock(&self->mutex);
    return goes_on;
}

static void *measure(void *user)
{
    while (measure_next(user))
        ;
    return NULL;
}

static void *move(void *user)
{
    while (move_next(user))
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
    bool moves = bd_thread_start(&self->moving, "move", move, self);
    if (moves && bd_thread_start(&self->measuring, "measure", measure, self))
        return BD_OK;
    if (moves) {
        tell(self, &self->stop, true);
        pthread_join(self->moving, NULL);
    }
    free(self);
    *registration = NULL;
    return bd_fail(BD_ERROR_MEMORY, "cannot start the threads that register frames");
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
    pthread_join(self->measuring, NULL);
    pthread_join(self->moving, NULL);
    int held = self->held;
    pthread_mutex_destroy(&self->mutex);
    pthread_cond_destroy(&self->ready);
    pthread_cond_destroy(&self->room);
    free(self);
    *registration = NULL;
    return held;
}
