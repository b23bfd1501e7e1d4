/* Private to factor.cu and gpu/gram_qr/large/large.cu: what a pass does with R^, in shared or
 * global memory, by one thread block. */
#ifndef BD_GPU_GRAM_QR_PARTS_CUH
#define BD_GPU_GRAM_QR_PARTS_CUH

#include "gpu/gram_qr/small.cuh"

/* The small arrays, and the matrices: b, which becomes R^, and those that gram_clamp needs
 * beside it. */
struct gram_memory_of_r {
    double *norm, *inverse; /* n, n */
    double *x;              /* 3 n in shared memory; 2 n + 3, for SVQR only, otherwise */
    double *a, *b, *c;      /* n x n, ld apart; c only in shared memory */
    int ld;
};

/* f.a := G scaled to unit diagonal, both triangles. */
static __device__ __forceinline__ void gram_take_again(const struct gram_data &d,
                                                       const struct gram_memory_of_r &f)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
#pragma unroll 1
    for (int j = warp; j < d.n; j += warps)
#pragma unroll 4
        for (int i = lane; i <= j; i += 32) {
            const double scaled = d.g[i + (int64_t)j * d.n] * f.inverse[i] * f.inverse[j];
            f.a[i * f.ld + j] = f.a[j * f.ld + i] = i == j ? 1 : scaled;
        }
    __syncthreads();
}

/* R_total of a pass with R = I. What gram_repair did is undone, unless the pass was bad. */
static __device__ __forceinline__ void gram_keep_total(const struct gram_data &d, int pass,
                                                       bool undo)
{
    const int n = d.n, lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    for (int j = warp; j < n; j += warps)
        for (int i = lane; i < n; i += 32) {
            const int64_t e = i + (int64_t)j * n;
            const double old = pass == 0 ? (i == j ? 1.0 : 0.0) : i <= j ? d.total[e] : 0.0;
            d.other[e] = undo ? old * gram_undone(d.exponents[i]) : old;
        }
    __syncthreads();
    if (undo)
        for (int j = threadIdx.x; j < n; j += blockDim.x)
            d.exponents[j] = 0;
}

/* R becomes I from row `end` on, with norms that are powers of 2, so that the product is exact. */
static __device__ __forceinline__ void gram_break_off(const struct gram_memory_of_r &f, int n,
                                                      int end)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    for (int j = end + warp; j < n; j += warps) {
        const double power = gram_power(f.norm[j]), inverse = gram_power_inverse(f.norm[j]);
        const double by = f.norm[j] * inverse;
        for (int i = lane; i <= j; i += 32)
            f.b[i * f.ld + j] = i < end ? f.b[i * f.ld + j] * by : i == j ? inverse : 0.0;
        __syncwarp();
        if (lane == 0) {
            f.norm[j] = power;
            f.inverse[j] = inverse;
        }
    }
    __syncthreads();
}

#endif
