/* Private to gpu/svd: the data of an SVD (small_svd.cuh), and the plan that svd_create makes. */
#ifndef BD_GPU_SVD_PLAN_H
#define BD_GPU_SVD_PLAN_H

#include <stddef.h>

#include "gpu/cuda.h"
#include "gpu/svd/small_svd.h"

/* Blocks, at most. */
enum { svd_blocks_most = 16 };

/* Results besides sigma, in the same piece of memory for one download. */
struct svd_info {
    int status;     /* 0, or one of: */
    int iterations; /* turns of V */
};
enum { svd_not_finite = 1, svd_not_converged = 2 };

/* Where values that blocks send each other arrive. A post is an mbarrier in the shared memory of
 * each block, which counts the bytes; svd_at_barrier: they are read after the barrier of all
 * blocks. */
enum svd_post {
    svd_post_g,
    svd_post_v,
    svd_post_lambda,
    svd_post_turn,
    svd_post_count,
    svd_at_barrier = svd_post_count
};

/* What the blocks send each other, eight bytes at a time. Without clusters it is in global memory.
 */
struct svd_exchange {
    double lambda[bd_cuda_svd_most];  /* Rayleigh quotients: of G and the columns of V */
    double refined[bd_cuda_svd_most]; /* the eigenvalues to second order */
    float2 turn[bd_cuda_svd_most];    /* sum of the tangents of a column, and of their squares */
    /* Sums of squares of a block's columns: of the tangents not yet negligible, of I - V^T V. */
    float2 left[svd_blocks_most];
    uint64_t posts[svd_post_count];
};

/* By value to the kernel. Matrices are column-major, columns ld apart; ld is 8 more than a multiple
 * of 16, so that neither the rows nor the columns of a tile share banks. */
struct svd_data {
    int n, ld;
    int cluster; /* the barrier is the cluster's; else `tickets` */
    /* What is to be decomposed, one of: R (n x n, upper triangle), columns ldr apart; G = R^T R (n
     * x n, both triangles), columns n apart. */
    const float *r;
    int64_t ldr;
    const double *gram;
    const int *stop;               /* NULL, or: return at once where not 0 */
    double *g;                     /* G, ld x n, rows from n on 0 */
    float *v, *other;              /* V, ld x n, rows from n on 0, and room for the next */
    struct svd_exchange *exchange; /* without clusters */
    unsigned *tickets;
    int *cold; /* the next compute starts from V = I */
    /* Results: sigma (n) and V (n x n, tight), descending. */
    float *sigma, *v_out;
    struct svd_info *info;
};

struct svd_plan {
    struct bd_cuda *cuda;
    int64_t n;
    int blocks; /* a power of two */
    /* r, ldr, gram and stop are those of the compute to come. Without the workspace where n is
     * above bd_cuda_svd_most. */
    struct svd_data data;
    int *device_ranks; /* 2, device: as in bd_cuda_svd_weights_enqueue */
    /* Page-locked: n sigma and svd_info after them; ranks. */
    float *host_sigma;
    int *host_ranks;
    /* Above bd_cuda_svd_most: the SVD of the cpu backend, and R, V on the host. */
    void *lapack;
    float *host_r, *host_v;
};

#ifdef __cplusplus
extern "C" {
#endif

/* Above bd_cuda_svd_most: lapack.c. Waits; NaN or Inf in R is BD_ERROR_NUMERIC. */
enum bd_status bd_cuda_svd_lapack_open(struct svd_plan *plan);
void bd_cuda_svd_lapack_close(struct svd_plan *plan);
enum bd_status bd_cuda_svd_lapack(struct svd_plan *plan, const float *r, int64_t ldr,
                                  const int *stop);

#ifdef __cplusplus
}
#endif

#endif
