#include <stdlib.h>
#include <string.h>

#include "linalg/shared/cpu.h"
#include "separation/cpu/mask_work.h"
#include "separation/shared/mask.h"
#include "separation/shared/recurrence.h"

enum {
    most_side = 15,
    most_rows = 32, /* of an item of the parallel loops: whole cells (recurrence.h) */
    columns = 128   /* of an item of those along columns */
};

/* Rows of an item: so few that each thread has four items, or those of a cell: some take longer
 * than others. */
static int choose_rows(int height, int threads)
{
    const int cell = 1 << bd_recurrence_cell_power(height);
    int rows = most_rows;
    while (rows > cell && height < 4 * threads * rows)
        rows /= 2;
    return rows;
}

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
    size_t threads = (size_t)bd_pool_threads(pool), runs = bd_components_most(width, height);
    work->pool = pool;
    work->kernels = bd_separation_kernels()->exact;
    work->width = width;
    work->height = height;
    work->rows = choose_rows(height, (int)threads);
    work->lines = malloc(threads * line_bytes(work));
    work->down = malloc((size_t)width * sizeof *work->down);
    const size_t rows = threads * bd_mask_sum_rows;
    work->sums = bd_cpu_alloc(rows * bd_mask_blocks(width) * sizeof *work->sums);
    work->sums_used = calloc(rows * bd_mask_block_words(width), sizeof *work->sums_used);
    work->sum = bd_cpu_alloc(threads * 4 * bd_mask_sum_pitch(width) * sizeof *work->sum);
    work->picture = malloc((size_t)width * (size_t)height);
    work->none = calloc((size_t)width, 1);
    work->objects = malloc(runs * sizeof *work->objects);
    work->contrasts = malloc(runs * sizeof *work->contrasts);
    work->mirrored = malloc(bd_mirror_most_objects(width, height) * sizeof *work->mirrored);
    work->lasted = malloc(runs);
    enum bd_status status = bd_components_create(&work->components, width, height);
    if (status == BD_OK && (!work->lines || !work->down || !work->sums || !work->sums_used ||
                            !work->sum || !work->picture || !work->none || !work->objects ||
                            !work->contrasts || !work->mirrored || !work->lasted))
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
    free(work->down);
    free(work->sums);
    free(work->sums_used);
    free(work->sum);
    free(work->picture);
    free(work->none);
    free(work->objects);
    free(work->contrasts);
    free(work->mirrored);
    free(work->lasted);
    free(work);
    *inout = NULL;
}

struct sweep {
    struct bd_mask_work *work;
    uint8_t *dst;
    const uint8_t *src;
    const uint8_t *less;               /* of leaving out */
    const uint8_t *plain, *difference; /* of trim */
    int reach;                         /* the median's side, or the radius */
};

void bd_mask_run(struct bd_mask_work *work, bd_pool_fn *strip_fn, void *arg)
{
    bd_pool_run(work->pool, strip_fn, arg, (work->height + work->rows - 1) / work->rows);
}

int bd_mask_strip(const struct bd_mask_work *work, int64_t item, int *to)
{
    int from = (int)item * work->rows;
    *to = from + work->rows < work->height ? from + work->rows : work->height;
    return from;
}

uint8_t *bd_mask_line(const struct bd_mask_work *work, int thread)
{
    return work->lines + (size_t)thread * line_bytes(work);
}

static int clamped(int i, int count)
{
    return i < 0 ? 0 : i >= count ? count - 1 : i;
}

static void leave_out_strip(void *arg, int64_t item, int thread)
{
    (void)thread;
    const struct sweep *sweep = arg;
    const struct bd_mask_work *work = sweep->work;
    int to, from = bd_mask_strip(work, item, &to);
    const int64_t first = (int64_t)from * work->width, count = (int64_t)(to - from) * work->width;
    const uint8_t *restrict all = sweep->src + first, *restrict less = sweep->less + first;
    uint8_t *restrict rest = sweep->dst + first;
    for (int64_t p = 0; p < count; p++)
        rest[p] = (uint8_t)(all[p] & ~less[p]);
}

void bd_mask_leave_out(struct bd_mask_work *work, uint8_t *rest, const uint8_t *all,
                       const uint8_t *less)
{
    struct sweep sweep = { .work = work, .dst = rest, .src = all, .less = less };
    bd_mask_run(work, leave_out_strip, &sweep);
}

