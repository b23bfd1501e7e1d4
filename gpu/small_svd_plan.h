/* Private to gpu/small_svd*: the data of an SVD (gpu/small_svd.cuh), and what svd_create makes. */
#ifndef BD_GPU_SMALL_SVD_PLAN_H
#define BD_GPU_SMALL_SVD_PLAN_H

#include "gpu/cuda.h"
#include "gpu/small_svd.h"

/* Blocks in a cluster, at most; pairs of columns that a block rotates at a time, at most; threads a
 * pair; threads a block. */
enum { svd_blocks_most = 8, svd_pairs = 16, svd_lanes = 16, svd_threads = 512 };

/* Bytes that the static shared memory of the kernel is sure not to exceed. */
enum { svd_static_shared = 4096 };

/* Results besides sigma, in the same piece of memory for one download. */
struct svd_info {
    int status; /* 0, or one of: */
    int sweeps, refinements;
};
enum { svd_not_finite = 1, svd_not_converged = 2 };

/* What the blocks tell each other. */
struct svd_partial {
    float largest;      /* |element of R|, Inf where that is not finite; or |element of E| */
    float square;       /* of the Frobenius norm of E */
    int large_rotation; /* the sweep was far from the last one */
};

/* By value to the kernel. Square matrices are column-major, ld x ld, zero outside n x n; ld is a
 * multiple of 64. */
struct svd_data {
    int n, ld;
    int block_columns; /* of each of the 2 C blocks of columns */
    int cluster;       /* the barrier is the cluster's; else `tickets` */
    const float *r;    /* n x n, upper triangle, columns ldr apart */
    int64_t ldr;
    const int *stop;             /* NULL, or: return at once where not 0 */
    float *rt;                   /* R^T, scaled by a power of two */
    float *v, *other;            /* V, and room for the next */
    float *y, *e;                /* Y = R V; the refinement E */
    float *mail;                 /* without clusters: what a block is sent (small_svd_sweep.cuh) */
    double *s, *q;               /* Y^T Y, V^T V */
    double *lambda;              /* n: refined squares of the singular values */
    struct svd_partial *partial; /* svd_blocks_most */
    unsigned *tickets;
    int *cold; /* the next compute starts from V = I */
    /* Results: sigma (n) and V (n x n, tight), descending. */
    float *sigma, *v_out;
    struct svd_info *info;
};

struct svd_plan {
    struct bd_cuda *cuda;
    int64_t n;
    int blocks; /* of the cluster, a power of two */
    /* r, ldr and stop are those of the compute to come. Without the workspace where n is above
     * bd_cuda_svd_most. */
    struct svd_data data;
    int *device_ranks; /* 2, device: as in bd_cuda_svd_weights_enqueue */
    /* Page-locked: n sigma and svd_info after them; ranks. */
    float *host_sigma;
    int *host_ranks;
    /* Above bd_cuda_svd_most: the svd group of the cpu backend, and R, V on the host. */
    void *lapack;
    float *host_r, *host_v;
};

#ifdef __cplusplus
extern "C" {
#endif

/* The route above bd_cuda_svd_most: gpu/small_svd_lapack.c. It waits; NaN or Inf in R is
 * BD_ERROR_NUMERIC. */
enum bd_status bd_cuda_svd_lapack_open(struct svd_plan *plan);
void bd_cuda_svd_lapack_close(struct svd_plan *plan);
enum bd_status bd_cuda_svd_lapack(struct svd_plan *plan, const float *r, int64_t ldr,
                                  const int *stop);

#ifdef __cplusplus
}
#endif

#endif
