/* Private to update.cu: several panels applied as one. Panel by panel Q^T C is C -= V_b W_b with
 * W_b = T_b^T V_b^T C, where C is what the panels before b have left. If the products V_i^T V_j
 * are known, the W of all panels follow from V_b^T C of the original C. */
#ifndef BD_GPU_QR_HOUSEHOLDER_SOLVE_CUH
#define BD_GPU_QR_HOUSEHOLDER_SOLVE_CUH

#include "gpu/qr/caqr/block.cuh"
#include "gpu/qr/householder/plan.h"

/* Of W_b^T, 16 x 16: in the order of the lanes of a warp, float4 by float4. */
enum { house_part_floats = 256 };

/* In shared memory, for up to BLOCKS panels; V_i^T V_j at cross[j (j - 1) / 2 + i]. */
template <int BLOCKS> struct house_small {
    struct caqr_t t[BLOCKS], cross[BLOCKS * (BLOCKS - 1) / 2 + 1];
};

/* Loads T of all panels, and the products V_i^T V_j, i < j: row 8 h + 2 t + {0, 1} and columns
 * g, g + 8 are in float4 32 h + 4 g + t of their part. */
template <int BLOCKS>
static __device__ __forceinline__ void
house_load_small(struct house_small<BLOCKS> *s, const struct house_reflectors &x, int blocks)
{
    for (int e = (int)threadIdx.x; e < blocks * caqr_t_size; e += (int)blockDim.x)
        s->t[e / caqr_t_size].x[e % caqr_t_size / caqr_inner][e % caqr_inner] = __ldcg(x.t + e);
    if constexpr (BLOCKS > 1)
        for (int e = (int)threadIdx.x; e < blocks * blocks * house_part_floats;
             e += (int)blockDim.x) {
            const int i = e / house_part_floats % blocks, j = e / house_part_floats / blocks;
            const int h = e / 128 % 2, lane = e / 4 % 32, q = e % 4;
            if (i < j)
                s->cross[j * (j - 1) / 2 + i]
                    .x[8 * h + 2 * (lane & 3) + q % 2][(lane >> 2) + q / 2 * 8] =
                    __ldcg(x.cross + e);
        }
}

/* W_b -= what panel i does to it. */
static __device__ __forceinline__ void house_take_away(float (&w)[2][4], const float (&from)[2][4],
                                                       const struct caqr_t *cross, int transposed,
                                                       int lane)
{
    float y[2][4];
#pragma unroll
    for (int e = 0; e < 8; e++)
        y[e / 4][e % 4] = from[e / 4][e % 4];
    caqr_times_t(y, cross, transposed, lane);
#pragma unroll
    for (int e = 0; e < 8; e++)
        w[e / 4][e % 4] -= y[e / 4][e % 4];
}

/* W_b := what panel b finds after the panels applied before it, times its T: for Q^T from the
 * first panel to the last, with T^T; for Q from the last to the first. */
template <int BLOCKS>
static __device__ __forceinline__ void house_solve(float (&w)[BLOCKS][2][4],
                                                   const struct house_small<BLOCKS> *s, int blocks,
                                                   int transposed, int lane)
{
    if (transposed) {
#pragma unroll
        for (int b = 0; b < BLOCKS; b++)
            if (b < blocks) {
#pragma unroll
                for (int i = 0; i < BLOCKS; i++)
                    if (i < b)
                        house_take_away(w[b], w[i], &s->cross[b * (b - 1) / 2 + i], 1, lane);
                caqr_times_t(w[b], &s->t[b], 1, lane);
            }
        return;
    }
#pragma unroll
    for (int b = BLOCKS - 1; b >= 0; b--)
        if (b < blocks) {
#pragma unroll
            for (int i = 1; i < BLOCKS; i++)
                if (i > b && i < blocks)
                    house_take_away(w[b], w[i], &s->cross[i * (i - 1) / 2 + b], 0, lane);
            caqr_times_t(w[b], &s->t[b], 0, lane);
        }
}

#endif
