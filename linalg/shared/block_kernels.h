/* The CPU's arithmetic on blocks that fit in cache, for linalg/cpu and lapack: compiled once for
 * each instruction set (isa.h) and chosen at run time (kernels.h). Matrices are float32,
 * column-major; all kernels are single-threaded and touch only their arguments.
 *
 * The QR kernels work on whole vectors: where a block is said to be padded, its columns have room
 * for m rounded up to bd_kernel_rows rows, and the rows past m hold zeros on entry (and on exit).
 * Small triangular or top blocks said to be padded have room for their rows rounded up to
 * bd_kernel_inner, the rest zero. Any scale of column is allowed: columns far from 1 are scaled by
 * a power of two inside. NaN and Inf spread but do no other harm. */
#ifndef BD_LINALG_SHARED_BLOCK_KERNELS_H
#define BD_LINALG_SHARED_BLOCK_KERNELS_H

#include <stdint.h>

enum {
    bd_kernel_inner = 8, /* columns of an inner block of reflectors */
    bd_kernel_rows = 16  /* blocks are padded to a multiple of this many rows */
};

struct bd_block_kernels {
    /* Householder QR of a padded block A (m x n, m >= 1, n >= 1, any order of the two), blocked
     * inside: R on and above the diagonal, reflectors v (unit first element not stored) below it,
     * and the triangular factors T of the compact WY form I - V T V^T of each inner block of
     * bd_kernel_inner columns side by side in t (bd_kernel_inner x n rounded up to
     * bd_kernel_inner, column-major; the scale factors tau are the diagonals). LAPACK's sgeqrt. */
    void (*geqrt)(int64_t m, int64_t n, float *a, int64_t lda, float *t, float *work);

    /* C (m x k, padded) := Q^T C (transposed = 1) or Q C (0) with Q from geqrt of a padded m x n
     * block. */
    void (*gemqrt)(int transposed, int64_t m, int64_t n, int64_t k, const float *v, int64_t ldv,
                   const float *t, float *c, int64_t ldc, float *work);

    /* QR of [R; B] with R (n x n, upper triangular, padded, only its upper triangle is used) and a
     * padded block B (m x n): the new R replaces the old, the reflectors' lower parts replace B
     * (their upper part is the identity), t as for geqrt. With t = NULL only R is computed, and
     * what is left in B has no meaning. LAPACK's stpqrt with l = 0. */
    void (*tpqrt)(int64_t m, int64_t n, float *r, int64_t ldr, float *b, int64_t ldb, float *t,
                  float *work);

    /* [D; C] := Q^T [D; C] or Q [D; C], D n x k and C m x k, both padded, with Q from tpqrt. */
    void (*tpmqrt)(int transposed, int64_t m, int64_t n, int64_t k, const float *v, int64_t ldv,
                   const float *t, float *d, int64_t ldd, float *c, int64_t ldc, float *work);

    /* C (m x n) := A (m x k) B (k x n). C must not overlap A or B; nothing is padded. */
    void (*gemm)(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                 int64_t ldb, float *c, int64_t ldc);
};

/* Floats of `work` (64-byte aligned) that the QR kernels need for blocks of m rows, n columns. */
int64_t bd_kernel_work(int64_t m, int64_t n);

/* Rows of a block of n columns that stays in L2 through a QR kernel; a multiple of bd_kernel_rows.
 */
int64_t bd_kernel_block_rows(int64_t n);

#endif
