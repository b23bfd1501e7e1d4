#include "app/eval.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/cdnet.h"
#include "app/interrupt.h"
#include "app/json.h"
#include "app/pipeline.h"
#include "app/progress.h"
#include "base/clock.h"
#include "video/writer.h"

struct row {
    char name[NAME_MAX + 1];
    struct bd_score score;
    int64_t frames; /* separated, scored or not */
    double seconds; /* for them, without reading the ground truth */
};

struct evaluation {
    const struct bd_options *options;
    struct row *rows;
    int count;
    bool failed;                          /* a sequence was left out or incomplete */
    struct bd_separator_options settings; /* of the last sequence */
    char backend[256];
};

static void print_header(void)
{
    printf("%-24s %9s %9s %9s %7s %8s\n", "sequence", "precision", "recall", "F", "frames", "fps");
}

static void print_row(const struct row *row)
{
    printf("%-24s %9.4f %9.4f %9.4f %7lld %8.1f\n", row->name, bd_score_precision(&row->score),
           bd_score_recall(&row->score), bd_score_f_measure(&row->score),
           (long long)row->score.frames, row->seconds > 0 ? (double)row->frames / row->seconds : 0);
    fflush(stdout);
}

static double mean_f_measure(const struct evaluation *evaluation)
{
    double sum = 0;
    for (int i = 0; i < evaluation->count; i++)
        sum += bd_score_f_measure(&evaluation->rows[i].score);
    return evaluation->count ? sum / evaluation->count : 0;
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

static enum bd_status make_mask_folder(const struct bd_options *options, const char *name)
{
    char path[PATH_MAX];
    if (!options->masks)
        return BD_OK;
    if (snprintf(path, sizeof path, "%s/%s", options->masks, name) >= (int)sizeof path)
        return bd_fail(BD_ERROR_IO, "%s: the path is too long", options->masks);
    if ((mkdir(options->masks, 0777) && errno != EEXIST) || (mkdir(path, 0777) && errno != EEXIST))
        return bd_fail(BD_ERROR_IO, "--masks %s: %s", options->masks, strerror(errno));
    return BD_OK;
}

/* Separates all frames and scores those that count. BD_END when done. */
static enum bd_status score_frames(struct evaluation *evaluation, struct row *row,
                                   const struct bd_sequence *sequence, struct bd_pipeline *pipeline)
{
    struct bd_frame truth = { 0 };
    struct bd_result result;
    struct bd_meter meter;
    enum bd_status status = make_mask_folder(evaluation->options, row->name);
    bd_meter_begin(&meter, evaluation->options, row->name, bd_pipeline_frame_count(pipeline));
    while (!status) {
        double begin = bd_clock_seconds();
        status = bd_pipeline_next(pipeline, &result);
        row->seconds += bd_clock_seconds() - begin;
        if (status)
            break;
        row->frames++;
        int64_t number = sequence->first_number + result.mask->index;
        if (evaluation->options->masks)
            status = save_mask(evaluation->options, row->name, number, result.labels);
        if (status)
            break;
        status = bd_sequence_truth(sequence, number, &truth);
        if (!status)
            status = bd_score_add(&row->score, sequence, result.mask, &truth);
        if (status == BD_END) /* this frame does not count */
            status = BD_OK;
        bd_meter_update(&meter, row->frames);
        if (!status && bd_interrupted(NULL))
            status = bd_fail(BD_ERROR_INTERRUPTED, "%s: interrupted", sequence->folder);
    }
    bd_meter_end(&meter);
    bd_frame_destroy(&truth);
    return status;
}

static enum bd_status run_sequence(struct evaluation *evaluation, struct row *row,
                                   const char *folder)
{
    struct bd_sequence sequence = { 0 };
    struct bd_pipeline *pipeline = NULL;
    struct bd_options options = *evaluation->options;
    enum bd_status status = bd_sequence_open(&sequence, folder);
    if (status)
        return status;
    memcpy(row->name, sequence.name, sizeof row->name);
    options.arguments[0] = sequence.input;
    options.argument_count = 1;
    status = bd_pipeline_open(&pipeline, &options, false, options.shadows ? BD_WANT_SHADOWS : 0,
                              bd_interrupted, NULL);
    if (!status) {
        evaluation->settings = bd_pipeline_settings(pipeline);
        snprintf(evaluation->backend, sizeof evaluation->backend, "%s",
                 bd_pipeline_backend(pipeline));
        status = score_frames(evaluation, row, &sequence, pipeline);
    }
    if (status == BD_END)
        status = row->score.frames ? BD_OK
                                   : bd_fail(BD_ERROR_FORMAT,
                                             "%s: no frame has ground truth in the range", folder);
    if (!status && bd_pipeline_damaged(pipeline) > 0) {
        fprintf(stderr, "backdrop: %s: %lld damaged pictures were skipped\n", folder,
                (long long)bd_pipeline_damaged(pipeline));
        evaluation->failed = true;
    }
    bd_pipeline_close(&pipeline);
    bd_sequence_close(&sequence);
    return status;
}

/* For bd_sequence_find. A sequence that cannot be read is reported, and the others go on. */
static enum bd_status add_sequence(void *user, const char *folder)
{
    struct evaluation *evaluation = user;
    struct row *rows =
        realloc(evaluation->rows, ((size_t)evaluation->count + 1) * sizeof *evaluation->rows);
    if (!rows)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the results");
    evaluation->rows = rows;
    struct row *row = &rows[evaluation->count];
    memset(row, 0, sizeof *row);
    enum bd_status status = run_sequence(evaluation, row, folder);
    if (status == BD_ERROR_INTERRUPTED)
        return status;
    if (status == BD_ERROR_IO || status == BD_ERROR_FORMAT) {
        fprintf(stderr, "backdrop: %s\n", bd_error_detail());
        evaluation->failed = true;
        return BD_OK;
    }
    if (status)
        return status;
    print_row(row);
    evaluation->count++;
    return BD_OK;
}

static void write_settings(struct bd_json *json, const struct evaluation *evaluation)
{
    const struct bd_separator_options *settings = &evaluation->settings;
    const struct bd_options *options = evaluation->options;
    bd_json_open(json, "settings", '{');
    bd_json_text(json, "backend", evaluation->backend);
    bd_json_text(json, "solver", options->solver == BD_SOLVER_BATCH ? "batch" : "live");
    bd_json_text(json, "color", options->gray ? "gray" : "rgb");
    bd_json_integer(json, "window", settings->window);
    bd_json_number(json, "memory", settings->memory, 9);
    bd_json_number(json, "lambda", settings->lambda, 9);
    bd_json_number(json, "threshold", settings->threshold, 9);
    bd_json_number(json, "noise_gain", settings->noise_gain, 9);
    bd_json_integer(json, "refine", settings->refine);
    bd_json_integer(json, "rank", settings->rank);
    bd_json_integer(json, "median", settings->median);
    bd_json_integer(json, "min_area", settings->min_area);
    bd_json_integer(json, "max_hole", settings->max_hole);
    bd_json_close(json, '}');
}

static enum bd_status write_json(const struct evaluation *evaluation)
{
    const char *path = evaluation->options->json;
    FILE *file = fopen(path, "w");
    if (!file)
        return bd_fail(BD_ERROR_IO, "--json %s: %s", path, strerror(errno));
    struct bd_json json = { .file = file };
    bd_json_open(&json, NULL, '{');
    bd_json_open(&json, "sequences", '[');
    for (int i = 0; i < evaluation->count; i++) {
        const struct row *row = &evaluation->rows[i];
        bd_json_open(&json, NULL, '{');
        bd_json_text(&json, "name", row->name);
        bd_json_number(&json, "precision", bd_score_precision(&row->score), 9);
        bd_json_number(&json, "recall", bd_score_recall(&row->score), 9);
        bd_json_number(&json, "f_measure", bd_score_f_measure(&row->score), 9);
        bd_json_integer(&json, "tp", row->score.tp);
        bd_json_integer(&json, "fp", row->score.fp);
        bd_json_integer(&json, "fn", row->score.fn);
        bd_json_integer(&json, "tn", row->score.tn);
        bd_json_integer(&json, "frames", row->score.frames);
        bd_json_number(&json, "seconds", row->seconds, 6);
        bd_json_close(&json, '}');
    }
    bd_json_close(&json, ']');
    bd_json_number(&json, "mean_f_measure", mean_f_measure(evaluation), 9);
    write_settings(&json, evaluation);
    bd_json_close(&json, '}');
    bool failed = ferror(file);
    if (fclose(file) || failed)
        return bd_fail(BD_ERROR_IO, "--json %s: %s", path, strerror(errno));
    return BD_OK;
}

/* An hour of separation must not end in a file that cannot be written. */
static enum bd_status check_json(const struct bd_options *options)
{
    char folder[PATH_MAX];
    const char *path = options->json, *target = path;
    if (!path)
        return BD_OK;
    bool exists = access(path, F_OK) == 0;
    if (exists && options->overwrite == BD_OVERWRITE_NO)
        return bd_fail(BD_ERROR_ARGUMENT, "--json %s: exists, and -n was given", path);
    if (!exists) {
        const char *slash = strrchr(path, '/');
        snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1,
                 slash ? path : ".");
        target = folder;
    }
    return access(target, W_OK) ? bd_fail(BD_ERROR_IO, "--json %s: %s", path, strerror(errno))
                                : BD_OK;
}

