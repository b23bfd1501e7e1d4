/* Private to the CUDA backend: QR updating for any number of columns or rows, with thin Q, full Q
 * or none, and right-hand sides. Few columns of a thin Q are done faster by rotations
 * (gpu/update/rotations.cu). The CPU's plain version is
 * linalg/cpu/update/{blocks,rows,directions}.c.
 *
 * Columns that come and rows that go are a blocked Givens sweep (givens_sweep.h). Columns that go
 * leave R with as many subdiagonals, and so do rows that come, which are put above R: both are a
 * banded Householder QR (the panels and updates of gpu/qr/householder/plan.h, with as many rows as
 * the band). Many columns or rows are taken in groups. All calls only enqueue. */
#ifndef BD_GPU_UPDATE_BLOCKED_BLOCKED_H
#define BD_GPU_UPDATE_BLOCKED_BLOCKED_H

#include "gpu/qr/householder/plan.h"
#include "gpu/update/blocked/givens_sweep.h"
#include "linalg/shared/update_ops.h"
#include <backdrop/qr_update.h>

enum {
    blocked_group = 512,      /* columns or rows that come or go at once */
    blocked_row_group = 2048, /* rows that come, without Q */
    blocked_rows = 32768,     /* rows of Q that reflectors are applied to at a time */
    blocked_dense = 128       /* columns on the right of new ones that may be factored with them */
};

struct bd_cuda_blocked {
    struct bd_cuda *cuda;
    struct bd_qr_update_shape shape;
    bool ready;                  /* the kernels are loaded */
    enum bd_status status;       /* the first failure since bd_cuda_blocked_begin */
    int64_t group;               /* the most that come or go at once */
    int64_t row_group;           /* rows that come, without Q */
    struct givens_sweep sweep;   /* room for max_cols rows */
    float *g[2];                 /* of a sweep, and of the one before it */
    int slot;                    /* which of them is used last */
    cudaStream_t side_r, side_q; /* passes over R beside the next sweep, and over Q */
    cudaEvent_t formed, swept_r[2], swept_q[2]; /* by a sweep */
    cudaEvent_t factored, applied;              /* by blocked_factor */
    float *parts;                               /* givens_parts_floats */
    float *d;      /* ldd x (group + blocked_dense + max_rhs): a spike, below row n its triangle */
    float *extra;  /* ld x group: columns that are put beside a thin Q for the time of an update */
    float *v, *vt; /* ld x group, or (max_cols + group) x 64: reflectors, and times T */
    float *y;      /* ldy x 64: rows of Q times V T */
    int64_t ldy;
    float *s, *t; /* 64 x 64: products of reflectors, T */
    float *small; /* 2 of group x group */
    float *h;     /* ldh x (max_cols + max_rhs): a banded matrix, or columns that move */
    int64_t ld, ldd, ldh;
    float *house_t, *house_cross, *house_parts; /* of the reflectors factored last */
    struct house_box box;
};

static inline int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

enum bd_status bd_cuda_blocked_create(struct bd_cuda *cuda, const struct bd_qr_update_shape *shape,
                                      struct bd_cuda_blocked **work);
void bd_cuda_blocked_destroy(struct bd_cuda_blocked *work); /* accepts NULL */

/* Before each of the calls below, or two in a row: forgets a failure of the calls before, and the
 * first time makes the CUDA driver load the kernels. That takes milliseconds, which a workspace for
 * updates by rotations alone need not spend. */
enum bd_status bd_cuda_blocked_begin(struct bd_cuda_blocked *work);

/* As the functions of the same names in linalg/shared/update_ops.h; nothing is checked for NaN. */
enum bd_status bd_cuda_blocked_remove(struct bd_cuda_blocked *work, const struct bd_qr_parts *f,
                                      int64_t k, int64_t p);
enum bd_status bd_cuda_blocked_insert(struct bd_cuda_blocked *work, const struct bd_qr_parts *f,
                                      int64_t k, int64_t p, const float *u, int64_t ldu);
enum bd_status bd_cuda_blocked_insert_rows(struct bd_cuda_blocked *work,
                                           const struct bd_qr_parts *f, int64_t k, int64_t p,
                                           const float *u, int64_t ldu, const float *e,
                                           int64_t lde);
