/* Private to the mask clean-up: bytes to bits, through the median filter. */
#ifndef BD_GPU_SEPARATION_MASK_MEDIAN_CUH
#define BD_GPU_SEPARATION_MASK_MEDIAN_CUH

#include "gpu/separation/mask/bytes.cuh"
#include "gpu/separation/mask/tile.cuh"

/* A tile with a word on either side and the most rows above and below that a filter reaches. */
enum { median_half = 7, median_words = tile_words + 2, median_rows = tile_rows + 2 * median_half };

struct median_memory {
    uint32_t bits[median_rows][median_words];
    uint32_t sums[4][tile_rows][median_words]; /* bit planes of the counts over columns */
};

/* The raw picture (height x width bytes) as bits, without those of `out` (the same, or NULL),
 * `half` rows above and below the tile and a word on either side; beyond the border, the nearest
 * pixel inside. */
static __device__ void load_bits(struct median_memory *m, struct mask_size size, const uint8_t *raw,
                                 const uint8_t *out, int half, bool wide)
{
    int rows = tile_rows + 2 * half, top = blockIdx.y * tile_rows - half;
    int left = (blockIdx.x * tile_words - 1) * 32;
    if (wide) {
        /* 16 pixels at a time, all inside or all outside. */
        uint16_t *bits = (uint16_t *)m->bits;
        for (int k = threadIdx.x; k < rows * 2 * median_words; k += tile_threads) {
            int r = k / (2 * median_words), x = left + k % (2 * median_words) * 16;
            int y = min(max(top + r, 0), size.height - 1);
            int64_t row = (int64_t)y * size.width;
            uint32_t set;
            if (x >= 0 && x < size.width) {
                set = pack16(*(const uint4 *)(raw + row + x));
                if (out)
                    set &= ~pack16(*(const uint4 *)(out + row + x));
            } else {
                int64_t nearest = row + (x < 0 ? 0 : size.width - 1);
                set = raw[nearest] & ~(out ? out[nearest] : 0) & 1 ? 0xffff : 0;
            }
            bits[k] = (uint16_t)set;
        }
    } else {
        /* A warp a word, a lane a pixel. */
        int lane = threadIdx.x % 32;
        for (int k = threadIdx.x / 32; k < rows * median_words; k += tile_threads / 32) {
            int x = min(max(left + k % median_words * 32 + lane, 0), size.width - 1);
            int y = min(max(top + k / median_words, 0), size.height - 1);
            int64_t at = (int64_t)y * size.width + x;
            uint32_t set = __ballot_sync(~0u, raw[at] & ~(out ? out[at] : 0) & 1);
            if (lane == 0)
                m->bits[k / median_words][k % median_words] = set;
        }
    }
}

/* The sum of three one-bit numbers in each of 32 places: x becomes its low bit, the high bit is
 * returned. */
static __device__ inline uint32_t add3(uint32_t *x, uint32_t y, uint32_t z)
{
    uint32_t high = (*x & y) | (z & (*x ^ y));
    *x ^= y ^ z;
    return high;
}

/* The median of 32 pixels at once: the counts of set pixels are kept as bit planes, first over the
 * 2 half + 1 rows (at most 15: four planes), then over as many columns (eight planes). */
static __device__ uint32_t median_word(struct median_memory *m, int side)
{
    int half = side / 2, least = side * side / 2 + 1;
    for (int k = threadIdx.x; k < tile_rows * median_words; k += tile_threads) {
        int row = k / median_words, i = k % median_words;
        uint32_t sum[4] = { 0, 0, 0, 0 };
        for (int r = row; r <= row + 2 * half; r++) {
            uint32_t carry = m->bits[r][i];
#pragma unroll
            for (int p = 0; p < 4; p++) {
                uint32_t next = sum[p] & carry;
                sum[p] ^= carry;
                carry = next;
            }
        }
#pragma unroll
        for (int p = 0; p < 4; p++)
            m->sums[p][row][i] = sum[p];
    }
    __syncthreads();

    int row = threadIdx.x / tile_words, i = threadIdx.x % tile_words + 1;
    uint32_t left[4], mid[4], right[4], sum[8];
#pragma unroll
    for (int p = 0; p < 4; p++) {
        left[p] = m->sums[p][row][i - 1];
        mid[p] = m->sums[p][row][i];
        right[p] = m->sums[p][row][i + 1];
    }
    /* Starting from 128 - least, plane 7 says whether the count reached `least`. */
#pragma unroll
    for (int p = 0; p < 8; p++)
        sum[p] = (128 - least) >> p & 1 ? ~0u : 0;
    for (int dx = -half; dx <= half; dx++) {
        uint32_t carry = 0;
#pragma unroll
        for (int p = 0; p < 4; p++) {
            uint32_t there = dx < 0 ? __funnelshift_l(left[p], mid[p], -dx)
                                    : __funnelshift_r(mid[p], right[p], dx);
            carry = add3(&sum[p], there, carry);
        }
#pragma unroll
        for (int p = 4; p < 8; p++) {
            uint32_t next = sum[p] & carry;
            sum[p] ^= carry;
            carry = next;
        }
    }
    return sum[7];
}

/* out: 255 where the picture of shadows after the median filter is set and the mask is not, else 0.
 * A block a tile; `wide` of all pictures. */
static __global__ void __launch_bounds__(tile_threads)
    median_shadows(struct mask_size size, uint8_t *out, const uint8_t *shadow, const uint8_t *mask,
                   int side, bool wide)
{
    __shared__ struct median_memory m;
    bd_cuda_await();
    bd_cuda_let_follow();
    int y = tile_row(), i = tile_column();
    int64_t at = (int64_t)y * size.width + 32 * i;
    int count = y < size.height ? size.width - 32 * i : 0;
    load_bits(&m, size, shadow, NULL, side / 2, wide);
    __syncthreads();
    uint32_t w = median_word(&m, side) & ~load_bytes(mask + at, count, wide);
    store_bytes(out + at, w, count, 255, wide);
}

#endif
