/* Private to the CPU backend: an orthogonal transformation of many neighbouring rows of R (columns
 * of Q) as a chain of small dense ones, so that it is all matrix products.
 *
 * p rows, the carry, travel through blocks of b rows: window t joins the carry with block t and
 * multiplies the p + b rows by the transpose of an orthogonal G(t); the p rows that are the carry
 * after it meet the next block. What comes out of block t is stored `shift` rows from where it was.
 * Columns of Q are multiplied by the same G(t), so a tile of rows of Q goes through all windows
 * while it is in cache, and Q is read and written once.
 *
 * This is how Andrew and Dingle's (2014) chains of Givens rotations over strips look when a strip
 * is a block: 8 p operations an element of Q instead of 6 p, but at the speed of a product. */
#ifndef BD_LINALG_CPU_UPDATE_GIVENS_SWEEP_H
#define BD_LINALG_CPU_UPDATE_GIVENS_SWEEP_H

#include "linalg/shared/block_kernels.h"
#include "linalg/shared/column_kernels.h"
#include "linalg/shared/cpu.h"
#include "linalg/shared/update_ops.h"

enum {
    bd_givens_most = 64, /* rows of the carry, and of a block, at most: larger p goes in pieces */
    bd_givens_least =
        32, /* rows of a block: for small p windows would be too small for a product */
    bd_givens_ld = 2 * bd_givens_most
};

struct bd_givens {
    struct bd_pool *pool;
    const struct bd_block_kernels *kernels;
    const struct bd_column_kernels *columns;
    int64_t p, b, rows; /* of the carry, of a block (the last may have fewer), of all blocks */
    int64_t first;      /* first row of block 0 */
    int64_t shift;      /* where rows of blocks go: p, 0 or -p from where they were */
    int up;             /* from the last block to the first */
    int64_t ld_g;       /* of the G(t), each of which takes its square */
    float *g, *gt;      /* G(t), carry first, and their transposes */
    float *v, *t;   /* reflectors of window t (bd_givens_most x bd_givens_most), their factors */
    float *scratch; /* threads x scratch_size */
    int64_t scratch_size;
};

/* The carry before and after: from = NULL is zeros, but for an identity in rows unit .. unit+p-1 of
 * a carry of Q (unit < 0: none); to = NULL: it is not wanted. */
struct bd_givens_carry {
    const float *from;
    int64_t ld_from, unit;
    float *to;
    int64_t ld_to;
};

/* For matrices R of at most n rows, and carries of at most p; < 0 where there is no memory. */
int bd_givens_create(struct bd_givens *chase, struct bd_pool *pool, int64_t n, int64_t p);
void bd_givens_destroy(struct bd_givens *chase);

/* A chase of p rows through `rows` rows from `first` on. */
void bd_givens_begin(struct bd_givens *chase, int64_t p, int64_t first, int64_t rows, int64_t shift,
                     int up);

/* Upwards: takes D (rows x p; rows `first`.. of the driver) and S (p x p upper triangular, ld
 * bd_givens_ld, the driver's p rows below) to a triangle, which S is then, and keeps the rows of R
 * (its diagonal blocks are read, from row and column `first`) triangular. Makes all G. */
void bd_givens_drive(struct bd_givens *chase, const float *d, int64_t ldd, float *s, const float *r,
                     int64_t ldr);

/* Downwards: R, already `shift` = -p columns to the left, has p elements below the diagonal from
 * row first - p on, in n columns; makes it triangular, and all G. */
void bd_givens_lower(struct bd_givens *chase, float *r, int64_t ldr, int64_t n);

/* Downwards: takes U (p x n, ld bd_givens_most) to zero by R (n x n, first = 0), and makes all G.
 */
void bd_givens_absorb(struct bd_givens *chase, float *r, int64_t ldr, float *u, int64_t n);

/* X (x_rows x .) := X G(..) ..., X from its column 0: for Q. */
void bd_givens_columns(const struct bd_givens *chase, int64_t x_rows, float *x, int64_t ldx,
                       const struct bd_givens_carry *carry);

/* X := ... G(..)^T X for `cols` columns of X, from its row 0. triangle: only the rows up to the
 * diagonal block of X, whose column 0 is that of block 0, are not zero. */
void bd_givens_rows(const struct bd_givens *chase, int64_t cols, float *x, int64_t ldx,
                    const struct bd_givens_carry *carry, int triangle);

#endif
