/* Random numbers that are the same everywhere. A seed is the state of a sequence and moves on with
 * each number; which sequence a test has is a part of it. */
#ifndef BD_TESTS_SUPPORT_RANDOM_H
#define BD_TESTS_SUPPORT_RANDOM_H

#include <stdint.h>

/* The next state of a linear congruential generator (Knuth's MMIX), whose high bits are the random
 * ones. */
static inline uint64_t next_state(uint64_t *seed)
{
    return *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
}

/* In 0 .. 1, a multiple of 2^-53. */
static inline double uniform(uint64_t *seed)
{
    return (double)(next_state(seed) >> 11) / (double)(UINT64_C(1) << 53);
}

/* In -1 .. 1, a multiple of 2^-52. */
static inline double signed_uniform(uint64_t *seed)
{
    return 2 * uniform(seed) - 1;
}

/* In -1 .. 1, a multiple of 2^-23: a float32 holds it exactly. */
static inline double noise(uint64_t *seed)
{
    return (double)(next_state(seed) >> 40) / (double)(UINT64_C(1) << 23) - 1;
}

/* 24 random bits. */
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
