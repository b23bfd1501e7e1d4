/* Private to persistent.cu and persistent_parts.cuh: rows of V times T (gpu/gram_qr/plan.h), where
 * a thread has a row in registers; and the sums of the Gram matrix of such rows. The code is
 * compiled for some numbers of columns N; for numbers between, columns of 0 are added. (Yamazaki,
 * Tomov, Dongarra, section 4, have code for each N.) */
#ifndef BD_GPU_GRAM_QR_NARROW_ROWS_CUH
#define BD_GPU_GRAM_QR_NARROW_ROWS_CUH

#include <cstdint>

#include "gpu/core/gram_narrow.cuh"
#include "gpu/gram_qr/plan.h"

/* A warp puts its rows into shared memory for the Gram matrix, 16 at a time, in whole groups of
 * 8 columns. */
enum {
    bd_rows_stride = 18 /* doubles between columns: fragments without bank conflicts */
};

/* Groups of 8 columns of the Gram matrix (gpu/core/gram_narrow.cuh). */
static __host__ __device__ constexpr int bd_rows_groups(int n)
{
    return n <= 24 ? 3 : 4;
}

/* Doubles of shared memory that a warp needs for that. */
static __host__ __device__ constexpr int bd_rows_stage(int n)
{
    return 8 * bd_rows_groups(n) * bd_rows_stride;
}

/* CALL<N>(..) for the N of n columns. */
#define BD_ROWS_CHOOSE(n, CALL) \
    ((n) <= 8    ? CALL(8)      \
     : (n) <= 16 ? CALL(16)     \
     : (n) <= 20 ? CALL(20)     \
     : (n) <= 24 ? CALL(24)     \
                 : CALL(32))

/* That N. */
static inline int bd_rows_columns(int n)
{
#define SAME(N) N
    return BD_ROWS_CHOOSE(n, SAME);
#undef SAME
}

/* Four elements of a column of T at once. */
static __device__ __forceinline__ void bd_rows_load_t(double t[4], const double *from)
{
    const double2 low = *reinterpret_cast<const double2 *>(from),
                  high = *reinterpret_cast<const double2 *>(from + 2);
    t[0] = low.x, t[1] = low.y, t[2] = high.x, t[3] = high.y;
}

static __device__ __forceinline__ void bd_rows_load_t(float t[4], const float *from)
{
    const float4 x = *reinterpret_cast<const float4 *>(from);
    t[0] = x.x, t[1] = x.y, t[2] = x.z, t[3] = x.w;
}

/* Column j of the product with T. Columns of w right of j are no longer those of V. */
template <int N, class Real>
static __device__ __forceinline__ Real bd_rows_column(const Real w[N], const Real *t, int j)
{
    Real sum[2] = {};
#pragma unroll
    for (int k = 0; k <= j; k += 4) {
        Real x[4];
        bd_rows_load_t(x, t + j * N + k);
#pragma unroll
        for (int s = 0; s < 4; s++)
            if (k + s <= j)
                sum[s % 2] = fma(x[s], w[k + s], sum[s % 2]);
    }
    return sum[0] + sum[1];
}

/* w := w T, in place: blocks of columns one after the other, so that the columns before a block
 * are of Q by then; in a block from the last column on, which no other column needs. t: column j
 * of T is at j N. */
template <int N, class Real>
static __device__ __forceinline__ void bd_rows_product(Real w[N], const Real *t, unsigned starts)
{
    unsigned rest = N < 32 ? starts & ((1u << N % 32) - 1) : starts;
    asm volatile(
        ""
        :
        :
        : "memory"); /* so that the compiler does not keep T in registers from row to row */
    if (rest == 1) {
#pragma unroll
        for (int j = N - 1; j >= 0; j--)
            w[j] = bd_rows_column<N>(w, t, j);
        return;
    }
    int begin = 0;
#pragma unroll 1
    do {
        rest &= rest - 1;
        const int end = rest ? __ffs((int)rest) - 1 : N;
#pragma unroll
        for (int j = N - 1; j >= 0; j--)
            if (j >= begin && j < end)
                w[j] = bd_rows_column<N>(w, t, j);
        begin = end;
    } while (rest);
}

/* Rows of V to rows of Q, in Real. */
template <int N, class Real, class Element>
static __device__ __forceinline__ void bd_rows_solve(Element x[N], const double *scale,
                                                     const Real *t, unsigned starts)
{
    Real w[N];
#pragma unroll
    for (int j = 0; j < N; j++)
        w[j] = (Real)((double)x[j] * scale[j]);
    bd_rows_product<N, Real>(w, t, starts);
#pragma unroll
    for (int j = 0; j < N; j++)
        x[j] = (Element)w[j];
}

/* sum += the products of the 32 rows of a warp, a lane's in x. stage: bd_rows_stage(N) doubles, of
 * which columns from N on are 0 and stay so. */
template <int N, class Element>
static __device__ __forceinline__ void bd_rows_form(double sum[][4], double *stage,
                                                    const Element x[N])
{
    const int lane = threadIdx.x % 32;
#pragma unroll 1
    for (int half = 0; half < 2; half++) {
        double part[4][4] = {};
        __syncwarp();
        if (lane / 16 == half)
#pragma unroll
            for (int j = 0; j < N; j++)
                stage[j * bd_rows_stride + lane % 16] = (double)x[j];
        __syncwarp();
#pragma unroll
        for (int group = 0; group < bd_rows_groups(N); group++) {
            const double2 *from = reinterpret_cast<const double2 *>(
                stage + (8 * group + lane / 4) * bd_rows_stride + 4 * (lane % 4));
            const double2 low = from[0], high = from[1];
            part[group][0] = low.x, part[group][1] = low.y;
            part[group][2] = high.x, part[group][3] = high.y;
        }
        bd_gram_narrow_multiply<bd_rows_groups(N)>(sum, part);
    }
}

#endif
