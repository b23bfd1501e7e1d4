#include "app/view/worker.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/pipeline/pipeline.h"
#include "app/view/queue.h"
#include "base/thread.h"

/* The latest request of each kind; the main thread writes it, the separator thread empties it. */
struct bd_view_mailbox {
    bool any; /* of the following */
    bool seek, repeat, threshold_set, lambda_set, freeze_set, reset;
    double seconds, threshold, lambda;
    bool frozen;
};

struct bd_view_worker {
    struct bd_view_worker_options options; /* constant */
    pthread_t thread;                      /* main thread */
    atomic_bool stop;                      /* set by the main thread */

    /* Under the lock. */
    pthread_mutex_t lock;
    pthread_cond_t wake; /* wakes the separator thread: room in the queue, a request, stop */
    struct bd_view_mailbox mailbox;
    enum bd_view_state state;
    enum bd_status status;
    char detail[bd_detail_size], notice[160];
    struct bd_view_queue queue;
    int64_t generation; /* of results: a seek makes the earlier ones obsolete */
    double learned;     /* share of the look-ahead that is done */

    /* Written by the separator thread before the state leaves OPENING, constant afterwards. */
    struct bd_view_source source;
    struct bd_view_result first_frame; /* input.width is 0 without one */

    /* Separator thread only. */
    struct bd_pipeline *pipeline;
    double first_time; /* of the input's first frame, in its own times */
    bool first_time_known, frozen, repeating, jump;
    int64_t separated, dropped; /* dropped: by a live source, before the separation */
};

static bool interrupted(void *user)
{
    struct bd_view_worker *worker = user;
    return atomic_load(&worker->stop) ||
           (worker->options.interrupted && worker->options.interrupted(worker->options.user));
}

/* Called with the lock held. */
static void keep_state(struct bd_view_worker *worker, enum bd_view_state state,
                       enum bd_status status)
{
    worker->state = state;
    worker->status = status;
    snprintf(worker->detail, sizeof worker->detail, "%s", bd_error_detail());
}

static void set_state(struct bd_view_worker *worker, enum bd_view_state state,
                      enum bd_status status)
{
    pthread_mutex_lock(&worker->lock);
    keep_state(worker, state, status);
    pthread_mutex_unlock(&worker->lock);
    worker->options.notify(worker->options.user);
}

/* Leaves a notice for the user about a request that failed. */
static void check_request(struct bd_view_worker *worker, enum bd_status status)
{
    if (status == BD_OK || status == BD_END)
        return;
    pthread_mutex_lock(&worker->lock);
    snprintf(worker->notice, sizeof worker->notice, "%s", bd_error_detail());
    pthread_mutex_unlock(&worker->lock);
    worker->options.notify(worker->options.user);
}

static enum bd_status open_pipeline(struct bd_view_worker *worker)
{
    /* Objects whether their boxes are shown or not: the key that shows them has them at once, with
     * numbers from the beginning. */
    const unsigned wants = BD_WANT_DECODED | BD_WANT_BACKGROUND | BD_WANT_SMALL | BD_WANT_OBJECTS;
    enum bd_status status = bd_pipeline_open(&worker->pipeline, worker->options.options, true,
                                             wants, interrupted, worker);
    if (status != BD_OK)
        return status;
    struct bd_view_source *source = &worker->source;
    source->info = *bd_pipeline_info(worker->pipeline);
    snprintf(source->backend, sizeof source->backend, "%s", bd_pipeline_backend(worker->pipeline));
    struct bd_separator_options settings = bd_pipeline_settings(worker->pipeline);
    source->adjustable = bd_pipeline_separator(worker->pipeline) != NULL;
    source->threshold = settings.threshold;
    source->lambda = settings.lambda;
    source->window = settings.window;
    /* Of a result, at most: the input in colour and the mask, and the background. */
    int64_t bytes = (int64_t)4 * source->info.width * source->info.height +
                    (int64_t)settings.channels * settings.width * settings.height;
    pthread_mutex_lock(&worker->lock);
    bd_view_queue_create(&worker->queue, bytes, source->info.live);
    pthread_mutex_unlock(&worker->lock);
    const struct bd_frame *first;
    if (bd_pipeline_first_frame(worker->pipeline, &first) == BD_OK)
        status = bd_frame_copy(&worker->first_frame.input, first);
    return status;
}

/* Sets the state to ended, unless the main thread has asked for a seek meanwhile. */
static void end_of_input(struct bd_view_worker *worker, enum bd_status status, int64_t generation)
{
    pthread_mutex_lock(&worker->lock);
    if (generation == worker->generation)
        keep_state(worker, status == BD_END ? BD_VIEW_ENDED : BD_VIEW_BROKEN_OFF, status);
    pthread_mutex_unlock(&worker->lock);
    worker->options.notify(worker->options.user);
}

/* Does what the mailbox asks for. Returns whether it sought in the input. */
static bool apply_requests(struct bd_view_worker *worker, const struct bd_view_mailbox *mail)
{
    struct bd_separator *separator = bd_pipeline_separator(worker->pipeline);
    if (separator && mail->threshold_set)
        check_request(worker, bd_separator_set_threshold(separator, mail->threshold));
    if (separator && mail->lambda_set)
        check_request(worker, bd_separator_set_lambda(separator, mail->lambda));
    if (separator && mail->reset)
        check_request(worker, bd_separator_reset(separator));
    if (separator && mail->freeze_set) {
        worker->frozen = mail->frozen;
        bd_separator_freeze(separator, worker->frozen);
    }
    if (!mail->seek)
        return false;
    worker->repeating = separator && mail->repeat;
    if (worker->repeating)
        bd_separator_freeze(separator, true);
    worker->jump = true;
    check_request(worker, bd_pipeline_seek(worker->pipeline, mail->seconds));
    return true;
}

