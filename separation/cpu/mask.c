#include "separation/cpu/mask.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "separation/cpu/kernels/kernels.h"
#include "separation/shared/components.h"

enum {
    most_side = 15,
    strip = 32 /* rows of an item of the parallel loops */
};

struct bd_mask_work {
    struct bd_pool *pool;
    const struct bd_exact_kernels *kernels;
    int width, height;
    struct bd_components components;
    uint8_t *lines; /* threads x line_bytes: a few rows */
    uint16_t *left; /* threads x width */
    uint8_t *rows;  /* a whole picture, so that steps may work in place */
    uint8_t *none;  /* width: a row in which nothing is set */
};

/* Enough for every kernel: rows wider by `most_side`, or by the width at either end, or two of
 * them. */
static size_t line_bytes(const struct bd_mask_work *work)
{
    return 3 * (size_t)work->width + most_side;
}

enum bd_status bd_mask_work_create(struct bd_mask_work **out, struct bd_pool *pool, int width,
                                   int height)
{
    *out = NULL;
    struct bd_mask_work *work = calloc(1, sizeof *work);
    if (!work)
        return bd_fail(BD_ERROR_MEMORY, "no memory for masks of %d x %d", width, height);
    size_t threads = (size_t)bd_pool_threads(pool);
    work->pool = pool;
    work->kernels = bd_separation_kernels()->exact;
    work->width = width;
    work->height = height;
    work->lines = malloc(threads * line_bytes(work));
    work->left = malloc(threads * (size_t)width * sizeof *work->left);
    work->rows = malloc((size_t)width * (size_t)height);
    work->none = calloc((size_t)width, 1);
    enum bd_status status = bd_components_create(&work->components, width, height);
    if (status == BD_OK && (!work->lines || !work->left || !work->rows || !work->none))
        status = bd_fail(BD_ERROR_MEMORY, "no memory for masks of %d x %d", width, height);
    if (status != BD_OK)
        bd_mask_work_destroy(&work);
    *out = work;
    return status;
}

void bd_mask_work_destroy(struct bd_mask_work **inout)
{
    struct bd_mask_work *work = *inout;
    if (!work)
        return;
    bd_components_destroy(&work->components);
    free(work->lines);
    free(work->left);
    free(work->rows);
    free(work->none);
    free(work);
    *inout = NULL;
}

/* A parallel loop over the rows of a picture, strip by strip. */
struct sweep {
    struct bd_mask_work *work;
    uint8_t *dst;
    const uint8_t *src;
    const uint8_t *plain, *difference; /* of trim */
    int reach;                         /* the median's side, or the radius */
};

static void run(struct sweep *sweep, bd_pool_fn *strip_fn)
{
    struct bd_mask_work *work = sweep->work;
    bd_pool_run(work->pool, strip_fn, sweep, (work->height + strip - 1) / strip);
}

/* The rows that item `item` takes: from the one returned to before *to. */
static int strip_rows(const struct bd_mask_work *work, int64_t item, int *to)
{
    int from = (int)item * strip;
    *to = from + strip < work->height ? from + strip : work->height;
    return from;
}

static uint8_t *line_of(const struct bd_mask_work *work, int thread)
{
    return work->lines + (size_t)thread * line_bytes(work);
}

static int clamped(int i, int count)
{
    return i < 0 ? 0 : i >= count ? count - 1 : i;
}

static void median_strip(void *arg, int64_t item, int thread)
{
    const struct sweep *sweep = arg;
    const struct bd_mask_work *work = sweep->work;
    int side = sweep->reach, to, from = strip_rows(work, item, &to);
    int64_t width = work->width;
    for (int y = from; y < to; y++) {
        const uint8_t *rows[most_side];
        for (int k = 0; k < side; k++)
            rows[k] = sweep->src + clamped(y + k - side / 2, work->height) * width;
        work->kernels->median(width, rows, side, line_of(work, thread), sweep->dst + y * width);
    }
}

void bd_mask_median(struct bd_mask_work *work, uint8_t *dst, const uint8_t *src, int side)
{
    size_t size = (size_t)work->width * (size_t)work->height;
    if (side <= 1) {
        if (dst != src)
            memcpy(dst, src, size);
        return;
    }
    if (dst == src)
        src = memcpy(work->rows, src, size);
    struct sweep sweep = { .work = work, .dst = dst, .src = src, .reach = side };
    run(&sweep, median_strip);
}

