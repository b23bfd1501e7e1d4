/* Private to the CPU backend: what QR by the Gram matrix does to a block of rows of a tall matrix
 * that fits in cache, compiled once for each instruction set like the block kernels. Matrices are
 * column-major. All kernels are single-threaded; NaN and Inf spread but do no other harm. */
#ifndef BD_LINALG_CPU_KERNELS_TALL_KERNELS_H
#define BD_LINALG_CPU_KERNELS_TALL_KERNELS_H

#include <stdint.h>

enum {
    bd_tall_rows = 64, /* rows of a block are a multiple of this many */
    bd_tall_width = 4  /* columns that `multiply` takes together */
};

/* What is done to columns first .. first + width - 1 of X, width <= bd_tall_width, in place. */
enum bd_tall_step {
    /* X_j + the sum over columns i = from .. end - 1 of X_i t_ij. */
    BD_TALL_ADD,
    /* That with end = first; then, from the left, column j times t_jj, and times t_jk added to the
     * columns k on its right. */
    BD_TALL_SUBSTITUTE,
    /* The sum over columns i = from .. j of X_i t_ij, as they were. */
    BD_TALL_MULTIPLY
};

struct bd_tall_group {
    int64_t first, from, end;
    int64_t at; /* where its factors start: `width` for each i, by rising i, own columns included */
    int width;
    enum bd_tall_step step;
};

struct bd_tall_kernels {
    /* G (n x n, ld n) += V^T V, at least its upper triangle, V rows x n. The elements `ahead` rows
     * further down are asked for from memory meanwhile, here and below; they need not exist. */
    void (*gram)(int64_t rows, int64_t n, const double *v, int64_t ldv, int64_t ahead, double *g);

    /* Does the groups' steps to X, rows x ., in their order. */
    void (*multiply)(int64_t rows, double *x, int64_t ldx, int64_t ahead,
                     const struct bd_tall_group *groups, int64_t count, const double *t);
    void (*multiply_single)(int64_t rows, float *x, int64_t ldx, int64_t ahead,
                            const struct bd_tall_group *groups, int64_t count, const float *t);

    /* A column: y := scale x, in the other type. */
    void (*narrow)(int64_t rows, const double *x, int64_t ahead, double scale, float *y);
    void (*widen)(int64_t rows, const float *x, int64_t ahead, double *y);

    /* Whether all are finite. */
    int (*finite)(int64_t rows, const double *x);
    int (*finite_single)(int64_t rows, const float *x);
};

#endif
