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

/* Floats in a register, and the registers of LANES of them: what is wider than a register GCC keeps
 * in memory. */
typedef float part __attribute__((vector_size(BD_VECTOR * 4)));
typedef float half_part __attribute__((vector_size(BD_VECTOR * 2)));
typedef double wide __attribute__((vector_size(BD_VECTOR * 4)));
enum { PARTS = LANES / BD_VECTOR, WIDES = 2 * PARTS };

BD_INLINE part load_part(const float *p)
{
    part v;
    memcpy(&v, p, sizeof v);
    return v;
}

BD_INLINE void fold(double *sums, int half)
{
    for (int j = 0; j < half; j++)
        sums[j] += sums[j + half];
}

/* The sum of all lanes. */
BD_INLINE double sum_of(double sums[LANES])
{
    fold(sums, 8);
    fold(sums, 4);
    fold(sums, 2);
    fold(sums, 1);
    return sums[0];
}
_Static_assert(LANES == 16, "the lanes are folded four times");

/* x^T y of small numbers. */
BD_INLINE double dot_small(int64_t count, const float *x, const float *y)
{
    wide acc[WIDES] = { { 0 } };
    double sums[LANES];
    int64_t i = 0;
    for (; i + TILE <= count; i += TILE) {
        part even[PARTS] = { { 0 } }, odd[PARTS] = { { 0 } };
        half_part both[WIDES];
        for (int64_t j = i; j < i + TILE; j += 2 * LANES)
            for (int k = 0; k < PARTS; k++) {
                const int64_t at = j + k * BD_VECTOR;
                even[k] += load_part(x + at) * load_part(y + at);
                odd[k] += load_part(x + at + LANES) * load_part(y + at + LANES);
            }
        for (int k = 0; k < PARTS; k++)
            even[k] += odd[k];
        memcpy(both, even, sizeof both);
        for (int k = 0; k < WIDES; k++)
            acc[k] += __builtin_convertvector(both[k], wide);
    }
    memcpy(sums, acc, sizeof sums);
    double sum = sum_of(sums);
    for (; i < count; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

static void multiply_residual(int64_t count, const float *e, const float *b, int64_t ldb, int rank,
                              const float *other, double *products, double *square)
{
    for (int k = 0; k < rank; k++)
        products[k] += dot_small(count, e, b + k * ldb);
    if (other)
        *square += dot_small(count, e, other);
}

#include "separation/cpu/kernels/stable_value.inc"

#define TABLE BD_ISA_SYMBOL(bd_pixel)
extern const struct bd_pixel_kernels TABLE;
const struct bd_pixel_kernels TABLE = {
    .dot = dot,
    .multiply_residual = multiply_residual,
    .stable = stable_value,
};
