/* Private to pipelined.cu and panels.cu: they store Q from the registers of a product with T^T
 * on the left. */
#ifndef BD_GPU_TRIANGULAR_STORE_CUH
#define BD_GPU_TRIANGULAR_STORE_CUH

#include <cstdint>

#include <cuda_runtime.h>

/* Stores two rows of a column of Q, of which `rows` exist. */
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

/* Stores eight rows of 16 columns of Q, of which `columns` exist, as bd_gram_multiply leaves
 * them: the lane's two rows, of which `rows` exist, of columns `group` and 8 + group. `to` is
 * the first of these rows in column 0. */
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

/* NaN if one of these numbers is not finite as an Element, else 0. Beyond the last row or column
 * they are 0, or not finite because T is not. */
template <class Element> static __device__ __forceinline__ double probe(const double sum[4])
{
    double sum_of_zeros = 0;
#pragma unroll
    for (int e = 0; e < 4; e++)
        sum_of_zeros = fma((double)(Element)sum[e], 0.0, sum_of_zeros);
    return sum_of_zeros;
}

#endif
