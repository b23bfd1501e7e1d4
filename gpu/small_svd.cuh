/* The SVD of the small R on the GPU: its data and what its kernels share.
 *
 * One thread block cluster of C blocks does a whole SVD in one launch. From V of the compute before
 * (I at first) it forms Y = R V and then makes the columns of Y orthogonal, applying what it does
 * to V too, so that Y = R V = U Sigma in the end. Two means:
 * - a sweep of one-sided Jacobi rotations (small_svd_sweep.cuh), which always works;
 * - a refinement V := V (I + E) of all columns at once (small_svd_refine.cuh; Ogita and Aishima,
 *   "Iterative refinement for symmetric eigenvalue decomposition", 2018), which converges
 *   quadratically once all rotations still to be done are small, costs a third of a sweep, and
 * makes V orthonormal to rounding, however many warm starts came before. It looks at E and takes
 * the sweep where one of its elements is too large. */
#ifndef BD_GPU_SMALL_SVD_CUH
#define BD_GPU_SMALL_SVD_CUH

#include <float.h>

#include "gpu/small_svd_plan.h"

/* |y_i . y_j| <= SVD_TOLERANCE * sigma_1 * max(sigma_i, sigma_j): columns i and j are orthogonal as
 * far as float32 data tell. */
#define SVD_TOLERANCE FLT_EPSILON

/* All threads of all blocks; what was written to global memory before it is read after it. */
__device__ inline void svd_barrier(const struct svd_data &d)
{
#if __CUDA_ARCH__ >= 900
    if (d.cluster) {
        asm volatile("barrier.cluster.arrive.release.aligned;\n"
                     "barrier.cluster.wait.acquire.aligned;\n" ::
                         : "memory");
        return;
    }
#endif
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned ticket = atomicAdd(d.tickets, 1u), last = ticket | (gridDim.x - 1);
        /* gridDim.x is a power of two: the last ticket of this round ends in all ones */
        while ((int)(*(volatile unsigned *)d.tickets - last) <= 0) {
        }
        __threadfence();
    }
    __syncthreads();
}

#endif
