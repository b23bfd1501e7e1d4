/* The search for background in other light. */
#include "separation/cpu/neighbourhood.h"

enum { reach = bd_illumination_reach };

struct search {
    const struct bd_mask_work *work;
    uint8_t *shadow;
    const uint8_t *candidates, *f, *l;
    int channels;
};

static void take_pairs(const void *arg, struct bd_sums sums, int y, bool own)
{
    (void)own;
    const struct search *search = arg;
    const struct bd_mask_work *work = search->work;
    const int channels = search->channels;
    const size_t width = (size_t)work->width, first = (size_t)y * width;
    const bool has_below = y + 1 < work->height;
    const uint8_t *row = search->candidates + first, *end = row + width;
    const uint8_t *below = has_below ? row + width : work->none;
    const size_t down = has_below ? (size_t)channels * width : 0;
    const uint8_t *at = row;
    while ((at = bd_mask_next(at, end))) {
        const uint8_t *stop = memchr(at, 0, (size_t)(end - at));
        const int x = (int)(at - row), count = (int)((stop ? stop : end) - at);
        const int column = x + reach;
        const uint8_t *f = search->f + (size_t)channels * (first + (size_t)x);
        const uint8_t *l = search->l + (size_t)channels * (first + (size_t)x);
        work->kernels->pairs(count, channels, (const uint8_t *[]){ f, f + down },
                             (const uint8_t *[]){ l, l + down }, below + x,
                             (uint32_t *[]){ sums.ff + column, sums.fl + column, sums.ll + column,
                                             sums.count + column });
        bd_sums_use(sums, column, column + count);
        at += count;
    }
}

static void judge_row(const void *arg, struct bd_sums sum, int y)
{
    const struct search *search = arg;
    const size_t first = (size_t)y * (size_t)search->work->width;
    const uint8_t *row = search->candidates + first, *end = row + search->work->width;
    struct bd_total total = BD_TOTAL_NONE;
    for (const uint8_t *at = row; (at = bd_mask_next(at, end)); at++) {
        bd_total_move(&total, sum, reach, (int)(at - row));
        if (bd_illumination_fits(total.ff, (int32_t)total.fl, total.ll, total.count))
            search->shadow[first + (size_t)(at - row)] = 1;
    }
}

static void judge_strip(void *arg, int64_t item, int thread)
{
    const struct search *search = arg;
    const struct bd_neighbourhood neighbourhood = { reach, search, take_pairs, judge_row };
    bd_neighbourhood_strip(search->work, &neighbourhood, item, thread);
}

void bd_illumination_find(struct bd_mask_work *work, uint8_t *shadow, const uint8_t *candidates,
                          const uint8_t *f, const uint8_t *l, int channels)
{
    struct search search = { work, shadow, candidates, f, l, channels };
    bd_mask_run(work, judge_strip, &search);
}
