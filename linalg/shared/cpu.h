/* The CPU backend's threads and memory, and what is done with columns of floats everywhere: for
 * linalg/cpu, separation/cpu and lapack. */
#ifndef BD_LINALG_SHARED_CPU_H
#define BD_LINALG_SHARED_CPU_H

#include <stdbool.h>
#include <string.h>

#include "base/pool.h"
#include "linalg/shared/ops.h"

/* The pool of an open cpu backend (backend->state). */
struct bd_pool *bd_cpu_pool(struct bd_backend *backend);

/* 64-byte aligned, zeroed; NULL when there is no memory. Free with free(). */
void *bd_cpu_alloc(size_t bytes);

/* The same with any contents: large memory is taken from the system where it is first written. */
void *bd_cpu_reserve(size_t bytes);

/* The memory of a plan, which is freed as a whole; {0} at first. */
struct bd_cpu_memory {
    void *last;
    bool missing; /* there was not enough */
};

/* 64-byte aligned, zeroed; NULL sets `missing`. bd_cpu_free_memory frees all that was taken. */
void *bd_cpu_take(struct bd_cpu_memory *memory, size_t bytes);
void bd_cpu_free_memory(struct bd_cpu_memory *memory);

static inline float *bd_cpu_floats(struct bd_cpu_memory *memory, int64_t count)
{
    return (float *)bd_cpu_take(memory, (size_t)count * sizeof(float));
}

static inline double *bd_cpu_doubles(struct bd_cpu_memory *memory, int64_t count)
{
    return (double *)bd_cpu_take(memory, (size_t)count * sizeof(double));
}

/* Copies rows x cols; leading dimensions ldt and ldf. */
static inline void bd_cpu_copy(float *to, int64_t ldt, const float *from, int64_t ldf, int64_t rows,
                               int64_t cols)
{
    for (int64_t j = 0; j < cols; j++)
        memcpy(to + j * ldt, from + j * ldf, (size_t)rows * sizeof *to);
}

static inline int64_t bd_most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t bd_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t bd_round_up(int64_t x, int64_t step)
{
    return (x + step - 1) / step * step;
}

#endif
