#include "base/pool.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/thread.h"

static const double polling_seconds = 50e-6; /* that a waiting thread polls before it sleeps */

struct worker {
    struct bd_pool *pool;
    pthread_t thread;
    int number;
};

struct bd_pool {
    int threads; /* workers + the caller */
    struct worker *workers;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    /* Written under `lock`: the loop, its generation, whether workers may still join it, how many
     * workers are in it, and how many sleep. The caller does not wait for a worker that wakes up
     * when no item is left: on a busy machine that would take longer than the loop. */
    atomic_uint_fast64_t generation;
    atomic_int busy, quit;
    int open, asleep;
    bd_pool_fn *fn;
    void *arg;
    int64_t items;
    atomic_int_fast64_t next;
};

static void run_items(struct bd_pool *pool, int thread)
{
    int64_t item;
    while ((item = atomic_fetch_add(&pool->next, 1)) < pool->items)
        pool->fn(pool->arg, item, thread);
}

/* Whether to poll once more. Loops follow each other closely, and to sleep and be woken takes
 * longer than many loops, so a thread polls for a while before it sleeps, and yields its core
 * meanwhile. */
static bool keep_polling(double *until)
{
    double now = bd_clock_seconds();
    if (*until == 0)
        *until = now + polling_seconds;
    sched_yield();
    return now < *until;
}

/* Returns with the lock held. */
static void wait_for_loop(struct bd_pool *pool, uint64_t seen)
{
    double until = 0;
    while (atomic_load(&pool->generation) == seen && !atomic_load(&pool->quit) &&
           keep_polling(&until))
        ;
    pthread_mutex_lock(&pool->lock);
    pool->asleep++;
    while (atomic_load(&pool->generation) == seen && !atomic_load(&pool->quit))
        pthread_cond_wait(&pool->wake, &pool->lock);
    pool->asleep--;
}

static void *work(void *arg)
{
    struct worker *me = arg;
    struct bd_pool *pool = me->pool;
    uint64_t seen = 0;
    for (;;) {
        wait_for_loop(pool, seen);
        if (pool->quit)
            break;
        seen = pool->generation;
        bool join = pool->open;
        pool->busy += join;
        pthread_mutex_unlock(&pool->lock);
        if (!join)
            continue;
        run_items(pool, me->number);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0)
            pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

int bd_pool_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    return 1;
}

enum bd_status bd_pool_create(struct bd_pool **out, int threads)
{
    *out = NULL;
    if (threads < 0 || threads > 1024)
        return bd_fail(BD_ERROR_ARGUMENT, "threads = %d: must be 0 (one a core) to 1024", threads);
    struct bd_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return bd_fail(BD_ERROR_MEMORY, "no memory for the thread pool");
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->threads = 1;
    int wanted = threads ? threads : bd_pool_cores();
    pool->workers = calloc((size_t)wanted, sizeof *pool->workers);
    if (!pool->workers) {
        bd_pool_destroy(&pool);
        return bd_fail(BD_ERROR_MEMORY, "no memory for %d threads", wanted);
    }
    for (int i = 1; i < wanted; i++) {
        struct worker *worker = &pool->workers[i - 1];
        *worker = (struct worker){ .pool = pool, .number = i };
        if (!bd_thread_start(&worker->thread, "backdrop pool", work, worker)) {
            bd_pool_destroy(&pool);
            return bd_fail(BD_ERROR_MEMORY, "cannot start thread %d of %d", i + 1, wanted);
        }
        pool->threads++;
    }
    *out = pool;
    return BD_OK;
}

void bd_pool_destroy(struct bd_pool **inout)
{
    struct bd_pool *pool = *inout;
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->quit = 1;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->threads - 1; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    free(pool->workers);
    free(pool);
    *inout = NULL;
}

int bd_pool_threads(const struct bd_pool *pool)
{
    return pool->threads;
}

void bd_pool_run(struct bd_pool *pool, bd_pool_fn *fn, void *arg, int64_t items)
{
    if (pool->threads == 1 || items <= 1) {
        for (int64_t i = 0; i < items; i++)
            fn(arg, i, 0);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->fn = fn;
    pool->arg = arg;
    pool->items = items;
    atomic_store(&pool->next, 0);
    pool->open = 1;
    pool->generation++;
    if (pool->asleep)
        pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    run_items(pool, 0);
    pthread_mutex_lock(&pool->lock);
    pool->open = 0;
    pthread_mutex_unlock(&pool->lock);
    double until = 0;
    while (atomic_load(&pool->busy) && keep_polling(&until))
        ;
    pthread_mutex_lock(&pool->lock);
    while (pool->busy)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}
