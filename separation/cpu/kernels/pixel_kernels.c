/* Vector types are GCC's and clang's: on machines with shorter registers the compiler splits those
 * of floating point. */
#include "separation/cpu/kernels/pixel_kernels.h"

#include <string.h>

#include "linalg/shared/isa.h"

enum { LANES = 16, TILE = 256, BYTES = 4 * BD_VECTOR };

typedef float floats __attribute__((vector_size(LANES * 4)));
typedef double doubles __attribute__((vector_size(LANES * 8)));
typedef uint8_t bytes __attribute__((vector_size(BYTES)));

BD_INLINE floats load(const float *p)
{
    floats v;
    memcpy(&v, p, sizeof v);
    return v;
}

static void dot(int64_t count, const float *x, const float *y, double *sum_of_all)
{
    int64_t i = 0;
    for (; i + TILE <= count; i += TILE) {
        doubles acc = { 0 };
        for (int64_t j = i; j < i + TILE; j += LANES)
            acc += __builtin_convertvector(load(x + j), doubles) *
                   __builtin_convertvector(load(y + j), doubles);
        for (int j = 0; j < LANES; j++)
            *sum_of_all += acc[j];
    }
    for (; i < count; i++)
        *sum_of_all += (double)x[i] * (double)y[i];
}

BD_INLINE doubles load_widened(const double *p)
{
    doubles v;
    memcpy(&v, p, sizeof v);
    return v;
}

static void dot_widened(int64_t count, const float *x, const double *y, const double *z,
                        double *first, double *second)
{
    int64_t i = 0;
    for (; i + TILE <= count; i += TILE) {
        doubles one = { 0 }, two = { 0 };
        for (int64_t j = i; j < i + TILE; j += LANES) {
            doubles wide = __builtin_convertvector(load(x + j), doubles);
            one += wide * load_widened(y + j);
            if (z)
                two += wide * load_widened(z + j);
        }
        for (int j = 0; j < LANES; j++) {
            *first += one[j];
            *second += two[j];
        }
    }
    for (; i < count; i++) {
        *first += (double)x[i] * y[i];
        *second += z ? (double)x[i] * z[i] : 0;
    }
}

#include "separation/cpu/kernels/stable_value.inc"

#define TABLE BD_ISA_SYMBOL(bd_pixel)
extern const struct bd_pixel_kernels TABLE;
const struct bd_pixel_kernels TABLE = {
    .dot = dot,
    .dot_widened = dot_widened,
    .stable = stable_value,
};
