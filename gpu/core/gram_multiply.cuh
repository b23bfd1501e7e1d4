/* Private to the CUDA backend: the FP64 matrix instruction, for gram.cuh and everything else that
 * multiplies small blocks in float64.
 *
 * It multiplies 16 x 16 by 16 x 8. In a Gram matrix both operands are columns of X, and the
 * order of the rows does not matter as long as both agree. So lane 4 g + t of a warp holds rows
 * 4 t .. 4 t + 3 of column g of a group of 8 columns: what one load4 gives, for either operand.
 * Two groups make the left operand (16 columns), one the right. Compute capability 8.0 has a
 * smaller instruction; it takes eight of them. */
#ifndef BD_GPU_CORE_GRAM_MULTIPLY_CUH
#define BD_GPU_CORE_GRAM_MULTIPLY_CUH

#include <cuda_runtime.h>

/* C (16 x 8) += [low high]^T b: 16 columns times 8 columns, over 16 rows. Lane 4 g + t has
 * C(g, 2 t), C(g, 2 t + 1), C(g + 8, 2 t), C(g + 8, 2 t + 1). */
__device__ __forceinline__ void bd_gram_multiply(double c[4], const double low[4],
                                                 const double high[4], const double b[4])
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
        "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(low[0]), "d"(high[0]), "d"(low[1]), "d"(high[1]), "d"(low[2]), "d"(high[2]),
          "d"(low[3]), "d"(high[3]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
#else
#pragma unroll
    for (int k = 0; k < 4; k++) {
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(c[0]), "+d"(c[1])
            : "d"(low[k]), "d"(b[k]));
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(c[2]), "+d"(c[3])
            : "d"(high[k]), "d"(b[k]));
    }
#endif
}

template <class Element>
__device__ __forceinline__ void bd_gram_widen(double wide[4], const Element x[4])
{
#pragma unroll
    for (int k = 0; k < 4; k++)
        wide[k] = x[k];
}

#endif
