/* Private to the CPU backend: the parts of QR updating. By rotations: the small matrices (r.c), the
 * passes over Q (q.c), new columns (append.c). By blocks: givens_sweep.h, new directions
 * (directions.c), columns (blocks.c), rows (rows.c). update.c chooses. */
#ifndef BD_LINALG_CPU_UPDATE_UPDATE_H
#define BD_LINALG_CPU_UPDATE_UPDATE_H

#include "linalg/cpu/update/givens_sweep.h"
#include "linalg/shared/column_kernels.h"
#include "linalg/shared/cpu.h"
#include "linalg/shared/tsqr.h"
#include "linalg/shared/update_ops.h"

enum {
    bd_update_group = 8,    /* columns at most that come or go by rotations, and of a pass */
    bd_direction_parts = 8, /* pieces of the rows of new directions, each with an R of its own */
    bd_direction_kinds = 3  /* widths of blocks of new directions: 16, 32, 64 */
};

/* Columns of a block of new directions of a kind, 16, 32 or 64. */
static inline int64_t bd_direction_width(int kind)
{
    return kind == 0 ? 16 : kind == 1 ? 32 : bd_givens_most;
}

/* Rotations of neighbouring columns of Q, kept to be applied to blocks of rows: `sweeps` chains of
 * `steps` rotations (0: nothing is to be done), each chain one column behind the one before it;
 * chain g visits columns origin - direction * (g + 1) + direction * (0 .. steps). cs as in
 * bd_column_kernels.rotate, ldcs = sweeps. */
struct bd_transform {
    int direction; /* 1 from left to right, -1 from right to left */
    int64_t origin, steps, sweeps;
    float *cs;
};

struct bd_cpu_update {
    struct bd_pool *pool;
    struct bd_cpu_memory memory;
    const struct bd_column_kernels *kernels;
    int full_q;               /* Q is m x m */
    int64_t m;                /* rows of the call at work */
    int64_t max_cols;         /* of R, or of a block of new directions if that is more */
    int64_t item_rows, items; /* rows are shared out in pieces that do not depend on the threads */
    struct bd_transform transform;
    double *column;    /* max_cols + bd_givens_most: a column of R at work */
    double *w;         /* max_cols x bd_update_group: the new columns of R, ld max_cols */
    double *sums;      /* max_cols x bd_update_group and bd_update_group squares */
    float *small;      /* max_cols x bd_update_group: coefficients for a pass */
    double *partials;  /* items x (room of sums) */
    float *pack;       /* threads x pack_size */
    int64_t pack_size; /* floats */

    /* for blocks of at most block_size columns or rows */
    struct bd_givens givens;
    struct bd_tsqr *tsqr[bd_direction_kinds];
    int64_t block_size, lower_ld;
    float *spike;    /* lower_ld x block_size */
    float *fresh;    /* lower_ld x block_size: directions that rows leave by */
    float *again;    /* max_cols x block_size: coefficients of a second projection */
    float *rows;     /* bd_givens_most x max_cols: rows that come */
    float *rows_rhs; /* bd_givens_most x max_rhs: their right-hand sides, or the overlap of d */
    float *triangle; /* bd_givens_ld squared */
    float *spike_triangle; /* the same: of the spike */
    float *tau;            /* block_size */
    float *lapack;         /* lapack_size: with full Q only */
    int64_t lapack_size;
};

/* Sets the rows of this call: at most those that the workspace was made for. */
void bd_update_set_rows(struct bd_cpu_update *work, int64_t m);

/* Takes columns k .. k+p-1 from R (n x n); work->transform := what Q has to follow. */
void bd_update_r_remove(struct bd_cpu_update *work, float *r, int64_t ldr, int64_t n, int64_t k,
                        int64_t p);

/* Puts the p columns in work->w ((n + p) x p, upper trapezoidal from row n on) before column k of R
 * (n x n); work->transform := what the n + p columns of Q have to
 * follow. */
void bd_update_r_insert(struct bd_cpu_update *work, float *r, int64_t ldr, int64_t n, int64_t k,
                        int64_t p);

/* W (n x cols) := T^T W for the transformation Q := Q T of a removal. */
void bd_update_transform_rows(const struct bd_transform *transform, double *w, int64_t ld,
                              int64_t cols);

/* One pass over all rows, a block of rows at a time while they are in cache. Each part is optional;
 * they come in this order. Q is transformed (n_in columns; if other parts follow, only the first n
 * are stored). V := U - Q W with W = work->small (ld n). work->sums := Q^T V (ld n), or Q^T U
 * without a subtraction, and after them the squares of V, or U. */
