#include "app/eval/job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/eval/compare.h"
#include "app/eval/objects.h"
#include "app/interrupt.h"
#include "app/pipeline/pipeline.h"
#include "base/clock.h"
#include "video/output/writer.h"

/* A job while it runs. */
struct run {
    struct bd_eval_setup *setup;
    struct bd_eval_job *job;
    struct bd_options options; /* of the run, with this input */
    struct bd_sequence sequence;
    struct bd_eval_masks masks[bd_max_compare];
    struct bd_pipeline *pipeline;
    struct bd_frame truth;
    struct bd_worst *worst;
    struct bd_eval_objects *objects; /* NULL: they are not scored */
};

static void note(struct bd_eval_result *result, enum bd_status status)
{
    result->status = status;
    if (status)
        snprintf(result->detail, sizeof result->detail, "%s", bd_error_detail());
}

/* Makes the folder and those above it that are missing. */
static enum bd_status make_folders(const struct bd_options *options, const char *name)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", options->masks, name) >= (int)sizeof path)
        return bd_fail(BD_ERROR_IO, "%s: the path is too long", options->masks);
    for (char *slash = path; slash;) {
        slash = strchr(slash + 1, '/');
        if (slash)
            *slash = 0;
        if (mkdir(path, 0777) && errno != EEXIST)
            return bd_fail(BD_ERROR_IO, "--masks %s: %s", path, strerror(errno));
        if (slash)
            *slash = '/';
    }
    return BD_OK;
}

static enum bd_status save_mask(const struct bd_options *options, const char *name, int64_t number,
                                const struct bd_frame *mask)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s/bin%06lld.png", options->masks, name,
                 (long long)number) >= (int)sizeof path)
        return bd_fail(BD_ERROR_IO, "%s: the path is too long", options->masks);
    if (options->overwrite == BD_OVERWRITE_NO && access(path, F_OK) == 0)
        return bd_fail(BD_ERROR_ARGUMENT, "--masks %s: %s exists, and -n was given", options->masks,
                       path);
    return bd_picture_write(path, mask);
}

/* Finds the masks of other programs. What is missing is stored in the job and does not stop it. */
static void open_peers(struct run *run)
{
    const struct bd_eval_setup *setup = run->setup;
    bool all = run->options.start <= 0 && run->options.duration <= 0;
    for (int i = 0; i < setup->peer_count; i++)
        note(&run->job->peers[i], bd_eval_masks_open(&run->masks[i], setup->peers[i].folder,
                                                     &run->sequence, setup->alone, all));
}

static enum bd_status open_objects(struct run *run)
{
    enum bd_status status = bd_eval_objects_open(&run->objects, &run->sequence);
    if (status != BD_END)
        return status;
    bd_log(BD_LOG_WARNING, "%s: its objects are not scored: there is no gt/gt.txt",
           run->job->folder);
    return BD_OK;
}

static unsigned wanted(const struct run *run)
{
    unsigned wants = run->worst ? BD_WANT_BACKGROUND | BD_WANT_INPUT : 0;
    if (run->options.shadows)
        wants |= BD_WANT_SHADOWS;
    return run->objects ? wants | BD_WANT_OBJECTS : wants;
}

static enum bd_status open_run(struct run *run)
{
    struct bd_eval_setup *setup = run->setup;
    struct bd_eval_job *job = run->job;
    enum bd_status status = bd_sequence_open(&run->sequence, job->folder);
    if (status)
        return status;
    run->options = *setup->options;
    run->options.threads = setup->threads;
    run->options.arguments[0] = run->sequence.input.pattern;
    run->options.argument_count = 1;
    open_peers(run);
    if (run->options.masks)
        status = make_folders(&run->options, job->name);
    if (!status && run->options.objects)
        status = open_objects(run);
    if (!status && setup->worst_rows) {
        const struct bd_sequence *sequence = &run->sequence;
        int64_t from = sequence->input.first, to = sequence->input.last;
        status = bd_worst_create(&run->worst, setup->worst_rows,
                                 sequence->score_from > from ? sequence->score_from : from,
                                 sequence->score_to < to ? sequence->score_to : to);
    }
    if (!status)
        status = bd_pipeline_open(&run->pipeline, &run->options, false, wanted(run), bd_interrupted,
                                  NULL);
    if (status)
        return status;
    int64_t frames = bd_pipeline_frame_count(run->pipeline);
    atomic_fetch_add(&setup->total, frames - job->inputs);
    job->inputs = frames;
    job->settings = bd_pipeline_settings(run->pipeline);
    snprintf(job->backend, sizeof job->backend, "%s", bd_pipeline_backend(run->pipeline));
    return BD_OK;
}

