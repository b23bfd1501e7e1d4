#include "app/eval/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/eval/objects_report.h"
#include "app/json.h"
#include "video/output_file.h"

enum { least_column = 24, peer_indent = 2 };

static const struct bd_eval_result *result_of(const struct bd_eval_job *job, int peer)
{
    return peer < 0 ? &job->ours : &job->peers[peer];
}

bool bd_eval_scored(const struct bd_eval_job *job, int peer)
{
    return job->ours.status == BD_OK && result_of(job, peer)->status == BD_OK;
}

struct bd_eval_mean bd_eval_mean(const struct bd_eval_plan *plan, int peer)
{
    struct bd_eval_mean mean = { 0 };
    for (int i = 0; i < plan->count; i++) {
        const struct bd_eval_job *job = &plan->jobs[i];
        const struct bd_score *score = &result_of(job, peer)->score;
        if (!bd_eval_scored(job, peer))
            continue;
        mean.sequences++;
        mean.precision += bd_score_precision(score);
        mean.recall += bd_score_recall(score);
        mean.f_measure += bd_score_f_measure(score);
        mean.frames += job->frames;
        mean.seconds += job->seconds;
    }
    if (mean.sequences) {
        mean.precision /= mean.sequences;
        mean.recall /= mean.sequences;
        mean.f_measure /= mean.sequences;
    }
    return mean;
}

static double rate(int64_t frames, double seconds)
{
    return seconds > 0 ? (double)frames / seconds : 0;
}

int bd_eval_name_column(const struct bd_eval_plan *plan)
{
    size_t column = least_column;
    for (int i = 0; i < plan->count; i++)
        if (strlen(plan->jobs[i].name) > column)
            column = strlen(plan->jobs[i].name);
    for (int i = 0; i < plan->setup.peer_count; i++)
        if (strlen(plan->setup.peers[i].name) + peer_indent > column)
            column = strlen(plan->setup.peers[i].name) + peer_indent;
    return (int)column;
}

void bd_eval_print_header(const struct bd_eval_plan *plan)
{
    printf("%-*s %9s %9s %9s %7s %8s\n", bd_eval_name_column(plan), "sequence", "precision",
           "recall", "F", "frames", "fps");
    fflush(stdout);
}

static void print_peer(const struct bd_eval_plan *plan, int peer, double precision, double recall,
                       double f_measure)
{
    printf("%*s%-*s %9.4f %9.4f %9.4f", peer_indent, "", bd_eval_name_column(plan) - peer_indent,
           plan->setup.peers[peer].name, precision, recall, f_measure);
}

void bd_eval_print_job(const struct bd_eval_plan *plan, const struct bd_eval_job *job)
{
    const struct bd_score *score = &job->ours.score;
    if (!bd_eval_scored(job, -1))
        return;
    printf("%-*s %9.4f %9.4f %9.4f %7lld %8.1f\n", bd_eval_name_column(plan), job->name,
           bd_score_precision(score), bd_score_recall(score), bd_score_f_measure(score),
           (long long)score->frames, rate(job->frames, job->seconds));
    for (int i = 0; i < plan->setup.peer_count; i++) {
        score = &job->peers[i].score;
        if (!bd_eval_scored(job, i))
            continue;
        print_peer(plan, i, bd_score_precision(score), bd_score_recall(score),
                   bd_score_f_measure(score));
        printf(" %7lld\n", (long long)score->frames);
    }
    fflush(stdout);
}

void bd_eval_print_mean(const struct bd_eval_plan *plan)
{
    struct bd_eval_mean ours = bd_eval_mean(plan, -1);
    printf("%-*s %9.4f %9.4f %9.4f %7s %8.1f\n", bd_eval_name_column(plan), "mean", ours.precision,
           ours.recall, ours.f_measure, "", rate(ours.frames, ours.seconds));
    for (int i = 0; i < plan->setup.peer_count; i++) {
        struct bd_eval_mean mean = bd_eval_mean(plan, i);
        if (!mean.sequences)
            continue;
        print_peer(plan, i, mean.precision, mean.recall, mean.f_measure);
        if (mean.sequences < ours.sequences)
            printf("  of %d of %d sequences", mean.sequences, ours.sequences);
        putchar('\n');
    }
    fflush(stdout);
}

static void write_score(struct bd_json *json, const struct bd_score *score)
{
    bd_json_number(json, "precision", bd_score_precision(score), 9);
    bd_json_number(json, "recall", bd_score_recall(score), 9);
    bd_json_number(json, "f_measure", bd_score_f_measure(score), 9);
    bd_json_integer(json, "tp", score->tp);
    bd_json_integer(json, "fp", score->fp);
    bd_json_integer(json, "fn", score->fn);
    bd_json_integer(json, "tn", score->tn);
    bd_json_integer(json, "frames", score->frames);
}

static void write_job(struct bd_json *json, const struct bd_eval_plan *plan,
                      const struct bd_eval_job *job)
{
    bd_json_open(json, NULL, '{');
    bd_json_text(json, "name", job->name);
    write_score(json, &job->ours.score);
    bd_json_number(json, "seconds", job->seconds, 6);
    bd_json_integer(json, "frames_separated", job->frames);
    bd_json_number(json, "frames_per_second", rate(job->frames, job->seconds), 6);
    bd_json_text(json, "folder", job->folder);
    if (plan->setup.peer_count)
        bd_json_open(json, "against", '[');
    for (int i = 0; i < plan->setup.peer_count; i++) {
        if (!bd_eval_scored(job, i))
            continue;
        bd_json_open(json, NULL, '{');
        bd_json_text(json, "name", plan->setup.peers[i].name);
        write_score(json, &job->peers[i].score);
        bd_json_close(json, '}');
    }
    if (plan->setup.peer_count)
        bd_json_close(json, ']');
    bd_eval_write_objects(json, job);
    bd_json_close(json, '}');
}

