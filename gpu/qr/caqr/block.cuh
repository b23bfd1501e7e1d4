/* Private to gpu/qr/caqr, gpu/qr/householder and gpu/update: a block of caqr_rows x 16 in the
 * registers of a warp, and a block reflector I - V T V^T applied to it on the tensor cores.
 *
 * A warp holds the transpose C^T (16 columns x 128 rows) as 16 accumulator tiles of mma.m16n8k8: in
 * lane 4 g + t, c[k] = { C(8 k + 2 t, g), C(8 k + 2 t + 1, g), C(8 k + 2 t, g + 8), C(8 k + 2 t +
 * 1, g + 8) }. With the contraction index permuted (slot t is row 2 t, slot t + 4 row 2 t + 1) an
 * accumulator is an A operand as it is, so that the products W^T = C^T V and C^T -= W^T V^T move no
 * data between lanes; V is in shared memory.
 *
 * TF32 with error compensation: x = hi + lo, hi rounded to 11 bits; a b = hi hi + lo hi + hi lo,
 * the neglected part is below 2^-22. The tensor cores truncate when they add, so the small
 * products have an accumulator of their own, and C is subtracted from by the ordinary units. The
 * plain version is linalg/cpu/qr. */
#ifndef BD_GPU_QR_CAQR_BLOCK_CUH
#define BD_GPU_QR_CAQR_BLOCK_CUH

#include "gpu/core/pipeline.cuh"
#include "gpu/qr/caqr/plan.h"

enum { caqr_t_ld = 20 }; /* of a T in shared memory: B operands without bank conflicts */

/* A block of caqr_rows x 16 in shared memory, by columns. Their distance and order let rows of a
 * column (16 bytes a lane) and both orders of B operands meet no bank conflicts: columns are 8
 * banks apart, and any four neighbours, and any four even or odd ones of eight, start in different
 * banks. */
enum { caqr_column = caqr_rows + 8 };
struct caqr_tile {
    float x[caqr_inner * caqr_column];
};

/* T, row-major. */
struct caqr_t {
    float x[caqr_inner][caqr_t_ld];
};

/* Element (row, column) of a tile: columns go 0 1 2 3 5 4 7 6, and so on. */
static __device__ __forceinline__ int caqr_at(int row, int column)
{
    return (column ^ (column >> 2 & 1)) * caqr_column + row;
}

struct caqr_tf32 {
    uint32_t hi, lo;
};

/* hi is x rounded to TF32 (to nearest, ties away from 0), lo the difference, which the tensor
 * core truncates to TF32. */
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

/* x[0] += hi hi, x[1] += lo hi + hi lo for an 8 x 8 operand { b[0], b[1] }, and y likewise with {
 * b[2], b[3] }: two sums in turn, because each addition waits for the one before. */
static __device__ __forceinline__ void caqr_mma_split(float x[2][4], float y[2][4],
                                                      const uint32_t hi[4], const uint32_t lo[4],
                                                      float b0, float b1, float b2, float b3)
{
    caqr_tf32 p = caqr_split(b0), q = caqr_split(b1), r = caqr_split(b2), s = caqr_split(b3);
    caqr_mma(x[0], hi, p.hi, q.hi);
    caqr_mma(y[0], hi, r.hi, s.hi);
    caqr_mma(x[1], lo, p.hi, q.hi);
    caqr_mma(y[1], lo, r.hi, s.hi);
    caqr_mma(x[1], hi, p.lo, q.lo);
    caqr_mma(y[1], hi, r.lo, s.lo);
}

static __device__ __forceinline__ float caqr_total(const float sum[2][4], int i)
{
    return sum[0][i] + sum[1][i];
}

/* W^T := C^T V: the products of a block of C and V, 16 x 16, as two accumulator tiles. */
static __device__ __forceinline__ void
caqr_project(float (&w)[2][4], const float (&c)[caqr_tiles][4], const struct caqr_tile *v, int lane)
{
    int g = lane >> 2, t = lane & 3;
    float sum[2][2][4] = {};
#pragma unroll
    for (int k = 0; k < caqr_tiles; k++) {
        uint32_t hi[4], lo[4];
        const float *x = v->x + caqr_at(8 * k + 2 * t, g);
        float2 left = *(const float2 *)x, right = *(const float2 *)(x + 8 * caqr_column);
        caqr_operand(c[k], hi, lo);
        caqr_mma_split(sum[0], sum[1], hi, lo, left.x, left.y, right.x, right.y);
    }
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            w[h][i] = caqr_total(sum[h], i);
}

/* W^T := W^T T (transposed) or W^T T^T. */
static __device__ __forceinline__ void caqr_times_t(float (&w)[2][4], const struct caqr_t *s,
                                                    int transposed, int lane)
{
    int g = lane >> 2, t = lane & 3;
    float sum[2][2][4] = {};
#pragma unroll
    for (int h = 0; h < 2; h++) { /* rows of the operand: reflectors 8 h + 2 t + {0, 1} */
        uint32_t hi[4], lo[4];
        int row = 8 * h + 2 * t;
        caqr_operand(w[h], hi, lo);
        if (transposed)
            caqr_mma_split(sum[0], sum[1], hi, lo, s->x[row][g], s->x[row + 1][g], s->x[row][g + 8],
                           s->x[row + 1][g + 8]);
        else
            caqr_mma_split(sum[0], sum[1], hi, lo, s->x[g][row], s->x[g][row + 1], s->x[g + 8][row],
                           s->x[g + 8][row + 1]);
    }
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            w[h][i] = caqr_total(sum[h], i);
}