/* Scores the masks of others for the frame whose truth is in run->truth. */
static void score_peers(struct run *run, struct bd_worst_offer *offer)
{
    for (int i = 0; i < run->setup->peer_count; i++) {
        struct bd_eval_result *result = &run->job->peers[i];
        if (result->status)
            continue;
        note(result, bd_eval_masks_score(&run->masks[i], &run->sequence, offer->number, &run->truth,
                                         &offer->scores[1 + i]));
        if (result->status)
            continue;
        bd_score_pool(&result->score, &offer->scores[1 + i]);
        offer->masks[1 + i] = &run->masks[i].mask;
    }
}

static enum bd_status score_frame(struct run *run, int64_t number, const struct bd_result *result)
{
    struct bd_worst_offer offer = { .number = number,
                                    .input = result->input,
                                    .background = result->background,
                                    .truth = &run->truth,
                                    .roi = &run->sequence.roi,
                                    .masks = { result->mask } };
    enum bd_status status = bd_sequence_truth(&run->sequence, number, &run->truth);
    if (!status)
        status = bd_score_add(&offer.scores[0], &run->sequence, result->mask, &run->truth);
    const bool counts = status != BD_END;
    if (counts && status)
        return status;
    status = run->objects ? bd_eval_objects_add(run->objects, result, counts) : BD_OK;
    if (status || !counts)
        return status;
    bd_score_pool(&run->job->ours.score, &offer.scores[0]);
    score_peers(run, &offer);
    return run->worst ? bd_worst_offer(run->worst, &offer) : BD_OK;
}

/* Separates all frames and scores those that count. BD_END when done. */
static enum bd_status score_frames(struct run *run)
{
    struct bd_eval_job *job = run->job;
    struct bd_result result;
    enum bd_status status = BD_OK;
    while (!status) {
        double begin = bd_clock_seconds();
        status = bd_pipeline_next(run->pipeline, &result);
        job->seconds += bd_clock_seconds() - begin;
        if (status)
            break;
        job->frames++;
        atomic_fetch_add(&run->setup->done, 1);
        int64_t number = run->sequence.input.first + result.mask->index;
        if (run->options.masks)
            status = save_mask(&run->options, job->name, number, result.labels);
        if (!status)
            status = score_frame(run, number, &result);
        if (!status && bd_interrupted(NULL))
            status = bd_fail(BD_ERROR_INTERRUPTED, "interrupted");
    }
    return status;
}

static enum bd_status finish(struct run *run, enum bd_status status)
{
    struct bd_eval_job *job = run->job;
    if (run->pipeline)
        job->damaged = bd_pipeline_damaged(run->pipeline);
    if (status != BD_END)
        return status;
    if (!job->ours.score.frames)
        return bd_fail(BD_ERROR_FORMAT, "%s: no frame has ground truth in the range", job->folder);
    job->has_objects = run->objects != NULL;
    return run->objects ? bd_eval_objects_scores(&job->objects, run->objects) : BD_OK;
}

void bd_eval_job_run(struct bd_eval_job *job, struct bd_eval_setup *setup)
{
    struct run run = { .setup = setup, .job = job };
    enum bd_status status = BD_OK;
    if (bd_interrupted(NULL))
        status = bd_fail(BD_ERROR_INTERRUPTED, "interrupted");
    if (!status)
        status = open_run(&run);
    if (!status)
        status = score_frames(&run);
    note(&job->ours, finish(&run, status));
    /* a job that ends early has no more to do */
    atomic_fetch_add(&setup->total, job->frames - job->inputs);
    if (run.worst && job->ours.score.frames) {
        bd_worst_finish(run.worst);
        job->worst = run.worst;
        run.worst = NULL;
    }
    bd_worst_destroy(&run.worst);
    bd_eval_objects_close(&run.objects);
    bd_pipeline_close(&run.pipeline);
    for (int i = 0; i < setup->peer_count; i++)
        bd_eval_masks_close(&run.masks[i]);
    bd_frame_destroy(&run.truth);
    bd_sequence_close(&run.sequence);
}