/* Along rows, into work->rows. */
static void spread_strip(void *arg, int64_t item, int thread)
{
    const struct sweep *sweep = arg;
    const struct bd_mask_work *work = sweep->work;
    int to, from = strip_rows(work, item, &to);
    int64_t width = work->width, radius = clamped(sweep->reach, work->width);
    for (int y = from; y < to; y++)
        work->kernels->spread(width, sweep->src + y * width, radius, line_of(work, thread),
                              work->rows + y * width);
}

/* Along columns of work->rows: for how many rows from here on the last set pixel counts, looked at
 * `radius` rows ahead. */
static void descend_strip(void *arg, int64_t item, int thread)
{
    const struct sweep *sweep = arg;
    const struct bd_mask_work *work = sweep->work;
    int to, from = strip_rows(work, item, &to);
    int64_t width = work->width, radius = clamped(sweep->reach, work->height);
    uint16_t *left = work->left + thread * width;
    memset(left, 0, (size_t)width * sizeof *left);
    for (int64_t y = from - 2 * radius; y < to; y++) {
        int64_t ahead = y + radius;
        if (ahead < 0)
            continue;
        const uint8_t *row = ahead < work->height ? work->rows + ahead * width : work->none;
        work->kernels->descend(width, row, (uint16_t)(2 * radius + 1), left);
        if (y >= from)
            work->kernels->is_set(width, left, sweep->dst + y * width);
    }
}

void bd_mask_dilate(struct bd_mask_work *work, uint8_t *dst, const uint8_t *src, int radius)
{
    struct sweep sweep = { .work = work, .dst = dst, .src = src, .reach = radius };
    run(&sweep, spread_strip);
    run(&sweep, descend_strip);
}

/* Gives `value` to the pixels of run i, which lies in row y. */
static void paint_run(struct bd_mask_work *work, uint8_t *mask, int y, int32_t i, uint8_t value)
{
    const struct bd_run *run = &work->components.runs[i];
    memset(mask + (size_t)y * (size_t)work->width + run->from, value,
           (size_t)(run->to - run->from));
}

void bd_mask_remove_small(struct bd_mask_work *work, uint8_t *mask, int least)
{
    struct bd_components *found = &work->components;
    if (least <= 1)
        return;
    bd_components_find(found, mask, work->width, 1, 0, true);
    for (int y = 0; y < work->height; y++)
        for (int32_t i = found->row_first[y]; i < found->row_first[y + 1]; i++)
            if (found->runs[bd_components_root(found, i)].area < least)
                paint_run(work, mask, y, i, 0);
}

void bd_mask_fill_holes(struct bd_mask_work *work, uint8_t *mask, int most)
{
    struct bd_components *found = &work->components;
    if (most < 1)
        return;
    bd_components_find(found, mask, work->width, 0, 1, false);
    for (int y = 0; y < work->height; y++)
        for (int32_t i = found->row_first[y]; i < found->row_first[y + 1]; i++) {
            const struct bd_run *component = &found->runs[bd_components_root(found, i)];
            if (!component->border && component->area <= most)
                paint_run(work, mask, y, i, 1);
        }
}

static void trim_strip(void *arg, int64_t item, int thread)
{
    const struct sweep *sweep = arg;
    const struct bd_mask_work *work = sweep->work;
    int to, from = strip_rows(work, item, &to);
    int64_t width = work->width;
    for (int y = from; y < to; y++) {
        const uint8_t *mask[3], *plain[3], *difference[3];
        if (!memchr(sweep->src + y * width, 1, (size_t)width))
            continue;
        for (int k = 0; k < 3; k++) {
            int64_t at = (y + k - 1) * width;
            bool inside = y + k >= 1 && y + k <= work->height;
            mask[k] = inside ? sweep->src + at : work->none;
            plain[k] = inside ? sweep->plain + at : work->none;
            difference[k] = inside ? sweep->difference + at : work->none;
        }
        work->kernels->trim(width, mask, plain, difference, line_of(work, thread),
                            sweep->dst + y * width);
    }
}

void bd_mask_trim(struct bd_mask_work *work, uint8_t *mask, const uint8_t *plain,
                  const uint8_t *difference)
{
    const uint8_t *whole = memcpy(work->rows, mask, (size_t)work->width * (size_t)work->height);
    struct sweep sweep = {
        .work = work, .dst = mask, .src = whole, .plain = plain, .difference = difference
    };
    run(&sweep, trim_strip);
}
