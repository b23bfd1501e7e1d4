/* The search for shadows. */
#include <string.h>

#include "separation/cpu/neighbourhood.h"

enum { channels = 3, reach = bd_shadow_reach };

struct search {
    struct bd_mask_work *work;
    uint8_t *shadow;
    const uint8_t *mask, *f, *l;
};

/* The plausible pixels of a row; shadow := those, where the row is the strip's own. */
static void take_plausible(const void *arg, struct bd_sums sums, int y, bool own)
{
    const struct search *search = arg;
    const int width = search->work->width;
    const size_t first = (size_t)y * (size_t)width;
    const uint8_t *row = search->mask + first, *end = row + width;
    uint8_t *shadow = search->shadow + first;
    if (own)
        memset(shadow, 0, (size_t)width);
    for (const uint8_t *at = row; (at = bd_mask_next(at, end)); at++) {
        const int x = (int)(at - row);
        const uint8_t *f = search->f + channels * (first + (size_t)x);
        const uint8_t *l = search->l + channels * (first + (size_t)x);
        uint32_t ff = 0, fl = 0, ll = 0;
        for (int c = 0; c < channels; c++) {
            uint32_t a = f[c], b = l[c];
            ff += a * a;
            fl += a * b;
            ll += b * b;
        }
        if (!bd_shadow_fits(ff, fl, ll, 1, bd_shadow_most))
            continue;
        if (own)
            shadow[x] = 1;
        sums.ff[x + reach] = ff;
        sums.fl[x + reach] = fl;
        sums.ll[x + reach] = ll;
        sums.count[x + reach] = 1;
        bd_sums_use(sums, x + reach, x + reach + 1);
    }
}

/* work->picture := what is within reach of a certain pixel of its row. */
static void find_near(const void *arg, struct bd_sums sum, int y)
{
    const struct search *search = arg;
    const struct bd_mask_work *work = search->work;
    const size_t first = (size_t)y * (size_t)work->width;
    const uint8_t *row = search->shadow + first, *end = row + work->width;
    uint8_t *near = work->picture + first;
    struct bd_total total = BD_TOTAL_NONE;
    memset(near, 0, (size_t)work->width);
    for (const uint8_t *at = row; (at = bd_mask_next(at, end)); at++) {
        int x = (int)(at - row), from = x > reach ? x - reach : 0;
        int to = x + reach < work->width ? x + reach : work->width - 1;
        bd_total_move(&total, sum, reach, x);
        if (total.count >= bd_shadow_least_count &&
            bd_shadow_fits(total.ff, total.fl, total.ll, total.count, bd_shadow_most_mean))
            memset(near + from, 1, (size_t)(to - from) + 1);
    }
}

/* Plausible pixels, and what is near the certain ones among them. */
static void judge_strip(void *arg, int64_t item, int thread)
{
    const struct search *search = arg;
    const struct bd_neighbourhood neighbourhood = { reach, search, take_plausible, find_near };
    bd_neighbourhood_strip(search->work, &neighbourhood, item, thread);
}

/* The plausible pixels of a strip that have no certain pixel near them are no shadow. */
static void finish_strip(void *arg, int64_t item, int thread)
{
    (void)thread;
    const struct search *search = arg;
    const struct bd_mask_work *work = search->work;
    size_t width = (size_t)work->width;
    int to, from = bd_mask_strip(work, item, &to);
    for (int y = from; y < to; y++) {
        uint8_t *row = search->shadow + (size_t)y * width;
        const uint8_t *end = row + width;
        for (const uint8_t *at = row; (at = bd_mask_next(at, end)); at++) {
            bool any = false;
            for (int v = y - reach; v <= y + reach && !any; v++)
                any = v >= 0 && v < work->height &&
                      work->picture[(size_t)v * width + (size_t)(at - row)];
            row[at - row] = any;
        }
    }
}

void bd_shadow_find(struct bd_mask_work *work, uint8_t *shadow, const uint8_t *mask,
                    const uint8_t *f, const uint8_t *l)
{
    struct search search = { work, shadow, mask, f, l };
    bd_mask_run(work, judge_strip, &search);
    bd_mask_run(work, finish_strip, &search);
}
