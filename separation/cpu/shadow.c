/* The search for shadows. */
#include <string.h>

#include "separation/cpu/mask_work.h"

enum { channels = 3, reach = bd_shadow_reach, side = bd_shadow_side };

/* (f, f), (f, l), (l, l) and the number of plausible pixels, of each pixel of a row, with `reach`
 * zeros at either end. */
struct sums {
    uint32_t *ff, *fl, *ll, *count;
};

static int padded(const struct bd_mask_work *work)
{
    return work->width + 2 * reach;
}

/* Slot 0 .. side - 1: a row; slot `side`: their sum. */
static struct sums sums_at(const struct bd_mask_work *work, int thread, int slot)
{
    int64_t line = padded(work);
    uint32_t *at = work->sums + ((int64_t)thread * bd_shadow_lines + 4 * slot) * line;
    return (struct sums){ at, at + line, at + 2 * line, at + 3 * line };
}

/* The columns of a padded row outside which all is 0. */
struct range {
    int from, to;
};

/* The sums of a row that is all 0; shadow (unless NULL) := plausible. */
static struct range take_row(const struct bd_mask_work *work, struct sums to, uint8_t *shadow,
                             const uint8_t *mask, const uint8_t *f, const uint8_t *l)
{
    struct range range = { padded(work), 0 };
    if (shadow)
        memset(shadow, 0, (size_t)work->width);
    const uint8_t *end = mask + work->width;
    for (const uint8_t *at = mask; (at = bd_mask_next(at, end)); at++) {
        int x = (int)(at - mask);
        uint32_t ff = 0, fl = 0, ll = 0;
        for (int c = 0; c < channels; c++) {
            uint32_t a = f[channels * x + c], b = l[channels * x + c];
            ff += a * a;
            fl += a * b;
            ll += b * b;
        }
        if (!bd_shadow_fits(ff, fl, ll, 1, bd_shadow_most))
            continue;
        if (shadow)
            shadow[x] = 1;
        to.ff[x + reach] = ff;
        to.fl[x + reach] = fl;
        to.ll[x + reach] = ll;
        to.count[x + reach] = 1;
        range.from = x + reach < range.from ? x + reach : range.from;
        range.to = x + reach + 1;
    }
    return range;
}

/* sum += row; most rows have few columns in range. */
static void add_row(const struct bd_mask_work *work, struct sums sum, struct sums row,
                    struct range range)
{
    for (int k = 0; k < 4; k++) {
        uint32_t *restrict to = sum.ff + (int64_t)k * padded(work);
        const uint32_t *restrict from = row.ff + (int64_t)k * padded(work);
        for (int i = range.from; i < range.to; i++)
            to[i] += from[i];
    }
}

/* sum -= row, and row := 0. */
static void take_away(const struct bd_mask_work *work, struct sums sum, struct sums row,
                      struct range range)
{
    for (int k = 0; k < 4; k++) {
        uint32_t *restrict to = sum.ff + (int64_t)k * padded(work);
        uint32_t *restrict from = row.ff + (int64_t)k * padded(work);
        for (int i = range.from; i < range.to; i++) {
            to[i] -= from[i];
            from[i] = 0;
        }
    }
}

static uint32_t across(const uint32_t *sum)
{
    uint32_t total = 0;
    for (int i = 0; i < side; i++)
        total += sum[i];
    return total;
}

/* From the sums of `side` rows: near[x] := whether a pixel within reach of x in the middle one is
 * certain. */
static void find_near(const struct bd_mask_work *work, struct sums sum, const uint8_t *shadow,
                      uint8_t *near)
{
    const uint8_t *end = shadow + work->width;
    memset(near, 0, (size_t)work->width);
    for (const uint8_t *at = shadow; (at = bd_mask_next(at, end)); at++) {
        int x = (int)(at - shadow), from = x > reach ? x - reach : 0;
        int to = x + reach < work->width ? x + reach : work->width - 1;
        uint32_t count = across(sum.count + x);
        if (count >= bd_shadow_least_count &&
            bd_shadow_fits(across(sum.ff + x), across(sum.fl + x), across(sum.ll + x), count,
                           bd_shadow_most_mean))
            memset(near + from, 1, (size_t)(to - from) + 1);
    }
}

struct search {
    struct bd_mask_work *work;
    uint8_t *shadow;
    const uint8_t *mask, *f, *l;
};

/* Rows of a strip: plausible pixels (of the strip alone: those of the rows around it are another
 * item's), and in work->picture what is near the certain ones among them. */
static void judge_strip(void *arg, int64_t item, int thread)
{
    const struct search *search = arg;
    const struct bd_mask_work *work = search->work;
    size_t width = (size_t)work->width;
    int to, from = bd_mask_strip(work, item, &to);
    struct sums sum = sums_at(work, thread, side);
    struct range used[side] = { { 0, 0 } };
    /* Row y enters the sum, row y - side leaves it, row y - reach is the middle one. */
    for (int y = from - reach; y < to + reach; y++) {
        int slot = (y + side) % side;
        struct sums row = sums_at(work, thread, slot);
        take_away(work, sum, row, used[slot]);
        used[slot] = (struct range){ 0, 0 };
        if (y >= 0 && y < work->height) {
            size_t at = (size_t)y * width;
            uint8_t *plausible = y >= from && y < to ? search->shadow + at : NULL;
            used[slot] = take_row(work, row, plausible, search->mask + at,
                                  search->f + channels * at, search->l + channels * at);
            add_row(work, sum, row, used[slot]);
        }
        int middle = y - reach;
        if (middle >= from) {
            size_t at = (size_t)middle * width;
            find_near(work, sum, search->shadow + at, work->picture + at);
        }
    }
    for (int slot = 0; slot < side; slot++)
        take_away(work, sum, sums_at(work, thread, slot), used[slot]);
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