enum bd_status bd_cuda_blocked_remove_rows(struct bd_cuda_blocked *work,
                                           const struct bd_qr_parts *f, int64_t k, int64_t p);
enum bd_status bd_cuda_blocked_solve(struct bd_cuda_blocked *work, const float *r, int64_t ldr,
                                     int64_t n, const float *d, int64_t ldd, int64_t rhs, float *x,
                                     int64_t ldx);
/* *bad (on the device) := 1 where the diagonal of R (n x n) has a zero, else 0. */
enum bd_status bd_cuda_blocked_check_diagonal(struct bd_cuda_blocked *work, const float *r,
                                              int64_t ldr, int64_t n, int *bad);

/* What follows leaves a failure in work->status, and does nothing after one.
 *
 * reflect.cu. A Householder QR in place of a (rows x cols) that has `band` subdiagonals; the
 * columns up to `all` are transformed too. q (NULL: none), q->rows x rows, is multiplied by Q from
 * the right; its first q->first columns are at q0. */
struct blocked_right {
    float *q;
    int64_t ldq, rows;
    float *q0;
    int64_t ldq0, first;
};
void blocked_factor(struct bd_cuda_blocked *work, float *a, int64_t lda, int64_t rows, int64_t cols,
                    int64_t all, int64_t band, const struct blocked_right *q);
/* a := Q of the last factorisation times an identity (s = NULL), or times its R again with noise
 * for the columns j that depend on others (s(j, j) = 0) and add[j] of it for the others. */
void blocked_apply_reflectors(struct bd_cuda_blocked *work, float *a, int64_t lda, int64_t rows,
                              int64_t cols, const float *s, int64_t lds, const float *add);
/* C (m x n) := beta C + alpha op(A) op(B). */
void blocked_multiply(struct bd_cuda_blocked *work, int64_t m, int64_t n, int64_t k, const float *a,
                      int64_t lda, int a_transposed, const float *b, int64_t ldb, int b_transposed,
                      float alpha, float beta, float *c, int64_t ldc);
/* Given Q (m x n, orthonormal columns) and X = U - Q W (m x p): X := columns orthonormal to Q and
 * to each other; S (p x p, upper triangular) and W such that again U = Q W + X S. u = NULL: U is
 * the unit vectors from row `unit` on. Columns of U that depend, to rounding, on Q and those before
 * them get a 0 on the diagonal of S and any direction. */
void blocked_orthonormalise(struct bd_cuda_blocked *work, const float *q, int64_t ldq, int64_t m,
                            int64_t n, float *x, int64_t ldx, int64_t p, const float *u,
                            int64_t ldu, int64_t unit, float *w, int64_t ldw, float *s,
                            int64_t lds);

/* move.cu: copies, and moves in place. */
/* to (rows x cols) := from; they do not overlap. upper: zeros below the diagonal, which in column j
 * is in row j + diagonal. */
void blocked_copy(struct bd_cuda_blocked *work, float *to, int64_t ld_to, const float *from,
                  int64_t ld_from, int64_t rows, int64_t cols);
void blocked_copy_upper(struct bd_cuda_blocked *work, float *to, int64_t ld_to, const float *from,
                        int64_t ld_from, int64_t rows, int64_t cols, int64_t diagonal);
void blocked_clear(struct bd_cuda_blocked *work, float *x, int64_t ld, int64_t rows, int64_t cols);
/* to (cols x rows) := from^T, from rows x cols. */
void blocked_transpose(struct bd_cuda_blocked *work, float *to, int64_t ld_to, const float *from,
                       int64_t ld_from, int64_t rows, int64_t cols);
/* Adds an identity: x(i0 + i, i) := 1 for i < p. */
void blocked_ones(struct bd_cuda_blocked *work, float *x, int64_t ld, int64_t i0, int64_t p);
/* Rows k .. k + rows - 1 of x (cols columns) move down by `by`, or up by -by. */
void blocked_move_rows(struct bd_cuda_blocked *work, float *x, int64_t ld, int64_t k, int64_t rows,
                       int64_t cols, int64_t by);
/* Columns k .. k + cols - 1 of x move right by `by`, or left by -by. */
void blocked_move_columns(struct bd_cuda_blocked *work, float *x, int64_t ld, int64_t rows,
                          int64_t k, int64_t cols, int64_t by);

#endif
