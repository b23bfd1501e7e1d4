/* `backdrop export`: one export, or several, some of them at the same time. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app/blas_threads.h"
#include "app/commands.h"
#include "app/export/job.h"
#include "app/export/outputs.h"
#include "app/export/own_options.h"
#include "app/interrupt.h"
#include "base/pool.h"
#include "base/thread.h"

/* Most exports at the same time unless --jobs says more: each takes 100 to 400 MB. An export keeps
 * two cores busy, with its decoder and its encoders. */
enum { most_at_once = 8, cores_each = 2 };

/* Threads run the jobs one after another. The main thread says what went wrong, and draws the
 * progress of all. */
struct crew {
    struct bd_export_setup *setup;
    struct bd_export_job *jobs;
    atomic_bool *is_done; /* of each job; a job that is done belongs to the main thread */
    atomic_int next;      /* the next job to start */
    atomic_int done;
    pthread_t *threads;
    int thread_count;
};

/* What became of the jobs. */
struct sums {
    int failed, interrupted;
    int first_failure; /* an exit status; 0: none failed */
    bool nothing;      /* no input could be opened */
    int64_t frames;
    int64_t events; /* -1: no output tells of any */
};

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

static void print_rate(int64_t frames, double seconds)
{
    fprintf(stderr, "%" PRId64 " frame%s in %.1f s (%.1f frames/s)", frames, plural(frames),
            seconds, seconds > 0 ? (double)frames / seconds : 0);
}

/* Ends the line. */
static void print_events(int64_t events)
{
    if (events >= 0)
        fprintf(stderr, ", %" PRId64 " event%s", events, plural(events));
    fputc('\n', stderr);
}

static void *work(void *user)
{
    struct crew *crew = user;
    int i;
    while ((i = atomic_fetch_add(&crew->next, 1)) < crew->setup->count) {
        struct bd_export_job *job = &crew->jobs[i];
        job->number = i;
        job->events = -1;
        if (bd_interrupted(NULL))
            job->exit_status = 4;
        else
            bd_export_job_run(job, crew->setup);
        atomic_fetch_add(&crew->done, 1);
        atomic_store(&crew->is_done[i], true);
    }
    return NULL;
}

static enum bd_status start(struct crew *crew, struct bd_export_setup *setup)
{
    size_t count = (size_t)setup->count;
    *crew = (struct crew){ .setup = setup };
    crew->jobs = calloc(count, sizeof *crew->jobs);
    crew->is_done = calloc(count, sizeof *crew->is_done);
    crew->threads = calloc((size_t)setup->at_once, sizeof *crew->threads);
    while (crew->jobs && crew->is_done && crew->threads && crew->thread_count < setup->at_once &&
           bd_thread_start(&crew->threads[crew->thread_count], "export", work, crew))
        crew->thread_count++;
    return crew->thread_count ? BD_OK : bd_fail(BD_ERROR_MEMORY, "cannot start a thread");
}

static void end(struct crew *crew)
{
    for (int i = 0; i < crew->thread_count; i++)
        pthread_join(crew->threads[i], NULL);
    for (int i = 0; crew->jobs && i < crew->setup->count; i++)
        free(crew->jobs[i].marks);
    free(crew->threads);
    free(crew->is_done);
    free(crew->jobs);
}

/* Says what went wrong with a job, in a line that names its input, and what its lines and zones
 * have counted. */
static void print_result(const struct crew *crew, const struct bd_export_job *job)
{
    const char *input = crew->setup->inputs->items[job->number];
    bool failed = *job->line && (job->exit_status != 4 || job->frames > 0);
    if (failed && strstr(job->line, input))
        fprintf(stderr, "backdrop: %s\n", job->line);
    else if (failed)
        fprintf(stderr, "backdrop: %s: %s\n", input, job->line);
    if (job->marks && !crew->setup->options->quiet)
        fputs(job->marks, stderr);
}

static void draw(const struct crew *crew, struct bd_meter *meter, char *label, size_t size)
{
    struct bd_export_setup *setup = crew->setup;
    int64_t opened = atomic_load(&setup->opened);
    snprintf(label, size, "%d of %d inputs", atomic_load(&crew->done), setup->count);
    /* Inputs that were not opened yet are as long as the others are on average. */
    meter->total = opened ? atomic_load(&setup->total) * setup->count / opened : 0;
    bd_meter_update(meter, atomic_load(&setup->done));
}

/* Waits until all jobs are done, and says what went wrong with each as soon as it is. */
static void wait_for_all(struct crew *crew, struct bd_meter *meter)
{
    const struct timespec tick = { .tv_nsec = 10000000 };
    char label[64] = "";
    int first = 0; /* all jobs before it are told of */
    bd_meter_begin(meter, crew->setup->options, label, 0);
    while (first < crew->setup->count) {
        nanosleep(&tick, NULL);
        draw(crew, meter, label, sizeof label);
        for (int i = first; i < crew->setup->count; i++) {
            struct bd_export_job *job = &crew->jobs[i];
            if (!atomic_load(&crew->is_done[i]) || job->is_told)
                continue;
            job->is_told = true;
            bd_meter_end(meter);
            print_result(crew, job);
        }
        while (first < crew->setup->count && atomic_load(&crew->is_done[first]) &&
               crew->jobs[first].is_told)
            first++;
    }
    bd_meter_end(meter);
}

