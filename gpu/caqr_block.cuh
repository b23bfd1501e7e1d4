/* Private to caqr_factor.cu and caqr_apply.cu: a block of caqr_rows x 16 columns in the registers
 * of a warp, and a block reflector I - V T V^T applied to it on the tensor cores.
 *
 * A warp holds the transpose C^T (16 columns x 128 rows) as 16 accumulator tiles of mma.m16n8k8: in
 * lane 4 g + t, c[k] = { C(8 k + 2 t, g), C(8 k + 2 t + 1, g), C(8 k + 2 t, g + 8), C(8 k + 2 t +
 * 1, g + 8) }. With the contraction index permuted (slot t is row 2 t, slot t + 4 row 2 t + 1) an
 * accumulator is an A operand as it is, so that the products W^T = C^T V and C^T -= W^T V^T need no
 * data moved between lanes; V comes from shared memory in the order of the B operands.
 *
 * TF32 with error compensation: x = hi + lo, hi rounded to 11 bits; a b = hi hi + lo hi + hi lo,
 * the neglected part is below 2^-22. The tensor cores truncate when they add, so the three kinds of
 * product have accumulators of their own, and C is subtracted from by the ordinary units. */
#ifndef BD_GPU_CAQR_BLOCK_CUH
#define BD_GPU_CAQR_BLOCK_CUH

#include "gpu/caqr_plan.h"

enum { caqr_t_ld = 20 }; /* of a T in shared memory: B operands without bank conflicts */

/* A block of 16 reflectors in shared memory. */
struct caqr_reflectors {
    float4 dots[caqr_tiles][32]; /* B operands of C^T V: lane's V(8 k + 2 t + {0, 1}, g + {0, 8}) */
    float4 updates[caqr_tiles][32]; /* of W^T V^T: V(8 k + g, 2 t + {0, 1, 8, 9}), swizzled */
    float t[caqr_inner][caqr_t_ld]; /* row-major */
};

struct caqr_tf32 {
    uint32_t hi, lo;
};

/* hi is x rounded to TF32 (to nearest, ties away from 0), lo what is left, which the tensor core
 * cuts to TF32 itself. */
static __device__ __forceinline__ caqr_tf32 caqr_split(float x)
{
    caqr_tf32 s;
    s.hi = (__float_as_uint(x) + 0x1000u) & 0xffffe000u;
    s.lo = __float_as_uint(x - __uint_as_float(s.hi));
    return s;
}

