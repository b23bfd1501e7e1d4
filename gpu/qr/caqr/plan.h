/* Private to gpu/qr/caqr and gpu/qr/householder: the plan of a CAQR on the GPU.
 *
 * Panel p takes columns j0 .. j0 + cols - 1 of the rows from j0 down (each panel's grid begins
 * lower than the one before, by the panel's width), in level 0 of its tree. Level 0 is cut into
 * leaves of leaf_rows rows. A leaf is a flat tree itself: sub-blocks of caqr_rows rows are
 * folded one after the other under the R of the first, by one thread block that keeps a
 * sub-block in registers. The leaves' Rs, each padded to `padded` = cols rounded up to
 * caqr_inner rows and columns, are stacked into the matrix of level 1, whose leaves (nodes of
 * the tree) take `arity` Rs each: the first is the R that the others are folded under; and so on
 * up to a level of one leaf. */
#ifndef BD_GPU_QR_CAQR_PLAN_H
#define BD_GPU_QR_CAQR_PLAN_H

#include "gpu/qr/caqr/caqr.h"

enum {
    caqr_rows = 128,            /* of a sub-block */
    caqr_inner = 16,            /* reflectors of a block with one T; columns of a warp */
    caqr_tiles = caqr_rows / 8, /* of 8 rows, as the tensor cores take them */
    caqr_most_cols = 128,       /* of a panel: the first sub-block of a leaf holds its R */
    caqr_t_size = caqr_inner * caqr_inner,
    caqr_most_levels = 48
};

/* A level of a panel's tree. */
struct caqr_level {
    int64_t rows, leaf_rows, leaves; /* the last leaf also has rows that are too few for a leaf */
    int subs;                        /* sub-blocks of the longest leaf */
    int tree;                        /* 1: a leaf's first `padded` rows are an R to fold under */
    float *v;                        /* rows x padded (level 0: part of A): Rs, then reflectors */
    int64_t ldv;
    const float *from; /* level 0: the elements to be factored, rows x cols: v itself, or another
                          matrix, which does not change */
    int64_t ldf;
    float *t; /* T of inner block i, sub-block s, leaf l at ((l * subs + s) * padded / 16 + i) *
                 256, row-major */
};

struct caqr_panel {
    int64_t j0;
    int cols, padded, levels;
    struct caqr_level level[caqr_most_levels];
};

/* The rows of a matrix that the rows of a level represent: row r of the level is row (r / group)
 * * stride + r % group, and the first `live` rows of a group exist. group = 0: row r is row r. */
struct caqr_row_map {
    int64_t stride;
    int group, live;
};

struct bd_cuda_caqr {
    struct bd_cuda *cuda;
    int64_t m, n;
    int panel_cols, panels;
    int64_t arity;
    struct caqr_panel *panel;  /* of the factorisation */
    struct caqr_panel *single; /* for reduce by one panel of all columns: no reflectors are kept */
    struct bd_cuda_caqr *slab; /* for reduce elsewhere: factors slab_rows more rows under an R */
    int64_t slab_rows;
    float *slab_a; /* (n + slab_rows or m) x n */
    int64_t slab_ld;
    float *memory, *single_memory; /* of the panels' trees */
    float *tops; /* for form_q: ld_tops x padded, the tops of the leaves of level 0 */
    int64_t ld_tops;
    float *r;       /* n x n, tight */
    const float *a; /* the matrix factored last */
    int64_t lda;
};

/* factor.cu: factors level `index` of a panel. The Rs go to the level above, that of the last
 * level to r (cols x cols, ld ldr) with zeros below the diagonal. keep = 0: the caller needs no
 * reflectors and no T, and level->v of level 0 is not used. */
enum bd_status caqr_factor_level(struct bd_cuda *cuda, const struct caqr_panel *panel, int index,
                                 int keep, float *r, int64_t ldr);

/* apply.cu: applies Q or Q^T of a level of a panel to k columns at c, whose row 0 is the panel's
 * row j0. from: c, or (level 0, Q^T) another matrix with the columns before, which does not
 * change. tops: NULL, or (form_q, level 0) where the leaves' first `padded` rows of c come from;
 * all else in c then counts as 0, and k <= padded. */
enum bd_status caqr_apply_level(struct bd_cuda *cuda, const struct caqr_panel *panel, int index,
                                int transposed, const float *from, int64_t ldf, float *c,
                                int64_t ldc, int64_t k, struct caqr_row_map map, const float *tops,
                                int64_t ld_tops);

/* Shared memory that the kernels need for a block of so many warps; form_q has padded / 16. */
size_t caqr_factor_bytes(int warps);
size_t caqr_apply_bytes(int warps, int padded);

/* Lets the kernels have as much shared memory as there is: before the first launch. */
enum bd_status caqr_factor_prepare(const struct bd_cuda *cuda);
enum bd_status caqr_apply_prepare(const struct bd_cuda *cuda);

/* Rows of a leaf. */
static inline __host__ __device__ int64_t caqr_leaf_rows(const struct caqr_level *level,
                                                         int64_t leaf)
{
    return leaf + 1 < level->leaves ? level->leaf_rows : level->rows - leaf * level->leaf_rows;
}

#endif
