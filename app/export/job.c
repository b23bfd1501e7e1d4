#include "app/export/job.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "app/activity/activity.h"
#include "app/export/clips/plan.h"
#include "app/export/outputs.h"
#include "app/export/own_options.h"
#include "app/export/statistics.h"
#include "app/interrupt.h"
#include "app/pipeline/pipeline.h"

/* How an export went. */
struct export
{
    const struct bd_options *options;
    struct bd_export_setup *setup;
    struct bd_pipeline *pipeline;
    struct bd_activity *activity; /* NULL: no output wants objects */
    struct bd_clip_plan clips;
    struct bd_outputs *outputs;
    struct bd_statistics statistics;
    int64_t frames;
    bool interrupted;
    atomic_bool broken;          /* an output failed */
    char detail[bd_detail_size]; /* of the first failure; "": none */
};

static void note_failure(struct export *export)
{
    if (!*export->detail)
        snprintf(export->detail, sizeof export->detail, "%s", bd_error_detail());
}

static void log_settings(const struct export *export)
{
    const struct bd_reader_info *info = bd_pipeline_info(export->pipeline);
    struct bd_separator_options settings = bd_pipeline_settings(export->pipeline);
    bd_log(BD_LOG_INFO, "input %dx%d, %s in %s, processed at %dx%d; %s", info->width, info->height,
           info->codec, info->container, settings.width, settings.height,
           bd_pipeline_backend(export->pipeline));
    bd_log(BD_LOG_INFO,
           "window %d, memory %g s, lambda %g, threshold %g, noise gain %g, refine %d, renewal %s, "
           "rank %d, "
           "median %d, min area %d, max hole %d",
           settings.window, settings.memory, settings.lambda, settings.threshold,
           fmax(settings.noise_gain, 0), bd_none_is_zero(settings.refine),
           bd_renewal_name(settings.refine), settings.rank, settings.median,
           bd_none_is_zero(settings.min_area), bd_none_is_zero(settings.max_hole));
}

/* Writes the pictures of a frame; called by the thread that makes them. */
static enum bd_status write_pictures(void *user, const struct bd_result *result)
{
    struct export *export = user;
    enum bd_status status = bd_outputs_write(export->outputs, result, NULL);
    if (status)
        export->broken = true;
    return status;
}

/* Then its objects, if they are wanted; called by the thread that finds them. Of the frames that
 * are done, this alone keeps count. */
static enum bd_status write_objects(void *user, const struct bd_result *result)
{
    struct export *export = user;
    enum bd_status status = export->activity ? bd_activity_add(export->activity, result) : BD_OK;
    if (export->activity && !status)
        status = bd_outputs_write(export->outputs, result, export->activity);
    if (status) {
        export->broken = true;
        return status;
    }
    bd_statistics_add(&export->statistics);
    export->frames++;
    atomic_fetch_add(&export->setup->done, 1);
    if (export->setup->meter)
        bd_meter_update(export->setup->meter, export->frames);
    return BD_OK;
}

/* Runs to the end, to a failure, or until the user interrupts. What is held back at the start has
 * come before the interruption, and is still written. */
static void run_frames(struct export *export)
{
    struct bd_meter *meter = export->setup->meter;
    int64_t limit = export->options->frames;
    int64_t total = bd_pipeline_frame_count(export->pipeline);
    if (limit > 0 && (total == 0 || limit < total))
        total = limit;
    atomic_fetch_add(&export->setup->total, total);
    atomic_fetch_add(&export->setup->opened, 1);
    if (meter)
        bd_meter_begin(meter, export->options, "", total);
    enum bd_status status = bd_pipeline_run(
        export->pipeline, limit, &(struct bd_sinks){ write_pictures, write_objects, export });
    if (meter)
        bd_meter_end(meter);
    export->interrupted = bd_interrupted(NULL);
    bool failed = status && status != BD_END && status != BD_ERROR_INTERRUPTED;
    if (failed)
        note_failure(export);
    /* An input that breaks off has given all that it has; memory may be there the next time. */
    if (export->broken || (failed && status != BD_ERROR_IO && status != BD_ERROR_FORMAT))
        bd_outputs_keep_old(export->outputs);
}

