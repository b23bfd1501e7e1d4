/* Private to pipelined.cu and panels.cu: what a product with T^T on the
 * left has left in registers, to V. */
#ifndef BD_GPU_TRIANGULAR_STORE_CUH
#define BD_GPU_TRIANGULAR_STORE_CUH

#include <cstdint>

#include <cuda_runtime.h>

/* Rows `row` and row + 1 of a column of Q, of which there are `rows`. */
template <class Element>
static __device__ __forceinline__ void put_rows(Element *to, Element low, Element high,
                                                int64_t rows, bool aligned)
{
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
}

/* Eight rows of 16 columns of Q, of which there are `columns`, as bd_gram_multiply leaves them: the
 * lane's two rows of columns `group` and 8 + group, of which there are `rows`; `to` is at the first
 * of these in column 0. */
template <class Element>
static __device__ __forceinline__ void put_columns(Element *to, int64_t ldv, const double sum[4],
                                                   int64_t rows, int columns, bool aligned)
{
    const int group = threadIdx.x % 32 / 4;
#pragma unroll
    for (int e = 0; e < 2; e++)
        if (8 * e + group < columns)
            put_rows(to + (8 * e + group) * ldv, (Element)sum[2 * e], (Element)sum[2 * e + 1], rows,
                     aligned);
}

/* NaN where a number of these is not finite as an Element, else 0. What is beyond the last row or
 * column is 0, or not finite because T is not. */
template <class Element> static __device__ __forceinline__ double probe(const double sum[4])
{
    double sum_of_zeros = 0;
#pragma unroll
    for (int e = 0; e < 4; e++)
        sum_of_zeros = fma((double)(Element)sum[e], 0.0, sum_of_zeros);
    return sum_of_zeros;
}

#endif
