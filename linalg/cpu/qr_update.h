/* Private to the CPU backend: QR updating in three parts, the small matrices (qr_update_r.c), the
 * passes over Q (qr_update_q.c) and what joins them (qr_update.c). */
#ifndef BD_LINALG_CPU_QR_UPDATE_H
#define BD_LINALG_CPU_QR_UPDATE_H

#include "linalg/cpu/cpu.h"
#include "linalg/cpu/kernels/column_kernels.h"

enum {
    bd_update_group = 8,    /* new columns that go through Gram-Schmidt together */
    bd_update_reflect_p = 4 /* removing at least so many columns uses reflectors, not rotations */
};

/* An orthogonal transformation of neighbouring columns of Q, kept to be applied to blocks of rows.
 *
 * Rotations: `sweeps` chains of `steps` rotations, each chain one column behind the one before it;
 * chain g visits columns origin - direction * (g + 1) + direction * (0 .. steps). cs as in
 * bd_column_kernels.rotate, ldcs = sweeps. Reflectors: `steps` of them, the one numbered j acts on
 * columns origin + j .. origin + j + p; groups of bd_reflect_group, each (p + bd_reflect_group) x
 * bd_reflect_group floats in v and vt as in bd_column_kernels.reflect. */
struct bd_transform {
    enum { bd_transform_none, bd_transform_rotations, bd_transform_reflectors } kind;
    int direction; /* 1 from left to right, -1 from right to left */
    int64_t origin, steps, sweeps, p;
    float *cs, *v, *vt;
    double *tau; /* scale factors of the reflectors */
};

struct bd_cpu_update {
    struct bd_pool *pool;
    const struct bd_column_kernels *kernels;
    int64_t m; /* rows of the call at work */
    int64_t max_cols, max_block;
    int64_t item_rows, items; /* rows are shared out in pieces that do not depend on the threads */
    struct bd_transform transform;
    double *column;    /* max_cols: a column of R at work */
    double *w;         /* max_cols x max_block: the new columns of R, ld max_cols */
    double *sums;      /* max_cols x bd_update_group and bd_update_group squares */
    float *small;      /* max_cols x bd_update_group: coefficients for a pass */
    double *partials;  /* items x (room of sums) */
    float *pack;       /* threads x pack_size */
    int64_t pack_size; /* floats */
};

/* Takes columns k .. k+p-1 from R (n x n); work->transform tells what Q has to follow. */
void bd_update_r_remove(struct bd_cpu_update *work, float *r, int64_t ldr, int64_t n, int64_t k,
                        int64_t p);

/* Puts the p columns in work->w ((n + p) x p, upper trapezoidal from row n on) before column k of R
 * (n x n); work->transform tells what the n + p columns of Q have to follow. */
void bd_update_r_insert(struct bd_cpu_update *work, float *r, int64_t ldr, int64_t n, int64_t k,
                        int64_t p);

/* W (n x cols) := T^T W for the transformation Q := Q T of a removal. */
void bd_update_transform_rows(const struct bd_transform *transform, double *w, int64_t ld,
                              int64_t cols);

/* One pass over all rows, block by block while they are in cache. In this order, each part only if
 * asked for: transform Q (n_in columns; only the first n are written back when more follows); V :=
 * U
 * - Q W with W = work->small (ld n); work->sums := Q^T V (ld n), or Q^T U where nothing was
 * subtracted, and after them the squares of V, or U. */
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

/* V (m values) := noise from a fixed seed, uniform in -1 .. 1. */
void bd_update_noise(const struct bd_cpu_update *work, float *v, uint64_t seed);

#endif
