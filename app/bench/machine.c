/* What the host can do, and how things are timed there. */
#include <cblas.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench/cpu.h"
#include "base/clock.h"

enum { most_repeats = 64, most_tasks = 8, most_threads = 256 };

enum bd_status bd_bench_cpu_time_once(struct bd_bench *bench, const struct bd_bench_task *task,
                                      double *ms)
{
    enum bd_status status = bd_bench_check_interrupt();
    bd_bench_set_blas_threads(bench);
    if (task->prepare)
        BD_TRY(task->prepare(task->user));
    BD_TRY(bd_backend_sync(bench->backend));
    double begin = bd_clock_seconds();
    BD_TRY(task->run(task->user));
    BD_TRY(bd_backend_sync(bench->backend));
    *ms = (bd_clock_seconds() - begin) * 1e3;
    return status;
}

enum bd_status bd_bench_cpu_time(struct bd_bench *bench, struct bd_bench_task *tasks, int count,
                                 int repeats)
{
    double times[most_tasks][most_repeats], warm_up;
    enum bd_status status = BD_OK;
    repeats = repeats > most_repeats ? most_repeats : repeats;
    for (int i = -1; i < repeats; i++)
        for (int t = 0; t < count && !status; t++)
            if (tasks[t].run)
                status = bd_bench_cpu_time_once(bench, &tasks[t], i < 0 ? &warm_up : &times[t][i]);
    for (int t = 0; t < count && !status; t++)
        tasks[t].ms = tasks[t].run ? bd_bench_median(times[t], repeats) : -1;
    return status;
}

struct copy_part {
    uint8_t *to;
    const uint8_t *from;
    size_t bytes;
};

static void *copy_part(void *user)
{
    const struct copy_part *part = user;
    memcpy(part->to, part->from, part->bytes);
    return NULL;
}

struct copy {
    int threads;
    struct copy_part parts[most_threads];
};

static enum bd_status run_copy(void *user)
{
    struct copy *copy = user;
    pthread_t threads[most_threads];
    int started = 0;
    for (int i = 1; i < copy->threads; i++, started++)
        if (pthread_create(&threads[i], NULL, copy_part, &copy->parts[i]))
            break;
    copy_part(&copy->parts[0]);
    for (int i = 1; i <= started; i++)
        pthread_join(threads[i], NULL);
    if (started < copy->threads - 1)
        return bd_fail(BD_ERROR_MEMORY, "cannot start %d threads", copy->threads);
    return BD_OK;
}

struct gemm {
    int n;
    float *a, *b, *c;
};

static enum bd_status run_gemm(void *user)
{
    const struct gemm *gemm = user;
    int n = gemm->n;
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, gemm->a, n, gemm->b, n, 0,
                gemm->c, n);
    return BD_OK;
}

enum bd_status bd_bench_cpu_open(struct bd_bench *bench)
{
    size_t bytes = (bench->options->quick ? (size_t)64 : (size_t)256) << 20;
    int n = bench->options->quick ? 1024 : 2048;
    struct copy copy = { .threads = bench->threads < most_threads ? bench->threads : most_threads };
    uint8_t *from = bd_bench_memory(bench, (int64_t)bytes, 1);
    uint8_t *to = bd_bench_memory(bench, (int64_t)bytes, 1);
    const int64_t square = (int64_t)n * n;
    float *data = bd_bench_memory(bench, 3 * square, sizeof *data);
    if (!from || !to || !data) {
        bd_bench_release(bench, NULL);
        return bd_bench_out_of_memory();
    }
    memset(from, 1, bytes);
    memset(to, 2, bytes);
    size_t part = bytes / (size_t)copy.threads;
    for (int i = 0; i < copy.threads; i++)
        copy.parts[i] = (struct copy_part){ to + (size_t)i * part, from + (size_t)i * part, part };
    bd_bench_fill(data, 3 * square, 1);
    struct gemm gemm = { n, data, data + square, data + 2 * square };
    struct bd_bench_task tasks[2] = { { .run = run_copy, .user = &copy },
                                      { .run = run_gemm, .user = &gemm } };
    enum bd_status status = bd_bench_cpu_time(bench, tasks, 2, 7);
    bench->copy_rate = 2 * (double)part * copy.threads / (tasks[0].ms / 1e3);
    bench->sgemm_rate = 2.0 * n * n * n / (tasks[1].ms / 1e3);
    bench->has_peers = true;
    bd_bench_release(bench, NULL);
    return status;
}

void bd_bench_cpu_print_machine(const struct bd_bench *bench)
{
    printf("# %d threads, the peers too; copy %.1f GB/s, sgemm %.1f GFLOP/s\n", bench->threads,
           bench->copy_rate / 1e9, bench->sgemm_rate / 1e9);
}
