#include "separation/cpu/shadow.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "separation/shared/shadow.h"

enum {
    channels = 3,
    reach = bd_shadow_reach,
    side = 2 * bd_shadow_reach + 1,
    strip = 32 /* rows of an item of the parallel loops */
};

/* (f, f), (f, l), (l, l) and the number of plausible pixels, of each pixel of a row, with `reach`
 * zeros at either end. */
struct sums {
    uint32_t *ff, *fl, *ll, *count;
};

struct bd_shadow_work {
    struct bd_pool *pool;
    int width, height, padded;
    /* threads x (side + 1) x 4 x padded: the last rows, and the sum of them; 0 between strips. */
    uint32_t *rows;
    uint8_t *certain; /* height x width */
    uint8_t *near;    /* height x width: certain, spread along rows */
};

enum bd_status bd_shadow_work_create(struct bd_shadow_work **out, struct bd_pool *pool, int width,
                                     int height)
{
    *out = NULL;
    struct bd_shadow_work *work = calloc(1, sizeof *work);
    if (!work)
        return bd_fail(BD_ERROR_MEMORY, "no memory for shadows of %d x %d", width, height);
    work->pool = pool;
    work->width = width;
    work->height = height;
    work->padded = width + 2 * reach;
    size_t pixels = (size_t)width * (size_t)height, threads = (size_t)bd_pool_threads(pool);
    work->rows = calloc(threads * (side + 1) * 4 * (size_t)work->padded, sizeof *work->rows);
    work->certain = malloc(pixels);
    work->near = malloc(pixels);
    if (!work->rows || !work->certain || !work->near) {
        bd_shadow_work_destroy(&work);
        return bd_fail(BD_ERROR_MEMORY, "no memory for shadows of %d x %d", width, height);
    }
    *out = work;
    return BD_OK;
}

void bd_shadow_work_destroy(struct bd_shadow_work **work)
{
    if (!*work)
        return;
    free((*work)->rows);
    free((*work)->certain);
    free((*work)->near);
    free(*work);
    *work = NULL;
}

/* Slot 0 .. side - 1: a row; slot `side`: their sum. */
static struct sums sums_at(const struct bd_shadow_work *work, int thread, int slot)
{
    uint32_t *at = work->rows + ((int64_t)thread * (side + 1) + slot) * 4 * work->padded;
    return (struct sums){ at, at + work->padded, at + 2 * work->padded, at + 3 * work->padded };
}

/* The columns of a padded row outside which all is 0. */
struct range {
    int from, to;
};

/* The sums of a row that is all 0; shadow (unless NULL) := plausible. */
static struct range take_row(const struct bd_shadow_work *work, struct sums to, uint8_t *shadow,
                             const uint8_t *mask, const uint8_t *f, const uint8_t *l)
{
    struct range range = { work->padded, 0 };
    if (shadow)
        memset(shadow, 0, (size_t)work->width);
    const uint8_t *end = mask + work->width;
    for (const uint8_t *at = mask; at < end && (at = memchr(at, 1, (size_t)(end - at))); at++) {
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
static void add_row(const struct bd_shadow_work *work, struct sums sum, struct sums row,
                    struct range range)
{
    for (int k = 0; k < 4; k++) {
        uint32_t *restrict to = sum.ff + (int64_t)k * work->padded;
        const uint32_t *restrict from = row.ff + (int64_t)k * work->padded;
        for (int i = range.from; i < range.to; i++)
            to[i] += from[i];
    }
}

/* sum -= row, and row := 0. */
static void take_away(const struct bd_shadow_work *work, struct sums sum, struct sums row,
                      struct range range)
{
    for (int k = 0; k < 4; k++) {
        uint32_t *restrict to = sum.ff + (int64_t)k * work->padded;
        uint32_t *restrict from = row.ff + (int64_t)k * work->padded;
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

/* From the sums of `side` rows: which pixels of the middle one are certain. */
static void find_certain(const struct bd_shadow_work *work, struct sums sum, const uint8_t *shadow,
                         uint8_t *certain)
{
    const uint8_t *end = shadow + work->width;
    memset(certain, 0, (size_t)work->width);
    for (const uint8_t *at = shadow; at < end && (at = memchr(at, 1, (size_t)(end - at))); at++) {
        int x = (int)(at - shadow);
        uint32_t count = across(sum.count + x);
        certain[x] = count >= bd_shadow_least_count &&
                     bd_shadow_fits(across(sum.ff + x), across(sum.fl + x), across(sum.ll + x),
                                    count, bd_shadow_most_mean);
    }
}

/* near[x]: whether a pixel within reach of x in its row is certain. */
static void spread_row(const struct bd_shadow_work *work, uint8_t *near, const uint8_t *certain)
{
    const uint8_t *end = certain + work->width;
    memset(near, 0, (size_t)work->width);
    for (const uint8_t *at = certain; at < end && (at = memchr(at, 1, (size_t)(end - at))); at++) {
        int x = (int)(at - certain), from = x > reach ? x - reach : 0;
        int to = x + reach < work->width ? x + reach : work->width - 1;
        memset(near + from, 1, (size_t)to - (size_t)from + 1);
    }
}

struct search {
    struct bd_shadow_work *work;
    uint8_t *shadow;
    const uint8_t *mask, *f, *l;
};

/* Rows of a strip: plausible pixels (of the strip alone: those of the rows around it are another
 * item's), and the certain ones among them. */
static void judge_strip(void *arg, int64_t item, int thread)
{
    const struct search *search = arg;
    const struct bd_shadow_work *work = search->work;
    size_t width = (size_t)work->width;
    int from = (int)item * strip, to = from + strip < work->height ? from + strip : work->height;
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
            find_certain(work, sum, search->shadow + at, work->certain + at);
            spread_row(work, work->near + at, work->certain + at);
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
    const struct bd_shadow_work *work = search->work;
    size_t width = (size_t)work->width;
    int from = (int)item * strip, to = from + strip < work->height ? from + strip : work->height;
    for (int y = from; y < to; y++) {
        uint8_t *row = search->shadow + (size_t)y * width, *end = row + width;
        for (uint8_t *at = row; at < end && (at = memchr(at, 1, (size_t)(end - at))); at++) {
            bool any = false;
            for (int v = y - reach; v <= y + reach && !any; v++)
                any = v >= 0 && v < work->height &&
                      work->near[(size_t)v * width + (size_t)(at - row)];
            *at = any;
        }
    }
}

void bd_shadow_find(struct bd_shadow_work *work, uint8_t *shadow, const uint8_t *mask,
                    const uint8_t *f, const uint8_t *l)
{
    struct search search = { work, shadow, mask, f, l };
    int64_t strips = (work->height + strip - 1) / strip;
    bd_pool_run(work->pool, judge_strip, &search, strips);
    bd_pool_run(work->pool, finish_strip, &search, strips);
}
