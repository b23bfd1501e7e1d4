/* The live separator's arithmetic on runs of window elements (products of its columns, and the
 * bytes of its frames), compiled once for each instruction set. */
#ifndef BD_SEPARATION_CPU_KERNELS_PIXEL_KERNELS_H
#define BD_SEPARATION_CPU_KERNELS_PIXEL_KERNELS_H

#include <stdint.h>

#include "separation/shared/ops.h"

struct bd_pixel_kernels {
    /* *sum += x^T y, in float64. In pieces of whole tiles of 256 elements the sum is the same to
     * the bit. */
    void (*dot)(int64_t count, const float *x, const float *y, double *sum);

    /* products[k] += B(:, k)^T e for each of the `rank` columns of B, which are ldb floats apart,
     * and *square += e^T other; other may be NULL. e and other are residuals, small against a
     * frame: at most 16 products are added up in float32, and these sums in float64. */
    void (*multiply_residual)(int64_t count, const float *e, const float *b, int64_t ldb, int rank,
                              const float *other, double *products, double *square);

    /* The stable value (bd_separation_ops.stable) of each pixel of a window of n <= bd_max_stable
     * pictures, oldest first, with `channels` interleaved bytes a pixel: value[pixels x channels],
     * noise[pixels] in sixteenths of a grey level, members[pixels]. With `other` (a picture, or
     * NULL) those pictures take no part in which no channel of the pixel differs by more than
     * `reach` from `other`: the second stable value. Where fewer than `least` pictures are left,
     * members is 0 and value that of `other`. */
    void (*stable)(int64_t pixels, int channels, const uint8_t *const *columns, int n, int reach,
                   const uint8_t *other, int least, uint8_t *value, uint8_t *noise,
                   uint8_t *members);
};

#endif
