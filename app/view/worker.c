#include "app/view/worker_thread.h"

#include <stdio.h>
#include <stdlib.h>

enum bd_status bd_view_worker_create(struct bd_view_worker **out,
                                     const struct bd_view_worker_options *options)
{
    *out = NULL;
    struct bd_view_worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the separator thread");
    worker->options = *options;
    worker->jump = true;
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->wake, NULL);
    if (pthread_create(&worker->thread, NULL, bd_view_worker_run, worker) != 0) {
        pthread_cond_destroy(&worker->wake);
        pthread_mutex_destroy(&worker->lock);
        free(worker);
        return bd_fail(BD_ERROR_MEMORY, "cannot start the separator thread");
    }
    *out = worker;
    return BD_OK;
}

void bd_view_worker_destroy(struct bd_view_worker **handle)
{
    struct bd_view_worker *worker = *handle;
    if (!worker)
        return;
    pthread_mutex_lock(&worker->lock);
    atomic_store(&worker->stop, true);
    pthread_cond_signal(&worker->wake);
    pthread_mutex_unlock(&worker->lock);
    pthread_join(worker->thread, NULL);
    bd_view_queue_destroy(&worker->queue);
    pthread_cond_destroy(&worker->wake);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
    *handle = NULL;
}

struct bd_view_progress bd_view_worker_progress(struct bd_view_worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    struct bd_view_progress progress = { .state = worker->state,
                                         .status = worker->status,
                                         .detail = worker->detail,
                                         .ready = worker->queue.ready_count,
                                         .capacity = worker->queue.capacity,
                                         .dropped = worker->queue.dropped };
    pthread_mutex_unlock(&worker->lock);
    return progress;
}

const struct bd_view_source *bd_view_worker_source(struct bd_view_worker *worker)
{
    enum bd_view_state state = bd_view_worker_progress(worker).state;
    return state == BD_VIEW_OPENING || state == BD_VIEW_OPEN_FAILED ? NULL : &worker->source;
}

const struct bd_view_result *bd_view_worker_peek(struct bd_view_worker *worker, int i)
{
    pthread_mutex_lock(&worker->lock);
    const struct bd_view_result *result = bd_view_queue_peek(&worker->queue, i);
    pthread_mutex_unlock(&worker->lock);
    return result;
}

struct bd_view_result *bd_view_worker_take(struct bd_view_worker *worker, bool latest)
{
    pthread_mutex_lock(&worker->lock);
    struct bd_view_result *result = bd_view_queue_take(&worker->queue, latest);
    pthread_cond_signal(&worker->wake);
    pthread_mutex_unlock(&worker->lock);
    return result;
}

void bd_view_worker_release(struct bd_view_worker *worker, struct bd_view_result **result)
{
    if (!*result)
        return;
    pthread_mutex_lock(&worker->lock);
    bd_view_queue_release(&worker->queue, *result);
    pthread_cond_signal(&worker->wake);
    pthread_mutex_unlock(&worker->lock);
    *result = NULL;
}

bool bd_view_worker_notice(struct bd_view_worker *worker, char *text, int size)
{
    pthread_mutex_lock(&worker->lock);
    bool there = worker->notice[0] != '\0';
    if (there)
        snprintf(text, (size_t)size, "%s", worker->notice);
    worker->notice[0] = '\0';
    pthread_mutex_unlock(&worker->lock);
    return there;
}

/* Locks the worker and returns its mailbox; unlock_mailbox wakes the separator thread. */
static struct bd_view_mailbox *lock_mailbox(struct bd_view_worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    return &worker->mailbox;
}

static void unlock_mailbox(struct bd_view_worker *worker)
{
    worker->mailbox.any = true;
    pthread_cond_signal(&worker->wake);
    pthread_mutex_unlock(&worker->lock);
}

void bd_view_worker_seek(struct bd_view_worker *worker, double seconds, bool repeat)
{
    struct bd_view_mailbox *mail = lock_mailbox(worker);
    mail->seek = true;
    mail->repeat = repeat;
    mail->seconds = seconds;
    worker->generation++;
    worker->state = BD_VIEW_RUNNING;
    bd_view_queue_clear(&worker->queue);
    unlock_mailbox(worker);
}

void bd_view_worker_set_threshold(struct bd_view_worker *worker, double threshold)
{
    struct bd_view_mailbox *mail = lock_mailbox(worker);
    mail->threshold_set = true;
    mail->threshold = threshold;
    unlock_mailbox(worker);
}

void bd_view_worker_set_lambda(struct bd_view_worker *worker, double lambda)
{
    struct bd_view_mailbox *mail = lock_mailbox(worker);
    mail->lambda_set = true;
    mail->lambda = lambda;
    unlock_mailbox(worker);
}

void bd_view_worker_freeze(struct bd_view_worker *worker, bool frozen)
{
    struct bd_view_mailbox *mail = lock_mailbox(worker);
    mail->freeze_set = true;
    mail->frozen = frozen;
    unlock_mailbox(worker);
}

void bd_view_worker_reset(struct bd_view_worker *worker)
{
    struct bd_view_mailbox *mail = lock_mailbox(worker);
    mail->reset = true;
    unlock_mailbox(worker);
}
