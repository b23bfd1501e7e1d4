/* Random numbers that are the same everywhere. */
#ifndef BD_TESTS_SUPPORT_RANDOM_BITS_H
#define BD_TESTS_SUPPORT_RANDOM_BITS_H

#include <stdint.h>

static inline uint32_t random_bits(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Number x of a sequence that looks random. */
static inline uint32_t hash(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

static inline int between(uint32_t *seed, int least, int most)
{
    return least + (int)(random_bits(seed) % (uint32_t)(most - least + 1));
}

#endif
