/* Vector types are GCC's and clang's: on machines with shorter registers the compiler splits them.
 */
#include "separation/cpu/kernels/pixel_kernels.h"

#include <math.h>
#include <stdbool.h>
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

BD_INLINE float sum(floats v)
{
    float total = 0;
    for (int i = 0; i < LANES; i++)
        total += v[i];
    return total;
}

/* From element i on: the whole vectors of a tile, or as many as are left. */
BD_INLINE int64_t tile_at(int64_t i, int64_t count)
{
    return i + TILE <= count ? TILE : (count - i) / LANES * LANES;
}

/* Inner loops are plain C over a tile, one thing at a time, since GCC makes better conversions of
 * bytes and limits of them than of its vectors; sums are kept in vectors, for the order of their
 * terms. */

/* out := B c for n elements. */
BD_INLINE void multiply(int64_t n, const float *restrict b, int64_t ldb, int rank, const float *c,
                        float *restrict out)
{
    float first = c[0];
    for (int64_t i = 0; i < n; i++)
        out[i] = b[i] * first;
    for (int k = 1; k < rank; k++) {
        const float *restrict column = b + k * ldb;
        float next = c[k];
        for (int64_t i = 0; i < n; i++)
            out[i] += column[i] * next;
    }
}

/* e := f - B w for n elements; `rank` is a constant after inlining. */
BD_INLINE void subtract(int64_t n, const uint8_t *restrict f, const float *restrict b, int64_t ldb,
                        int rank, const float *w, float *restrict e)
{
    if (rank == 1) {
        float only = w[0];
        for (int64_t i = 0; i < n; i++)
            e[i] = (float)f[i] - b[i] * only;
        return;
    }
    multiply(n, b, ldb, rank, w, e);
    for (int64_t i = 0; i < n; i++)
        e[i] = (float)f[i] - e[i];
}

BD_INLINE void clip(int64_t n, float bound, float *restrict e)
{
    for (int64_t i = 0; i < n; i++) {
        float low = e[i] > bound ? bound : e[i];
        e[i] = low < -bound ? -bound : low;
    }
}

BD_INLINE int32_t count_far(int64_t n, float far, const float *restrict e)
{
    int32_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += fabsf(e[i]) > far;
    return count;
}

/* dw[k] += b^T e of a column of a tile. */
BD_INLINE void add_product(int64_t n, const float *b, const float *e, double *sum_of_all)
{
    floats acc = { 0 };
    for (int64_t i = 0; i < n; i += LANES)
        acc += load(b + i) * load(e + i);
    *sum_of_all += (double)sum(acc);
}

/* `rank` and `count_them` are constants after inlining. */
BD_INLINE int64_t project_rank(int64_t count, const uint8_t *f, const float *b, int64_t ldb,
                               int rank, const float *w, float lambda, bool count_them, float far,
                               double *dw)
{
    int64_t i = 0, outliers = 0;
    float e[TILE];
    while (i + LANES <= count) {
        int64_t n = tile_at(i, count);
        subtract(n, f + i, b + i, ldb, rank, w, e);
        if (count_them)
            outliers += count_far(n, far, e);
        clip(n, lambda, e);
        for (int k = 0; k < rank; k++)
            add_product(n, b + k * ldb + i, e, &dw[k]);
        i += n;
    }
    for (; i < count; i++) {
        float l = 0;
        for (int k = 0; k < rank; k++)
            l += b[k * ldb + i] * w[k];
        float d = (float)f[i] - l;
        outliers += count_them && fabsf(d) > far;
        d = d > lambda ? lambda : d < -lambda ? -lambda : d;
        for (int k = 0; k < rank; k++)
            dw[k] += (double)(b[k * ldb + i] * d);
    }
    return outliers;
}

BD_INLINE int64_t project_any(int64_t count, const uint8_t *f, const float *b, int64_t ldb,
                              int rank, const float *w, float lambda, bool count_them, float far,
                              double *dw)
{
    switch (rank) {
    case 1:
        return project_rank(count, f, b, ldb, 1, w, lambda, count_them, far, dw);
    case 2:
        return project_rank(count, f, b, ldb, 2, w, lambda, count_them, far, dw);
    case 3:
        return project_rank(count, f, b, ldb, 3, w, lambda, count_them, far, dw);
    default:
        return project_rank(count, f, b, ldb, rank, w, lambda, count_them, far, dw);
    }
}

static void project(int64_t count, const uint8_t *f, const float *b, int64_t ldb, int rank,
                    const float *w, float lambda, double *dw)
{
    project_any(count, f, b, ldb, rank, w, lambda, false, 0, dw);
}

static int64_t project_first(int64_t count, const uint8_t *f, const float *b, int64_t ldb, int rank,
                             const float *w, float lambda, float far, double *dw)
{
    return project_any(count, f, b, ldb, rank, w, lambda, true, far, dw);
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
    .project = project,
    .project_first = project_first,
    .dot = dot,
    .median = median,
    .spread = spread,
    .stable = stable_value,
};
