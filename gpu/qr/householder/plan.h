/* Private to gpu/qr/householder: the parts of a blocked Householder QR. A panel is up to
 * caqr_inner = 16 columns from row and column j0 down; its rows are taken in tiles of caqr_rows
 * = 128, a tile a warp.
 *
 * Each kernel waits by bd_cuda_await (gpu/core/dependent_launch.cuh) for all that was launched
 * before it, and only then lets the next one begin by bd_cuda_let_follow. So what a kernel reads
 * before bd_cuda_await may have been written by any earlier kernel but the one just before it. */
#ifndef BD_GPU_QR_HOUSEHOLDER_PLAN_H
#define BD_GPU_QR_HOUSEHOLDER_PLAN_H

#include "gpu/qr/caqr/plan.h"
#include "gpu/qr/householder/householder.h"

/* Where the thread blocks of a panel exchange sums: 2 x (blocks + 1) x 16 words, zeroed at first,
 * and the number of the next exchange, at least 1. Up to most_cluster blocks do so in their shared
 * memory (1: none). */
struct house_box {
    uint64_t *words;
    uint32_t turn;
    int most_cluster;
};

enum { house_most_blocks = 4, house_most_cols = house_most_blocks * caqr_inner };

/* The reflectors of up to four panels that follow each other: V (rows x cols), their T (256 floats
 * each, row-major), and where there are several the products of their V (update.cu). */
struct house_reflectors {
    const float *v;
    int64_t ldv, rows;
    int cols;
    int whole; /* 1: v has its ones and zeros; 0: above the unit diagonal is R */
    const float *t, *cross;
};

/* panel.cu: QR of the panel at a (rows x cols, cols <= 16), in place; T to t. */
enum bd_status house_factor_panel(const struct bd_cuda *cuda, float *a, int64_t lda, int64_t rows,
                                  int cols, float *t, struct house_box *box);

/* Words of a box. */
size_t house_box_words(const struct bd_cuda *cuda);

/* Finds for a box how many blocks a cluster may have. */
enum bd_status house_prepare(const struct bd_cuda *cuda, int *most_cluster);

/* update.cu: C (rows x k) := Q^T C (transposed) or Q C. early: what was enqueued last
 * does not write C. `parts` has room for house_parts_floats(k). */
enum bd_status house_apply(const struct bd_cuda *cuda, const struct house_reflectors *x,
                           int transposed, int early, float *c, int64_t ldc, int64_t k,
                           float *parts);
int64_t house_parts_floats(const struct bd_cuda *cuda, int64_t k);

/* The products V_i^T V_j of several panels to `cross`, house_cross_floats. */
enum { house_cross_floats = house_most_blocks * house_most_blocks * caqr_t_size };
enum bd_status house_cross(const struct bd_cuda *cuda, const struct house_reflectors *x,
                           float *cross, float *parts);

/* q.cu: Q from `cols` reflectors at a time, a multiple of 64; 0: this is not possible
 * for such a matrix or on such a GPU. `pieces`: of the products' operands in shared memory. */
struct house_wide {
    int64_t cols, ldv;
    float *v, *p; /* m x cols, ld = ldv: V, V T^T */
    float *w;     /* cols x m */
    float *t, *x; /* cols x cols */
    float *parts; /* of sums: room floats */
    int64_t room;
    int pieces;
};

/* All memory for m x n matrices. */
enum bd_status house_wide_create(struct bd_cuda *cuda, int64_t m, int64_t n,
                                 struct house_wide *wide);
void house_wide_destroy(struct house_wide *wide); /* accepts zeros */

/* The first k >= n columns of the m x m Q of the factored a, with the T of its panels, to q; q may
 * be a if k = n. */
enum bd_status house_wide_form(const struct bd_cuda *cuda, const struct house_wide *wide,
                               const float *a, int64_t lda, const float *t16, int64_t m, int64_t n,
                               float *q, int64_t ldq, int64_t k);

/* C (rows x k) := Q^T C with the Q of the `cols` reflectors (a multiple of 64, at most wide->cols)
 * of the factored a from its first row and column on. */
enum bd_status house_wide_apply(const struct bd_cuda *cuda, const struct house_wide *wide,
                                const float *a, int64_t lda, const float *t16, int64_t rows,
                                int cols, float *c, int64_t ldc, int64_t k);

/* Before the first of these. */
enum bd_status house_prepare_update(struct bd_cuda *cuda);

#endif
