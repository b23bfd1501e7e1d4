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

/* Pixels of a block: a part of a row that the searches for shadows and for other light look at at
 * once. The last block of a row may have fewer. */
enum { bd_block_pixels = 64 };

/* Four numbers of each column of a block, or sums of them, modulo 2^32: f f, f l, l l and how many
 * they are from; of colours, red, green and blue, f in the low bits and l above it, and how many,
 * of which so many have colours of shadows, and the texture. */
struct bd_sums {
    uint32_t ff[bd_block_pixels], fl[bd_block_pixels], ll[bd_block_pixels], count[bd_block_pixels];
};

enum { bd_sums_l_bit = 16, bd_sums_shadows_bit = 5, bd_sums_texture_bit = 10 };

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

    /* Loops over blocks. `count`: the pixels of the block; other columns get 0. Pictures have 1 or
     * 3 interleaved channels; `mask` holds 0 and 1. */

    /* Bit i of `blocks`, 64 in a number, is set if any pixel of block i of a row is not 0. */
    void (*find_blocks)(int width, const uint8_t *row, uint64_t *blocks);

    /* Whether any of `count` bytes has one of the bits. */
    bool (*has)(int count, const uint8_t *bytes, uint8_t bits);

    /* The sum over some rows, `to`, is in four rows of numbers as wide as the picture, `pitch`
     * numbers apart. A block's numbers are added to it, or taken away. */
    void (*add_sums)(const struct bd_sums *from, uint32_t *to, int64_t pitch);
    void (*take_sums)(const struct bd_sums *from, uint32_t *to, int64_t pitch);

    /* totals := of each column of a block the sum over those up to `reach` columns away, 2 or 7;
     * sum: its first column in such a sum, with `reach` numbers at either end of the block. Returns
     * false, and leaves most of them out, if each has a count, in these bits, below `least`. */
    bool (*sum_around)(int reach, uint32_t bits, uint32_t least, const uint32_t *sum, int64_t pitch,
                       struct bd_sums *totals);

    /* plausible := 1 where a pixel of the mask is plausible (separation/shared/shadow.h), else 0.
     * sums: of these pixels. 3 channels. */
    void (*plausible)(int count, const uint8_t *f, const uint8_t *l, const uint8_t *mask,
                      struct bd_sums *sums, uint8_t *plausible);

    /* certain := 1 where a plausible pixel is certain by the totals around it, else 0. */
    void (*certain)(const struct bd_sums *totals, uint8_t *certain);

    /* colours := of the pixels of the mask (separation/shared/shadow_colour.h), -1: none. sums: of
     * the dark pixels. */
    void (*own_colours)(int count, int channels, const uint8_t *f, const uint8_t *l,
                        const uint8_t *mask, struct bd_sums *sums, int32_t *colours);

    /* colours := of the neighbourhoods, by their totals. */
    void (*colours_around)(const struct bd_sums *totals, int32_t *colours);

    /* texture := that of each pixel (separation/shared/shadow_colour.h). below: the row below, or
     * the row itself; next: 1 if there is a pixel behind the block in its row, else 0. 3 channels.
     */
    void (*texture)(int count, int next, const uint8_t *l, const uint8_t *below, uint32_t *texture);

    /* sums: of the pairs that belong to the pixels (separation/shared/illumination.h). f, l and
     * mask: the block, and what is below it, or a row that is 0 in the mask; next: as above. */
    void (*pairs)(int count, int channels, int next, const uint8_t *const f[2],
                  const uint8_t *const l[2], const uint8_t *const mask[2], struct bd_sums *sums);

    /* lit := 1 where a pixel of the foreground would be background in other light by the totals
     * around it, else 0. */
    void (*other_light)(const struct bd_sums *totals, uint8_t *lit);

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
