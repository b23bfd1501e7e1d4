/* Private to caqr*.c: the plan of a communication-avoiding QR on the CPU.
 *
 * Anderson, Ballard, Demmel, Keutzer 2011, sections II.C and IV. Panel p takes columns j0 .. j0 +
 * cols - 1 of the rows from j0 down (the grid is redrawn lower by the panel's width each time).
 * Its rows are cut into leaves of block_rows rows. A leaf is itself a flat tree: sub-blocks that
 * fit in L2 are folded one after the other under the R of the first (factor). The leaves' Rs are
 * joined `arity` at a time, level by level (factor_tree). apply_qt_h and apply_qt_tree do the same
 * to other columns.
 *
 * Reflectors of the leaves replace the elements of A; those of the tree are the plan's. */
#ifndef BD_LINALG_CPU_QR_CAQR_H
#define BD_LINALG_CPU_QR_CAQR_H

#include "linalg/cpu/qr/householder.h"
#include "linalg/shared/block_kernels.h"
#include "linalg/shared/cpu.h"
#include "linalg/shared/qr_ops.h"
#include "linalg/shared/tsqr.h"

struct caqr_panel {
    int64_t j0, cols, leaves;
    float *t;    /* T of sub-block s of leaf l: bd_kernel_inner x cols at (l * max_subs + s) */
    float *r;    /* R of leaf l, then of the node it heads: ldr x cols at l, padded, zeros below */
    float *tree; /* the tree's reflectors, see caqr_node: ldr rows x cols for every leaf */
    float *tree_t; /* and their T */
};

struct caqr_scratch { /* of a thread */
    float *v;         /* ldb x panel_cols: a sub-block of A */
    float *c;         /* ldc x CAQR_CHUNK: a block of the columns being updated */
    float *d;    /* ldr x (CAQR_RANGE or panel_cols): the top rows of a leaf's or node's columns */
    float *work; /* of the kernels */
};

struct caqr {
    const struct bd_block_kernels *kernels;
    struct bd_pool *pool;
    struct bd_cpu_memory memory;
    int64_t m, n, block_rows, panel_cols, arity;
    int64_t sub_rows, max_subs; /* of a sub-block; sub-blocks of the longest leaf */
    int64_t ldb, ldc, ldr;
    int64_t panels;
    struct caqr_panel *panel;
    struct caqr_scratch *scratch;
    float *tops; /* for form_q: the top of leaf l from row l * ldr; ld_tops x panel_cols */
    int64_t ld_tops;
    float *r;       /* n x n, tight */
    const float *a; /* the matrix factored last */
    int64_t lda;
    struct bd_tsqr *tsqr; /* for reduce: R of a tall matrix; others are copied and factored: */
    struct caqr *inner;
    float *copy;
    struct bd_householder
        *householder; /* not NULL: it does everything, and nothing else is there */
};

/* Columns handled at a time: in cache, and as an item of the pool. */
enum { CAQR_CHUNK = 48, CAQR_RANGE = 192 };

/* First row in A of a leaf of a panel, and its number of rows. */
int64_t caqr_leaf_row(const struct caqr *plan, const struct caqr_panel *panel, int64_t leaf);
int64_t caqr_leaf_rows(const struct caqr *plan, const struct caqr_panel *panel, int64_t leaf);

/* Rows of sub-block `row` starts at, in a leaf with that many rows. */
int64_t caqr_sub_rows(const struct caqr *plan, int64_t leaf_rows, int64_t row);

/* T of a leaf's sub-block. */
float *caqr_leaf_t(const struct caqr *plan, const struct caqr_panel *panel, int64_t leaf,
                   int64_t sub);

/* A node of the tree: leaves first, first + step, ... head its children; the first keeps the joined
 * R, the `folded` others are stacked, cols rows each, into one block, whose reflectors are v. */
struct caqr_node {
    int64_t first, step, folded;
    float *v, *t;
    int64_t ldv;
};

/* Nodes of the level at which every step-th leaf heads an entry (step = 1, arity, arity^2, ...),
 * and the one of that index. */
int64_t caqr_nodes(const struct caqr *plan, const struct caqr_panel *panel, int64_t step);
struct caqr_node caqr_node(const struct caqr *plan, const struct caqr_panel *panel, int64_t step,
                           int64_t index);

/* C (its rows are A's) := Q C or Q^T C with the Q of one panel of the matrix factored last. */
void caqr_apply_panel(struct caqr *plan, const struct caqr_panel *panel, int transposed, float *c,
                      int64_t ldc, int64_t k);

/* Q(:, the panel's columns), zero above j0, in place of its reflectors where q is A. */
void caqr_form_panel(struct caqr *plan, const struct caqr_panel *panel, float *q, int64_t ldq);

/* Copies rows x cols and adds the zeros that pad a block. */
void caqr_load(float *to, int64_t ldt, const float *from, int64_t ldf, int64_t rows, int64_t cols);

/* Functions of bd_cpu_qr_ops (linalg/shared/qr_ops.h) outside caqr.c. */
enum bd_status bd_cpu_qr_factor(void *plan, float *a, int64_t lda);
enum bd_status bd_cpu_qr_get_r(void *plan, float *r, int64_t ldr);
enum bd_status bd_cpu_qr_form_q(void *plan, float *q, int64_t ldq);
enum bd_status bd_cpu_qr_form_full_q(void *plan, float *q, int64_t ldq);
enum bd_status bd_cpu_qr_apply(void *plan, enum bd_qr_op op, float *c, int64_t ldc, int64_t k);
enum bd_status bd_cpu_qr_reduce(void *plan, const float *a, int64_t lda, float *r, int64_t ldr);

#endif
