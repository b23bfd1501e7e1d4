/* Private to givens_sweep_apply.cu and givens_sweep_multiply.cu: products of tiles in shared memory
 * on the tensor cores, to float32 accuracy, and the copies that bring the tiles.
 *
 * TF32 with error compensation (gpu/qr/caqr/block.cuh). The tensor cores truncate when they add:
 * their sums are always a little too small, and Q would shrink with every update. So every step of
 * 8 begins from 0. The same products are summed once more to find what truncation cut off, and the
 * ordinary units, which round, add both to the result. */
#ifndef BD_GPU_UPDATE_BLOCKED_GIVENS_SWEEP_TILE_CUH
#define BD_GPU_UPDATE_BLOCKED_GIVENS_SWEEP_TILE_CUH

#include "gpu/qr/caqr/block.cuh"

/* acc[i][j] += A_i B_j for 8 of the contraction index, where A_i is 16 x 8 and B_j 8 x 8. In lane
 * 4 g + t, `a` is at row g, column t of A_0, with rows a_row and columns a_col apart; `b` at row t,
 * column g of B_0. acc: rows g, g + 8, columns 2 t, 2 t + 1. */
template <int I, int J>
static __device__ __forceinline__ void givens_step(float (&acc)[I][J][4], const float *a, int a_row,
                                                   int a_col, const float *b, int b_row, int b_col)
{
    uint32_t hi[I][4], lo[I][4];
#pragma unroll
    for (int i = 0; i < I; i++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            caqr_tf32 s = caqr_split(a[(16 * i + e % 2 * 8) * a_row + e / 2 * 4 * a_col]);
            hi[i][e] = s.hi;
            lo[i][e] = s.lo;
        }
#pragma unroll
    for (int j = 0; j < J; j++) {
        caqr_tf32 p = caqr_split(b[8 * j * b_col]), q = caqr_split(b[8 * j * b_col + 4 * b_row]);
#pragma unroll
        for (int i = 0; i < I; i++) {
            float sum[4] = { 0, 0, 0, 0 };
            caqr_mma(sum, hi[i], p.hi, q.hi);
            float rest[4] = { -sum[0], -sum[1], -sum[2], -sum[3] };
            caqr_mma(rest, hi[i], p.hi, q.hi);
            caqr_mma(rest, lo[i], p.hi, q.hi);
            caqr_mma(rest, hi[i], p.lo, q.lo);
#pragma unroll
            for (int e = 0; e < 4; e++)
                acc[i][j][e] = acc[i][j][e] + sum[e] + rest[e];
        }
    }
}

/* Begins to copy `lines` lines of `length` floats (a multiple of 4). Only have_lines and
 * have_length of them exist; the others become 0. fours: lines are 16-byte aligned. */
static __device__ __forceinline__ void givens_fetch(float *to, int to_ld, const float *from,
                                                    int64_t ld, int lines, int length,
                                                    int have_lines, int have_length, int fours)
{
    const int threads = (int)blockDim.x;
    if (fours) {
        const int quads = length / 4;
        for (int e = (int)threadIdx.x; e < lines * quads; e += threads) {
            const int line = e / quads, i = e % quads * 4;
            int room = line < have_lines ? have_length - i : 0;
            room = room < 0 ? 0 : room > 4 ? 4 : room;
            pipeline_copy<16>(to + line * to_ld + i, from + (room ? line * ld + i : 0), 4 * room);
        }
        return;
    }
    for (int e = (int)threadIdx.x; e < lines * length; e += threads) {
        const int line = e / length, i = e % length;
        const bool there = line < have_lines && i < have_length;
        pipeline_copy<4>(to + line * to_ld + i, from + (there ? line * ld + i : 0), there ? 4 : 0);
    }
}

#endif
