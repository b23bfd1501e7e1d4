/* Private to the drop-in: what a call computes with. LAPACK's routines have no handle, are called
 * from any thread, and their workspace has the size of other methods than ours. Threads, kernels
 * and memory therefore come from a store of contexts, which calls take and give back.
 *
 * The pool has as many threads as OpenBLAS uses. With BACKDROP_LAPACK_BACKEND=cuda or auto in the
 * environment a context has a GPU as well, where there is one, for large panels (tall.c); without
 * it, and for everything else, the cpu backend computes. */
#ifndef BD_LAPACK_CONTEXT_H
#define BD_LAPACK_CONTEXT_H

#include <stdint.h>

#include "linalg/shared/cpu.h"
#include "linalg/shared/kernels.h"
#include "linalg/shared/tsqr.h"
#include <backdrop/backend.h>

struct bd_lapack {
    const struct bd_block_kernels *block;
    const struct bd_column_kernels *column;
    struct bd_pool *pool; /* the cpu backend's */
    struct bd_backend *cpu;
    struct bd_backend *gpu; /* or NULL; to be used as bd_lapack_gpu returns it */
    struct bd_tsqr *tsqr;   /* of the last number of columns */
    int64_t tsqr_cols;
    int tsqr_count;
    float *memory; /* 64-byte aligned */
    int64_t size, used;
    struct bd_lapack *next;
};

/* A context with `floats` floats to borrow from and `each` more for each thread, or NULL: there is
 * no memory, or this thread is already within a call (a library that we call called LAPACK, which
 * is us). The plain code of reflectors.h is used then. */
struct bd_lapack *bd_lapack_take(int64_t floats, int64_t each);
void bd_lapack_give(struct bd_lapack *context);

/* The context's GPU, which becomes the current device of this thread: another thread may have
 * opened it. NULL where there is none. */
struct bd_backend *bd_lapack_gpu(const struct bd_lapack *context);

/* `count` of the context's floats, 64-byte aligned, not cleared, until the context is given back.
 * Of the floats that were taken, a borrowing uses bd_lapack_floats(count). */
float *bd_lapack_borrow(struct bd_lapack *context, int64_t count);
int64_t bd_lapack_floats(int64_t count);

/* Everything borrowed since `mark`, a value of context->used, is free again. */
void bd_lapack_release(struct bd_lapack *context, int64_t mark);

/* TSQR accumulators for n columns, `count` of them; NULL where there is no memory. */
struct bd_tsqr *bd_lapack_tsqr(struct bd_lapack *context, int64_t n, int count);

/* Counts a call of an exported routine (its place in the table of context.c). With
 * BACKDROP_LAPACK_COUNTS=FILE in the environment the process appends the counts to FILE when it
 * ends, so that one can see that a program did run on the drop-in. */
enum bd_lapack_routine {
    BD_SGEQRF,
    BD_SGEQR2,
    BD_SORGQR,
    BD_SORG2R,
    BD_SORMQR,
    BD_SORM2R,
    BD_SGEQR,
    BD_SGEMQR,
    BD_SGELS,
    BD_SQRINC,
    BD_SQRDEC,
    BD_SQRINR,
    BD_SQRDER,
    BD_LAPACK_ROUTINES
};
void bd_lapack_count(enum bd_lapack_routine routine);

#endif
