#include "app/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app/eval/objects_report.h"
#include "app/eval/output_checks.h"
#include "app/eval/plan.h"
#include "app/eval/report.h"
#include "app/eval/sheet.h"
#include "app/interrupt.h"
#include "app/progress.h"
#include "base/thread.h"

/* Threads run the jobs one after another. The main thread waits for the jobs in the order of the
 * command line, prints their results, and draws the progress bar. */
struct crew {
    struct bd_eval_plan *plan;
    pthread_t *threads;
    int thread_count;
    atomic_int next; /* index in plan->order of the next job to start */
    atomic_int done_count;
    atomic_bool *is_done; /* of each job; a job that is done belongs to the main thread */
};

static void *work(void *user)
{
    struct crew *crew = user;
    struct bd_eval_plan *plan = crew->plan;
    int started;
    while ((started = atomic_fetch_add(&crew->next, 1)) < plan->count) {
        int i = plan->order[started];
        if (!plan->jobs[i].ours.status)
            bd_eval_job_run(&plan->jobs[i], &plan->setup);
        atomic_fetch_add(&crew->done_count, 1);
        atomic_store(&crew->is_done[i], true);
    }
    return NULL;
}

static enum bd_status start(struct crew *crew, struct bd_eval_plan *plan)
{
    int wanted = plan->setup.at_once > 0 ? plan->setup.at_once : 1;
    *crew = (struct crew){ .plan = plan };
    crew->is_done = calloc((size_t)plan->count + 1, sizeof *crew->is_done);
    crew->threads = calloc((size_t)wanted, sizeof *crew->threads);
    while (crew->is_done && crew->threads && crew->thread_count < wanted &&
           bd_thread_start(&crew->threads[crew->thread_count], "evaluate", work, crew))
        crew->thread_count++;
    return crew->thread_count ? BD_OK : bd_fail(BD_ERROR_MEMORY, "cannot start a thread");
}

static void end(struct crew *crew)
{
    for (int i = 0; i < crew->thread_count; i++)
        pthread_join(crew->threads[i], NULL);
    free(crew->threads);
    free(crew->is_done);
}

/* Waits for a job, and draws the bar meanwhile. */
static void wait_for(struct crew *crew, int job, struct bd_meter *meter, char *label, size_t size)
{
    const struct timespec tick = { .tv_nsec = 10000000 };
    struct bd_eval_setup *setup = &crew->plan->setup;
    while (!atomic_load(&crew->is_done[job])) {
        nanosleep(&tick, NULL);
        if (crew->plan->count > 1)
            snprintf(label, size, "%d of %d sequences", atomic_load(&crew->done_count),
                     crew->plan->count);
        meter->total = atomic_load(&setup->total);
        bd_meter_update(meter, atomic_load(&setup->done));
    }
}

/* Prints what went wrong with a sequence on stderr. `last` holds the line printed before: a line
 * that is the same for all sequences is printed once. */
static void print_failure(const char *name, const char *line, char *last)
{
    if (strcmp(line, last) == 0)
        return;
    if (strstr(line, name))
        fprintf(stderr, "backdrop: %s\n", line);
    else
        fprintf(stderr, "backdrop: %s: %s\n", name, line);
    snprintf(last, bd_detail_size, "%s", line);
}

static bool report(const struct bd_eval_plan *plan, const struct bd_eval_job *job, char *last)
{
    char line[bd_detail_size];
    bool whole = bd_eval_scored(job, -1);
    bd_eval_print_job(plan, job);
    if (job->ours.status == BD_ERROR_INTERRUPTED && job->ours.score.frames > 0) {
        snprintf(line, sizeof line, "%s: interrupted, F %.4f over the first %lld frames to score",
                 job->name, bd_score_f_measure(&job->ours.score),
                 (long long)job->ours.score.frames);
        print_failure(job->name, line, last);
    } else if (job->ours.status && job->ours.status != BD_ERROR_INTERRUPTED) {
        print_failure(job->name, job->ours.detail, last);
    }
    for (int i = 0; i < plan->setup.peer_count; i++) {
        if (!job->peers[i].status)
            continue;
        print_failure(job->name, job->peers[i].detail, last);
        whole = false;
    }
    if (job->damaged > 0) {
        snprintf(line, sizeof line, "%.400s: %lld damaged pictures were skipped", job->folder,
                 (long long)job->damaged);
        print_failure(job->name, line, last);
        whole = false;
    }
    return whole;
}