/* C^T -= W^T V^T. */
static __device__ __forceinline__ void caqr_subtract(float (&c)[caqr_tiles][4],
                                                     const float (&w)[2][4],
                                                     const struct caqr_tile *v, int lane)
{
    int g = lane >> 2, t = lane & 3;
    uint32_t hi[2][4], lo[2][4];
    caqr_operand(w[0], hi[0], lo[0]);
    caqr_operand(w[1], hi[1], lo[1]);
#pragma unroll
    for (int k = 0; k < caqr_tiles; k += 2) {
        float sum[2][2][4] = {};
        const float *even = v->x + caqr_at(8 * k + g, 2 * t);
        const float *odd = v->x + caqr_at(8 * k + g, 2 * t + 1);
#pragma unroll
        for (int h = 0; h < 2; h++, even += 8 * caqr_column, odd += 8 * caqr_column)
            caqr_mma_split(sum[0], sum[1], hi[h], lo[h], even[0], odd[0], even[8], odd[8]);
#pragma unroll
        for (int i = 0; i < 8; i++)
            c[k + i / 4][i % 4] -= caqr_total(sum[i / 4], i % 4);
    }
}

/* [D; C] := (I - [I; V] T [I; V]^T)^T [D; C] (transposed) or without the transposition, where d
 * holds D^T (16 columns x 16 rows) as two tiles; with d = NULL there is no D: V's own top is in its
 * rows. */
static __device__ __forceinline__ void caqr_apply_block(float (&c)[caqr_tiles][4], float4 *d,
                                                        const struct caqr_tile *v,
                                                        const struct caqr_t *s, int transposed,
                                                        int lane)
{
    float w[2][4];
    caqr_project(w, c, v, lane);
    if (d)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float4 x = d[32 * h + lane];
            w[h][0] += x.x;
            w[h][1] += x.y;
            w[h][2] += x.z;
            w[h][3] += x.w;
        }
    caqr_times_t(w, s, transposed, lane);
    if (d)
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float4 x = d[32 * h + lane];
            d[32 * h + lane] =
                make_float4(x.x - w[h][0], x.y - w[h][1], x.z - w[h][2], x.w - w[h][3]);
        }
    caqr_subtract(c, w, v, lane);
}

/* A tile to and from registers. */
static __device__ __forceinline__ void caqr_unpack(float (&c)[caqr_tiles][4],
                                                   const struct caqr_tile *tile, int lane)
{
    int g = lane >> 2, t = lane & 3;
#pragma unroll
    for (int k = 0; k < caqr_tiles; k++) {
        const float *x = tile->x + caqr_at(8 * k + 2 * t, g);
        float2 left = *(const float2 *)x, right = *(const float2 *)(x + 8 * caqr_column);
        c[k][0] = left.x;
        c[k][1] = left.y;
        c[k][2] = right.x;
        c[k][3] = right.y;
    }
}

static __device__ __forceinline__ void caqr_pack(struct caqr_tile *tile,
                                                 const float (&c)[caqr_tiles][4], int lane)
{
    int g = lane >> 2, t = lane & 3;
#pragma unroll
    for (int k = 0; k < caqr_tiles; k++) {
        float *x = tile->x + caqr_at(8 * k + 2 * t, g);
        *(float2 *)x = make_float2(c[k][0], c[k][1]);
        *(float2 *)(x + 8 * caqr_column) = make_float2(c[k][2], c[k][3]);
    }
}

/* PAST_L1: reads past L1, which may hold old data where kernels overlap. */
template <bool PAST_L1, class T> static __device__ __forceinline__ T caqr_get(const T *x)
{
    return PAST_L1 ? __ldcg(x) : *x;
}

/* Loads a sub-block's 16 columns at a into registers; `rows` rows and `cols` columns exist, all
 * else becomes 0. Whole blocks of aligned pairs, which nearly all are, are read without a test
 * for each element. */