/* d += a b, a 16 x 8, b 8 x 8. */
static __device__ __forceinline__ void caqr_mma(float d[4], const uint32_t a[4], uint32_t b0,
                                                uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* An accumulator as an A operand, in two parts. */
static __device__ __forceinline__ void caqr_operand(const float c[4], uint32_t hi[4],
                                                    uint32_t lo[4])
{
    const int order[4] = { 0, 2, 1, 3 };
#pragma unroll
    for (int i = 0; i < 4; i++) {
        caqr_tf32 s = caqr_split(c[order[i]]);
        hi[i] = s.hi;
        lo[i] = s.lo;
    }
}

/* sum[0] += hi hi, sum[1] += lo hi, sum[2] += hi lo, for an 8 x 8 operand { b0, b1 }. */
static __device__ __forceinline__ void caqr_mma3(float sum[3][4], const uint32_t hi[4],
                                                 const uint32_t lo[4], float b0, float b1)
{
    caqr_tf32 x = caqr_split(b0), y = caqr_split(b1);
    caqr_mma(sum[0], hi, x.hi, y.hi);
    caqr_mma(sum[1], lo, x.hi, y.hi);
    caqr_mma(sum[2], hi, x.lo, y.lo);
}

static __device__ __forceinline__ float caqr_sum3(const float sum[3][4], int i)
{
    return sum[0][i] + (sum[1][i] + sum[2][i]);
}

/* Where lane's float4 of updates[k] is: flipping bits by the row spreads the writer's banks. */
static __device__ __forceinline__ int caqr_swizzle(int lane)
{
    return lane ^ (lane >> 3 << 1);
}

/* Puts tile k of V, held as a tile of C is, into shared memory in both orders. */
static __device__ __forceinline__ void caqr_put_tile(struct caqr_reflectors *s, int k, int lane,
                                                     const float v[4])
{
    int g = lane >> 2, t = lane & 3;
    s->dots[k][lane] = make_float4(v[0], v[1], v[2], v[3]);
    /* V(8 k + 2 t + e, g + 8 h) is element 2 h + g % 2 of lane (2 t + e) * 4 + g / 2. */
    float *even = (float *)&s->updates[k][caqr_swizzle(8 * t + g / 2)] + g % 2;
    float *odd = (float *)&s->updates[k][caqr_swizzle(8 * t + 4 + g / 2)] + g % 2;
    even[0] = v[0];
    odd[0] = v[1];
    even[2] = v[2];
    odd[2] = v[3];
}

/* [D; C] := (I - [I; V] T [I; V]^T)^T [D; C] (transposed) or without the transposition, where d
 * holds D^T (16 columns x 16 rows) as two tiles; with FOLD = 0 there is no D: V's own top is in its
 * rows. */
template <int FOLD>
static __device__ __forceinline__ void caqr_apply_block(float (&c)[caqr_tiles][4], float4 *d,
                                                        const struct caqr_reflectors *s,
                                                        int transposed, int lane)
{
    int g = lane >> 2, t = lane & 3;
    float w[2][4];
    {
        float sum[2][3][4] = {};
#pragma unroll
        for (int k = 0; k < caqr_tiles; k++) {
            uint32_t hi[4], lo[4];
            float4 v = s->dots[k][lane];
            caqr_operand(c[k], hi, lo);
            caqr_mma3(sum[0], hi, lo, v.x, v.y);
            caqr_mma3(sum[1], hi, lo, v.z, v.w);
        }
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float4 x = FOLD ? d[32 * h + lane] : make_float4(0, 0, 0, 0);
            w[h][0] = x.x + caqr_sum3(sum[h], 0);
            w[h][1] = x.y + caqr_sum3(sum[h], 1);
            w[h][2] = x.z + caqr_sum3(sum[h], 2);
            w[h][3] = x.w + caqr_sum3(sum[h], 3);
        }
    }
    /* W^T := W^T T (transposed) or W^T T^T. */
    {
        float sum[2][3][4] = {};
#pragma unroll
        for (int h = 0; h < 2; h++) { /* rows of the operand: reflectors 8 h + 2 t + {0, 1} */
            uint32_t hi[4], lo[4];
            int row = 8 * h + 2 * t;
            caqr_operand(w[h], hi, lo);
#pragma unroll
            for (int q = 0; q < 2; q++) {
                int column = 8 * q + g;
                if (transposed)
                    caqr_mma3(sum[q], hi, lo, s->t[row][column], s->t[row + 1][column]);
                else
                    caqr_mma3(sum[q], hi, lo, s->t[column][row], s->t[column][row + 1]);
            }
        }
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
            for (int i = 0; i < 4; i++)
                w[h][i] = caqr_sum3(sum[h], i);
    }
    if (FOLD)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float4 x = d[32 * h + lane];
            d[32 * h + lane] =
                make_float4(x.x - w[h][0], x.y - w[h][1], x.z - w[h][2], x.w - w[h][3]);
        }
    uint32_t hi[2][4], lo[2][4];
    caqr_operand(w[0], hi[0], lo[0]);
    caqr_operand(w[1], hi[1], lo[1]);
#pragma unroll
    for (int k = 0; k < caqr_tiles; k++) {
        float sum[3][4] = {};
        float4 v = s->updates[k][caqr_swizzle(lane)];
        caqr_mma3(sum, hi[0], lo[0], v.x, v.y);
        caqr_mma3(sum, hi[1], lo[1], v.z, v.w);
#pragma unroll
        for (int i = 0; i < 4; i++)
            c[k][i] -= caqr_sum3(sum, i);
    }
}