static struct sums sum_up(const struct crew *crew)
{
    struct sums sums = { .events = -1 };
    int unopened = 0;
    for (int i = 0; i < crew->setup->count; i++) {
        const struct bd_export_job *job = &crew->jobs[i];
        int status = job->exit_status;
        sums.frames += job->frames;
        if (job->events >= 0)
            sums.events = job->events + (sums.events > 0 ? sums.events : 0);
        sums.interrupted += status == 4;
        sums.failed += status && status != 4;
        unopened += status == 1 || status == 2;
        if (!sums.first_failure && status != 4)
            sums.first_failure = status;
    }
    sums.nothing = unopened == crew->setup->count;
    return sums;
}

/* Says how it went; the exit status. */
static int conclude(const struct crew *crew, double seconds)
{
    const struct bd_export_setup *setup = crew->setup;
    const struct sums sums = sum_up(crew);
    if (sums.interrupted) {
        fprintf(stderr,
                "backdrop: interrupted; %d of %d inputs are done; the files hold %" PRId64
                " frame%s\n",
                setup->count - sums.interrupted - sums.failed, setup->count, sums.frames,
                plural(sums.frames));
        return 4;
    }
    if (!setup->options->quiet) {
        fprintf(stderr, "%d inputs, ", setup->count);
        if (sums.failed)
            fprintf(stderr, "%d failed; ", sums.failed);
        print_rate(sums.frames, seconds);
        fprintf(stderr, ", %d at once", setup->at_once);
        print_events(sums.events);
    }
    return sums.nothing ? sums.first_failure : sums.failed ? 3 : 0;
}

static int run_several(struct bd_export_setup *setup)
{
    struct crew crew;
    struct bd_meter meter;
    int exit_status = 1;
    bd_log(BD_LOG_INFO, "%d inputs, %d at once", setup->count, setup->at_once);
    if (start(&crew, setup)) {
        fprintf(stderr, "backdrop: %s\n", bd_error_detail());
    } else {
        wait_for_all(&crew, &meter);
        exit_status = conclude(&crew, bd_meter_seconds(&meter));
    }
    end(&crew);
    return exit_status;
}

/* The only export runs in the main thread. */
static int run_one(struct bd_export_setup *setup)
{
    struct bd_export_job job = { 0 };
    bd_export_job_run(&job, setup);
    if (*job.line) {
        fprintf(stderr, "backdrop: %s\n", job.line);
    } else if (job.exit_status == 4) {
        fprintf(stderr, "backdrop: interrupted; the files hold %" PRId64 " frame%s\n", job.frames,
                plural(job.frames));
    } else if (!setup->options->quiet) {
        print_rate(job.frames, bd_meter_seconds(setup->meter));
        fprintf(stderr, ", %d output%s", job.outputs, plural(job.outputs));
        print_events(job.events);
    }
    if (job.marks && !setup->options->quiet)
        fputs(job.marks, stderr);
    free(job.marks);
    return job.exit_status;
}

static void share_out(struct bd_export_setup *setup)
{
    const struct bd_options *options = setup->options;
    int threads = options->threads ? options->threads : bd_pool_cores();
    int most = threads / cores_each < most_at_once ? threads / cores_each : most_at_once;
    most = options->jobs ? options->jobs : most > 0 ? most : 1;
    setup->at_once = setup->count < most ? setup->count : most;
    setup->threads = options->threads;
    if (setup->at_once > 1)
        setup->threads = threads > setup->at_once ? threads / setup->at_once : 1;
}

/* Checks all that can be before anything is read or written, and makes the folder of the outputs.
 */
static enum bd_status prepare(struct bd_export_setup *setup)
{
    const struct bd_options *options = setup->options;
    if (bd_outputs_count(options) == 0)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "no output asked for: give --mask, --foreground, --background, --overlay, "
                       "--plate, --events, --tracks, --clips, --scan-only, --heatmap, --timelapse, "
                       "--synopsis or --contact-sheet");
    enum bd_status status = bd_inputs_check(options, setup->inputs);
    setup->count = bd_exports_count(options, setup->inputs);
    if (!status)
        status = bd_all_outputs_check(options, setup->inputs);
    if (!status && options->output_dir)
        status = bd_output_dir_make(options);
    share_out(setup);
    return status ? status : bd_blas_reserve(setup->at_once);
}

int bd_export_run(const struct bd_options *options)
{
    struct bd_inputs inputs;
    struct bd_meter meter = { 0 };
    struct bd_export_setup setup = { .options = options, .inputs = &inputs };
    enum bd_status status = bd_inputs_find(&inputs, options);
    int exit_status = bd_open_exit_status(status);
    if (!status) {
        status = prepare(&setup);
        exit_status = status == BD_ERROR_INTERRUPTED ? 4 : 1;
    }
    setup.meter = setup.count == 1 ? &meter : NULL;
    if (status)
        fprintf(stderr, "backdrop: %s\n", bd_error_detail());
    else
        exit_status = setup.count == 1 ? run_one(&setup) : run_several(&setup);
    bd_inputs_free(&inputs);
    return exit_status;
}