static void median_strip(void *arg, int64_t item, int thread)
{
    const struct sweep *sweep = arg;
    const struct bd_mask_work *work = sweep->work;
    int side = sweep->reach, to, from = bd_mask_strip(work, item, &to);
    int64_t width = work->width;
    for (int y = from; y < to; y++) {
        const uint8_t *rows[most_side];
        for (int k = 0; k < side; k++)
            rows[k] = sweep->src + clamped(y + k - side / 2, work->height) * width;
        work->kernels->median(width, rows, side, bd_mask_line(work, thread),
                              sweep->dst + y * width);
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
        src = memcpy(work->picture, src, size);
    struct sweep sweep = { .work = work, .dst = dst, .src = src, .reach = side };
    bd_mask_run(work, median_strip, &sweep);
}

/* Along rows, into work->picture. */
static void spread_strip(void *arg, int64_t item, int thread)
{
    const struct sweep *sweep = arg;
    const struct bd_mask_work *work = sweep->work;
    int to, from = bd_mask_strip(work, item, &to);
    int64_t width = work->width, radius = clamped(sweep->reach, work->width);
    for (int y = from; y < to; y++) {
        const uint8_t *row = sweep->src + y * width;
        if (memchr(row, 1, (size_t)width))
            work->kernels->spread(width, row, radius, bd_mask_line(work, thread),
                                  work->picture + y * width);
        else
            memset(work->picture + y * width, 0, (size_t)width);
    }
}

static void join_row(uint8_t *restrict all, const uint8_t *restrict row, int64_t count)
{
    for (int64_t x = 0; x < count; x++)
        all[x] |= row[x];
}

/* Along some columns of work->picture. Rows are in segments as long as a window, which is therefore
 * the end of one segment and the beginning of the next: a row joins the rows from it to the end of
 * its segment, and those from the beginning, whatever the radius (van Herk 1992; Gil and Werman
 * 1993). The first segment begins `radius` rows above the picture. */
static void spread_columns(void *arg, int64_t item, int thread)
{
    (void)thread;
    const struct sweep *sweep = arg;
    const struct bd_mask_work *work = sweep->work;
    const int width = work->width, height = work->height;
    const int64_t first = item * columns, count = width - first < columns ? width - first : columns;
    const int radius = clamped(sweep->reach, height), window = 2 * radius + 1;
    uint8_t all[columns] = { 0 };
    for (int start = -radius; start < height - radius; start += window) {
        memset(all, 0, sizeof all);
        for (int y = start + window - 1; y >= start; y--) {
            if (y >= 0 && y < height)
                join_row(all, work->picture + (int64_t)y * width + first, count);
            if (y + radius < height)
                memcpy(sweep->dst + (int64_t)(y + radius) * width + first, all, (size_t)count);
        }
    }
    for (int y = -radius; y < height + radius; y++) {
        if ((y + radius) % window == 0)
            memset(all, 0, sizeof all);
        if (y >= 0 && y < height)
            join_row(all, work->picture + (int64_t)y * width + first, count);
        if (y >= radius)
            join_row(sweep->dst + (int64_t)(y - radius) * width + first, all, count);
    }
}

void bd_mask_dilate(struct bd_mask_work *work, uint8_t *dst, const uint8_t *src, int radius)
{
    struct sweep sweep = { .work = work, .dst = dst, .src = src, .reach = radius };
    bd_mask_run(work, spread_strip, &sweep);
    bd_pool_run(work->pool, spread_columns, &sweep, (work->width + columns - 1) / columns);
}

void bd_mask_paint_run(const struct bd_mask_work *work, uint8_t *mask, const struct bd_run *run,
                       uint8_t value)
{
    memset(mask + (int64_t)run->y * work->width + run->from, value, (size_t)(run->to - run->from));
}

/* work->lasted of the roots, and `lasting`, with the components of `least` pixels or more that have
 * been found. */
static void follow_components(struct bd_mask_work *work, uint8_t *lasting, int least)
{
    struct bd_components *found = &work->components;
    memset(work->lasted, 0, (size_t)found->count);
    for (int32_t i = 0; i < found->count; i++) {
        const struct bd_run *run = &found->runs[i];
        const uint8_t *row = lasting + (int64_t)run->y * work->width;
        uint8_t *lasted = &work->lasted[bd_components_root(found, i)];
        for (int32_t x = run->from; x < run->to; x++)
            *lasted = row[x] > *lasted ? row[x] : *lasted;
    }
    memset(lasting, 0, (size_t)work->width * (size_t)work->height);
    for (int32_t i = 0; i < found->count; i++) {
        const int32_t root = bd_components_root(found, i);
        if (found->runs[root].area < least)
            continue;
        if (root == i && work->lasted[i] < bd_mask_lasting)
            work->lasted[i]++;
        bd_mask_paint_run(work, lasting, &found->runs[i], work->lasted[root]);
    }
}

void bd_mask_remove_small(struct bd_mask_work *work, uint8_t *mask, uint8_t *lasting, int frames,
                          int least)
{
    struct bd_components *found = &work->components;
    if (least <= 1)
        return;
    bd_components_find(found, mask, work->width, 1, 0, true);
    if (frames)
        follow_components(work, lasting, least);
    for (int32_t i = 0; i < found->count; i++) {
        const int32_t root = bd_components_root(found, i), area = found->runs[root].area;
        if (area < least || (frames && bd_mask_passes(area, least, work->lasted[root], frames)))
            bd_mask_paint_run(work, mask, &found->runs[i], 0);
    }
}

void bd_mask_fill_holes(struct bd_mask_work *work, uint8_t *mask, int most)
{
    struct bd_components *found = &work->components;
    if (most < 1)
        return;
    bd_components_find(found, mask, work->width, 0, 1, false);
    for (int32_t i = 0; i < found->count; i++) {
        const struct bd_run *component = &found->runs[bd_components_root(found, i)];
        bool border = component->left == 0 || component->right == work->width - 1 ||
                      component->y == 0 || component->bottom == work->height - 1;
        if (!border && component->area <= most)
            bd_mask_paint_run(work, mask, &found->runs[i], 1);
    }
}

static void trim_strip(void *arg, int64_t item, int thread)
{
    const struct sweep *sweep = arg;
    const struct bd_mask_work *work = sweep->work;
    int to, from = bd_mask_strip(work, item, &to);
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
        work->kernels->trim(width, mask, plain, difference, bd_mask_line(work, thread),
                            sweep->dst + y * width);
    }
}

void bd_mask_trim(struct bd_mask_work *work, uint8_t *mask, const uint8_t *plain,
                  const uint8_t *difference)
{
    const uint8_t *whole = memcpy(work->picture, mask, (size_t)work->width * (size_t)work->height);
    struct sweep sweep = {
        .work = work, .dst = mask, .src = whole, .plain = plain, .difference = difference
    };
    bd_mask_run(work, trim_strip, &sweep);
}
