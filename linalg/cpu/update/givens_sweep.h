/* Private to the CPU backend: a blocked Givens sweep, an orthogonal transformation of many
 * neighbouring rows of R (columns of Q) as a chain of small dense ones, all of it matrix products.
 *
 * The rows are taken in blocks of b. Window t is p rows of overlap and the b rows of block t: the
 * p + b rows are multiplied by the transpose of an orthogonal G(t), and p of the rows that come out
 * are the overlap of the next window. The other b are stored `shift` rows from block t. Columns of
 * Q are multiplied by the same G(t); a tile of rows of Q goes through all windows while it is in
 * cache, so that Q is read and written once.
 *
 * Where columns come or rows go, the sweep eliminates a spike: p dense columns, of which the p x p
 * triangle at their end is the first overlap.
 *
 * These are the chains of Givens rotations over strips of Andrew and Dingle (2014), with a block
 * for a strip: 8 p operations an element of Q instead of 6 p, but at the speed of a product.
 * Rotations one by one are in r.c and q.c, which do the same for few columns. */
#ifndef BD_LINALG_CPU_UPDATE_GIVENS_SWEEP_H
#define BD_LINALG_CPU_UPDATE_GIVENS_SWEEP_H

#include "linalg/shared/block_kernels.h"
#include "linalg/shared/column_kernels.h"
#include "linalg/shared/cpu.h"
#include "linalg/shared/update_ops.h"

enum {
    bd_givens_most = 64, /* rows of the overlap, and of a block, at most: larger p goes in pieces */
    bd_givens_least =
        32, /* rows of a block: for small p windows would be too small for a product */
    bd_givens_ld = 2 * bd_givens_most
};

struct bd_givens {
    struct bd_pool *pool;
    const struct bd_block_kernels *kernels;
    const struct bd_column_kernels *columns;
    int64_t p, b, rows; /* of the overlap, of a block (the last may have fewer), of all blocks */
    int64_t first;      /* first row of block 0 */
    int64_t shift;      /* p, 0 or -p: a row of a block is stored so many rows below its place */
    int up;             /* from the last block to the first */
    int64_t ld_g;       /* of each G(t), which takes ld_g squared */
    float *g, *gt;      /* G(t), rows of the overlap first, and their transposes */
    float *v, *t;   /* reflectors of window t (bd_givens_most x bd_givens_most), their factors */
    float *scratch; /* threads x scratch_size */
    int64_t scratch_size;
};

/* The overlap before the first window and after the last. from = NULL: zeros, but for an identity
 * in rows unit .. unit+p-1 where it is columns of Q (unit < 0: none). to = NULL: it is not stored.
 */
struct bd_givens_overlap {
    const float *from;
    int64_t ld_from, unit;
    float *to;
    int64_t ld_to;
};

/* For matrices R of at most n rows, and overlaps of at most p. */
void bd_givens_create(struct bd_givens *givens, struct bd_cpu_memory *memory, struct bd_pool *pool,
                      int64_t n, int64_t p);

/* A sweep with an overlap of p rows through `rows` rows from `first` on. */
void bd_givens_begin(struct bd_givens *givens, int64_t p, int64_t first, int64_t rows,
                     int64_t shift, int up);

/* Upwards: eliminates a spike. d: its rows `first` .. (rows x p); s: the p x p upper triangle below
 * them (ld bd_givens_ld), which becomes what the spike is reduced to. r: its diagonal blocks, from
 * row and column `first`, are read, so that R stays triangular. Makes all G. */
void bd_givens_eliminate(struct bd_givens *givens, const float *d, int64_t ldd, float *s,
                         const float *r, int64_t ldr);

/* Downwards: R, whose columns are `shift` = -p places to the left already, has p elements below the
 * diagonal from row first - p on, in n columns. Makes it triangular, and all G. */
void bd_givens_lower(struct bd_givens *givens, float *r, int64_t ldr, int64_t n);

/* Downwards: reduces rows U (p x n, ld bd_givens_most) to zero by R (n x n, first = 0), and makes
 * all G. */
void bd_givens_absorb(struct bd_givens *givens, float *r, int64_t ldr, float *u, int64_t n);

/* X (x_rows x .) := X G(..) ..., X from its column 0: for Q. */
void bd_givens_columns(const struct bd_givens *givens, int64_t x_rows, float *x, int64_t ldx,
                       const struct bd_givens_overlap *overlap);

/* X := ... G(..)^T X for `cols` columns of X, from its row 0. triangle: X, whose column 0 is that
 * of block 0, is zero below its diagonal blocks. */
void bd_givens_rows(const struct bd_givens *givens, int64_t cols, float *x, int64_t ldx,
                    const struct bd_givens_overlap *overlap, int triangle);

#endif
