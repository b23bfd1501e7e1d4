/* Private to narrow.cuh and factor.cuh: incremental condition estimation of up to 32 columns,
 * one by one, by one warp. The plain version is gram_take_columns (gpu/gram_qr/estimate.cuh). */
#ifndef BD_GPU_GRAM_QR_NARROW_BLOCKS_CUH
#define BD_GPU_GRAM_QR_NARROW_BLOCKS_CUH

#include "gpu/gram_qr/small.cuh"

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

/* The larger root of x^2 - (a + c) x + a c - b^2, and its unit vector of [a b; b c]. */
static __device__ __forceinline__ float gram_largest(float a, float b, float c, float *cosine,
                                                     float *sine)
{
    const float half = 0.5f * (a - c), square = fmaf(half, half, b * b);
    const float root = square > 1e-36f ? square * gram_inverse_root(square) : 0.0f;
    const float x = half >= 0 ? half + root : b, y = half >= 0 ? b : root - half;
    const float length = fmaf(x, x, y * y);
    const float by = length > 1e-36f ? gram_inverse_root(length) : 0.0f;
    *cosine = by > 0 ? x * by : 1.0f;
    *sine = y * by;
    return fmaf(0.5f, a + c, root);
}

/* Column j joins the block or begins another. r: the lane's element of row j. By one warp. */
static __device__ __forceinline__ void gram_take_column(struct gram_blocks *b, int j, float r)
{
    const float diagonal = __shfl_sync(~0u, r, j), norm = __shfl_sync(~0u, b->norm, j);
    const float by = gram_inverse_root(fmaf(diagonal, diagonal, norm));
    const float gamma = diagonal * by, own = gamma * gamma;
    const float high = __shfl_sync(~0u, b->large, j) * by;
    const float low = __shfl_sync(~0u, b->small, j) * by;
    float cosine, sine, low_cosine, low_sine;
    const float top =
        gram_largest(fmaf(high, high, b->greatest), high * gamma, own, &cosine, &sine);
    const float other =
        gram_largest(fmaf(low, low, b->least), low * gamma, own, &low_cosine, &low_sine);
    const bool joins = b->starts && top * other <= b->most * (b->least * own);
    b->starts |= joins ? 0 : 1u << j;
    b->large = joins ? fmaf(b->large, cosine, r * sine) : r;
    b->small = joins ? fmaf(r, low_cosine, -b->small * low_sine)
                     : r; /* the vector is orthogonal to the larger one */
    b->norm = joins ? fmaf(r, r, b->norm) : r * r;
    b->greatest = joins ? top : 1.0f;
    b->least = joins ? __fdividef(b->least * own, other) : 1.0f;
}

#endif
