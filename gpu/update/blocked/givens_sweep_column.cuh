/* Private to givens_sweep_chain.cu and givens_sweep_form.cu: columns of a window in registers, and
 * their reflectors. Eight lanes hold
 * a column of 128 rows, 16 rows each: rows 32 q + 4 l + e of lane l, so that four of them are 16
 * bytes in shared memory. */
#ifndef BD_GPU_UPDATE_BLOCKED_GIVENS_SWEEP_COLUMN_CUH
#define BD_GPU_UPDATE_BLOCKED_GIVENS_SWEEP_COLUMN_CUH

#include "gpu/update/blocked/givens_sweep.h"

namespace
{

constexpr int lanes = 8, own = givens_rows / lanes, threads = lanes * givens_most, quads = own / 4;
constexpr int ld_t = givens_most + 1;

/* A column's rows of a lane. */
struct column {
    float x[own];
};

__device__ __forceinline__ int row_of(int i, int l)
{
    return 32 * (i / 4) + 4 * l + i % 4;
}

/* The sum over the eight lanes of a group. All groups whose lanes are in `who` take part. */
template <class T> __device__ __forceinline__ T sum_lanes(T x, unsigned who = ~0U)
{
#pragma unroll
    for (int d = 1; d < lanes; d *= 2)
        x += __shfl_xor_sync(who, x, d, 32);
    return x;
}

/* The largest of the eight lanes of a group. */
__device__ __forceinline__ float most_of_lanes(float x, unsigned who)
{
#pragma unroll
    for (int d = 1; d < lanes; d *= 2)
        x = fmaxf(x, __shfl_xor_sync(who, x, d, 32));
    return x;
}

/* The lanes of the calling group. */
__device__ __forceinline__ unsigned group_lanes()
{
    return 0xffU << (threadIdx.x % 32 / lanes * lanes);
}

/* A reflector that takes (alpha, x) to (beta, 0): I - tau (1, v) (1, v)^T with v = scale x. */
struct reflector {
    float beta, tau, scale;
};

/* Whether the sum of squares of x and alpha is safe in float32; it is scaled otherwise. */
__device__ __forceinline__ bool squares_fit(float squares, float alpha)
{
    const float all = squares + alpha * alpha;
    return all > 1e-30F && all < 1e30F;
}

/* 1 / x to 1 ulp, for x not near the ends of the range. A division that rounds takes three times as
 * long, and makes the reflector no more orthogonal. */
__device__ __forceinline__ float quick_inverse(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ float quick_inverse_root(float x)
{
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ reflector make_reflector(float squares, float alpha)
{
    if (squares == 0)
        return { alpha, 0, 0 };
    const float all = squares + alpha * alpha, inverse = quick_inverse_root(all);
    const float norm = all * inverse, length = fabsf(alpha) + norm; /* of alpha - beta */
    const float scale = quick_inverse(length);
    return { alpha > 0 ? -norm : norm, length * inverse, alpha > 0 ? scale : -scale };
}

/* A power of 2: numbers up to `most` times `there` are safe to square. back: its inverse. */
struct safe_scale {
    float there, back;
    __device__ __forceinline__ explicit safe_scale(float most)
    {
        unsigned e = __float_as_uint(most) >> 23 & 255;
        e = e < 1 ? 1 : e > 253 ? 253 : e;
        there = __uint_as_float((254 - e) << 23);
        back = __uint_as_float(e << 23);
    }
};

/* The rows from 32 FIRST on of a column in shared memory. */
template <int FIRST>
__device__ __forceinline__ void read_column(float (&v)[own], const float *from, int l)
{
#pragma unroll
    for (int q = FIRST; q < quads; q++) {
        const float4 y = *reinterpret_cast<const float4 *>(from + 32 * q + 4 * l);
        v[4 * q] = y.x, v[4 * q + 1] = y.y, v[4 * q + 2] = y.z, v[4 * q + 3] = y.w;
    }
}

__device__ __forceinline__ void write_column(float *to, const float (&x)[own], int l)
{
#pragma unroll
    for (int q = 0; q < quads; q++)
        *reinterpret_cast<float4 *>(to + 32 * q + 4 * l) =
            make_float4(x[4 * q], x[4 * q + 1], x[4 * q + 2], x[4 * q + 3]);
}

template <int FIRST>
__device__ __forceinline__ float dot(const float (&x)[own], const float (&v)[own])
{
    float a = 0, b = 0;
#pragma unroll
    for (int i = 4 * FIRST; i < own; i += 2) {
        a += x[i] * v[i];
        b += x[i + 1] * v[i + 1];
    }
    return sum_lanes(a + b);
}

} // namespace

#endif
