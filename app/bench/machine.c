/* What the machine can do, and how things are timed. */
#include <cblas.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench/bench.h"
#include "app/blas_threads.h"
#include "app/interrupt.h"
#include "base/clock.h"

enum { most_repeats = 64, most_tasks = 8, most_threads = 256 };

void bd_bench_set_blas_threads(const struct bd_bench *bench)
{
    bd_blas_set_threads(bench->threads);
}

void bd_bench_fill(float *data, int64_t count, uint64_t seed)
{
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (int64_t i = 0; i < count; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        data[i] = (float)(int32_t)(state >> 32) * 0x1p-31F;
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bd_bench_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

enum bd_status bd_bench_time(struct bd_bench *bench, struct bd_bench_task *tasks, int count,
                             int repeats)
{
    static const char stopped[] = "interrupted";
    double times[most_tasks][most_repeats];
    repeats = repeats > most_repeats ? most_repeats : repeats;
    for (int i = -1; i < repeats; i++) /* -1 warms up */
        for (int t = 0; t < count; t++) {
            struct bd_bench_task *task = &tasks[t];
            enum bd_status status = BD_OK;
            if (bd_interrupted(NULL))
                return bd_fail(BD_ERROR_INTERRUPTED, "%s", stopped);
            bd_bench_set_blas_threads(bench);
            if (task->prepare)
                status = task->prepare(task->user);
            if (!status)
                status = bd_backend_sync(bench->backend);
            double begin = bd_clock_seconds();
            if (!status)
                status = task->run(task->user);
            if (!status)
                status = bd_backend_sync(bench->backend);
            if (status)
                return status;
            if (i >= 0)
                times[t][i] = (bd_clock_seconds() - begin) * 1e3;
        }
    for (int t = 0; t < count; t++)
        tasks[t].ms = bd_bench_median(times[t], repeats);
    return BD_OK;
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

enum bd_status bd_bench_measure_machine(struct bd_bench *bench)
{
    size_t bytes = (bench->options->quick ? (size_t)64 : (size_t)256) << 20;
    int n = bench->options->quick ? 1024 : 2048;
    struct copy copy = { .threads = bench->threads < most_threads ? bench->threads : most_threads };
    copy.threads = copy.threads < 1 ? 1 : copy.threads;
    uint8_t *from = malloc(bytes), *to = malloc(bytes);
    struct gemm gemm = { .n = n };
    size_t square = (size_t)n * (size_t)n;
    float *data = malloc(3 * square * sizeof *data);
    enum bd_status status = BD_OK;
    if (!from || !to || !data) {
        status = bd_fail(BD_ERROR_MEMORY, "out of memory for measuring the machine");
        goto error;
    }
    memset(from, 1, bytes);
    memset(to, 2, bytes);
    size_t part = bytes / (size_t)copy.threads;
    for (int i = 0; i < copy.threads; i++)
        copy.parts[i] = (struct copy_part){ to + (size_t)i * part, from + (size_t)i * part, part };
    bd_bench_fill(data, (int64_t)(3 * square), 1);
    gemm.a = data;
    gemm.b = data + square;
    gemm.c = data + 2 * square;
    struct bd_bench_task tasks[2] = { { .run = run_copy, .user = &copy },
                                      { .run = run_gemm, .user = &gemm } };
    status = bd_bench_time(bench, tasks, 2, 7);
    bench->copy_rate = 2 * (double)part * copy.threads / (tasks[0].ms / 1e3);
    bench->sgemm_rate = 2.0 * n * n * n / (tasks[1].ms / 1e3);
error:
    free(from);
    free(to);
    free(data);
    return status;
}