struct bd_update_pass {
    float *q; /* m x n_in */
    int64_t ldq, n_in, n;
    const struct bd_transform *transform; /* NULL: none */
    const float *u;                       /* m x b; NULL: V is taken as it is */
    int64_t ldu;
    float *v; /* m x b */
    int64_t ldv, b;
    int subtract, dots, squares;
    int backwards; /* from the last block to the first */
    double scale;  /* not 0: V := scale V and nothing else */
};
void bd_update_run(struct bd_cpu_update *work, const struct bd_update_pass *pass);

/* Appends U (m x p, p <= bd_update_group) to Q and R of n columns, after `transform` (NULL: none)
 * has made them of n_in. The new columns of R are in work->w; R itself is left alone. */
enum bd_status bd_update_append(struct bd_cpu_update *work, float *q, int64_t ldq, int64_t n_in,
                                int64_t n, const float *u, int64_t ldu, int64_t p,
                                const struct bd_transform *transform);

/* A bound for what is left of a column of norm 1 that lies in the span of n columns of Q: rounding
 * of u - Q w, and the error of Q R itself after many updates. */
double bd_update_negligible(int64_t n);

/* One more projection of the column v away from the `count` columns of Q. coef (count) gains the
 * coefficients (NULL: not wanted); returns the new norm of v. */
double bd_update_project_column(struct bd_cpu_update *work, const float *q, int64_t ldq,
                                int64_t count, float *v, double *coef);

/* A block of columns U, or of the unit vectors of rows, and the directions that they bring in. */
struct bd_directions {
    const float *q; /* m x q_cols */
    int64_t ldq, m, q_cols, p;
    const float *u; /* m x p; NULL: the unit vectors of rows unit .. unit+p-1 */
    int64_t ldu, unit;
    float *v; /* m x p; NULL for a full Q */
    int64_t ldv;
    float *d; /* q_cols x p */
    int64_t ldd;
    float *s; /* p x p upper triangular, ld bd_givens_ld, zeros around it */
};

/* v (m values) *= factor */
void bd_update_scale_column(struct bd_cpu_update *work, float *v, double factor);

/* Column j of V := a unit vector orthogonal to Q and to the columns of V before it. */
enum bd_status bd_update_fresh_column(struct bd_cpu_update *work, const struct bd_directions *d,
                                      int64_t j);

/* Thin Q: U = Q D + V S with V orthonormal and orthogonal to Q; columns that lie in the span of
 * others get a zero on the diagonal of S and a direction in V all the same. */
enum bd_status bd_update_directions(struct bd_cpu_update *work, const struct bd_directions *d);

/* Full Q: turns its columns from f->n on so that U = Q(:, 0:n) D(0:n) + Q(:, n:n+p) S; d follows.
 */
enum bd_status bd_update_full_directions(struct bd_cpu_update *work, const struct bd_qr_parts *f,
                                         const struct bd_directions *d);

/* BD_ERROR_UNSUPPORTED where BLAS cannot hold a leading dimension. */
enum bd_status bd_update_check_ld(const struct bd_qr_parts *f, int64_t ldu);

/* Columns by blocks, thin or full Q or none. */
void bd_update_remove_blocks(struct bd_cpu_update *work, const struct bd_qr_parts *f, int64_t k,
                             int64_t p);
enum bd_status bd_update_insert_blocks(struct bd_cpu_update *work, const struct bd_qr_parts *f,
                                       int64_t k, int64_t p, const float *u, int64_t ldu);

/* V (m values) := noise from a fixed seed, uniform in -1 .. 1. */
void bd_update_noise(const struct bd_cpu_update *work, float *v, uint64_t seed);

/* Functions of bd_cpu_update_ops (linalg/shared/update_ops.h) outside update.c. */
enum bd_status bd_cpu_update_insert_rows(void *work, const struct bd_qr_parts *parts, int64_t k,
                                         int64_t p, const float *u, int64_t ldu, const float *e,
                                         int64_t lde);
enum bd_status bd_cpu_update_remove_rows(void *work, const struct bd_qr_parts *parts, int64_t k,
                                         int64_t p);
enum bd_status bd_cpu_update_check(void *work, const float *x, int64_t ldx, int64_t rows,
                                   int64_t cols);
enum bd_status bd_cpu_update_project(void *work, const struct bd_qr_parts *parts, const float *b,
                                     int64_t ldb);
enum bd_status bd_cpu_update_solve(void *work, const float *r, int64_t ldr, int64_t n,
                                   const float *d, int64_t ldd, int64_t rhs, float *x, int64_t ldx);

#endif
