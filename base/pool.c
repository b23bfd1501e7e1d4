#include "base/pool.h"

#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/thread.h"

/* A waiting thread polls for so long before it sleeps. */
static const double polling_seconds = 50e-6;

/* It yields its core between polls: at once where threads are few, and others want the core. With
 * many, it keeps the core for so long first: who yields may wait for a time slice of another. */
static const double keeping_seconds = 20e-6;
enum { many_threads = 8 };

/* Of many workers, the last one that is awake polls for so long: it wakes the others when the next
 * loop begins, which may take the caller longer than the loop. */
static const double watching_seconds = 300e-6;

struct worker {
    struct bd_pool *pool;
    pthread_t thread;
    int number;
};

/* The state of a pool: in its lowest bits how many workers are in the loop, then whether workers
 * may still join it, then its generation. */
enum { busy_bits = 16, open_bit = 1 << busy_bits, next_generation = 2 << busy_bits };

/* The items of a loop that a thread begins with: neighbours, so that the thread has the same part
 * of a picture in its cache in the next loop. Who has done its own helps the others. */
struct range {
    alignas(64) atomic_int_fast64_t next; /* item */
    int64_t end;
};

struct bd_pool {
    int threads; /* workers + the caller; fixed before the first worker starts */
    int started; /* workers */
    struct worker *workers;
    /* Workers join and leave by one change of the state: where sixteen waited for a lock, a frame
     * of 640x480 took longer than with eight. The caller does not wait for a worker that wakes up
     * when no item is left: on a busy machine that would take longer than the loop. */
    atomic_uint_fast64_t state;
    /* The loop, written while none is open and no worker is in one. */
    bd_pool_fn *fn;
    void *arg;
    struct range *ranges; /* one a thread */
    /* For those that sleep: workers for a loop, the caller for the last worker. */
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    atomic_int asleep, waits, quit;
    atomic_bool waking; /* a worker wakes others */
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
    for (int i = 0; i < pool->threads; i++) {
        struct range *range = &pool->ranges[(thread + i) % pool->threads];
        int64_t item;
        while (atomic_load(&range->next) < range->end &&
               (item = atomic_fetch_add(&range->next, 1)) < range->end)
            pool->fn(pool->arg, item, thread);
    }
}

/* Whether there are items that no thread has begun. */
static bool has_items(struct bd_pool *pool)
{
    for (int i = 0; i < pool->threads; i++)
        if (atomic_load(&pool->ranges[i].next) < pool->ranges[i].end)
            return true;
    return false;
}

/* Whether to poll once more, for `seconds` from the first call on. Loops follow each other closely,
 * and to sleep and be woken takes longer than many loops. */
static bool keep_polling(const struct bd_pool *pool, double seconds, double *until)
{
    double now = bd_clock_seconds();
    if (*until == 0)
        *until = now + seconds;
    if (pool->threads < many_threads || now > *until - seconds + keeping_seconds)
        sched_yield();
    return now < *until;
}

static bool has_loop(struct bd_pool *pool, uint64_t seen)
{
    return generation(atomic_load(&pool->state)) != seen || atomic_load(&pool->quit);
}

/* To wake all fifteen takes longer than most loops: each that is woken wakes two more, as long as
 * there are items. */
static void wake_two(struct bd_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pthread_cond_signal(&pool->wake);
    pthread_cond_signal(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
}

/* By a worker that has joined the loop. One at a time wakes others. */
static void wake_others(struct bd_pool *pool)
{
    if (!atomic_load(&pool->asleep) || !has_items(pool) || atomic_exchange(&pool->waking, true))
        return;
    wake_two(pool);
    atomic_store(&pool->waking, false);
}

/* Whether all workers sleep, but `awake`. */
static bool others_sleep(struct bd_pool *pool, int awake)
{
    return atomic_load(&pool->asleep) >= pool->threads - 1 - awake;
}

static void poll_for_loop(struct bd_pool *pool, uint64_t seen, double seconds)
{
    double until = 0;
    while (!has_loop(pool, seen) && keep_polling(pool, seconds, &until))
        ;
}

static void wait_for_loop(struct bd_pool *pool, uint64_t seen)
{
    poll_for_loop(pool, seen, polling_seconds);
    if (!has_loop(pool, seen) && pool->threads >= many_threads && others_sleep(pool, 1))
        poll_for_loop(pool, seen, watching_seconds);
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
        wake_others(pool);
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
    const int wanted = pool->threads = threads ? threads : bd_pool_cores();
    pool->workers = calloc((size_t)wanted, sizeof *pool->workers);
    pool->ranges = aligned_alloc(alignof(struct range), (size_t)wanted * sizeof *pool->ranges);
    if (!pool->workers || !pool->ranges) {
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
        pool->started++;
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
    for (int i = 0; i < pool->started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    free(pool->workers);
    free(pool->ranges);
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

/* The first item of a thread's range. */
static int64_t first_item(const struct bd_pool *pool, int thread, int64_t items)
{
    const int64_t threads = pool->threads, each = items / threads, rest = items % threads;
    return thread * each + (thread < rest ? thread : rest);
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
    for (int i = 0; i < pool->threads; i++) {
        pool->ranges[i].end = first_item(pool, i + 1, items);
        atomic_store(&pool->ranges[i].next, first_item(pool, i, items));
    }
    atomic_fetch_add(&pool->state, next_generation | open_bit);
    if (others_sleep(pool, 0))
        wake_two(pool);
    run_items(pool, 0);
    atomic_fetch_and(&pool->state, ~(uint_fast64_t)open_bit);
    double until = 0;
    while (busy(atomic_load(&pool->state)) && keep_polling(pool, polling_seconds, &until))
        ;
    if (busy(atomic_load(&pool->state)))
        wait_for_workers(pool);
}
