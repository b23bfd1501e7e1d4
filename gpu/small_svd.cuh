/* The SVD of the small R on the GPU: its data and what its kernels share.
 *
 * One thread block cluster of C blocks does a whole SVD in one launch. From V of the compute before
 * (I at first) it forms Y = R V and then makes the columns of Y orthogonal, applying what it does
 * to V too, so that Y = R V = U Sigma in the end. Two means:
 * - a sweep of one-sided Jacobi rotations (small_svd_sweep.cuh), which always works;
 * - a refinement V := V (I + E) of all columns at once (small_svd_refine.cuh; Ogita and Aishima,
 *   "Iterative refinement for symmetric eigenvalue decomposition", 2018), which converges
 *   quadratically once all rotations still to be done are small, and makes V orthonormal to
 *   rounding, however many warm starts came before.
 * It looks at E and takes the sweep where one of its elements is too large.
 *
 * On an H100 at n = 100 a sweep takes 54 us, a refinement 24 us, and the least that a compute can
 * do 29 us; R of Robust PCA's iterations on two clips take 0 to 4 sweeps and 1 to 4 refinements,
 * 180 us in the median. A sweep waits, on one rotation after another (570 cycles a round of them,
 * 104 rounds) and on the other blocks (2900 cycles a meeting, 15 meetings). Tried and slower: half
 * as many blocks with twice as many columns (12%); rotations found from the Gram matrix of two
 * blocks of columns and then applied to their rows (35% a sweep). */
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
        /* one fence a block, after its barrier, covers the writes of all its threads; a release by
         * each of them, 16 warps waiting for the same, took 7% more of the whole SVD */
        __syncthreads();
        if (threadIdx.x == 0)
            asm volatile("fence.acq_rel.cluster;" ::: "memory");
        __syncwarp();
        asm volatile("barrier.cluster.arrive.relaxed.aligned;\n"
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
