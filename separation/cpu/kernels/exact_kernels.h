/* Loops over the pixels of a frame, against the basis (separation/shared/rounding.h) and from the
 * difference to the mask (separation/shared/mask.h), which give the same results on every
 * instruction set, to the bit. They are compiled once for each like the other kernels, but without
 * fused multiply-adds. Runs of pixels are tight; pointers to what is written overlap nothing else
 * unless said. */
#ifndef BD_SEPARATION_CPU_KERNELS_EXACT_KERNELS_H
#define BD_SEPARATION_CPU_KERNELS_EXACT_KERNELS_H

#include <stdint.h>

#include "separation/shared/recurrence.h"

/* The limit of a pixel is `gain` times its noise level within least .. most grey levels; up to the
 * share `plain` of it the pixel is plain background. */
struct bd_limits {
    float gain, least, most, plain;
};

enum { bd_sep_tile = 256 }; /* pixels */

/* Learning rates: the share of the newest difference in the noise level, and the seconds since the
 * frame before (0 where nothing is learned); and for how many seconds foreground stays in the
 * guard. */
struct bd_learning {
    float rate, seconds, memory;
};

struct bd_exact_kernels {
    /* difference[count] := |f - l|, the maximum over 1 or 3 interleaved channels; raw: 1 where it
     * exceeds the pixel's limit, else 0; plain: 1 where it is at most limits->plain of that.
     * Returns how many are raw. */
    int64_t (*compare)(int64_t count, int channels, const uint8_t *f, const uint8_t *l,
                       const float *noise, const struct bd_limits *limits, uint8_t *difference,
                       uint8_t *raw, uint8_t *plain);

    /* For `count` pixels: learned := the noise level after the frame, which is `noise` in the guard
     * (NULL: none is learned); the age of those that are occupied; pixels as old as
     * learning->memory, which is above 0, leave the guard. aged has 0 for each tile of bd_sep_tile
     * pixels in which all ages are 0, as most are: they need not be read. mask := 255 raw. Pictures
     * but the difference hold 0 and 1. Returns how many are raw. */
    int64_t (*learn)(int64_t count, const struct bd_learning *learning, const uint8_t *difference,
                     const uint8_t *occupied, const uint8_t *raw, const float *noise,
                     float *learned, float *age, uint8_t *aged, uint8_t *guard, uint8_t *mask);

    /* changed[count] := 1 where a pixel of f, of 1 or 3 interleaved channels, differs from that of
     * `earlier` by more than `reach` in some channel, else 0; then earlier := f. */
    void (*changes)(int64_t count, int channels, int reach, const uint8_t *f, uint8_t *earlier,
                    uint8_t *changed);

    /* A row of the median of a binary picture: out[width] := 1 where more than half of the side x
     * side pixels around are 1. rows: `side` rows, from side / 2 above to as many below. Beyond
     * either end the last pixel counts. sums: width + side - 1 bytes of scratch. side odd, <= 15.
     */
    void (*median)(int64_t width, const uint8_t *const *rows, int side, uint8_t *sums,
                   uint8_t *out);

    /* out[x] := 1 where any of in[x - radius .. x + radius] is 1, as far as they are inside. line:
     * width + 2 radius bytes of scratch. */
    void (*spread)(int64_t width, const uint8_t *in, int64_t radius, uint8_t *line, uint8_t *out);

    /* A row of bd_mask_trim (separation/cpu/mask.h): of the middle ones of three rows of the mask,
     * of plain background and of the difference. Rows outside the picture are all 0. lines:
     * 2 (width + 2) bytes of scratch. */
    void (*trim)(int64_t width, const uint8_t *const mask[3], const uint8_t *const plain[3],
                 const uint8_t *const difference[3], uint8_t *lines, uint8_t *out);

    /* bd_recurrence_recurs as far as bd_recurrence_near, with the same arguments. Where much moves
     * in place it saves a fifth of the time of an export. */
    bool (*recurs_near)(const struct bd_recurrence_window *window, const uint8_t *f,
                        const uint8_t *l, uint8_t visit, int x, int y);

    /* The pairs of separation/shared/illumination.h that belong to a run of `count` candidates with
     * 1 or 3 interleaved channels, one with the next of the run and one with the pixel below where
     * `below` is 1, not 0. f, l: the run in frame and background, and what is below it. sums: of
     * each pixel f f, f l, l l, and the number of its pairs; f l modulo 2^32. */
    void (*pairs)(int64_t count, int channels, const uint8_t *const f[2], const uint8_t *const l[2],
                  const uint8_t *below, uint32_t *const sums[4]);

    /* y += a x */
    void (*add_multiple)(int64_t count, float a, const float *x, float *y);

    /* l := B w rounded to 0..255. B is column-major, `rank` columns `ldb` floats apart; w and c are
     * `rank` coefficients. */
    void (*background)(int64_t count, const float *b, int64_t ldb, int rank, const float *w,
                       uint8_t *l);

    /* dw[k] += B(:, k)^T clip(f - B w, +-lambda) over `count` elements, in the groups of
     * separation/shared/rounding.h. *far gets how many of the elements differ from B w by more than
     * 2 lambda; NULL: not wanted. */
    void (*project)(int64_t count, const uint8_t *f, const float *b, int64_t ldb, int rank,
                    const float *w, float lambda, double *dw, int64_t *far);

    /* e := clip(f - B c, +-lambda). */
    void (*residual)(int64_t count, const uint8_t *f, const float *b, int64_t ldb, int rank,
                     const float *c, float lambda, float *e);

    /* x := B c + clip(f - B c, +-lambda). */
    void (*form)(int64_t count, const uint8_t *f, const float *b, int64_t ldb, int rank,
                 const float *c, float lambda, float *x);

    /* y += a x, with the x of rank 1. */
    void (*add_formed)(int64_t count, const uint8_t *f, const float *b, float c, float lambda,
                       float a, float *y);
};

#endif
