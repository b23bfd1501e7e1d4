#include "app/commands.h"

#include <inttypes.h>
#include <math.h>

#include "app/activity/activity.h"
#include "app/export/outputs.h"
#include "app/export/statistics.h"
#include "app/interrupt.h"
#include "app/pipeline/pipeline.h"
#include "app/progress.h"

/* How an export went. */
struct export
{
    const struct bd_options *options;
    struct bd_pipeline *pipeline;
    struct bd_activity *activity; /* NULL: no output wants objects */
    struct bd_outputs *outputs;
    int output_count;
    struct bd_meter meter;
    struct bd_statistics statistics;
    int64_t frames;
    bool interrupted;
    bool broken;                 /* an output failed */
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

/* Writes a separated frame; called by the thread that makes its pictures. */
static enum bd_status write_frame(void *user, const struct bd_result *result)
{
    struct export *export = user;
    enum bd_status status = BD_OK;
    if (export->activity)
        status = bd_activity_add(export->activity, result);
    if (!status)
        status = bd_outputs_write(export->outputs, result, export->activity);
    if (status) {
        export->broken = true;
        return status;
    }
    bd_statistics_add(&export->statistics);
    bd_meter_update(&export->meter, ++export->frames);
    return BD_OK;
}

/* Runs to the end, to a failure, or until the user interrupts. What is held back at the start has
 * come before the interruption, and is still written. */
static void run_frames(struct export *export)
{
    int64_t limit = export->options->frames;
    int64_t total = bd_pipeline_frame_count(export->pipeline);
    if (limit > 0 && (total == 0 || limit < total))
        total = limit;
    bd_meter_begin(&export->meter, export->options, "", total);
    enum bd_status status = bd_pipeline_run(export->pipeline, limit, write_frame, export);
    bd_meter_end(&export->meter);
    export->interrupted = bd_interrupted(NULL);
    bool failed = status && status != BD_END && status != BD_ERROR_INTERRUPTED;
    if (failed)
        note_failure(export);
    /* An input that breaks off has given all that it has; memory may be there the next time. */
    if (export->broken || (failed && status != BD_ERROR_IO && status != BD_ERROR_FORMAT))
        bd_outputs_keep_old(export->outputs);
}

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* One line for each line and zone of the options. */
static void report_marks(const struct export *export)
{
    int count = 0;
    const struct bd_mark_total *totals =
        export->activity ? bd_activity_totals(export->activity, &count) : NULL;
    for (int i = 0; i < count; i++) {
        const struct bd_mark_total *total = &totals[i];
        if (total->zone)
            fprintf(stderr, "zone %s: %" PRId64 " entered, %" PRId64 " left, %.1f s inside\n",
                    total->name, total->entered, total->out, (double)total->stay / 1e9);
        else
            fprintf(stderr, "line %s: %" PRId64 " right, %" PRId64 " left\n", total->name,
                    total->right, total->left);
    }
}

/* Prints one line: what went wrong, or what was done. */
static int report(const struct export *export)
{
    const char *input = export->options->arguments[0];
    int64_t damaged = bd_pipeline_damaged(export->pipeline);
    double seconds = bd_meter_seconds(&export->meter);
    if (*export->detail) {
        fprintf(stderr, "backdrop: %s (after %" PRId64 " frame%s)\n", export->detail,
                export->frames, plural(export->frames));
        return export->interrupted ? 4 : 3;
    }
    if (export->interrupted) {
        fprintf(stderr, "backdrop: interrupted; the files hold %" PRId64 " frame%s\n",
                export->frames, plural(export->frames));
        return 4;
    }
    if (damaged > 0) {
        fprintf(stderr,
                "backdrop: %s: finished, but %" PRId64
                " damaged pictures of the input were left out; %" PRId64 " frame%s written\n",
                input, damaged, export->frames, plural(export->frames));
        return 3;
    }
    if (export->options->quiet)
        return 0;
    fprintf(stderr, "%" PRId64 " frame%s in %.1f s (%.1f frames/s), %d output%s", export->frames,
            plural(export->frames), seconds, seconds > 0 ? (double)export->frames / seconds : 0,
            export->output_count, plural(export->output_count));
    if (export->options->events || export->options->clips || export->options->scan_only) {
        const int64_t events = bd_activity_event_count(export->activity);
        fprintf(stderr, ", %" PRId64 " event%s", events, plural(events));
    }
    fputc('\n', stderr);
    return 0;
}

/* Options that change what is told of objects, without an output that tells of any. */
static enum bd_status check_objects(const struct bd_options *options, unsigned wants)
{
    const struct {
        const char *name;
        bool given;
    } rows[] = { { "line", options->lines.count > 0 },
                 { "zone", options->zones.count > 0 },
                 { "min-event-length", options->min_event_length != 0 },
                 { "time-before-event", options->time_before_event != 0 },
                 { "time-post-event", options->time_post_event != 0 },
                 { "merge-window", options->merge_window != 0 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !(wants & BD_WANT_OBJECTS); i++)
        if (rows[i].given)
            return bd_fail(BD_ERROR_ARGUMENT,
                           "--%s: does nothing without an output of objects, such as --events",
                           rows[i].name);
    return BD_OK;
}

/* All events end before the outputs do. */
static void close_outputs(struct export *export)
{
    if (export->activity && bd_activity_finish(export->activity))
        note_failure(export);
    if (bd_outputs_close(&export->outputs, export->activity))
        note_failure(export);
}

int bd_export_run(const struct bd_options *options)
{
    struct export export = { .options = options };
    unsigned wants = bd_outputs_wants(options, &export.output_count);
    enum bd_status status = BD_OK;
    int exit_status = 1;
    bd_statistics_begin(&export.statistics);
    if (export.output_count == 0)
        status = bd_fail(BD_ERROR_ARGUMENT,
                         "no output asked for: give --mask, --foreground, --background, --overlay, "
                         "--plate, --events, --tracks, --clips, --scan-only or --contact-sheet");
    if (!status)
        status = check_objects(options, wants);
    if (!status) {
        status = bd_outputs_check(options);
        exit_status = status == BD_ERROR_INTERRUPTED ? 4 : 1;
    }
    if (!status) {
        status = bd_pipeline_open(&export.pipeline, options, false, wants, bd_interrupted, NULL);
        exit_status = bd_open_exit_status(status);
    }
    if (!status) {
        exit_status = 1;
        if (wants & BD_WANT_OBJECTS)
            status =
                bd_activity_create(&export.activity, options, bd_pipeline_info(export.pipeline));
    }
    if (!status) {
        status = bd_outputs_open(&export.outputs, options, export.pipeline);
    }
    if (status) {
        fprintf(stderr, "backdrop: %s\n", bd_error_detail());
    } else {
        log_settings(&export);
        run_frames(&export);
        close_outputs(&export);
        if (options->json &&
            bd_statistics_write(&export.statistics, options->json,
                                bd_pipeline_backend(export.pipeline), export.activity))
            note_failure(&export);
        exit_status = report(&export);
        if (!options->quiet)
            report_marks(&export);
    }
    bd_activity_destroy(&export.activity);
    bd_pipeline_close(&export.pipeline);
    return exit_status;
}
