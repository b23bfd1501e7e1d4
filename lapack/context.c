#include "lapack/context.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* At most so many contexts are kept for later calls, each with at most so much memory. */
enum { KEPT = 4, KEPT_FLOATS = 16 * 1024 * 1024 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct bd_lapack *store;
static int stored;
static _Thread_local int within;

static atomic_llong counts[BD_LAPACK_ROUTINES];
static const char *const names[BD_LAPACK_ROUTINES] = {
    "sgeqrf", "sgeqr2", "sorgqr", "sorg2r", "sormqr", "sorm2r", "sgeqr",
    "sgemqr", "sgels",  "sqrinc", "sqrdec", "sqrinr", "sqrder",
};

/* We use as many threads as OpenBLAS does. Weak: other BLAS libraries lack this function. */
int openblas_get_num_threads(void) __attribute__((weak));

static void write_counts(void)
{
    FILE *file = fopen(getenv("BACKDROP_LAPACK_COUNTS"), "a");
    if (!file)
        return;
    for (int i = 0; i < BD_LAPACK_ROUTINES; i++)
        fprintf(file, "%s %lld\n", names[i], atomic_load(&counts[i]));
    fclose(file);
}

/* A child process has none of the threads, so it cannot use the contexts of the store. */
static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void after_fork_child(void)
{
    store = NULL;
    stored = 0;
    pthread_mutex_unlock(&lock);
}

static void start(void)
{
    pthread_atfork(before_fork, after_fork, after_fork_child);
    if (getenv("BACKDROP_LAPACK_COUNTS"))
        atexit(write_counts);
}

void bd_lapack_count(enum bd_lapack_routine routine)
{
    pthread_once(&once, start);
    atomic_fetch_add_explicit(&counts[routine], 1, memory_order_relaxed);
}

struct bd_backend *bd_lapack_gpu(const struct bd_lapack *context)
{
    struct bd_backend *gpu = context->gpu;
    if (gpu && gpu->ops->device->attach && gpu->ops->device->attach(gpu) != BD_OK)
        return NULL;
    return gpu;
}

static void destroy(struct bd_lapack *context)
{
    bd_lapack_gpu(context); /* it is closed with its device current */
    bd_tsqr_destroy(&context->tsqr);
    bd_backend_close(&context->gpu);
    bd_backend_close(&context->cpu);
    free(context->memory);
    free(context);
}

static struct bd_lapack *create(void)
{
    struct bd_lapack *context = calloc(1, sizeof *context);
    if (!context)
        return NULL;
    int threads = openblas_get_num_threads ? openblas_get_num_threads() : 0;
    if (bd_backend_open(&context->cpu, "cpu", threads) != BD_OK) {
        free(context);
        return NULL;
    }
    context->pool = bd_cpu_pool(context->cpu);
    context->block = bd_kernels()->block;
    context->column = bd_kernels()->column;
    const char *wanted = getenv("BACKDROP_LAPACK_BACKEND");
    if (wanted && (!strcmp(wanted, "cuda") || !strcmp(wanted, "auto")) &&
        bd_backend_open(&context->gpu, "cuda", 0) != BD_OK)
        context->gpu = NULL;
    return context;
}

/* Makes room for `floats` floats, all of them free; 0: there is no memory. */
static int reserve(struct bd_lapack *context, int64_t floats)
{
    context->used = 0;
    if (floats <= context->size)
        return 1;
    free(context->memory);
    context->memory = NULL;
    context->size = 0;
    const size_t bytes = (size_t)(floats + 15) / 16 * 64;
    context->memory = aligned_alloc(64, bytes);
    if (context->memory)
        context->size = floats;
    return context->memory != NULL;
}

struct bd_lapack *bd_lapack_take(int64_t floats, int64_t each)
{
    if (within)
        return NULL;
    within = 1;
    pthread_mutex_lock(&lock);
    struct bd_lapack *context = store;
    if (context) {
        store = context->next;
        stored--;
    }
    pthread_mutex_unlock(&lock);
    if (!context)
        context = create();
    if (context && !reserve(context, floats + bd_pool_threads(context->pool) * (each + 16))) {
        destroy(context);
        context = NULL;
    }
    if (!context)
        within = 0;
    return context;
}

void bd_lapack_give(struct bd_lapack *context)
{
    if (!context)
        return;
    if (context->size > KEPT_FLOATS) {
        free(context->memory);
        context->memory = NULL;
        context->size = 0;
    }
    pthread_mutex_lock(&lock);
    const int keep = stored < KEPT;
    if (keep) {
        context->next = store;
        store = context;
        stored++;
    }
    pthread_mutex_unlock(&lock);
    if (!keep)
        destroy(context);
    within = 0;
}

int64_t bd_lapack_floats(int64_t count)
{
    return (count + 15) / 16 * 16;
}

float *bd_lapack_borrow(struct bd_lapack *context, int64_t count)
{
    float *memory = context->memory + context->used;
    context->used += bd_lapack_floats(count);
    return memory;
}

void bd_lapack_release(struct bd_lapack *context, int64_t mark)
{
    context->used = mark;
}

struct bd_tsqr *bd_lapack_tsqr(struct bd_lapack *context, int64_t n, int count)
{
    if (context->tsqr && context->tsqr_cols == n && context->tsqr_count == count)
        return context->tsqr;
    bd_tsqr_destroy(&context->tsqr);
    if (bd_tsqr_create(&context->tsqr, n, 0, count) != BD_OK)
        context->tsqr = NULL;
    context->tsqr_cols = n;
    context->tsqr_count = count;
    return context->tsqr;
}