int bd_eval_run(const struct bd_options *options)
{
    struct evaluation evaluation = { .options = options };
    enum bd_status status = BD_OK;
    if (check_json(options)) {
        fprintf(stderr, "backdrop: %s\n", bd_error_detail());
        return 1;
    }
    if (!options->quiet)
        print_header();
    for (int i = 0; i < options->argument_count && status != BD_ERROR_INTERRUPTED; i++) {
        status = bd_sequence_find(options->arguments[i], add_sequence, &evaluation);
        if (!status)
            continue;
        fprintf(stderr, "backdrop: %s\n", bd_error_detail());
        if (status != BD_ERROR_IO && status != BD_ERROR_INTERRUPTED)
            break; /* bad options would fail on every sequence */
        evaluation.failed = true;
    }
    if (evaluation.count > 1)
        printf("%-24s %9s %9s %9.4f\n", "mean", "", "", mean_f_measure(&evaluation));
    int exit_status = evaluation.failed ? evaluation.count ? 3 : 2 : 0;
    if (status == BD_ERROR_INTERRUPTED)
        exit_status = 4;
    else if (status && status != BD_ERROR_IO)
        exit_status = evaluation.count ? 3 : 1;
    if (options->json && evaluation.count && write_json(&evaluation)) {
        fprintf(stderr, "backdrop: %s\n", bd_error_detail());
        exit_status = 3;
    }
    free(evaluation.rows);
    return exit_status;
}
