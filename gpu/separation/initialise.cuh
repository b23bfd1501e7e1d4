/* What the two ways to a first background share (initialise.cu, stable_value.cu). Bytes are
 * compared four in a word, each in its own lane of eight bits. */
#ifndef BD_GPU_SEPARATION_INITIALISE_CUH
#define BD_GPU_SEPARATION_INITIALISE_CUH

#include "gpu/separation/state.cuh"

/* numbers->square := 0. initialise.cu */
enum bd_status bd_sep_clear_square(struct bd_cuda_separator *s);

/* The basis, the coefficients of the window and w from the background that lies in B, the square of
 * whose norm is numbers->square. initialise.cu */
enum bd_status bd_sep_start_basis(struct bd_cuda_separator *s, int count, float lambda);

/* 0x80 in each byte in which a < b; `low` is b & 0x7f7f7f7f. */
__device__ __forceinline__ uint32_t bd_sep_below(uint32_t a, uint32_t b, uint32_t low)
{
    /* Bit 7 of each byte of the difference: not (a's lower bits < b's). */
    const uint32_t difference = (a | 0x80808080u) - low;
    return ((~a & b) | (~(a ^ b) & ~difference)) & 0x80808080u;
}

/* Bit 7 of each byte to the whole byte. (__byte_perm has no such selection.) */
__device__ __forceinline__ uint32_t bd_sep_spread_top(uint32_t v)
{
    uint32_t spread;
    asm("prmt.b32 %0, %1, 0, 0xba98;" : "=r"(spread) : "r"(v));
    return spread;
}

/* A word of the background to the basis, not scaled yet; returns its sum of squares. */
__device__ __forceinline__ uint32_t bd_sep_take_background(float *basis, uint32_t word)
{
    float v[4];
    bd_sep_floats(word, v);
    bd_sep_store_floats(basis, v);
    return __dp4a(word, word, 0u);
}

/* numbers->square += the sums of the threads of a warp. Integers: any order gives the same. */
__device__ __forceinline__ void bd_sep_add_square(struct bd_sep_numbers *numbers, uint32_t square)
{
    const uint32_t sum = __reduce_add_sync(0xffffffffu, square);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&numbers->square, (unsigned long long)sum);
}

#endif
