/* Private to light.cu: the search for background in other light in a thread block's tile. Where
 * each row has too few pairs for a pixel to have enough in its fifteen rows, as in most tiles of a
 * usual frame, frame and background are not read. The plain version is
 * separation/cpu/illumination.c. */
#ifndef BD_GPU_SEPARATION_MASK_ILLUMINATION_CUH
#define BD_GPU_SEPARATION_MASK_ILLUMINATION_CUH

#include "gpu/separation/mask/neighbourhood.cuh"
#include "separation/shared/illumination.h"

enum {
    illumination_halo = bd_illumination_reach + 1 /* a pair's other pixel may be one further */
};

/* A bit a pixel: those to which a pair belongs with the pixel to the right, and with the one below;
 * and what is found. */
struct illumination_memory {
    uint64_t right[neighbourhood_rows], below[neighbourhood_rows];
    uint64_t lit[neighbourhood_rows];
    struct neighbourhood_sums<> sums;
};

/* Sets m->right and m->below. Returns whether a pixel of the block may have enough pairs. For whole
 * blocks; ends with a barrier. */
static __device__ __forceinline__ bool find_pairs(struct illumination_memory *m,
                                                  const uint64_t *set)
{
    const int row = threadIdx.x;
    int pairs = 0;
    if (row < neighbourhood_rows) {
        const uint64_t here = set[row];
        m->right[row] = here & here >> 1;
        m->below[row] = row + 1 < neighbourhood_rows ? here & set[row + 1] : 0;
        pairs = __popcll(m->right[row]) + __popcll(m->below[row]);
    }
    return __syncthreads_or(may_have<bd_illumination_reach>(pairs, bd_illumination_least_pairs));
}

/* The luminance of a pixel of f, and of l in the upper half; 0 where it is no foreground. */
template <int CHANNELS>
static __device__ __forceinline__ uint32_t luminances(const struct neighbourhood_input &in, int row,
                                                      int column)
{
    uint32_t sum = 0;
    if (row < neighbourhood_rows && in.set[row] >> column & 1) {
        const int64_t at = CHANNELS * place_of(in.tile, row, column);
#pragma unroll
        for (int c = 0; c < CHANNELS; c++)
            sum += in.f[at + c] + ((uint32_t)in.l[at + c] << 16);
    }
    return sum;
}

/* bd_illumination_difference of f and of l between two pixels, both at once, as two numbers modulo
 * 2^8 in bytes 0 and 2; 0 if they are no pair. A bias of 2^10 keeps the halves apart. */
template <int CHANNELS>
static __device__ __forceinline__ uint32_t differences(bool is_pair, uint32_t from, uint32_t to)
{
    enum { bias = 1 << 10, most = bd_illumination_most * CHANNELS };
    static_assert(most < 128 && CHANNELS * 255 < bias, "a signed byte; luminance");
    const uint32_t biased = to + (bias << 16 | bias) - from;
    const uint32_t held = __vminu2(__vmaxu2(biased, (bias - most) << 16 | (bias - most)),
                                   (bias + most) << 16 | (bias + most));
    return is_pair ? held : 0;
}

/* The products of the pairs that belong to a pixel, with those at its right and below it. */
template <int CHANNELS>
static __device__ __forceinline__ struct neighbourhood_products
products_of(bool has_right, bool has_below, uint32_t here, uint32_t right, uint32_t below)
{
    const uint32_t in_row = differences<CHANNELS>(has_right, here, right);
    const uint32_t in_column = differences<CHANNELS>(has_below, here, below);
    const int f = (int)__byte_perm(in_row, in_column, 0x40) & 0xffff;
    const int l = (int)__byte_perm(in_row, in_column, 0x62) & 0xffff;
    return { (uint32_t)__dp4a(f, f, 0), (uint32_t)__dp4a(f, l, 0), (uint32_t)__dp4a(l, l, 0),
             (uint32_t)has_right + has_below };
}

/* m->sums := the products of the pairs that belong to each pixel. A warp has rows that follow each
 * other, and a lane two columns. For whole blocks; ends with a barrier. */
template <int CHANNELS>
static __device__ __forceinline__ void multiply_pairs(struct illumination_memory *m,
                                                      const struct neighbourhood_input &in)
{
    enum { rows = neighbourhood_rows / neighbourhood_warps };
    const int lane = threadIdx.x % 32, first = (int)threadIdx.x / 32 * rows;
    uint32_t both[rows + 1][2]; /* luminances */
#pragma unroll
    for (int r = 0; r <= rows; r++) {
        both[r][0] = luminances<CHANNELS>(in, first + r, lane);
        both[r][1] = luminances<CHANNELS>(in, first + r, lane + 32);
    }
#pragma unroll
    for (int r = 0; r < rows; r++) {
        /* What is right of column 31; column 63 has no pair with the one to its right. */
        const uint32_t after = __shfl_sync(~0u, both[r][1], 0);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int row = first + r, column = lane + 32 * half;
            const uint32_t here = both[r][half], next = __shfl_down_sync(~0u, here, 1);
            put_products(&m->sums, row, column,
                         products_of<CHANNELS>(m->right[row] >> column & 1,
                                               m->below[row] >> column & 1, here,
                                               lane == 31 ? after : next, both[r + 1][half]));
        }
    }
    __syncthreads();
}

/* Adds to found what is background in other light in the tile. For whole blocks; ends with a
 * barrier. */
template <int CHANNELS>
static __device__ __forceinline__ void find_other_light(struct illumination_memory *m,
                                                        const struct neighbourhood_input &in,
                                                        uint64_t *found)
{
    if (!find_pairs(m, in.set))
        return;
    multiply_pairs<CHANNELS>(m, in);
    add_up_columns<bd_illumination_reach, illumination_halo>(&m->sums);
    keep_by_sums<bd_illumination_reach, illumination_halo>(
        m->lit, in.set, &m->sums, [](const struct neighbourhood_products &sums) {
            return bd_illumination_fits(sums.ff, (int32_t)sums.fl, sums.ll, sums.count);
        });
    const int row = threadIdx.x;
    if (is_row_within<illumination_halo>(row))
        found[row] |= m->lit[row];
    __syncthreads();
}

#endif