/* Says what went wrong, and how the program would end. */
static void judge(struct bd_export_job *job, const struct export *export)
{
    int64_t damaged = bd_pipeline_damaged(export->pipeline);
    const char *plural = job->frames == 1 ? "" : "s";
    const struct bd_options *options = export->options;
    char name[bd_detail_size];
    if (options->piece_count > 1) /* any of them may be the damaged one */
        snprintf(name, sizeof name, "film of %d pieces", options->piece_count);
    else
        snprintf(name, sizeof name, "%s", options->arguments[0]);
    if (*export->detail)
        snprintf(job->line, sizeof job->line, "%s (after %" PRId64 " frame%s)", export->detail,
                 job->frames, plural);
    else if (damaged > 0 && !export->interrupted)
        snprintf(job->line, sizeof job->line,
                 "%.400s: finished, but %" PRId64
                 " damaged pictures%s of the input were left out; %" PRId64 " frame%s written",
                 name, damaged, options->piece_count > 1 ? " or pieces" : "", job->frames, plural);
    else if (job->frames == 0 && !export->interrupted)
        snprintf(job->line, sizeof job->line,
                 "%.400s: there is no frame between --start and the end of --duration; no output "
                 "was written",
                 name);
    const int fault = job->frames > 0 || *export->detail ? 3 : 2;
    job->exit_status = export->interrupted ? 4 : *job->line ? fault : 0;
}

/* One line for each line and zone of the options. Of several exports, each line names the input. */
static char *describe_marks(const struct export *export)
{
    int count = 0;
    size_t size;
    char *text = NULL;
    const struct bd_mark_total *totals =
        export->activity ? bd_activity_totals(export->activity, &count) : NULL;
    FILE *file = count ? open_memstream(&text, &size) : NULL;
    for (int i = 0; file && i < count; i++) {
        const struct bd_mark_total *total = &totals[i];
        if (!export->setup->meter)
            fprintf(file, "%s: ", export->options->arguments[0]);
        if (total->zone)
            fprintf(file, "zone %s: %" PRId64 " entered, %" PRId64 " left, %.1f s inside\n",
                    total->name, total->entered, total->out, (double)total->stay / 1e9);
        else
            fprintf(file, "line %s: %" PRId64 " right, %" PRId64 " left\n", total->name,
                    total->right, total->left);
    }
    if (file)
        fclose(file);
    return text;
}

/* All events end before the outputs do. */
static void close_outputs(struct export *export)
{
    if (export->activity && bd_activity_finish(export->activity))
        note_failure(export);
    if (bd_outputs_close(&export->outputs, export->activity))
        note_failure(export);
}

/* Opens what is read and written; the exit status if that fails. */
static int open_all(struct export *export)
{
    bd_clip_plan_make(&export->clips, export->options);
    unsigned wants = bd_outputs_wants(export->options, &export->clips);
    enum bd_status status =
        bd_pipeline_open(&export->pipeline, export->options, false, wants, bd_interrupted, NULL);
    if (status)
        return bd_open_exit_status(status);
    if (wants & BD_WANT_OBJECTS)
        status = bd_activity_create(&export->activity, export->options,
                                    bd_pipeline_info(export->pipeline));
    if (!status)
        status =
            bd_outputs_open(&export->outputs, export->options, export->pipeline, &export->clips);
    return status ? 1 : 0;
}

static void run(struct bd_export_job *job, struct export *export)
{
    const struct bd_options *options = export->options;
    bd_statistics_begin(&export->statistics);
    job->outputs = bd_outputs_count(options);
    job->events = -1;
    job->exit_status = open_all(export);
    if (job->exit_status) {
        snprintf(job->line, sizeof job->line, "%s", bd_error_detail());
        atomic_fetch_add(&export->setup->opened, 1);
    } else {
        log_settings(export);
        run_frames(export);
        close_outputs(export);
        if (options->json &&
            bd_statistics_write(&export->statistics, options->json,
                                bd_pipeline_backend(export->pipeline), export->activity))
            note_failure(export);
        job->frames = export->frames;
        if (options->events || options->clips || options->scan_only)
            job->events = bd_activity_event_count(export->activity);
        job->marks = describe_marks(export);
        judge(job, export);
    }
    bd_activity_destroy(&export->activity);
    bd_clip_plan_release(&export->clips);
    bd_pipeline_close(&export->pipeline);
}

void bd_export_job_run(struct bd_export_job *job, struct bd_export_setup *setup)
{
    struct bd_own_options own;
    if (bd_own_options_make(&own, setup->options, setup->inputs, job->number)) {
        job->exit_status = 1;
        snprintf(job->line, sizeof job->line, "%s", bd_error_detail());
        atomic_fetch_add(&setup->opened, 1);
        return;
    }
    own.options.threads = setup->threads;
    if (!setup->meter)
        own.options.progress = BD_PROGRESS_NONE; /* the main thread draws that of all */
    run(job, &(struct export){ .options = &own.options, .setup = setup });
    bd_own_options_free(&own);
}
