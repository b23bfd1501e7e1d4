/* Vector types are GCC's and clang's: on machines with shorter registers the compiler splits them.
 */
#include "separation/cpu/kernels/pixel_kernels.h"

#include <string.h>

#include "linalg/shared/isa.h"

enum { LANES = 16, TILE = 256, BYTES = 64 };

typedef float floats __attribute__((vector_size(LANES * 4)));
typedef double doubles __attribute__((vector_size(LANES * 8)));
typedef uint8_t bytes __attribute__((vector_size(BYTES)));
typedef int8_t signs __attribute__((vector_size(BYTES)));

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

/* The value at position (n - 1) / 2 of n sorted bytes, BYTES elements at a time, by bisection on
 * the value: eight rounds, each counts how many are below a candidate. Counts are kept in bytes, so
 * columns are taken 255 at a time and added up in 16 bits. */
BD_INLINE void median_tile(const uint8_t *const *columns, int n, int64_t i, const uint8_t *center,
                           uint8_t *out)
{
    typedef uint16_t wide __attribute__((vector_size(BYTES * 2)));
    bytes value = { 0 }, middle = { 0 };
    if (center)
        memcpy(&middle, center + i, BYTES);
    uint16_t rank = (uint16_t)((n - 1) / 2);
    for (int bit = 7; bit >= 0; bit--) {
        bytes candidate = value | (uint8_t)(1 << bit);
        wide below = { 0 };
        for (int j0 = 0; j0 < n; j0 += 255) {
            bytes count = { 0 };
            int j1 = j0 + 255 < n ? j0 + 255 : n;
            for (int j = j0; j < j1; j++) {
                bytes v;
                memcpy(&v, columns[j] + i, BYTES);
                if (center) {
                    bytes above = (bytes)(v > middle);
                    v = ((v - middle) & above) | ((middle - v) & ~above);
                }
                count -= (bytes)(signs)(v < candidate);
            }
            below += __builtin_convertvector(count, wide);
        }
        /* Not more than `rank` values below the candidate: the median is at or above it. */
        bytes up = __builtin_convertvector((wide)(below <= rank), bytes);
        value = (candidate & up) | (value & ~up);
    }
    memcpy(out + i, &value, BYTES);
}

static uint8_t median_one(const uint8_t *const *columns, int n, int64_t i, const uint8_t *center)
{
    int value = 0;
    for (int bit = 7; bit >= 0; bit--) {
        int candidate = value | 1 << bit, below = 0;
        for (int j = 0; j < n; j++) {
            int v = columns[j][i];
            if (center)
                v = v > center[i] ? v - center[i] : center[i] - v;
            below += v < candidate;
        }
        if (below <= (n - 1) / 2)
            value = candidate;
    }
    return (uint8_t)value;
}

static void median(int64_t count, const uint8_t *const *columns, int n, uint8_t *out)
{
    int64_t i = 0;
    if (n == 1) { /* a look ahead compares frame with frame */
        memcpy(out, columns[0], (size_t)count);
        return;
    }
    for (; i + BYTES <= count; i += BYTES)
        median_tile(columns, n, i, NULL, out);
    for (; i < count; i++)
        out[i] = median_one(columns, n, i, NULL);
}

BD_INLINE void distances(int64_t count, const uint8_t *restrict a, const uint8_t *restrict b,
                         uint8_t *restrict out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = (uint8_t)(a[i] > b[i] ? a[i] - b[i] : b[i] - a[i]);
}

static void spread(int64_t count, const uint8_t *const *columns, int n, const uint8_t *center,
                   uint8_t *out)
{
    int64_t i = 0;
    if (n == 1) {
        distances(count, columns[0], center, out);
        return;
    }
    for (; i + BYTES <= count; i += BYTES)
        median_tile(columns, n, i, center, out);
    for (; i < count; i++)
        out[i] = median_one(columns, n, i, center);
}

#include "separation/cpu/kernels/stable_value.inc"

#define TABLE BD_ISA_SYMBOL(bd_pixel)
extern const struct bd_pixel_kernels TABLE;
const struct bd_pixel_kernels TABLE = {
    .dot = dot,
    .dot_widened = dot_widened,
    .median = median,
    .spread = spread,
    .stable = stable_value,
};
