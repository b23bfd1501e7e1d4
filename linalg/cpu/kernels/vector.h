/* Private to the kernels: vectors of BD_VECTOR floats by the compiler's vector extension. */
#ifndef BD_LINALG_CPU_KERNELS_VECTOR_H
#define BD_LINALG_CPU_KERNELS_VECTOR_H

#include <stdint.h>

#include "base/shuffle.h"
#include "linalg/shared/isa.h"

typedef float vec __attribute__((vector_size(BD_VECTOR * 4)));
typedef int32_t vec_bits __attribute__((vector_size(BD_VECTOR * 4)));
typedef float vec_u __attribute__((vector_size(BD_VECTOR * 4), aligned(4), may_alias));
typedef float vec4 __attribute__((vector_size(16)));
typedef float vec8 __attribute__((vector_size(32)));
typedef float vec8_u __attribute__((vector_size(32), aligned(4), may_alias));

#define LOAD(p) (*(const vec_u *)(p))
#define STORE(p, v) (*(vec_u *)(p) = (v))
#define LOAD8(p) (*(const vec8_u *)(p))
#define STORE8(p, v) (*(vec8_u *)(p) = (v))

#define SHUFFLE(a, b, ...) BD_SHUFFLE(vec_bits, a, b, __VA_ARGS__)

/* The same shuffle in each 128-bit lane; i < 4 takes from a, i >= 4 from b. */
#define PICK(i, lane) (((i)&3) + 4 * (lane) + ((i) >= 4 ? BD_VECTOR : 0))
#define LANE(i, j, k, l, n) PICK(i, n), PICK(j, n), PICK(k, n), PICK(l, n)
#if BD_VECTOR == 16
#define SHUFFLE_LANES(a, b, i, j, k, l)                                          \
    SHUFFLE(a, b, LANE(i, j, k, l, 0), LANE(i, j, k, l, 1), LANE(i, j, k, l, 2), \
            LANE(i, j, k, l, 3))
#elif BD_VECTOR == 8
#define SHUFFLE_LANES(a, b, i, j, k, l) SHUFFLE(a, b, LANE(i, j, k, l, 0), LANE(i, j, k, l, 1))
#else
#define SHUFFLE_LANES(a, b, i, j, k, l) SHUFFLE(a, b, LANE(i, j, k, l, 0))
#endif

BD_INLINE vec splat(float x)
{
#if BD_VECTOR == 16
    return (vec){ x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x };
#elif BD_VECTOR == 8
    return (vec){ x, x, x, x, x, x, x, x };
#else
    return (vec){ x, x, x, x };
#endif
}

/* out[0..3] += the sums of the elements of a, b, c, d. */
BD_INLINE void add_sums4(float *out, vec a, vec b, vec c, vec d)
{
    vec ab = SHUFFLE_LANES(a, b, 0, 4, 1, 5) + SHUFFLE_LANES(a, b, 2, 6, 3, 7);
    vec cd = SHUFFLE_LANES(c, d, 0, 4, 1, 5) + SHUFFLE_LANES(c, d, 2, 6, 3, 7);
    vec abcd = SHUFFLE_LANES(ab, cd, 0, 1, 4, 5) + SHUFFLE_LANES(ab, cd, 2, 3, 6, 7);
#if BD_VECTOR == 16
    union {
        vec whole;
        vec8 half[2];
    } u16 = { .whole = abcd };
    union {
        vec8 whole;
        vec4 half[2];
    } u8 = { .whole = u16.half[0] + u16.half[1] };
    vec4 sum = u8.half[0] + u8.half[1];
#elif BD_VECTOR == 8
    union {
        vec whole;
        vec4 half[2];
    } u8 = { .whole = abcd };
    vec4 sum = u8.half[0] + u8.half[1];
#else
    vec4 sum = abcd;
#endif
    for (int i = 0; i < 4; i++)
        out[i] += sum[i];
}

#endif
