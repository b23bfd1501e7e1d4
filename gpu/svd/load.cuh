/* How the blocks of the SVD load G and the first V, and how V reaches all of them (small_svd.cuh).
 */
#ifndef BD_GPU_SVD_LOAD_CUH
#define BD_GPU_SVD_LOAD_CUH

#include <cuda_pipeline.h>

#include "gpu/svd/turn.cuh"

/* Loads the block's columns of V of the compute before, also to `own`, and forms those of G if
 * `form`.
 */
template <int NT>
__device__ inline void svd_begin(const struct svd_data &d, int first, int form, float *own)
{
    const int cold = *d.cold, columns = NT * svd_columns, last = min(first + columns, d.n);
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int j = first + warp; j < first + columns; j += svd_warps())
#pragma unroll 4
        for (int i = lane; i < d.ld; i += 32) {
            const bool in = i < d.n && j < d.n;
            const float old = in ? d.v_out[i + j * d.n] : 0, x = cold ? (float)(in && i == j) : old;
            own[i + (j - first) * d.ld] = x;
            if (in)
                d.v[i + j * d.ld] = x;
        }
    if (!form || first >= d.n)
        return;
    if (d.gram) {
        for (int j = first + warp; j < last; j += svd_warps())
#pragma unroll 4
            for (int i = lane; i < d.n; i += 32)
                d.g[i + j * d.ld] = d.gram[i + j * d.n];
        return;
    }
    /* elements (k, j) and (k + 1, j) of the upper triangle */
    const auto pair = [&](int k, int j) {
        const float *column = d.r + j * d.ldr;
        return make_double2(j < d.n && k <= j ? (double)column[k] : 0,
                            j < d.n && k + 1 <= j ? (double)column[k + 1] : 0);
    };
    const int row = svd_row(0), column = first + lane / 4;
    double sum[NT][4];
    if (row - lane / 4 >= d.n)
        return;
    const auto left = [&](int half, int k) { return pair(k, row + 8 * half); };
    const auto right = [&](int t, int k) { return pair(k, column + t * svd_columns); };
    /* loads of global memory: many in flight */
    svd_multiply<NT, NT == 1 ? 8 : 2>(sum, svd_padded(last), left, right);
#pragma unroll
    for (int t = 0; t < NT; t++)
#pragma unroll
        for (int c = 0; c < 4; c++)
            if (svd_row(c) < d.n && first + svd_column(t, c) < last)
                d.g[svd_row(c) + (first + svd_column(t, c)) * d.ld] = sum[t][c];
}

/* Copies G (columns ldg apart) to g (ld x padded) in shared memory, which is 0 from n on: all
 * copies are in flight at once. */
__device__ inline void svd_take_g(const struct svd_data &d, const struct svd_block &b,
                                  const double *from, int64_t ldg, double *g)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    if (d.cluster && from == d.g) {
        const int columns = min(svd_columns, d.n - b.first), bytes = d.ld * (int)sizeof *g;
        svd_before_cast();
        if (threadIdx.x == 0) {
            svd_expect(b, svd_post_g, d.n * bytes);
            if (columns > 0)
                svd_cast(b, svd_post_g, g + b.first * d.ld, d.g + b.first * d.ld, columns * bytes);
        }
        svd_await(b, svd_post_g);
        return;
    }
#endif
    for (int j = threadIdx.x / 32; j < d.n; j += svd_warps())
#pragma unroll 4
        for (int i = threadIdx.x % 32; i < d.n; i += 32)
            __pipeline_memcpy_async(g + i + j * d.ld, from + i + j * ldg, sizeof *g);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
}

/* Whether G is finite. Its diagonal is enough: element j has the squares of all of column j of R.
 */
__device__ inline int svd_is_finite(const struct svd_block &b)
{
    int bad = 0;
    for (int j = threadIdx.x; j < b.n; j += (int)blockDim.x)
        bad |= !isfinite(b.g[j + j * b.ld]);
    return !__syncthreads_or(bad);
}

/* Columns, `count` elements in all, to shared memory. */
template <class T> __device__ inline void svd_take_strip(T *to, const T *from, int count)
{
    constexpr int each = 16 / sizeof *to;
    for (int i = each * (int)threadIdx.x; i < count; i += each * (int)blockDim.x)
        __pipeline_memcpy_async(to + i, from + i, 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
}

/* V to shared memory: each block sends its strip to all, or else copies all. */
__device__ inline void svd_take_v(const struct svd_data &d, const struct svd_block &b, float *v,
                                  int strip)
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    if (d.cluster) {
        const int rank = (int)blockIdx.x, bytes = strip * (int)sizeof *v;
        if (threadIdx.x == 0)
            svd_expect(b, svd_post_v, b.used * bytes);
        svd_before_cast();
        if (threadIdx.x == 0 && rank < b.used)
            svd_cast(b, svd_post_v, v + rank * strip, d.v + rank * strip, bytes);
        svd_await(b, svd_post_v);
        __syncthreads();
        return;
    }
#endif
    svd_take_strip(v, d.v, d.n * d.ld);
}

#endif
