/* What QR updating and the sweeps of Robust PCA do to a block of rows of tall matrices, for
 * linalg/cpu and lapack: compiled once for each instruction set like the block kernels. Matrices
 * are float32, column-major; sums that leave a block are float64. All kernels are single-threaded.
 */
#ifndef BD_LINALG_SHARED_COLUMN_KERNELS_H
#define BD_LINALG_SHARED_COLUMN_KERNELS_H

#include <stdint.h>

enum { bd_sweep_group = 4 }; /* sequences of rotations that `rotate` applies together */

struct bd_column_clip {
    float scale, bound;
};

struct bd_column_kernels {
    /* W (n x p, ld n, float64) += Q^T U; Q rows x n, U rows x p. */
    void (*dots)(int64_t rows, int64_t n, int64_t p, const float *q, int64_t ldq, const float *u,
                 int64_t ldu, double *w);

    /* U (rows x p) -= Q (rows x n) W (n x p, ld n). */
    void (*subtract)(int64_t rows, int64_t n, int64_t p, const float *q, int64_t ldq,
                     const float *w, float *u, int64_t ldu);

    /* Sum of squares. */
    double (*square)(int64_t rows, const float *u);

    /* Sequences of plane rotations over columns x_0, x_1, ... (x_i at x + i * ldx; ldx may be
     * negative), all `sweeps` (1 .. bd_sweep_group) of them in one visit of each column. Sequence i
     * moves one column along: it starts with w_i = x_(sweeps - 1 - i), and step t takes z =
     * x_(sweeps + t) through the sequences in order, each doing (z, w_i) := (c w_i + s z, c z - s
     * w_i); the last z is column t of Y. At the end w_(sweeps - 1) .. w_0 are the columns of Y
     * after those. cs holds c and s of sequence i at step t in cs[(t * ldcs + i) * 2]. Y may be X.
     */
    void (*rotate)(int64_t rows, int64_t steps, int sweeps, const float *x, int64_t ldx, float *y,
                   int64_t ldy, const float *cs, int64_t ldcs);

    /* The batch Robust PCA, a column of a block: x := M - E + Y/mu from the state t, with c =
     * clip(t, +-bound), E = t - c, Y/mu = dual c. M as float or bytes. */
    void (*form)(int64_t rows, const float *m, const float *t, float bound, float dual, float *x);
    void (*form_u8)(int64_t rows, const uint8_t *m, const float *t, float bound, float dual,
                    float *x);

    /* The new state t := E + x - l, with x from `form`, l the column of L, E of the old state t.
     * sums[0] += the sum of squares of M - L - E with the new E, sums[1] += that of the new E - the
     * old E. */
    void (*renew)(int64_t rows, const float *x, const float *l, float bound, float dual,
                  float next_bound, float *t, double *sums);

    /* s := new t - clip(new t, +-next_bound), the S of that new state; t stays. s may be l. */
    void (*sparse)(int64_t rows, const float *x, const float *l, const float *t, float bound,
                   float next_bound, float *s);

    /* The same of a relaxed problem: c = clip(scale t, +-bound); where m is NaN, M, c and s are 0.
     */
    void (*form_relaxed)(int64_t rows, const float *m, const float *t, struct bd_column_clip read,
                         float dual, float *x);
    void (*renew_relaxed)(int64_t rows, const float *m, const float *x, const float *l,
                          struct bd_column_clip read, float dual, struct bd_column_clip write,
                          float *t, double *sums);
    void (*sparse_relaxed)(int64_t rows, const float *m, const float *x, const float *l,
                           const float *t, struct bd_column_clip read, float next_bound, float *s);
};

#endif
