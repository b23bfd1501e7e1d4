/* The CPU backend's threads and memory, for what computes on the CPU beside linalg/cpu:
 * separation/cpu and lapack/. */
#ifndef BD_LINALG_SHARED_CPU_H
#define BD_LINALG_SHARED_CPU_H

#include "base/pool.h"
#include "linalg/shared/ops.h"

/* The pool of an open cpu backend (backend->state). */
struct bd_pool *bd_cpu_pool(struct bd_backend *backend);

/* 64-byte aligned, zeroed; NULL when there is no memory. Free with free(). */
void *bd_cpu_alloc(size_t bytes);

#endif
