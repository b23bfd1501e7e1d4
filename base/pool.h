/* A fixed set of threads that runs the items of one loop at a time. */
#ifndef BD_BASE_POOL_H
#define BD_BASE_POOL_H

#include <stdint.h>

#include <backdrop/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bd_pool;

/* Called once an item. `thread` is 0 .. bd_pool_threads - 1 and fixed for the calling thread during
 * a loop, so it can index per-thread scratch memory. It is 0 in the thread that called
 * bd_pool_run. */
typedef void bd_pool_fn(void *arg, int64_t item, int thread);

/* `threads` includes the caller, which works too; 0: as many as bd_pool_cores. */
enum bd_status bd_pool_create(struct bd_pool **pool, int threads);
void bd_pool_destroy(struct bd_pool **pool);

/* CPUs that this process may use: those of its affinity mask, at least 1. */
int bd_pool_cores(void);

int bd_pool_threads(const struct bd_pool *pool);

/* Runs fn(arg, i, thread) for i = 0 .. items - 1 and returns when all are done. Each thread begins
 * with a range of neighbours, the same in loops of as many items, and then helps others with
 * theirs. One caller at a time; not to be called from within fn. */
void bd_pool_run(struct bd_pool *pool, bd_pool_fn *fn, void *arg, int64_t items);

#ifdef __cplusplus
}
#endif
#endif