static void write_settings(struct bd_json *json, const struct bd_eval_plan *plan)
{
    const struct bd_options *options = plan->setup.options;
    const struct bd_eval_job *job = plan->jobs; /* the last that was separated */
    for (int i = 0; i < plan->count; i++)
        if (plan->jobs[i].frames)
            job = &plan->jobs[i];
    const struct bd_separator_options *settings = &job->settings;
    const bool batch = options->solver == BD_SOLVER_BATCH;
    bd_json_open(json, "settings", '{');
    bd_json_text(json, "backend", job->backend);
    bd_json_text(json, "solver", batch ? "batch" : "live");
    bd_json_text(json, "start", batch ? NULL : options->live ? "live" : "look-ahead");
    bd_json_number(json, "start_delay", !batch && options->live ? bd_start_delay(options) : NAN, 9);
    bd_json_text(json, "color", options->gray ? "gray" : "rgb");
    bd_json_integer(json, "window", settings->window);
    bd_json_number(json, "memory", settings->memory, 9);
    bd_json_number(json, "lambda", settings->lambda, 9);
    bd_json_number(json, "threshold", settings->threshold, 9);
    bd_json_number(json, "noise_gain", fmax(settings->noise_gain, 0), 9);
    bd_json_integer(json, "refine", bd_none_is_zero(settings->refine));
    bd_json_text(json, "renewal", bd_renewal_name(settings->refine));
    bd_json_integer(json, "rank", settings->rank);
    bd_json_integer(json, "median", settings->median);
    bd_json_integer(json, "min_area", bd_none_is_zero(settings->min_area));
    bd_json_integer(json, "max_hole", bd_none_is_zero(settings->max_hole));
    bd_json_close(json, '}');
}

/* The mean of nothing is null. */
static void write_mean(struct bd_json *json, const char *name, double mean, int count)
{
    bd_json_number(json, name, count ? mean : NAN, 9);
}

static void write_peers(struct bd_json *json, const struct bd_eval_plan *plan)
{
    bd_json_open(json, "against", '[');
    for (int i = 0; i < plan->setup.peer_count; i++) {
        struct bd_eval_mean mean = bd_eval_mean(plan, i);
        bd_json_open(json, NULL, '{');
        bd_json_text(json, "name", plan->setup.peers[i].name);
        bd_json_text(json, "folder", plan->setup.peers[i].folder);
        bd_json_integer(json, "sequences", mean.sequences);
        write_mean(json, "mean_precision", mean.precision, mean.sequences);
        write_mean(json, "mean_recall", mean.recall, mean.sequences);
        write_mean(json, "mean_f_measure", mean.f_measure, mean.sequences);
        bd_json_close(json, '}');
    }
    bd_json_close(json, ']');
}

/* Writes the sequences and masks that failed, with the reason and the score until then. */
static void write_failures(struct bd_json *json, const struct bd_eval_plan *plan)
{
    bd_json_open(json, "failures", '[');
    for (int i = 0; i < plan->count; i++) {
        const struct bd_eval_job *job = &plan->jobs[i];
        for (int peer = -1; peer < plan->setup.peer_count; peer++) {
            const struct bd_eval_result *result = result_of(job, peer);
            if (!result->status)
                continue;
            bd_json_open(json, NULL, '{');
            bd_json_text(json, "name", job->name);
            bd_json_text(json, "folder", job->folder);
            if (peer >= 0)
                bd_json_text(json, "against", plan->setup.peers[peer].name);
            bd_json_text(json, "error", result->detail);
            if (result->score.frames)
                write_score(json, &result->score);
            bd_json_close(json, '}');
        }
    }
    bd_json_close(json, ']');
}

struct report {
    const struct bd_eval_plan *plan;
    double seconds;
};

static void write_all(FILE *file, const void *user)
{
    const struct report *report = user;
    const struct bd_eval_plan *plan = report->plan;
    struct bd_eval_mean mean = bd_eval_mean(plan, -1);
    struct bd_json json = { .file = file };
    bd_json_open(&json, NULL, '{');
    bd_json_open(&json, "sequences", '[');
    for (int i = 0; i < plan->count; i++)
        if (bd_eval_scored(&plan->jobs[i], -1))
            write_job(&json, plan, &plan->jobs[i]);
    bd_json_close(&json, ']');
    write_mean(&json, "mean_f_measure", mean.f_measure, mean.sequences);
    write_mean(&json, "mean_precision", mean.precision, mean.sequences);
    write_mean(&json, "mean_recall", mean.recall, mean.sequences);
    bd_eval_write_mean_objects(&json, plan);
    write_settings(&json, plan);
    write_peers(&json, plan);
    bd_json_number(&json, "run_seconds", report->seconds, 6);
    bd_json_integer(&json, "at_once", plan->setup.at_once);
    write_failures(&json, plan);
    bd_json_close(&json, '}');
}

enum bd_status bd_eval_write_json(const struct bd_eval_plan *plan, const char *path, double seconds)
{
    const struct report report = { plan, seconds };
    enum bd_status status = bd_output_print(path, write_all, &report, true);
    return status ? bd_fail(status, "--json %s", bd_error_detail()) : BD_OK;
}
