/* What the host can do, and how things are timed there. */
#include <cblas.h>
#include <string.h>

#include "app/bench/cpu.h"
#include "base/clock.h"
#include "base/pool.h"

enum { most_repeats = 64, most_tasks = 12 };

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

/* A copy by a pool of threads, a part of `bytes` each. */
struct copy {
    struct bd_pool *pool;
    uint8_t *to;
    const uint8_t *from;
    size_t bytes;
};

static void copy_part(void *user, int64_t part, int thread)
{
    const struct copy *copy = user;
    const size_t at = (size_t)part * copy->bytes;
    (void)thread;
    memcpy(copy->to + at, copy->from + at, copy->bytes);
}

static enum bd_status run_copy(void *user)
{
    struct copy *copy = user;
    bd_pool_run(copy->pool, copy_part, copy, bd_pool_threads(copy->pool));
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
    const int64_t square = (int64_t)n * n;
    uint8_t *from = bd_bench_memory(bench, (int64_t)bytes, 1);
    uint8_t *to = bd_bench_memory(bench, (int64_t)bytes, 1);
    float *data = bd_bench_memory(bench, 3 * square, sizeof *data);
    struct copy copy = { .to = to, .from = from, .bytes = bytes / (size_t)bench->threads };
    enum bd_status status = from && to && data ? BD_OK : bd_bench_out_of_memory();
    BD_TRY(bd_pool_create(&copy.pool, bench->threads));
    if (status) {
        bd_bench_release(bench, NULL);
        return status;
    }
    memset(from, 1, bytes);
    memset(to, 2, bytes);
    bd_bench_fill(data, 3 * square, 1);
    struct gemm gemm = { n, data, data + square, data + 2 * square };
    struct bd_bench_task tasks[2] = { { .run = run_copy, .user = &copy },
                                      { .run = run_gemm, .user = &gemm } };
    status = bd_bench_cpu_time(bench, tasks, 2, 7);
    bench->copy_rate = 2 * (double)copy.bytes * bench->threads / (tasks[0].ms / 1e3);
    bench->sgemm_rate = 2.0 * n * n * n / (tasks[1].ms / 1e3);
    bench->has_peers = true;
    bd_pool_destroy(&copy.pool);
    bd_bench_release(bench, NULL);
    return status;
}

void bd_bench_cpu_print_machine(const struct bd_bench *bench)
{
    printf("# %d threads, the peers too; copy %.1f GB/s, sgemm %.1f GFLOP/s\n", bench->threads,
           bench->copy_rate / 1e9, bench->sgemm_rate / 1e9);
}