/* Runs all jobs and prints their results. *whole: all were scored in full. */
static enum bd_status run_jobs(struct bd_eval_plan *plan, bool *whole, double *seconds)
{
    struct crew crew;
    struct bd_meter meter;
    char label[NAME_MAX + 1] = "", last[bd_detail_size] = "";
    enum bd_status status = start(&crew, plan);
    *whole = true;
    if (plan->count == 1)
        snprintf(label, sizeof label, "%s", plan->jobs[0].name);
    bd_meter_begin(&meter, plan->setup.options, label, atomic_load(&plan->setup.total));
    for (int i = 0; i < plan->count && !status; i++) {
        wait_for(&crew, i, &meter, label, sizeof label);
        bd_meter_end(&meter);
        *whole = report(plan, &plan->jobs[i], last) && *whole;
    }
    *seconds = bd_meter_seconds(&meter);
    end(&crew);
    return status;
}

/* The exit status if nothing was scored: that of the first failure. */
static int nothing_scored(const struct bd_eval_plan *plan)
{
    for (int i = 0; i < plan->count; i++) {
        enum bd_status status = plan->jobs[i].ours.status;
        if (status)
            return status == BD_ERROR_IO || status == BD_ERROR_FORMAT ? 2 : 1;
    }
    return 2;
}

/* Writes the files that were asked for, also after failures. Returns whether all could be written.
 */
static bool write_files(const struct bd_eval_plan *plan, double seconds)
{
    const struct bd_options *options = plan->setup.options;
    bool written = true;
    if (options->json && bd_eval_write_json(plan, options->json, seconds)) {
        fprintf(stderr, "backdrop: %s\n", bd_error_detail());
        written = false;
    }
    bool any = false;
    for (int i = 0; i < plan->count; i++)
        any = any || plan->jobs[i].worst;
    if (options->contact_sheet && any && bd_eval_sheet_write(plan, options->contact_sheet)) {
        fprintf(stderr, "backdrop: %s\n", bd_error_detail());
        written = false;
    }
    return written;
}

/* Prints the rate of the whole run: the rate of a sequence is measured while others run. */
static void summarize(const struct bd_eval_plan *plan, double seconds)
{
    int64_t frames = atomic_load(&plan->setup.done);
    if (plan->setup.options->quiet || plan->setup.at_once < 2 || seconds <= 0)
        return;
    fprintf(stderr, "%lld frames in %.1f s (%.1f frames/s), %d sequences at once\n",
            (long long)frames, seconds, (double)frames / seconds, plan->setup.at_once);
}

static int evaluate(struct bd_eval_plan *plan)
{
    bool whole;
    double seconds;
    bd_log(BD_LOG_INFO, "%d sequences, %d at once", plan->count, plan->setup.at_once);
    if (!plan->setup.options->quiet && plan->setup.at_once > 0)
        bd_eval_print_header(plan);
    if (run_jobs(plan, &whole, &seconds)) {
        fprintf(stderr, "backdrop: %s\n", bd_error_detail());
        return 1;
    }
    int scored = bd_eval_mean(plan, -1).sequences;
    if (scored > 1)
        bd_eval_print_mean(plan);
    bd_eval_print_objects(plan);
    summarize(plan, seconds);
    int exit_status = whole ? 0 : scored ? 3 : nothing_scored(plan);
    if (!write_files(plan, seconds) && exit_status == 0)
        exit_status = 3;
    return bd_interrupted(NULL) ? 4 : exit_status;
}

int bd_eval_run(const struct bd_options *options)
{
    struct bd_eval_plan plan;
    enum bd_status status = bd_eval_outputs_check(options);
    if (!status)
        status = bd_eval_plan_make(&plan, options);
    if (!status && (status = bd_eval_reads_check(&plan)) != BD_OK)
        bd_eval_plan_free(&plan);
    if (status) {
        fprintf(stderr, "backdrop: %s\n", bd_error_detail());
        return 1;
    }
    int exit_status = evaluate(&plan);
    bd_eval_plan_free(&plan);
    return exit_status;
}
