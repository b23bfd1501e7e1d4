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

/* The state of a pool: in its lowest bits how many workers are in the loop, then whether workers
 * may still join it, then its generation. */
enum { busy_bits = 16, open_bit = 1 << busy_bits, next_generation = 2 << busy_bits };

struct bd_pool {
    int threads; /* workers + the caller */
    struct worker *workers;
    /* Workers join and leave by one change of the state: where sixteen waited for a lock, a frame
     * of 640x480 took longer than with eight. The caller does not wait for a worker that wakes up
     * when no item is left: on a busy machine that would take longer than the loop. */
    atomic_uint_fast64_t state;
    /* The loop, written while none is open and no worker is in one. */
    bd_pool_fn *fn;
    void *arg;
    int64_t items;
    atomic_int_fast64_t next;
    /* For those that sleep: workers for a loop, the caller for the last worker. */
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    atomic_int asleep, waits, quit;
};

static int busy(uint64_t state)
{
    return (int)(state & (open_bit - 1));
}

static uint64_t generation(uint64_t state)
{
    return state / next_generation;
}

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

static bool has_loop(struct bd_pool *pool, uint64_t seen)
{
    return generation(atomic_load(&pool->state)) != seen || atomic_load(&pool->quit);
}

static void wait_for_loop(struct bd_pool *pool, uint64_t seen)
{
    double until = 0;
    while (!has_loop(pool, seen) && keep_polling(&until))
        ;
    if (has_loop(pool, seen))
        return;
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->asleep, 1);
    while (!has_loop(pool, seen))
        pthread_cond_wait(&pool->wake, &pool->lock);
    atomic_fetch_sub(&pool->asleep, 1);
    pthread_mutex_unlock(&pool->lock);
}

/* Joins the loop, if it is still open. *seen: its generation. */
static bool join(struct bd_pool *pool, uint64_t *seen)
{
    uint_fast64_t state = atomic_load(&pool->state);
    bool joined = false;
    while (!joined && (state & open_bit))
        joined = atomic_compare_exchange_weak(&pool->state, &state, state + 1);
    *seen = generation(state);
    return joined;
}

static void leave(struct bd_pool *pool)
{
    if (busy(atomic_fetch_sub(&pool->state, 1)) > 1 || !atomic_load(&pool->waits))
        return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_signal(&pool->done);
    pthread_mutex_unlock(&pool->lock);
}

static void *work(void *arg)
{
    struct worker *me = arg;
    struct bd_pool *pool = me->pool;
    uint64_t seen = 0;
    for (;;) {
        wait_for_loop(pool, seen);
        if (atomic_load(&pool->quit))
            return NULL;
        if (!join(pool, &seen))
            continue;
        run_items(pool, me->number);
        leave(pool);
    }
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
    atomic_store(&pool->quit, 1);
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

static void wait_for_workers(struct bd_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->waits, 1);
    while (busy(atomic_load(&pool->state)))
        pthread_cond_wait(&pool->done, &pool->lock);
    atomic_store(&pool->waits, 0);
    pthread_mutex_unlock(&pool->lock);
}

void bd_pool_run(struct bd_pool *pool, bd_pool_fn *fn, void *arg, int64_t items)
{
    if (pool->threads == 1 || items <= 1) {
        for (int64_t i = 0; i < items; i++)
            fn(arg, i, 0);
        return;
    }
    pool->fn = fn;
    pool->arg = arg;
    pool->items = items;
    atomic_store(&pool->next, 0);
    atomic_fetch_add(&pool->state, next_generation | open_bit);
    if (atomic_load(&pool->asleep)) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->lock);
    }
    run_items(pool, 0);
    atomic_fetch_and(&pool->state, ~(uint_fast64_t)open_bit);
    double until = 0;
    while (busy(atomic_load(&pool->state)) && keep_polling(&until))
        ;
    if (busy(atomic_load(&pool->state)))
        wait_for_workers(pool);
}
