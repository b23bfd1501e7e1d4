/* Private to the CUDA backend: the kernels of QR updating by chains of orthogonal transformations
 * of windows, for any number of columns.
 *
 * Hammarling, Lucas: Updating the QR factorization and the least squares problem (2008); Andrew,
 * Dingle: Implementing QR factorization updating algorithms on GPUs (2014): the rotations of their
 * two updates that must not fill R, in blocks. Columns that come in, or rows that go, are a driver
 * D of `width` columns, which from the bottom to the top is made a triangle: window j takes
 * givens_rows fresh rows of D and the triangle carried from below, and leaves zeros in the fresh
 * rows and the triangle above them. The same rows of R are filled by that; a second factor makes
 * their diagonal block triangular again. Both factors are G_j, (givens_rows + width) square. Only
 * the carried triangle is found in sequence (givens_chain); the G_j are formed all at once
 * (givens_form) and applied to R and Q in one pass each (givens_apply).
 *
 * All pointers to matrices are in device memory; all calls only enqueue. */
#ifndef BD_GPU_UPDATE_BLOCKED_GIVENS_SWEEP_H
#define BD_GPU_UPDATE_BLOCKED_GIVENS_SWEEP_H

#include "gpu/cuda.h"

enum {
    givens_rows = 128, /* fresh rows of a window */
    givens_most = 64,  /* columns of a driver */
    givens_g_floats = (givens_rows + givens_most) * (givens_rows + givens_most),
    givens_v_floats =
        givens_rows * givens_most + givens_most /* of a window: V by columns, then tau */
};

/* The windows of a chase, and what they leave. */
struct givens_sweep {
    int64_t rows;    /* fresh rows in all: window j has rows givens_rows j .. of them */
    int width;       /* 1 .. givens_most */
    float *v;        /* windows x givens_v_floats */
    float *g;        /* windows x padded square matrices */
    float *triangle; /* givens_most x givens_most by columns: what is carried out at the top */
};

static inline int64_t givens_windows(const struct givens_sweep *x)
{
    return (x->rows + givens_rows - 1) / givens_rows;
}

/* The carried rows of a G in memory. */
static inline int givens_padded(const struct givens_sweep *x)
{
    return x->width <= 32 ? 32 : 64;
}

/* Bytes of shared memory that a thread block has to have. */
enum { givens_shared_bytes = 160 << 10 };

/* Before the first of these. */
enum bd_status givens_factor_prepare(void);
enum bd_status givens_apply_prepare(void);
enum bd_status givens_multiply_prepare(void);

/* Finds all windows' reflectors. d: the fresh rows of the driver (rows x width); carry: the upper
 * triangle below them (width x width, of ld ldd too; what is below its diagonal is not read). */
enum bd_status givens_chain(cudaStream_t stream, const struct givens_sweep *x, const float *d,
                            int64_t ldd, const float *overlap);

/* Forms all G. r: the fresh rows of R and the columns that have their diagonals there (rows x
 * rows). */
enum bd_status givens_form(cudaStream_t stream, const struct givens_sweep *x, const float *r,
                           int64_t ldr);

/* What the windows are applied to, in place. The fresh rows are at x, rows (or columns) `rows` of
 * them; `count` columns of a matrix if by_columns, else rows of it: element i of line l is at x[i +
 * l ldx], or x[l + i ldx]. */
struct givens_lines {
    float *x;
    int64_t ldx, count;
    int by_columns;
    const float *overlap; /* carried in at the bottom, at the same ld; NULL: zeros */
    float *out;           /* carried out at the top; NULL: not wanted */
    int64_t overlap_ld, out_ld;
    int64_t shift; /* the final rows of a window are so many rows below its fresh ones */
    /* Line l has zeros below element `first_diagonal` + l before, and + shift after; INT64_MAX / 2:
     * it has none. */
    int64_t first_diagonal;
};
enum bd_status givens_apply(const struct bd_cuda *cuda, cudaStream_t stream,
                            const struct givens_sweep *x, const struct givens_lines *lines);

/* C := beta C + alpha op(A) op(B), C m x n, contracting k. Column-major; transposed A is k x m,
 * transposed B n x k. parts: room for givens_parts_floats, to share the contraction among thread
 * blocks. */
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