/* Rows x[0], x[1] of a column, of which `room` exist, 0 elsewhere; pairs = 1: x is 8-byte aligned.
 */
static __device__ __forceinline__ float2 caqr_load2(const float *x, int room, int pairs)
{
    if (room >= 2 && pairs)
        return *(const float2 *)x;
    return make_float2(room >= 1 ? x[0] : 0.0f, room >= 2 ? x[1] : 0.0f);
}

static __device__ __forceinline__ void caqr_store2(float *x, int room, int pairs, float a, float b)
{
    if (room >= 2 && pairs) {
        *(float2 *)x = make_float2(a, b);
        return;
    }
    if (room >= 1)
        x[0] = a;
    if (room >= 2)
        x[1] = b;
}

/* A sub-block's 16 columns at a to or from registers; only `rows` rows and `cols` columns exist.
 * Whole blocks of aligned pairs, nearly all of them, are moved without a test an element. */
static __device__ __forceinline__ void caqr_load_block(float (&c)[caqr_tiles][4], const float *a,
                                                       int64_t lda, int rows, int cols, int pairs,
                                                       int lane)
{
    int g = lane >> 2, t = lane & 3;
    const float *x = a + 2 * t + g * lda, *y = x + 8 * lda;
    if (rows >= caqr_rows && cols >= caqr_inner && pairs) {
#pragma unroll
        for (int k = 0; k < caqr_tiles; k++) {
            float2 u = *(const float2 *)(x + 8 * k), v = *(const float2 *)(y + 8 * k);
            c[k][0] = u.x;
            c[k][1] = u.y;
            c[k][2] = v.x;
            c[k][3] = v.y;
        }
        return;
    }
    int room_x = g < cols ? rows - 2 * t : 0, room_y = g + 8 < cols ? rows - 2 * t : 0;
#pragma unroll
    for (int k = 0; k < caqr_tiles; k++) {
        float2 u = caqr_load2(x + 8 * k, room_x - 8 * k, 0);
        float2 v = caqr_load2(y + 8 * k, room_y - 8 * k, 0);
        c[k][0] = u.x;
        c[k][1] = u.y;
        c[k][2] = v.x;
        c[k][3] = v.y;
    }
}

static __device__ __forceinline__ void caqr_store_block(float *a, int64_t lda,
                                                        const float (&c)[caqr_tiles][4], int rows,
                                                        int cols, int pairs, int lane)
{
    int g = lane >> 2, t = lane & 3;
    float *x = a + 2 * t + g * lda, *y = x + 8 * lda;
    if (rows >= caqr_rows && cols >= caqr_inner && pairs) {
#pragma unroll
        for (int k = 0; k < caqr_tiles; k++) {
            *(float2 *)(x + 8 * k) = make_float2(c[k][0], c[k][1]);
            *(float2 *)(y + 8 * k) = make_float2(c[k][2], c[k][3]);
        }
        return;
    }
    int room_x = g < cols ? rows - 2 * t : 0, room_y = g + 8 < cols ? rows - 2 * t : 0;
#pragma unroll
    for (int k = 0; k < caqr_tiles; k++) {
        caqr_store2(x + 8 * k, room_x - 8 * k, 0, c[k][0], c[k][1]);
        caqr_store2(y + 8 * k, room_y - 8 * k, 0, c[k][2], c[k][3]);
    }
}

/* How many of the rows from some row on are in a sub-block, as an int. */
static __device__ __forceinline__ int caqr_room(int64_t rows)
{
    return rows < caqr_rows ? (int)rows : (int)caqr_rows;
}

/* Whether columns of x start at even addresses, for loads of pairs. */
static inline int caqr_pairs(const void *x, int64_t ld)
{
    return (uintptr_t)x % 8 == 0 && ld % 2 == 0;
}

#endif
