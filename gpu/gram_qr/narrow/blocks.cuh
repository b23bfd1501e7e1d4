/* Private to narrow.cuh and factor.cuh: incremental condition estimation of up to 32 columns,
 * one by one, by one warp. The plain version is gram_take_columns (gpu/gram_qr/estimate.cuh). */
#ifndef BD_GPU_GRAM_QR_NARROW_BLOCKS_CUH
#define BD_GPU_GRAM_QR_NARROW_BLOCKS_CUH

#include "gpu/gram_qr/estimate.cuh"

/* The columns in blocks by incremental condition estimation, as gram_take_columns makes them,
 * while R is being made. A lane holds what is kept for its column. float32 is precise enough to
 * decide what is to be clamped. */
struct gram_blocks {
    float most;            /* squares of the condition numbers */
    float greatest, least; /* singular values of the block, squared, estimated */
    float large, small, norm;
    unsigned starts;
};

static __device__ __forceinline__ struct gram_blocks gram_no_blocks(float most)
{
    const struct gram_blocks none = { most, 1, 1, 0, 0, 0, 0 };
    return none;
}

/* Column j joins the block or begins another. r: the lane's element of row j. By one warp. */
static __device__ __forceinline__ void gram_take_column(struct gram_blocks *b, int j, float r)
{
    const float diagonal = __shfl_sync(~0u, r, j), norm = __shfl_sync(~0u, b->norm, j);
    const float by = gram_inverse_root(fmaf(diagonal, diagonal, norm)), gamma = diagonal * by;
    const struct gram_turn<float> up =
        gram_widen(b->greatest, __shfl_sync(~0u, b->large, j) * by, gamma);
    const struct gram_turn<float> down =
        gram_widen(b->least, __shfl_sync(~0u, b->small, j) * by, gamma);
    const float product = b->least * (gamma * gamma);
    const bool joins = b->starts && up.largest * down.largest <= b->most * product;
    b->starts |= joins ? 0 : 1u << j;
    b->large = joins ? gram_turn_large(up, b->large, r) : r;
    b->small = joins ? gram_turn_small(down, b->small, r) : r;
    b->norm = joins ? fmaf(r, r, b->norm) : r * r;
    b->greatest = joins ? up.largest : 1.0f;
    b->least = joins ? __fdividef(product, down.largest) : 1.0f;
}

#endif
