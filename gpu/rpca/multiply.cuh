/* Private to gpu/rpca: 16 rows of X times W on the tensor cores, in half precision with
 * three products for each one: with x = x1 + x2 and w = w1 + w2, each part with 11 bits, x w is
 * x1 w1 + x1 w2 + x2 w1 to float32 accuracy. TF32 has the same 11 bits and more range, but half the
 * rate; here the range is known: X is scaled to |M| <= 2^8 (bytes are there), which leaves a factor
 * of 2^8 for the rest of X, and W, whose elements are at most 1, by 2^12. What is below 2^-32 of
 * the largest |M| is lost, less than float32 rounding of a sum that it is part of.
 *
 * The tensor cores cut off what does not fit their accumulator, so each group of 16 to 64 terms
 * starts from zero there, small products first, and is added to the sum by an ordinary addition
 * (Ootomo and Yokota 2022, "Recovering single precision accuracy from Tensor Cores").
 *
 * The instruction multiplies 16 x 16 by 16 x 8. Lane 4 g + c of a warp has, of the left operand,
 * rows g and g + 8 of columns 2 c, 2 c + 1, 2 c + 8 and 2 c + 9, and of the product rows g and
 * g + 8 of columns 2 c and 2 c + 1. Rows g and g + 8 stand for rows 2 g and 2 g + 1 of X. So a lane
 * holds the same elements of X and of L, two rows each, which it reads and writes together. */
#ifndef BD_GPU_RPCA_MULTIPLY_CUH
#define BD_GPU_RPCA_MULTIPLY_CUH

#include <cuda_fp16.h>
#include <stdint.h>

/* By what W is multiplied. */
#define BD_RPCA_W_UNIT 4096.0f

/* The right operand of a lane in two parts: rows 2 c, 2 c + 1 and 2 c + 8, 2 c + 9 of 16 rows of W,
 * of column g of a group of eight; as they are stored, 16 bytes. */
struct __align__(16) bd_rpca_right
{
    uint32_t high[2], low[2];
};

/* The left operand: rows 2 g and 2 g + 1 of columns 2 c, 2 c + 1, then of 2 c + 8, 2 c + 9. */
struct bd_rpca_left {
    uint32_t high[4], low[4];
};

/* Two numbers as halves, and what is left of them. */
__device__ __forceinline__ void bd_rpca_split(float first, float second, uint32_t *high,
                                              uint32_t *low)
{
    __half2 h = __floats2half2_rn(first, second);
    float2 back = __half22float2(h);
    __half2 l = __floats2half2_rn(first - back.x, second - back.y);
    *high = *reinterpret_cast<uint32_t *>(&h);
    *low = *reinterpret_cast<uint32_t *>(&l);
}

/* The numbers of the right operand of rows 16 k .. 16 k + 15 and columns 8 j .. 8 j + 7 of W
 * (column-major, rows and columns from `size`, even, on are 0) that are lane's. */
__device__ __forceinline__ float4 bd_rpca_take(const float *w, int64_t ldw, int size, int k, int j,
                                               int lane)
{
    const int row = 16 * k + lane % 4 * 2, column = 8 * j + lane / 4;
    float2 first = make_float2(0, 0), second = first;
    if (column < size && row < size)
        first = *reinterpret_cast<const float2 *>(w + row + column * ldw);
    if (column < size && row + 8 < size)
        second = *reinterpret_cast<const float2 *>(w + row + 8 + column * ldw);
    return make_float4(first.x, first.y, second.x, second.y);
}

__device__ __forceinline__ bd_rpca_right bd_rpca_split_right(float4 w)
{
    bd_rpca_right r;
    bd_rpca_split(BD_RPCA_W_UNIT * w.x, BD_RPCA_W_UNIT * w.y, &r.high[0], &r.low[0]);
    bd_rpca_split(BD_RPCA_W_UNIT * w.z, BD_RPCA_W_UNIT * w.w, &r.high[1], &r.low[1]);
    return r;
}

__device__ __forceinline__ void bd_rpca_mma(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* sum += X W over 16 columns of X, for eight columns of L: row 2 g of columns 2 c, 2 c + 1, then
 * row 2 g + 1. */
__device__ __forceinline__ void bd_rpca_multiply(float sum[4], const bd_rpca_left &x,
                                                 const bd_rpca_right &w)
{
    float d[4] = { 0, 0, 0, 0 };
    bd_rpca_mma(d, x.low, w.high);
    bd_rpca_mma(d, x.high, w.low);
    bd_rpca_mma(d, x.high, w.high);
#pragma unroll
    for (int e = 0; e < 4; e++)
        sum[e] += d[e];
}

#endif