static void describe(struct bd_view_worker *worker, struct bd_view_result *out,
                     const struct bd_result *result)
{
    const struct bd_reader_info *info = &worker->source.info;
    if (!worker->first_time_known) {
        /* With --start the first result is not the first frame: its index gives its time. */
        double rate = info->frame_rate.num > 0 && info->frame_rate.den > 0
                          ? (double)info->frame_rate.num / (double)info->frame_rate.den
                          : 0;
        worker->first_time = result->time - (rate > 0 ? (double)result->input->index / rate : 0);
        worker->first_time_known = true;
    }
    out->position = result->time - worker->first_time;
    out->foreground = (double)bd_mask_pixels(result->mask) /
                      ((double)result->input->width * (double)result->input->height);
    out->rank = result->rank;
    out->columns = result->columns;
    out->dropped = result->dropped;
    out->seconds = result->seconds;
    out->jump = worker->jump;
    worker->jump = false;
}

/* Separates the next frame into `out`. */
static enum bd_status separate(struct bd_view_worker *worker, struct bd_view_result *out)
{
    struct bd_result result;
    enum bd_status status = bd_pipeline_next(worker->pipeline, &result);
    if (worker->repeating) {
        worker->repeating = false;
        bd_separator_freeze(bd_pipeline_separator(worker->pipeline), worker->frozen);
    }
    if (status != BD_OK)
        return status;
    status = bd_view_result_copy(out, &result);
    if (status != BD_OK)
        return status;
    describe(worker, out, &result);
    worker->separated++;
    worker->dropped = result.dropped;
    return BD_OK;
}

/* At the end of the input: BD_OK if there is more, because it starts again. */
static enum bd_status start_again(struct bd_view_worker *worker)
{
    const struct bd_options *options = worker->options.options;
    bool nothing_came = worker->jump; /* since the last start: do not loop without a frame */
    if (!options->loop || worker->source.info.live || nothing_came)
        return BD_END;
    worker->jump = true;
    enum bd_status status = bd_pipeline_seek(worker->pipeline, options->start);
    check_request(worker, status);
    return status == BD_OK ? BD_OK : BD_END;
}

/* Waits for something to do. Returns false to stop; else *out is a slot to fill, or NULL if there
 * were only requests. */
static bool next_task(struct bd_view_worker *worker, bool at_end, struct bd_view_mailbox *mail,
                      struct bd_view_result **out, int64_t *generation)
{
    pthread_mutex_lock(&worker->lock);
    *out = NULL;
    while (!atomic_load(&worker->stop)) {
        if (!at_end || worker->mailbox.seek)
            *out = bd_view_queue_free_slot(&worker->queue);
        if (worker->mailbox.any || *out)
            break;
        pthread_cond_wait(&worker->wake, &worker->lock);
    }
    *mail = worker->mailbox;
    memset(&worker->mailbox, 0, sizeof worker->mailbox);
    *generation = worker->generation;
    pthread_mutex_unlock(&worker->lock);
    return !atomic_load(&worker->stop);
}

/* Puts a filled slot into the queue, or frees it if it failed or a seek has made it obsolete. */
static void deliver(struct bd_view_worker *worker, struct bd_view_result *out, bool good,
                    int64_t generation)
{
    pthread_mutex_lock(&worker->lock);
    if (good && generation == worker->generation)
        bd_view_queue_push(&worker->queue, out);
    else
        bd_view_queue_release(&worker->queue, out);
    pthread_mutex_unlock(&worker->lock);
    worker->options.notify(worker->options.user);
}

/* Follows the look-ahead. What fails here fails in bd_pipeline_next too. */
static void look_ahead(struct bd_view_worker *worker)
{
    double share;
    while (bd_pipeline_look_ahead(worker->pipeline, &share) == BD_OK) {
        pthread_mutex_lock(&worker->lock);
        worker->learned = share;
        pthread_mutex_unlock(&worker->lock);
        worker->options.notify(worker->options.user);
    }
}

static void separate_all(struct bd_view_worker *worker)
{
    struct bd_view_mailbox mail;
    struct bd_view_result *out;
    int64_t generation;
    bool at_end = false;
    look_ahead(worker);
    while (next_task(worker, at_end, &mail, &out, &generation)) {
        if (apply_requests(worker, &mail))
            at_end = false;
        if (!out)
            continue;
        enum bd_status status = separate(worker, out);
        deliver(worker, out, status == BD_OK, generation);
        if (status == BD_END)
            status = start_again(worker);
        at_end = status != BD_OK;
        if (at_end)
            end_of_input(worker, status, generation);
    }
}

/* The separator thread; `user` is the worker. */
static void *run(void *user)
{
    struct bd_view_worker *worker = user;
    enum bd_status status = open_pipeline(worker);
    set_state(worker, status == BD_OK ? BD_VIEW_RUNNING : BD_VIEW_OPEN_FAILED, status);
    if (status == BD_OK)
        separate_all(worker);
    bd_pipeline_close(&worker->pipeline);
    return NULL;
}

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
    if (!bd_thread_start(&worker->thread, "separate", run, worker)) {
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
    bd_log(BD_LOG_DEBUG, "%" PRId64 " frames were separated, %" PRId64 " dropped before",
           worker->separated, worker->dropped);
    bd_view_queue_destroy(&worker->queue);
    bd_frame_destroy(&worker->first_frame.input);
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
                                         .learned = worker->learned,
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

const struct bd_view_result *bd_view_worker_first_frame(struct bd_view_worker *worker)
{
    bool there = bd_view_worker_source(worker) && worker->first_frame.input.width > 0;
    return there ? &worker->first_frame : NULL;
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
