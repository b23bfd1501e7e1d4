/* Private to qr_chase*.cu: columns of a window in registers, and their reflectors. Eight lanes hold a
 * column of 128 rows, 16 rows each: rows 32 q + 4 l + e of lane l, so that four of them are 16 bytes
 * in shared memory. */
#ifndef BD_GPU_QR_CHASE_COLUMN_CUH
#define BD_GPU_QR_CHASE_COLUMN_CUH

#include "gpu/qr_chase.h"

namespace
{

constexpr int lanes = 8, own = chase_rows / lanes, threads = lanes * chase_most, quads = own / 4;
constexpr int ld_t = chase_most + 1;

/* A column's rows of a lane. */
struct column {
    float x[own];
};

__device__ __forceinline__ int row_of(int i, int l)
{
    return 32 * (i / 4) + 4 * l + i % 4;
}

template <class T> __device__ __forceinline__ T sum_lanes(T x)
{
#pragma unroll
    for (int d = 1; d < lanes; d *= 2)
        x += __shfl_xor_sync(0xffffffffu, x, d, 32);
    return x;
}

/* A reflector that makes (alpha, x) (beta, 0): I - tau (1, v) (1, v)^T with v = scale x. */
struct reflector {
    float beta, tau;
    double scale;
};

/* Whether the sum of squares of x and alpha is safe in float32; it is made in float64 otherwise. */
__device__ __forceinline__ bool squares_fit(float squares, float alpha)
{
    const float all = squares + alpha * alpha;
    return all > 1e-30f && all < 1e30f;
}

__device__ __forceinline__ reflector make_reflector(double squares, double alpha)
{
    if (squares == 0)
        return { (float)alpha, 0, 0 };
    const double norm = sqrt(squares + alpha * alpha), beta = alpha > 0 ? -norm : norm;
    return { (float)beta, (float)((beta - alpha) / beta), 1 / (alpha - beta) };
}

__device__ __forceinline__ reflector make_reflector(float squares, float alpha)
{
    if (squares == 0)
        return { alpha, 0, 0 };
    const float norm = sqrtf(squares + alpha * alpha), beta = alpha > 0 ? -norm : norm;
    return { beta, (beta - alpha) / beta, 1 / (alpha - beta) };
}

/* y := scale x; not in float32 where the scale may be out of its range. */
__device__ __forceinline__ void scale_by(float (&y)[own], const float (&x)[own], const reflector &h,
                                         bool fits)
{
    if (fits) {
        const float scale = (float)h.scale;
#pragma unroll
        for (int r = 0; r < own; r++)
            y[r] = x[r] * scale;
        return;
    }
#pragma unroll
    for (int r = 0; r < own; r++)
        y[r] = (float)(x[r] * h.scale);
}

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
