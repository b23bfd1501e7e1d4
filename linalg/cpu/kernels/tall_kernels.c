#include "linalg/cpu/kernels/tall_kernels.h"

#include <string.h>

#include "linalg/cpu/kernels/vector.h"

enum { doubles = BD_VECTOR / 2 };

typedef double dvec __attribute__((vector_size(BD_VECTOR * 4)));
typedef double dvec_u __attribute__((vector_size(BD_VECTOR * 4), aligned(8), may_alias));

_Static_assert(bd_tall_width == 4, "the unrolled loops and tall_multiply.inc have it as 4");

/* Accumulators, of which every element is used twice: as many as leave room for their operands. */
#if BD_REGISTERS >= 32
#define STRIP 4
#define GRAM_COLS 4
#else
#define STRIP 2
#define GRAM_COLS 2
#endif

#define ELEMENT double
#define VECTOR dvec
#define VECTOR_U dvec_u
#define LANES doubles
#define NAME(name) name##_double
#include "linalg/cpu/kernels/tall_multiply.inc"
#undef ELEMENT
#undef VECTOR
#undef VECTOR_U
#undef LANES
#undef NAME

#define ELEMENT float
#define VECTOR vec
#define VECTOR_U vec_u
#define LANES BD_VECTOR
#define NAME(name) name##_single
#include "linalg/cpu/kernels/tall_multiply.inc"

#define DLOAD(p) (*(const dvec_u *)(p))

typedef double dvec2 __attribute__((vector_size(16)));
typedef double dvec4 __attribute__((vector_size(32)));

BD_INLINE double sum_of(dvec x)
{
#if BD_VECTOR == 16
    union {
        dvec whole;
        dvec4 half[2];
    } u8 = { .whole = x };
    union {
        dvec4 whole;
        dvec2 half[2];
    } u4 = { .whole = u8.half[0] + u8.half[1] };
    dvec2 sum = u4.half[0] + u4.half[1];
#elif BD_VECTOR == 8
    union {
        dvec whole;
        dvec2 half[2];
    } u4 = { .whole = x };
    dvec2 sum = u4.half[0] + u4.half[1];
#else
    dvec2 sum = x;
#endif
    return sum[0] + sum[1];
}

/* `height` x `width` elements of G, both constants: columns x against columns y. */
BD_INLINE void gram_tile(const int height, const int width, int64_t rows, const double *x,
                         const double *y, int64_t ldv, int64_t ahead, double *g, int64_t n)
{
    dvec sum[4][GRAM_COLS] = { 0 };
    for (int64_t row = 0; row < rows; row += doubles) {
        dvec b[GRAM_COLS];
#pragma GCC unroll 4
        for (int j = 0; j < width; j++) {
            b[j] = DLOAD(y + row + j * ldv);
            __builtin_prefetch(y + row + j * ldv + ahead);
        }
#pragma GCC unroll 4
        for (int i = 0; i < height; i++) {
            dvec a = DLOAD(x + row + i * ldv);
#pragma GCC unroll 4
            for (int j = 0; j < width; j++)
                sum[i][j] += a * b[j];
        }
    }
#pragma GCC unroll 4
    for (int j = 0; j < width; j++)
#pragma GCC unroll 4
        for (int i = 0; i < height; i++)
            g[i + j * n] += sum_of(sum[i][j]);
}

BD_INLINE void gram_height(const int width, int64_t height, int64_t rows, const double *x,
                           const double *y, int64_t ldv, int64_t ahead, double *g, int64_t n)
{
    if (height >= 4)
        gram_tile(4, width, rows, x, y, ldv, ahead, g, n);
    else if (height == 3)
        gram_tile(3, width, rows, x, y, ldv, ahead, g, n);
    else if (height == 2)
        gram_tile(2, width, rows, x, y, ldv, ahead, g, n);
    else
        gram_tile(1, width, rows, x, y, ldv, ahead, g, n);
}

static void gram(int64_t rows, int64_t n, const double *v, int64_t ldv, int64_t ahead, double *g)
{
    for (int64_t j = 0; j < n; j += GRAM_COLS)
        for (int64_t i = 0; i < n && i < j + GRAM_COLS; i += 4) {
            const double *x = v + i * ldv, *y = v + j * ldv;
            double *tile = g + i + j * n;
#if GRAM_COLS == 4
            if (n - j >= 4)
                gram_height(4, n - i, rows, x, y, ldv, i ? 0 : ahead, tile, n);
            else if (n - j == 3)
                gram_height(3, n - i, rows, x, y, ldv, i ? 0 : ahead, tile, n);
            else
#endif
                if (n - j >= 2)
                gram_height(2, n - i, rows, x, y, ldv, i ? 0 : ahead, tile, n);
            else
                gram_height(1, n - i, rows, x, y, ldv, i ? 0 : ahead, tile, n);
        }
}

/* A cache line of x at a time, so that the one `ahead` is asked for once. */
static void narrow(int64_t rows, const double *x, int64_t ahead, double scale, float *y)
{
    int64_t i = 0;
    for (; i + 8 <= rows; i += 8) {
        __builtin_prefetch(x + i + ahead);
        for (int k = 0; k < 8; k++)
            y[i + k] = (float)(x[i + k] * scale);
    }
    for (; i < rows; i++)
        y[i] = (float)(x[i] * scale);
}

static void widen(int64_t rows, const float *x, int64_t ahead, double *y)
{
    int64_t i = 0;
    for (; i + 16 <= rows; i += 16) {
        __builtin_prefetch(x + i + ahead);
        for (int k = 0; k < 16; k++)
            y[i + k] = (double)x[i + k];
    }
    for (; i < rows; i++)
        y[i] = (double)x[i];
}

/* The bits of an exponent are all set in NaN and Inf alone: of magnitudes as integers, those are
 * the largest. */
static int finite(int64_t rows, const double *x)
{
    int64_t largest = 0;
    for (int64_t i = 0; i < rows; i++) {
        int64_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= INT64_MAX;
        largest = bits > largest ? bits : largest;
    }
    return largest < 0x7ff0000000000000;
}

static int finite_single(int64_t rows, const float *x)
{
    int32_t largest = 0;
    for (int64_t i = 0; i < rows; i++) {
        int32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= INT32_MAX;
        largest = bits > largest ? bits : largest;
    }
    return largest < 0x7f800000;
}

extern const struct bd_tall_kernels BD_ISA_SYMBOL(bd_tall);
const struct bd_tall_kernels BD_ISA_SYMBOL(bd_tall) = {
    .gram = gram,
    .multiply = multiply_double,
    .multiply_single = multiply_single,
    .narrow = narrow,
    .widen = widen,
    .finite = finite,
    .finite_single = finite_single,
};
