/* Private to shadow.c and illumination.c: sums over the neighbourhood of each pixel, which are made
 * row by row: a row enters them, and one leaves them. */
#ifndef BD_SEPARATION_CPU_NEIGHBOURHOOD_H
#define BD_SEPARATION_CPU_NEIGHBOURHOOD_H

#include "separation/cpu/mask_work.h"

/* Sums of f f, f l and l l, and their number, or of what a search has in their places, of each
 * pixel of a row, with at least `reach` zeros at either end. f l may be negative: sums are modulo
 * 2^32. used: not 0 for a block of bd_mask_sums_block columns, zeros counted, that may hold
 * anything but 0. */
struct bd_sums {
    uint32_t *ff, *fl, *ll, *count, *used;
};

/* Columns from .. to - 1, zeros counted, are written. */
static inline void bd_sums_use(struct bd_sums sums, int from, int to)
{
    for (int block = from / bd_mask_sums_block; block * bd_mask_sums_block < to; block++)
        sums.used[block] = 1;
}

struct bd_neighbourhood {
    int reach; /* at most bd_mask_most_reach: 2 reach + 1 rows and columns */
    const void *search;
    /* What belongs to the pixels of row y of the picture; `row` is all 0. own: y is a row of the
     * strip, and not one above or below it, which another strip has. */
    void (*take)(const void *search, struct bd_sums row, int y, bool own);
    /* Looks at row y of the strip. sum: over the rows within reach of it. */
    void (*judge)(const void *search, struct bd_sums sum, int y);
};

/* take and judge for the rows of a strip. */
void bd_neighbourhood_strip(const struct bd_mask_work *work,
                            const struct bd_neighbourhood *neighbourhood, int64_t item, int thread);

/* The sums over the neighbourhood of the pixel x. */
struct bd_total {
    int x;
    uint32_t ff, fl, ll, count;
};

/* Before the first pixel of a row. */
#define BD_TOTAL_NONE ((struct bd_total){ .x = -2 * bd_mask_most_reach - 1 })

/* For judge: to the pixel x, to the right of total->x. */
static inline void bd_total_move(struct bd_total *total, struct bd_sums sum, int reach, int x)
{
    const int side = 2 * reach + 1;
    int enters = total->x + side;
    if (enters <= x) { /* all columns are new ones */
        *total = (struct bd_total){ .x = x - side };
        enters = x;
    }
    const bool leave = enters > x;
    for (; enters < x + side; enters++) {
        total->ff += sum.ff[enters] - (leave ? sum.ff[enters - side] : 0);
        total->fl += sum.fl[enters] - (leave ? sum.fl[enters - side] : 0);
        total->ll += sum.ll[enters] - (leave ? sum.ll[enters - side] : 0);
        total->count += sum.count[enters] - (leave ? sum.count[enters - side] : 0);
    }
    total->x = x;
}

#endif
