/* Device functions that the kernels of QR updating share. */
#ifndef BD_GPU_UPDATE_UPDATE_CUH
#define BD_GPU_UPDATE_UPDATE_CUH

#include "gpu/update/update.h"

/* This update is not to be done: its new columns are not finite. */
__device__ inline bool bd_update_refused(const struct bd_update_job &job)
{
    return job.state->bad == job.call;
}

/* (upper, lower) := (c upper + s lower, c lower - s upper) */
template <typename T> __device__ __forceinline__ void bd_rotate(T &upper, T &lower, T c, T s)
{
    T above = upper;
    upper = c * above + s * lower;
    lower = c * lower - s * above;
}

/* V rows of a column: V = 4 is one 16-byte access. */
template <int V> struct bd_rows {
    float x[V];
};

template <int V> __device__ __forceinline__ bd_rows<V> bd_load_rows(const float *from)
{
    bd_rows<V> rows;
    if constexpr (V == 4) {
        float4 x = *reinterpret_cast<const float4 *>(from);
        rows.x[0] = x.x, rows.x[1] = x.y, rows.x[2] = x.z, rows.x[3] = x.w;
    } else {
        rows.x[0] = *from;
    }
    return rows;
}

template <int V> __device__ __forceinline__ void bd_store_rows(float *to, const bd_rows<V> &rows)
{
    if constexpr (V == 4)
        *reinterpret_cast<float4 *>(to) = make_float4(rows.x[0], rows.x[1], rows.x[2], rows.x[3]);
    else
        *to = rows.x[0];
}

/* N columns of which `left` are there, zeros for the rest: the loads of all, then their use, so
 * that they are under way together. */
template <int N, int V>
__device__ __forceinline__ void bd_load_ahead(bd_rows<V> (&x)[N], const float *from, int64_t stride,
                                              int left)
{
    if (left >= N) {
#pragma unroll
        for (int i = 0; i < N; i++)
            x[i] = bd_load_rows<V>(from + i * stride);
    } else {
#pragma unroll
        for (int i = 0; i < N; i++)
            x[i] = i < left ? bd_load_rows<V>(from + i * stride) : bd_rows<V>{};
    }
}

template <int V>
__device__ __forceinline__ float bd_dot_rows(const bd_rows<V> &a, const bd_rows<V> &b)
{
    float sum = a.x[0] * b.x[0];
#pragma unroll
    for (int i = 1; i < V; i++)
        sum += a.x[i] * b.x[i];
    return sum;
}

/* In float64: squares of columns may be beyond the range of float32. */
template <int V> __device__ __forceinline__ double bd_square_rows(const bd_rows<V> &x)
{
    double sum = 0;
#pragma unroll
    for (int i = 0; i < V; i++)
        sum += (double)x.x[i] * (double)x.x[i];
    return sum;
}

/* y -= value x */
template <int V>
__device__ __forceinline__ void bd_subtract_rows(bd_rows<V> &y, float value, const bd_rows<V> &x)
{
#pragma unroll
    for (int i = 0; i < V; i++)
        y.x[i] -= value * x.x[i];
}

/* One step of a chain: rotations (x[count-1], x[count]) up to (x[0], x[1]). */
template <int P, int V>
__device__ __forceinline__ void bd_rotate_rows(bd_rows<V> (&x)[P + 1], const float2 *cs)
{
#pragma unroll
    for (int s = P - 1; s >= 0; s--) {
        float2 g = cs[s];
#pragma unroll
        for (int i = 0; i < V; i++)
            bd_rotate(x[s].x[i], x[s + 1].x[i], g.x, g.y);
    }
}

/* Sums of 8 values over a warp in 9 exchanges: each halves the values that a lane is left with.
 * Returns the sum of value number lane / 4. */
__device__ __forceinline__ float bd_sum_eight(float (&x)[8])
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int half = 4, distance = 16; half >= 1; half /= 2, distance /= 2) {
        bool upper = lane & distance;
#pragma unroll
        for (int i = 0; i < half; i++) {
            float given = upper ? x[i] : x[i + half];
            float kept = upper ? x[i + half] : x[i];
            x[i] = kept + __shfl_xor_sync(~0u, given, distance);
        }
    }
    x[0] += __shfl_xor_sync(~0u, x[0], 2);
    return x[0] + __shfl_xor_sync(~0u, x[0], 1);
}

__device__ __forceinline__ double bd_sum_warp(double x)
{
    for (int distance = 16; distance >= 1; distance /= 2)
        x += __shfl_xor_sync(~0u, x, distance);
    return x;
}

/* to[c] := the sum over a warp of each lane's x[c]. */
template <int B> __device__ __forceinline__ void bd_sum_columns(double *to, const double (&x)[B])
{
#pragma unroll
    for (int c = 0; c < B; c++) {
        double sum = bd_sum_warp(x[c]);
        if (threadIdx.x % 32 == 0)
            to[c] = sum;
    }
}

/* The sum over a block, in all its threads. `room`: 33 values of shared memory. */
__device__ inline double bd_sum_block(double x, double *room)
{
    x = bd_sum_warp(x);
    if (threadIdx.x % 32 == 0)
        room[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x < 32) {
        int warps = (int)(blockDim.x + 31) / 32;
        x = bd_sum_warp((int)threadIdx.x < warps ? room[threadIdx.x] : 0);
        if (threadIdx.x == 0)
            room[32] = x;
    }
    __syncthreads();
    x = room[32];
    __syncthreads(); /* room may be used again */
    return x;
}

#endif
