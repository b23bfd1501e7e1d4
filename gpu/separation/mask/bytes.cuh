/* Private to the mask clean-up: bits to bytes, and back. */
#ifndef BD_GPU_SEPARATION_MASK_BYTES_CUH
#define BD_GPU_SEPARATION_MASK_BYTES_CUH

#include <stdint.h>

/* Four bits as four bytes of 0 or 1. */
static __device__ inline uint32_t unpack4(uint32_t bits)
{
    return (bits & 15) * 0x00204081u & 0x01010101u;
}

static __device__ inline uint4 unpack16(uint32_t bits, uint32_t value)
{
    return make_uint4(unpack4(bits) * value, unpack4(bits >> 4) * value, unpack4(bits >> 8) * value,
                      unpack4(bits >> 12) * value);
}

/* Writes 32 pixels, set ones as `value` (1 or 255), at `to`, of which the first `count` are in the
 * picture (<= 0: none). wide: `to` is 16-byte aligned and count a multiple of 16. For whole warps.
 */
static __device__ inline void store_bytes(uint8_t *to, uint32_t w, int count, uint32_t value,
                                          bool wide)
{
    if (wide) {
        if (count > 0)
            ((uint4 *)to)[0] = unpack16(w, value);
        if (count > 16)
            ((uint4 *)to)[1] = unpack16(w >> 16, value);
        return;
    }
    /* The warp writes the word of each lane in turn, so that stores are contiguous. */
    int lane = threadIdx.x % 32;
    for (int k = 0; k < 32; k++) {
        uint8_t *row = (uint8_t *)__shfl_sync(~0u, (unsigned long long)to, k);
        uint32_t set = __shfl_sync(~0u, w, k) >> lane & 1;
        if (lane < __shfl_sync(~0u, count, k))
            row[lane] = (uint8_t)(set * value);
    }
}

/* The lowest bits of four bytes, side by side: the product's top bits, no two terms of which meet.
 */
static __device__ inline uint32_t pack4(uint32_t bytes)
{
    return (bytes & 0x01010101u) * 0x10204080u >> 28;
}

/* The lowest bits of sixteen bytes. */
static __device__ inline uint32_t pack16(uint4 v)
{
    return pack4(v.x) | pack4(v.y) << 4 | pack4(v.z) << 8 | pack4(v.w) << 12;
}

/* The lowest bits of 32 pixels at `from`, of which the first `count` are in the picture (<= 0:
 * none), 0 for others. wide: `from` is 16-byte aligned and count a multiple of 16. For whole warps.
 */
static __device__ inline uint32_t load_bytes(const uint8_t *from, int count, bool wide)
{
    uint32_t w = 0;
    if (wide) {
        if (count > 0)
            w = pack16(((const uint4 *)from)[0]);
        if (count > 16)
            w |= pack16(((const uint4 *)from)[1]) << 16;
        return w;
    }
    /* The warp reads the word of each lane in turn, so that loads are contiguous. */
    int lane = threadIdx.x % 32;
    for (int k = 0; k < 32; k++) {
        const uint8_t *row = (const uint8_t *)__shfl_sync(~0u, (unsigned long long)from, k);
        bool set = lane < __shfl_sync(~0u, count, k) && row[lane] & 1;
        uint32_t bits = __ballot_sync(~0u, set);
        if (lane == k)
            w = bits;
    }
    return w;
}

#endif
