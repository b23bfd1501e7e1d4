/* The SVD of the small R on the GPU: its data, its plan, and what its kernels share.
 *
 * Up to 16 thread blocks, one cluster where the GPU has clusters, do a whole SVD in one launch.
 * They find the eigenvectors V and eigenvalues lambda = sigma^2 of G = R^T R, in float64, in which
 * the products of float32 are exact: the error of sigma is about 1e-8 sigma_1. V of the compute
 * before (I at first) is turned until V^T G V is diagonal, all pairs of columns at once: V := V (I
 * + E), E(i, j) the tangent of the Jacobi rotation of columns i and j, plus (I - V^T V) / 2, which
 * makes V orthonormal again. A turn is nothing but four products of small matrices on the FP64
 * tensor cores.
 *
 * - Where the tangents are small this is the refinement of Ogita and Aishima ("Iterative refinement
 *   for symmetric eigenvalue decomposition", 2018), which converges quadratically.
 * - A pair that is far from orthogonal, alone, is solved by one turn, however large its angle.
 * - Many large tangents at once would not be rotations any more. So the tangents of a column are
 *   scaled down where their sum is above a bound, a trust region: the bound grows while V stays
 *   nearly orthonormal and shrinks where it does not; a turn that went too far is undone.
 * - Where singular values span decades, many tangents are large until what belongs to large values
 *   is out of the columns of small ones. Where G and V do not fit in shared memory, above 112
 *   columns on an H100, one step of orthogonal iteration does that in place of the first turn
 *   (orthogonal_step.cuh).
 *
 * The plain version is LAPACK's dgesdd (linalg/cpu/svd), which the tests compare with. Turns for n
 * = 100: 3 to 11 in Robust PCA (8 in the mean, two clips), 17 after each element of R was changed
 * by 0.1 %, 60 from V = I; for n = 256: 3 and 34 with the step, 26 and 105 without it. */
#ifndef BD_GPU_SVD_SMALL_SVD_CUH
#define BD_GPU_SVD_SMALL_SVD_CUH

#include <float.h>

#include "gpu/core/gram_multiply.cuh"
#include "gpu/cuda.h"
#include "gpu/svd/small_svd.h"

/* Blocks, at most. */
enum { svd_blocks_most = 16 };

/* Results besides sigma, in the same piece of memory for one download. */
struct svd_info {
    int status;     /* 0, or one of: */
    int iterations; /* turns of V; a step of orthogonal iteration counts as one */
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
    double *panels;                /* ld x n to whole tiles: of a step of orthogonal iteration */
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

/* Above bd_cuda_svd_most: lapack.cu. Waits; NaN or Inf in R is BD_ERROR_NUMERIC. */
enum bd_status bd_cuda_svd_lapack_open(struct svd_plan *plan);
void bd_cuda_svd_lapack_close(struct svd_plan *plan);
enum bd_status bd_cuda_svd_lapack(struct svd_plan *plan, const float *r, int64_t ldr,
                                  const int *stop);

/* |v_i . G v_j| <= SVD_TOLERANCE * 2 * sigma_1 * max(sigma_i, sigma_j): columns i and j of R V are
 * orthogonal to the accuracy of float32 data. */
#define SVD_TOLERANCE FLT_EPSILON

/* Tiles of a product are 16 x 8. Element c of lane is row lane / 4 + 8 (c / 2), column
 * 2 (lane % 4) + c % 2 (gpu/core/gram_multiply.cuh). */
enum { svd_rows = 16, svd_columns = 8 };

/* sum[t] := tile t of NT along a row of A B, summed over k < count, a multiple of 16. a(half, k)
 * gives elements k and k + 1 of row lane / 4 + 8 half of A; b(t, k) those of column lane / 4 of
 * tile t of B. Of every sixteen k a lane takes 2 (lane % 4), the one after it and both 8 on: which
 * lane takes which does not matter for the sum. */
template <int NT, int UNROLL = (NT > 2 ? 1 : 4), class A, class B>
__device__ inline void svd_multiply(double (&sum)[NT][4], int count, A a, B b)
{
#pragma unroll
    for (int t = 0; t < NT; t++)
#pragma unroll
        for (int c = 0; c < 4; c++)
            sum[t][c] = 0;
#pragma unroll(UNROLL) /* more would not stay in registers */
    for (int k = 2 * (int)(threadIdx.x % 4); k < count; k += 16) {
        const double2 l0 = a(0, k), l1 = a(0, k + 8), h0 = a(1, k), h1 = a(1, k + 8);
        const double low[4] = { l0.x, l0.y, l1.x, l1.y }, high[4] = { h0.x, h0.y, h1.x, h1.y };
#pragma unroll
        for (int t = 0; t < NT; t++) {
            const double2 r0 = b(t, k), r1 = b(t, k + 8);
            const double right[4] = { r0.x, r0.y, r1.x, r1.y };
            bd_gram_multiply(sum[t], low, high, right);
        }
    }
}

__device__ inline double2 svd_pair(const float *p)
{
    const float2 x = *(const float2 *)p;
    return make_double2((double)x.x, (double)x.y);
}

__device__ inline double2 svd_pair(const double *p)
{
    return *(const double2 *)p;
}

/* n rounded up to whole tiles. */
__host__ __device__ inline int svd_padded(int n)
{
    return (n + svd_rows - 1) / svd_rows * svd_rows;
}

#endif
