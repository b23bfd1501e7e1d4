/* Private to gpu/triangular_staged.cu and gpu/triangular_panels.cu: what a product with T^T on the
 * left has left in registers, to V. */
#ifndef BD_GPU_TRIANGULAR_PUT_CUH
#define BD_GPU_TRIANGULAR_PUT_CUH

#include <cstdint>

#include <cuda_runtime.h>

/* Rows `row` and row + 1 of a column of Q, and whether one of them is not finite. */
template <class Element>
static __device__ __forceinline__ int put_rows(Element *to, double x, double y, int64_t rows,
                                               bool aligned)
{
    const Element low = (Element)x, high = (Element)y;
    if (rows >= 2 && aligned) {
        if constexpr (sizeof(Element) == 8)
            *reinterpret_cast<double2 *>(to) = make_double2(low, high);
        else
            *reinterpret_cast<float2 *>(to) = make_float2(low, high);
    } else {
        if (rows > 0)
            to[0] = low;
        if (rows > 1)
            to[1] = high;
    }
    return (rows > 0 && !isfinite(low)) || (rows > 1 && !isfinite(high));
}

/* Eight rows of 16 columns of Q, of which there are `columns`, as bd_gram_multiply leaves them: the
 * lane's two rows of columns `group` and 8 + group, of which there are `rows`; `to` is at the first
 * of these in column 0. As put_rows. */
template <class Element>
static __device__ __forceinline__ int put_columns(Element *to, int64_t ldv, const double sum[4],
                                                  int64_t rows, int columns, bool aligned)
{
    const int group = threadIdx.x % 32 / 4;
    int bad = 0;
#pragma unroll
    for (int e = 0; e < 2; e++)
        if (8 * e + group < columns)
            bad |= put_rows(to + (8 * e + group) * ldv, sum[2 * e], sum[2 * e + 1], rows, aligned);
    return bad;
}

#endif
