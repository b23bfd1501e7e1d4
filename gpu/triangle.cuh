/* Private to the CUDA backend: a thread block reads the upper triangle of a small float64 matrix.
 */
#ifndef BD_GPU_TRIANGLE_CUH
#define BD_GPU_TRIANGLE_CUH

#include <cstdint>

/* Calls put(column, row, element) for each element of the upper triangle of g (n x n, ld n), n <=
 * 32 PARTS, by all warps of the block: four columns a warp at a time, so that enough loads are on
 * their way at once. */
template <int PARTS, class Put>
static __device__ __forceinline__ void bd_cuda_load_triangle(const double *g, int n, const Put &put)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
#pragma unroll 1
    for (int i0 = warp; i0 < n; i0 += 4 * warps) {
        double x[4][PARTS];
#pragma unroll
        for (int c = 0; c < 4; c++)
#pragma unroll
            for (int part = 0; part < PARTS; part++) {
                const int i = i0 + c * warps, row = 32 * part + lane;
                if (i < n && row <= i)
                    x[c][part] = g[row + (int64_t)i * n];
            }
#pragma unroll
        for (int c = 0; c < 4; c++)
#pragma unroll
            for (int part = 0; part < PARTS; part++) {
                const int i = i0 + c * warps, row = 32 * part + lane;
                if (i < n && row <= i)
                    put(i, row, x[c][part]);
            }
    }
}

#endif
