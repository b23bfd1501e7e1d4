/* Private to the CUDA backend: the kernels of QR updating by rotations: the small matrices (r.cu,
 * append.cu), the passes over the tall Q (q.cu, slide.cu), what is made of their sums (project.cu),
 * and the end of Gram-Schmidt (finish.cu). rotations.cu calls them, for a thin Q of at most
 * bd_update_most_cols columns; update.cu calls rotations.cu.
 *
 * Columns come and go in groups of up to bd_update_group. Kernels are compiled for one column and
 * for a whole group; a smaller group is filled up with zeros and with rotations by nothing. */
#ifndef BD_GPU_UPDATE_UPDATE_H
#define BD_GPU_UPDATE_UPDATE_H

#include "gpu/cuda.h"
#include "gpu/update/blocked/blocked.h"
#include "linalg/shared/update_ops.h"

enum {
    bd_update_group = 8,        /* columns that come or go together, at most */
    bd_update_most_cols = 1024, /* columns of R: a thread each */
    bd_update_slack = 8 /* steps that unrolled loops may read beyond the last, and do not use */
};

/* What kernels leave for those after them. In device memory. */
struct bd_update_state {
    int bad;                       /* number of the last update whose new columns were not finite */
    int again;                     /* the second projection is needed */
    int singular;                  /* the R that was solved with has a zero on its diagonal */
    double whole[bd_update_group]; /* norms of the new columns */
    double norm[bd_update_group];  /* what the first projection left of them */
};

/* The arguments of the kernels of one update. Device pointers unless said otherwise. Kernels work
 * on `width` columns, 1 or bd_update_group, of which b <= width exist. */
struct bd_update_job {
    struct bd_update_state *state;
    int call; /* the number of this update: kernels return at once when state->bad is it */
    int64_t m;
    float *q; /* m x n_in before its rotations, m x n after */
    int64_t ldq;
    float *r;
    int64_t ldr;
    const float *u; /* m x b: new columns */
    int64_t ldu;
    int n_in, n, k, b, width;
    float2 *cs;       /* steps x width: cosine and sine of rotations, in the order of their use */
    double *w;        /* ldw x width: the new columns of R, from row n on those of the group */
    int64_t ldw;      /* at least n + b */
    float *small;     /* n x width, a row of it together: coefficients of a projection */
    double *sums;     /* (n_in + 1) x width, the same way: inner products, then squares */
    double *partials; /* items x (n_in + 1) x width: sums of pieces of the rows */
    double *gathered; /* 2 x sms x bd_update_gathered: sums of the blocks of bd_update_finish */
};

/* Sums that a block of bd_update_finish shares with the others, at most: inner products of a column
 * with those before it, or of the columns of a group. */
static inline __host__ __device__ int64_t bd_update_gathered(int64_t max_cols)
{
    return max_cols + bd_update_group * bd_update_group;
}

/* Rows [first, end) of the tall arrays; `vector`: all columns can be read 16 bytes at a time. */
struct bd_update_rows {
    int64_t first, end;
    int vector;
};

/* The shape of the launches, made at creation. */
struct bd_update_launch {
    cudaStream_t stream;
    int sms, shared_most;
    int64_t item_rows; /* rows of a block whose sums become one of the partials */
};

/* A chain of neighbouring rotations, or of groups of `count` of them, over columns
 * base, base + stride, ... (`columns` of them): step i works on columns i .. i + count. */
struct bd_update_chain {
    float *base;
    int64_t stride; /* elements; negative from right to left */
    int columns, steps, count;
    int rest; /* the columns after the last step are written, too */
};

/* Number of partials that the passes below leave for these rows. */
int bd_update_items(const struct bd_update_launch *launch, struct bd_update_rows rows);

/* *device_bad := call where X (m x cols) is not finite; *host_bad, page-locked, as well. */
void bd_update_check(const struct bd_update_launch *launch, const float *x, int64_t ldx, int64_t m,
                     int64_t cols, int call, int *device_bad, int *host_bad);

/* Partials from number `item` on: Q(:, 0 .. n-1)^T X and the squares of X, which is U, or, with
 * u = NULL, the columns n .. n+b-1 of Q. */
void bd_update_dots(const struct bd_update_launch *launch, const struct bd_update_job *job, int n,
                    const float *u, struct bd_update_rows rows, int item);

