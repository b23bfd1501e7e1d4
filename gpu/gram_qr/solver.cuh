/* Private to gpu/gram_qr, gpu/triangular and gpu/qr: from R^ to T (plan.h), column by column.
 * R^(i, j) is a[i * ld + j]. */
#ifndef BD_GPU_GRAM_QR_SOLVER_CUH
#define BD_GPU_GRAM_QR_SOLVER_CUH

#include "gpu/gram_qr/small.cuh"

/* Where T(k, j), k <= j, is in `packed`. Blocks are 16 x 16; block (k, j) is number j (j + 1) /
 * 2 + k. A block has a double2 for each of four times four rows and lane 4 g + t: row t of
 * columns g and 8 + g, which is the left operand of bd_gram_multiply as its registers have it. */
static __host__ __device__ __forceinline__ int gram_packed(int k, int j)
{
    const int block = (j / 16) * (j / 16 + 1) / 2 + k / 16, s = k % 16 / 4;
    const int lane = 4 * (j % 8) + k % 4;
    return block * 256 + (s * 32 + lane) * 2 + j % 16 / 8;
}

static inline size_t gram_packed_size(int n)
{
    const size_t blocks = ((size_t)n + 15) / 16;
    return blocks * (blocks + 1) / 2 * 256;
}

static __device__ __forceinline__ void gram_put_t(const struct gram_data &d, int k, int j, double x,
                                                  bool single)
{
    d.packed[gram_packed(k, j)] = single ? (double)(float)x : x;
}

/* Column j of T, j < 128, by one warp: back substitution R^ x = e_j from row j up to the first row
 * of the block, with all rows above updated along. reciprocal[i] = 1 / R^(i, i). Lane l has rows l,
 * 32
 * + l, .. */
static __device__ __forceinline__ void gram_invert_column(const struct gram_data &d,
                                                          const unsigned *starts, const double *a,
                                                          int ld, int j, bool single,
                                                          const double *reciprocal)
{
    constexpr int PARTS = 4;
    const int lane = threadIdx.x % 32;
    double x[PARTS];
    int first = j;
    while (!(starts[first / 32] >> first % 32 & 1))
        first--;
#pragma unroll
    for (int part = 0; part < PARTS; part++)
        x[part] = 32 * part + lane == j ? 1.0 : 0.0;
#pragma unroll
    for (int top = PARTS - 1; top >= 0; top--) {
        if (32 * top > j || 32 * top + 31 < first)
            continue;
#pragma unroll 1
        for (int i = min(32 * top + 31, j); i >= max(32 * top, first); i--) {
            const double known = __shfl_sync(~0u, x[top], i % 32) * reciprocal[i];
#pragma unroll
            for (int part = 0; part <= top; part++) {
                const int row = 32 * part + lane;
                if (row == i)
                    x[part] = known;
                else if (row < i)
                    x[part] -= a[row * ld + i] * known;
            }
        }
    }
#pragma unroll
    for (int part = 0; part < PARTS; part++)
        if (32 * part + lane <= j)
            gram_put_t(d, 32 * part + lane, j, x[part], single);
}

#endif
