/* Timing on the GPU, by events. */
#include "app/bench/gpu/gpu.h"

#include <math.h>

/* Runs of a task in a row: enough for 20 ms, so that neither an event's resolution (0.5 us) nor the
 * first launch counts. */
static const double batch_ms = 20;
enum { most_tasks = 12, most_rounds = 64, most_runs = 4096 };

static enum bd_status run_once(const struct bd_bench_task *task)
{
    enum bd_status status = task->prepare ? task->prepare(task->user) : BD_OK;
    return status ? status : task->run(task->user);
}

/* `runs` in a row between two events. */
static enum bd_status measure_batch(struct bd_bench_gpu *gpu, const struct bd_bench_task *task,
                                    int runs, double *ms)
{
    double sum = 0;
    enum bd_status status = bd_bench_gpu_mark(gpu, 0);
    for (int i = 0; i < runs && !status; i++)
        status = task->run(task->user);
    BD_TRY(bd_bench_gpu_mark(gpu, 1));
    BD_TRY(bd_bench_gpu_elapsed(gpu, 0, 1, &sum));
    *ms = sum / runs;
    return status;
}

/* Each run between two events, its preparation before them; all enqueued before any is waited for.
 */
static enum bd_status measure_each(struct bd_bench_gpu *gpu, const struct bd_bench_task *task,
                                   int runs, double *ms)
{
    enum bd_status status = BD_OK;
    double sum = 0;
    for (int i = 0; i < runs && !status; i++) {
        status = task->prepare(task->user);
        BD_TRY(bd_bench_gpu_mark(gpu, 2 * i));
        BD_TRY(task->run(task->user));
        BD_TRY(bd_bench_gpu_mark(gpu, 2 * i + 1));
    }
    for (int i = 0; i < runs && !status; i++) {
        double one = 0;
        status = bd_bench_gpu_elapsed(gpu, 2 * i, 2 * i + 1, &one);
        sum += one;
    }
    *ms = sum / runs;
    return status;
}

static enum bd_status measure(struct bd_bench_gpu *gpu, const struct bd_bench_task *task, int runs,
                              double *ms)
{
    return (task->prepare ? measure_each : measure_batch)(gpu, task, runs, ms);
}

/* Warms up and finds how many runs a round has. */
static enum bd_status calibrate(struct bd_bench *bench, const struct bd_bench_task *task, int *runs)
{
    double ms = 0;
    int most = task->prepare ? bd_bench_events / 2 : most_runs;
    enum bd_status status = run_once(task);
    BD_TRY(bd_backend_sync(bench->backend));
    BD_TRY(measure(bench->gpu, task, 2, &ms));
    double wanted = ms > 0 ? ceil(batch_ms / ms) : most;
    *runs = wanted < 1 ? 1 : wanted > most ? most : (int)wanted;
    return status;
}

enum bd_status bd_bench_gpu_time(struct bd_bench *bench, struct bd_bench_task *tasks, int count,
                                 int repeats)
{
    double times[most_tasks][most_rounds];
    int runs[most_tasks] = { 0 };
    enum bd_status status = BD_OK;
    for (int t = 0; t < count && !status; t++) {
        tasks[t].ms = -1;
        if (tasks[t].run)
            status = calibrate(bench, &tasks[t], &runs[t]);
    }
    for (int i = 0; i < repeats && !status; i++)
        for (int t = 0; t < count && !status; t++) {
            status = bd_bench_check_interrupt();
            if (!status && tasks[t].run)
                status = measure(bench->gpu, &tasks[t], runs[t], &times[t][i]);
        }
    for (int t = 0; t < count && !status; t++)
        if (tasks[t].run)
            tasks[t].ms = bd_bench_median(times[t], repeats);
    return status;
}

enum bd_status bd_bench_gpu_time_once(struct bd_bench *bench, const struct bd_bench_task *task,
                                      double *ms)
{
    enum bd_status status = bd_bench_check_interrupt();
    if (task->prepare)
        BD_TRY(task->prepare(task->user));
    BD_TRY(bd_bench_gpu_mark(bench->gpu, 0));
    BD_TRY(task->run(task->user));
    BD_TRY(bd_bench_gpu_mark(bench->gpu, 1));
    BD_TRY(bd_bench_gpu_elapsed(bench->gpu, 0, 1, ms));
    return status;
}
