/* Private to shadow.c and illumination.c: sums over the neighbourhood of each pixel, block by block
 * of a row (exact_kernels.h). They are made row by row: a row enters them, and one leaves them. */
#ifndef BD_SEPARATION_CPU_NEIGHBOURHOOD_H
#define BD_SEPARATION_CPU_NEIGHBOURHOOD_H

#include "separation/cpu/mask_work.h"

struct bd_block {
    int x, y;     /* of its first pixel */
    size_t first; /* the number of this pixel in the picture */
    int count;    /* pixels */
    bool own;     /* it lies in the strip, and not in a row above or below it, another strip's */
};

struct bd_neighbourhood {
    int reach;             /* 2 or 7: 2 reach + 1 rows and columns */
    const uint8_t *taken;  /* a picture; blocks of which all pixels are 0 are not taken */
    const uint8_t *judged; /* a picture; so are those without any of these bits not judged */
    uint8_t bits;
    uint32_t counted, least; /* nor those of which no count, in these bits, is so much */
    const void *search;
    /* The numbers of the pixels of a block. */
    void (*take)(const void *search, struct bd_block block, struct bd_sums *sums);
    /* Looks at a block of the strip. totals: of each pixel the sums over its neighbourhood. */
    void (*judge)(const void *search, struct bd_block block, const struct bd_sums *totals);
};

/* take and judge for the blocks of a strip. */
void bd_neighbourhood_strip(const struct bd_mask_work *work,
                            const struct bd_neighbourhood *neighbourhood, int64_t item, int thread);

/* The first of the blocks (a bit each) from number `from` to before `end`; `end`: there is none. */
static inline int bd_block_next(const uint64_t *blocks, int from, int end)
{
    while (from < end) {
        const uint64_t left = blocks[from / 64] >> from % 64;
        if (left)
            return from + __builtin_ctzll(left);
        from += 64 - from % 64;
    }
    return end;
}

/* Brings near the pixels of a block in a row that is taken soon, of a picture with interleaved
 * channels: what moves is as a rule some rows high. (Inlined, since GCC drops calls of a function
 * that does nothing else.) */
static inline __attribute__((always_inline)) void bd_block_fetch(const struct bd_mask_work *work,
                                                                 struct bd_block block,
                                                                 const uint8_t *picture,
                                                                 int channels)
{
    enum { rows_ahead = 4, line = 64 };
    if (block.y + rows_ahead >= work->height)
        return;
    const size_t first = block.first + rows_ahead * (size_t)work->width;
    const uint8_t *at = picture + first * (size_t)channels;
    for (int i = 0; i < block.count * channels; i += line)
        __builtin_prefetch(at + i);
}

/* Block `number` of row y. */
static inline struct bd_block bd_block_at(const struct bd_mask_work *work, int number, int y)
{
    const int x = number * bd_block_pixels, left = work->width - x;
    const int count = left < bd_block_pixels ? left : bd_block_pixels;
    return (struct bd_block){ x, y, (size_t)y * (size_t)work->width + (size_t)x, count, true };
}

#endif