/* sums := the sum of `items` partials of `count` values each. */
void bd_update_reduce(const struct bd_update_launch *launch, const struct bd_update_job *job,
                      int items, int count);

/* Columns n .. n+b-1 of Q := X - Q small, X as above; partials from number `item` on: their
 * squares (width each; item = -1: not wanted). second: only if state->again. */
void bd_update_subtract(const struct bd_update_launch *launch, const struct bd_update_job *job,
                        const float *u, struct bd_update_rows rows, int item, int second);

/* Takes columns of Q through a chain, of rotations job->cs. subtract: the chain is that of a
 * removal from k = 0; columns n .. n+b-1 of Q := U - Q small with the new Q in passing. */
void bd_update_rotate(const struct bd_update_launch *launch, const struct bd_update_job *job,
                      const struct bd_update_chain *chain, struct bd_update_rows rows,
                      int subtract);

/* The joined pass of a slide, for width 1. Q goes from n_in columns to n by the rotations of a
 * removal from k = 0 (none if n = n_in); V := U - Q small, column n; Q^T V and the square of V to
 * partials, one a block. Q is read once. Returns the number of blocks, or 0 where rows are too
 * long: nothing has been done then. Rows have to be `vector`. */
int bd_update_slide_pass(const struct bd_update_launch *launch, const struct bd_update_job *job,
                         struct bd_update_rows rows);

/* Takes columns k .. k+b-1 out of R (n_in x n_in) and makes it triangular; job->cs: the rotations.
 */
void bd_update_r_remove(const struct bd_update_launch *launch, const struct bd_update_job *job);

/* Puts the columns w before column k of R (n x n) and makes it triangular; job->cs: the rotations
 * of columns k .. n+b-1, from right to left. */
void bd_update_r_insert(const struct bd_update_launch *launch, const struct bd_update_job *job);

/* w and small := the first inner products (in sums) after the rotations that take n_in columns to
 * n; state->whole := the norms. */
void bd_update_first(const struct bd_update_launch *launch, const struct bd_update_job *job);

/* Where the second inner products (in sums) are more than rounding: state->again := 1, w += them,
 * small
 * := them. state->norm := the norms. */
void bd_update_second(const struct bd_update_launch *launch, const struct bd_update_job *job);

/* Makes the group's columns of Q orthogonal to each other and of norm 1; projects once more where
 * little was left, and finds a direction for columns in the span of the others. `items` partials of
 * their squares are used if state->again. */
enum bd_status bd_update_finish(const struct bd_update_launch *launch,
                                const struct bd_update_job *job, int items);

/* Appends a column to R (n x n) from its inner products g (n + 1). z: room for n numbers. */
void bd_update_append(const struct bd_update_launch *launch, float *r, int64_t ldr, int64_t n,
                      const double *g, double *z);

/* Raise the limits of shared memory of the kernels of R, of the passes, and of the joined pass;
 * once at creation. */
enum bd_status bd_update_r_prepare(const struct bd_cuda *cuda);
enum bd_status bd_update_q_prepare(const struct bd_cuda *cuda);
enum bd_status bd_update_slide_prepare(const struct bd_cuda *cuda);

/* The workspace of QR updating: update.cu makes it. */
struct bd_update_work {
    bd_cuda *cuda;
    struct bd_cuda_blocked *blocked; /* NULL: this GPU has too little shared memory */
    bool full_q;
    bd_update_launch launch;
    bd_update_job job; /* its memory, for ldw columns; a change sets the rest in a copy */
    cudaStream_t side;
    cudaEvent_t fork, join, checked;
    int call;
    int *host_bad;    /* page-locked: the number of the last update that was refused */
    double *append_z; /* max_cols */
};

/* p columns come or go at k. `call` is the number of the update: it is not made if its new columns
 * turn out not to be finite. The host does not wait. q may be NULL where columns go. */
void bd_update_rotations_remove(struct bd_update_work *work, const struct bd_qr_parts *f, int64_t k,
                                int64_t p, int call);
enum bd_status bd_update_rotations_insert(struct bd_update_work *work, const struct bd_qr_parts *f,
                                          int64_t k, int64_t p, const float *u, int64_t ldu,
                                          int call);
enum bd_status bd_update_rotations_slide(struct bd_update_work *work, const struct bd_qr_parts *f,
                                         int64_t p, const float *u, int64_t ldu, int call);

#endif
