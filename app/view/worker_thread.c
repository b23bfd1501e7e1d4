#include "app/view/worker_thread.h"

#include <stdio.h>
#include <string.h>

static bool interrupted(void *user)
{
    struct bd_view_worker *worker = user;
    return atomic_load(&worker->stop) ||
           (worker->options.interrupted && worker->options.interrupted(worker->options.user));
}

static void set_state(struct bd_view_worker *worker, enum bd_view_state state,
                      enum bd_status status)
{
    pthread_mutex_lock(&worker->lock);
    worker->state = state;
    worker->status = status;
    snprintf(worker->detail, sizeof worker->detail, "%s", bd_error_detail());
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
}

static enum bd_status open_pipeline(struct bd_view_worker *worker)
{
    const unsigned wants = BD_WANT_BACKGROUND | BD_WANT_FOREGROUND | BD_WANT_OVERLAY;
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
    pthread_mutex_lock(&worker->lock);
    status = bd_view_queue_create(&worker->queue, source->info.width, source->info.height,
                                  source->info.live);
    pthread_mutex_unlock(&worker->lock);
    return status;
}

/* Sets the state to ended, unless the main thread has asked for a seek meanwhile. */
static void end_of_input(struct bd_view_worker *worker, enum bd_status status, int64_t generation)
{
    pthread_mutex_lock(&worker->lock);
    bool current = generation == worker->generation;
    pthread_mutex_unlock(&worker->lock);
    if (current)
        set_state(worker, status == BD_END ? BD_VIEW_ENDED : BD_VIEW_BROKEN_OFF, status);
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
    out->foreground = (double)result->foreground_pixels /
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
    const struct bd_frame *pictures[BD_PICTURES] = {
        [BD_PANE_INPUT] = result.input,           [BD_PANE_BACKGROUND] = result.background,
        [BD_PANE_FOREGROUND] = result.foreground, [BD_PANE_MASK] = result.mask,
        [BD_PANE_OVERLAY] = result.overlay,
    };
    for (int i = 0; i < BD_PICTURES; i++) {
        status = bd_frame_copy(&out->pictures[i], pictures[i]);
        if (status != BD_OK)
            return status;
    }
    describe(worker, out, &result);
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

static void separate_all(struct bd_view_worker *worker)
{
    struct bd_view_mailbox mail;
    struct bd_view_result *out;
    int64_t generation;
    bool at_end = false;
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

void *bd_view_worker_run(void *user)
{
    struct bd_view_worker *worker = user;
    enum bd_status status = open_pipeline(worker);
    set_state(worker, status == BD_OK ? BD_VIEW_RUNNING : BD_VIEW_OPEN_FAILED, status);
    if (status == BD_OK)
        separate_all(worker);
    bd_pipeline_close(&worker->pipeline);
    return NULL;
}
