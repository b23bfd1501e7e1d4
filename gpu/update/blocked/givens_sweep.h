/* Private to the CUDA backend: the kernels of blocked Givens sweeps, for any number of columns. The
 * CPU's plain version is linalg/cpu/update/givens_sweep.c.
 *
 * Hammarling, Lucas: Updating the QR factorization and the least squares problem (2008); Andrew,
 * Dingle: Implementing QR factorization updating algorithms on GPUs (2014): their two updates whose
 * rotations must not fill R, with blocks for single rotations. Columns that come in, or rows that
 * go, are a spike D of `width` columns, which is reduced to a triangle from the bottom up. Window j
 * takes givens_rows fresh rows of D and the overlap triangle from the window below. It leaves zeros
 * in the fresh rows, and the overlap triangle for the window above. A first factor does that, and
 * fills the same rows of R; a second factor makes their diagonal block triangular again. G_j,
 * (givens_rows + width) square, is the product of both. Only the overlap triangles depend on each
 * other (givens_chain); all G_j are formed at once (givens_form), and applied to R and to Q in one
 * pass each (givens_apply).
 *
 * All pointers to matrices are in device memory; all calls only enqueue. */
#ifndef BD_GPU_UPDATE_BLOCKED_GIVENS_SWEEP_H
#define BD_GPU_UPDATE_BLOCKED_GIVENS_SWEEP_H

#include "gpu/cuda.h"

enum {
    givens_rows = 128, /* fresh rows of a window */
    givens_most = 64,  /* columns of a spike */
    givens_g_floats = (givens_rows + givens_most) * (givens_rows + givens_most),
    givens_v_floats =
        givens_rows * givens_most + givens_most /* of a window: V by columns, then tau */
};

/* The windows of a sweep, and what they leave. */
struct givens_sweep {
    int64_t rows;    /* fresh rows in all: window j has rows givens_rows j .. of them */
    int width;       /* 1 .. givens_most */
    float *v;        /* windows x givens_v_floats */
    float *g;        /* windows x padded square matrices */
    float *triangle; /* givens_most x givens_most by columns: the overlap of the last window */
};

static inline int64_t givens_windows(const struct givens_sweep *x)
{
    return (x->rows + givens_rows - 1) / givens_rows;
}

/* Rows of G for the overlap, as they are stored. */
static inline int givens_padded(const struct givens_sweep *x)
{
    return x->width <= 32 ? 32 : 64;
}

/* Bytes of shared memory that a thread block needs. */
enum { givens_shared_bytes = 160 << 10 };

/* Set the kernels' limits of shared memory; before the first of these calls. */
enum bd_status givens_factor_prepare(const struct bd_cuda *cuda);
enum bd_status givens_apply_prepare(const struct bd_cuda *cuda);
enum bd_status givens_multiply_prepare(const struct bd_cuda *cuda);

/* Makes the reflectors of all windows. d: the fresh rows of the spike (rows x width); overlap: the
 * upper triangle below them (width x width, with ld ldd too; its lower part is not read). */
enum bd_status givens_chain(cudaStream_t stream, const struct givens_sweep *x, const float *d,
                            int64_t ldd, const float *overlap);

/* Forms all G. r: the fresh rows of R and the columns that have their diagonals there (rows x
 * rows). */
enum bd_status givens_form(cudaStream_t stream, const struct givens_sweep *x, const float *r,
                           int64_t ldr);

/* What the windows are applied to, in place: `count` columns of a matrix (by_columns) or rows of
 * it, from their first fresh element on, `rows` elements each. Element i of line l is at x[i + l
 * ldx] (by columns), or x[l + i ldx]. */
struct givens_lines {
    float *x;
    int64_t ldx, count;
    int by_columns;
    const float *overlap; /* before the first window, overlap_ld apart; NULL: zeros */
    int64_t overlap_ld;
    float *out;    /* the overlap after the last window, ldx apart; NULL: not wanted */
    int64_t shift; /* the rows that a window leaves are stored so many rows below its fresh rows */
    /* Line l is zero below element `first_diagonal` + l before the sweep, and `shift` lower after
     * it; INT64_MAX / 4: it has no such element. */
    int64_t first_diagonal;
};
enum bd_status givens_apply(const struct bd_cuda *cuda, cudaStream_t stream,
                            const struct givens_sweep *x, const struct givens_lines *lines);

/* C := beta C + alpha op(A) op(B), C m x n, contracting k. Column-major; transposed A is k x m,
 * transposed B n x k. parts: givens_parts_floats, for sums of thread blocks that share a
 * contraction; NULL: they do not. */
struct givens_product {
    int64_t m, n, k;
    const float *a;
    int64_t lda;
    int a_transposed;
    const float *b;
    int64_t ldb;
    int b_transposed;
    float alpha, beta;
    float *c;
    int64_t ldc;
    float *parts;
};
enum { givens_parts_floats = 4 << 20 };
enum bd_status givens_multiply(const struct bd_cuda *cuda, cudaStream_t stream,
                               const struct givens_product *p);

#endif
