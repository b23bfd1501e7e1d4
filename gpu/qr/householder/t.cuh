/* Private to q.cu: T of many reflectors, from the T of each 16 and the products of all (q.cu
 * says how two are joined). */
#ifndef BD_GPU_QR_HOUSEHOLDER_T_CUH
#define BD_GPU_QR_HOUSEHOLDER_T_CUH

#include "gpu/core/dependent_launch.cuh"
#include "gpu/qr/caqr/block.cuh"

enum {
    base = 64,      /* of a T that a block makes from those of 16 */
    step_tile = 32, /* of T, for a block that joins two larger ones */
    step_threads = 256
};

struct t_args {
    float *t; /* wide x wide, row-major, ld = wide; T(i, j) at i * ld + j */
    float *x; /* of the same shape: (V1^T V2) T2 */
    float *g; /* V^T V above its diagonal, column-major, ld = wide: `splits` parts of it, ld * ld
                 apart; then their sum in the first */
    const float *t16; /* the panels', row-major, one after the other */
    int64_t ld;
    int cols, splits; /* reflectors */
    int half;         /* join: columns of T1 and of T2 */
};

/* Joins neighbours of `half` reflectors in shared memory. x: room for an element each. */
static __device__ __forceinline__ void join_base(float (&t)[base][base + 1], float *x,
                                                 const float (&g)[base][base + 1], int half)
{
    const int count = base / 2 * half; /* elements of all pairs */
    for (int e = (int)threadIdx.x; e < count; e += step_threads) {
        const int pair = e / (half * half), i = e % (half * half) / half, j = e % half;
        const int row = 2 * half * pair + i, second = 2 * half * pair + half;
        float sum = 0;
        for (int k = 0; k <= j; k++)
            sum = fmaf(g[row][second + k], t[second + k][second + j], sum);
        x[e] = sum;
    }
    __syncthreads();
    for (int e = (int)threadIdx.x; e < count; e += step_threads) {
        const int pair = e / (half * half), i = e % (half * half) / half, j = e % half;
        const int first = 2 * half * pair;
        float sum = 0;
        for (int k = i; k < half; k++)
            sum = fmaf(t[first + i][first + k], x[(pair * half + k) * half + j], sum);
        t[first + i][first + half + j] = -sum;
    }
    __syncthreads();
}

/* Block (i, j): 64 x 64 of T and G. Adds up G; on the diagonal makes T, below it zeros. */
static __global__ void __launch_bounds__(step_threads)
    start_t(const __grid_constant__ struct t_args p)
{
    __shared__ float g[base][base + 1], t[base][base + 1], x[base * base / 4];
    const int i0 = (int)blockIdx.x * base, j0 = (int)blockIdx.y * base;
    bd_cuda_await();
    bd_cuda_let_follow();
    for (int e = (int)threadIdx.x; e < base * base; e += step_threads) {
        const int i = e % base, j = e / base;
        float *at = p.g + i0 + i + (j0 + j) * p.ld, sum = 0;
        if (i0 + i < j0 + j && j0 + j < p.cols) {
            for (int s = 0; s < p.splits; s++)
                sum += __ldcg(at + s * p.ld * p.ld);
            *at = sum;
        }
        g[i][j] = sum;
        t[i][j] = 0;
        if (i0 > j0)
            p.t[(i0 + j) * p.ld + j0 + i] = 0;
    }
    if (i0 != j0)
        return;
    __syncthreads();
    for (int e = (int)threadIdx.x; e < base * caqr_inner; e += step_threads) {
        const int i = e / caqr_inner, j = i / caqr_inner * caqr_inner + e % caqr_inner;
        if (i0 + i < p.cols && i0 + j < p.cols)
            t[i][j] = __ldcg(p.t16 + (i0 + i) * caqr_inner + e % caqr_inner);
    }
    __syncthreads();
    join_base(t, x, g, caqr_inner);
    join_base(t, x, g, 2 * caqr_inner);
    for (int e = (int)threadIdx.x; e < base * base; e += step_threads)
        p.t[(i0 + e / base) * p.ld + j0 + e % base] = t[e / base][e % base];
}

/* Block (x, y, z): rows 32 x .., columns 32 y .. of pair z. FIRST: x := G12 T2; then T12 := -T1 x.
 * A thread has rows threadIdx.x / 32 + 8 r of column threadIdx.x % 32. */
template <bool FIRST>
static __global__ void __launch_bounds__(step_threads)
    join_t(const __grid_constant__ struct t_args p)
{
    __shared__ float a[step_tile][step_tile + 1], b[step_tile][step_tile + 1];
    const int first = 2 * p.half * (int)blockIdx.z, second = first + p.half;
    const int i0 = step_tile * (int)blockIdx.x, j0 = step_tile * (int)blockIdx.y;
    const int lane = (int)threadIdx.x % step_tile, row = (int)threadIdx.x / step_tile;
    enum { rows = step_threads / step_tile, mine = step_tile / rows };
    float sum[mine] = {};
    bd_cuda_await();
    bd_cuda_let_follow();
    if (second + j0 >= p.ld)
        return;
    /* T2 is 0 below its diagonal, and so is T1 */
    for (int k0 = FIRST ? 0 : i0; k0 < (FIRST ? j0 + step_tile : p.half); k0 += step_tile) {
        for (int r = 0; r < mine; r++) {
            const int other = row + rows * r;
            if (FIRST) {
                const int k = second + k0 + other;
                a[lane][other] = k < p.cols ? __ldcg(p.g + first + i0 + lane + k * p.ld) : 0;
                b[other][lane] = __ldcg(p.t + (second + k0 + other) * p.ld + second + j0 + lane);
            } else {
                a[other][lane] = __ldcg(p.t + (first + i0 + other) * p.ld + first + k0 + lane);
                b[other][lane] = __ldcg(p.x + (first + k0 + other) * p.ld + second + j0 + lane);
            }
        }
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < step_tile; k++)
#pragma unroll
            for (int r = 0; r < mine; r++)
                sum[r] = fmaf(a[row + rows * r][k], b[k][lane], sum[r]);
        __syncthreads();
    }
    for (int r = 0; r < mine; r++) {
        float *to = FIRST ? p.x : p.t;
        to[(first + i0 + row + rows * r) * p.ld + second + j0 + lane] = FIRST ? sum[r] : -sum[r];
    }
}

/* x := T by columns (T(i, j) at i + j * ld), cols x cols. */
static __global__ void turn_t(const __grid_constant__ struct t_args p)
{
    __shared__ float tile[step_tile][step_tile + 1];
    const int i0 = step_tile * (int)blockIdx.x, j0 = step_tile * (int)blockIdx.y;
    const int lane = (int)threadIdx.x % step_tile;
    bd_cuda_await();
    bd_cuda_let_follow();
    for (int r = (int)threadIdx.x / step_tile; r < step_tile; r += step_threads / step_tile)
        tile[r][lane] = __ldcg(p.t + (i0 + r) * p.ld + j0 + lane);
    __syncthreads();
    for (int r = (int)threadIdx.x / step_tile; r < step_tile; r += step_threads / step_tile)
        p.x[(j0 + r) * p.ld + i0 + lane] = tile[lane][r];
}

#endif