template <bool PAST_L1 = false>
static __device__ __forceinline__ void caqr_load(float (&c)[caqr_tiles][4], const float *a,
                                                 int64_t lda, int64_t rows, int cols, int pairs,
                                                 int lane)
{
    int g = lane >> 2, t = lane & 3;
    const float *x = a + 2 * t + g * lda, *y = x + 8 * lda;
    if (rows >= caqr_rows && cols >= caqr_inner && pairs) {
#pragma unroll
        for (int k = 0; k < caqr_tiles; k++) {
            float2 u = caqr_get<PAST_L1>((const float2 *)(x + 8 * k));
            float2 v = caqr_get<PAST_L1>((const float2 *)(y + 8 * k));
            c[k][0] = u.x;
            c[k][1] = u.y;
            c[k][2] = v.x;
            c[k][3] = v.y;
        }
        return;
    }
    int room = rows < caqr_rows ? (int)rows - 2 * t : caqr_rows - 2 * t;
#pragma unroll
    for (int k = 0; k < caqr_tiles; k++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            c[k][i] = 8 * k + i % 2 < room && g + i / 2 * 8 < cols
                          ? caqr_get<PAST_L1>((i / 2 ? y : x) + 8 * k + i % 2)
                          : 0.0f;
}

/* Prefetches a sub-block's 16 columns at a into L2: 64 lines of 128 bytes. */
static __device__ __forceinline__ void caqr_prefetch(const float *a, int64_t lda, int64_t rows,
                                                     int cols, int lane)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        int column = lane / 4 + 8 * i, row = lane % 4 * 32;
        if (row < rows && column < cols)
            asm volatile("prefetch.global.L2 [%0];" ::"l"(a + row + column * lda));
    }
}

/* Barriers in shared memory between producer and consumer warps of a block: phase after phase,
 * each complete when `count` lanes have arrived. */
static __device__ __forceinline__ void caqr_barrier_init(uint64_t *barrier, int count)
{
    asm volatile(
        "mbarrier.init.shared.b64 [%0], %1;" ::"r"((uint32_t)__cvta_generic_to_shared(barrier)),
        "r"(count)
        : "memory");
}

static __device__ __forceinline__ void caqr_arrive(uint64_t *barrier)
{
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(
                     (uint32_t)__cvta_generic_to_shared(barrier))
                 : "memory");
}

/* Waits until phase `phase` (0, 1, ...) is complete; the one before must be. */
static __device__ __forceinline__ void caqr_wait(uint64_t *barrier, int phase)
{
    uint32_t done;
    do {
        asm volatile("{ .reg .pred p;\n"
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
                     "mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n"
#else
                     "mbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n"
#endif
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"((uint32_t)__cvta_generic_to_shared(barrier)), "r"(phase & 1)
                     : "memory");
    } while (!done);
}

/* Waits until all asynchronous copies of this thread have arrived. */
static __device__ __forceinline__ void caqr_copies_done(void)
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

/* Begins to fetch columns first, first + step, ... of 16 into a tile. The lane takes rows 4 lane
 * .. 4 lane + 3: those of column 0 are at `a`, of which `room` (0 .. 4) exist, and `cols`
 * columns exist; the rest becomes 0. fours = 1: columns are 16-byte aligned. */
static __device__ __forceinline__ void caqr_fetch(struct caqr_tile *tile, const float *a,
                                                  int64_t lda, int room, int cols, int fours,
                                                  int first, int step, int lane)
{
    const float *from = a + first * lda;
    float *to = tile->x + 4 * lane;
    lda *= step;
    if (fours) {
        for (int j = first; j < caqr_inner; j += step, from += lda)
            pipeline_copy<16>(to + caqr_at(0, j), from, j < cols ? 4 * room : 0);
        return;
    }
    for (int j = first; j < caqr_inner; j += step, from += lda)
        for (int i = 0; i < 4; i++)
            pipeline_copy<4>(to + caqr_at(i, j), from + i, j < cols && i < room ? 4 : 0);
}

/* Stores a tile, all columns: the opposite of caqr_fetch. */
static __device__ __forceinline__ void caqr_flush(float *a, int64_t lda,
                                                  const struct caqr_tile *tile, int room, int cols,
                                                  int fours, int lane)
{
    const float *from = tile->x + 4 * lane;
    if (room == 4 && fours && cols >= caqr_inner) {
#pragma unroll
        for (int j = 0; j < caqr_inner; j++, a += lda)
            *(float4 *)a = *(const float4 *)(from + caqr_at(0, j));
        return;
    }
#pragma unroll 1
    for (int j = 0; j < caqr_inner && j < cols; j++, a += lda)
#pragma unroll 1
        for (int i = 0; i < room; i++)
            a[i] = from[caqr_at(i, j)];
}

/* Stores a sub-block's 16 columns from registers at a, without the tile: `rows` rows and `cols`
 * columns exist. */
static __device__ __forceinline__ void caqr_store(float *a, int64_t lda,
                                                  const float (&c)[caqr_tiles][4], int64_t rows,
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
    int room = rows < caqr_rows ? (int)rows - 2 * t : caqr_rows - 2 * t;
#pragma unroll
    for (int k = 0; k < caqr_tiles; k++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (8 * k + i % 2 < room && g + i / 2 * 8 < cols)
                (i / 2 ? y : x)[8 * k + i % 2] = c[k][i];
}

/* How many of a lane's 4 rows exist where `rows` do in the sub-block. */
static __device__ __forceinline__ int caqr_room(int64_t rows, int lane)
{
    int64_t room = rows - 4 * lane;
    return room < 0 ? 0 : room > 4 ? 4 : (int)room;
}

/* Whether columns of x start at multiples of `count` elements, for accesses of so many. */
static inline int caqr_aligned(const void *x, int64_t ld, int count)
{
    return (uintptr_t)x % (sizeof(float) * (size_t)count) == 0 && ld % count == 0;
}

#endif
