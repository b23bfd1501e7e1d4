/* Private to the CUDA backend: a thread block reads the upper triangle of a small float64 matrix.
 */
#ifndef BD_GPU_CORE_TRIANGLE_CUH
#define BD_GPU_CORE_TRIANGLE_CUH

#include <cstdint>

/* Calls put(column, row, element, wanted) for the elements of the upper triangle of g (n x n, ld
 * n), by all warps of the block. A warp loads 32 PARTS rows of four columns at a time, so that
 * enough loads are outstanding. Places outside the triangle are replaced by places inside, with
 * `wanted` false, so that no branch separates the loads. */
template <int PARTS, class Put>
static __device__ __forceinline__ void bd_cuda_load_triangle(const double *g, int n, const Put &put)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
#pragma unroll 1
    for (int i0 = warp; i0 < n; i0 += 4 * warps)
#pragma unroll 1
        for (int top = 0; top <= min(i0 + 3 * warps, n - 1); top += 32 * PARTS) {
            double x[4][PARTS];
#pragma unroll
            for (int c = 0; c < 4; c++)
#pragma unroll
                for (int part = 0; part < PARTS; part++) {
                    const int i = min(i0 + c * warps, n - 1);
                    x[c][part] = g[min(top + 32 * part + lane, i) + (int64_t)i * n];
                }
#pragma unroll
            for (int c = 0; c < 4; c++)
#pragma unroll
                for (int part = 0; part < PARTS; part++) {
                    const int i = min(i0 + c * warps, n - 1), row = top + 32 * part + lane;
                    put(i, min(row, i), x[c][part], row <= i && i0 + c * warps < n);
                }
        }
}

#endif
