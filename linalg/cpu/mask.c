#include "linalg/cpu/mask.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/cpu/components.h"
#include "linalg/separator_ops.h"

struct bd_mask_work {
    int width, height;
    struct bd_components components;
    uint16_t *sums; /* width: column sums */
    uint8_t *rows;  /* a whole picture, so that median may work in place */
};

enum bd_status bd_mask_work_create(struct bd_mask_work **out, int width, int height)
{
    *out = NULL;
    struct bd_mask_work *work = calloc(1, sizeof *work);
    if (!work)
        return bd_fail(BD_ERROR_MEMORY, "no memory for masks of %d x %d", width, height);
    work->width = width;
    work->height = height;
    work->sums = malloc((size_t)width * sizeof *work->sums);
    work->rows = malloc((size_t)width * (size_t)height);
    enum bd_status status = bd_components_create(&work->components, width, height);
    if (status == BD_OK && (!work->sums || !work->rows))
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
    free(work->sums);
    free(work->rows);
    free(work);
    *inout = NULL;
}

static int clamped(int i, int count)
{
    return i < 0 ? 0 : i >= count ? count - 1 : i;
}

static void add_row(uint16_t *sums, const uint8_t *add, const uint8_t *remove, int width)
{
    for (int x = 0; x < width; x++)
        sums[x] = (uint16_t)(sums[x] + add[x] - remove[x]);
}

void bd_mask_median(struct bd_mask_work *work, uint8_t *dst, const uint8_t *src, int side)
{
    int width = work->width, height = work->height, half = side / 2;
    size_t size = (size_t)width * (size_t)height;
    if (side <= 1) {
        if (dst != src)
            memcpy(dst, src, size);
        return;
    }
    uint16_t *sums = work->sums;
    memset(sums, 0, (size_t)width * sizeof *sums);
    for (int dy = -half; dy <= half; dy++)
        for (int x = 0; x < width; x++)
            sums[x] = (uint16_t)(sums[x] + src[(size_t)clamped(dy, height) * (size_t)width + x]);
    for (int y = 0; y < height; y++) {
        uint8_t *row = work->rows + (size_t)y * (size_t)width;
        int sum = 0, least = side * side / 2 + 1;
        for (int dx = -half; dx <= half; dx++)
            sum += sums[clamped(dx, width)];
        for (int x = 0; x < width; x++) {
            row[x] = sum >= least;
            sum += sums[clamped(x + half + 1, width)] - sums[clamped(x - half, width)];
        }
        add_row(sums, src + (size_t)clamped(y + half + 1, height) * (size_t)width,
                src + (size_t)clamped(y - half, height) * (size_t)width, width);
    }
    memcpy(dst, work->rows, size);
}

void bd_mask_dilate(struct bd_mask_work *work, uint8_t *dst, const uint8_t *src, int radius)
{
    int width = work->width, height = work->height;
    uint16_t *sums = work->sums;
    /* Along rows: how far back the last set pixel was, looked at `radius` pixels ahead. */
    for (int y = 0; y < height; y++) {
        const uint8_t *in = src + (size_t)y * (size_t)width;
        uint8_t *out = work->rows + (size_t)y * (size_t)width;
        int last = -2 * radius - 2;
        for (int x = 0; x < radius && x < width; x++)
            if (in[x])
                last = x;
        for (int x = 0; x < width; x++) {
            if (x + radius < width && in[x + radius])
                last = x + radius;
            out[x] = last >= x - radius;
        }
    }
    /* Along columns: how many rows of the 2 radius + 1 around are set. */
    memset(sums, 0, (size_t)width * sizeof *sums);
    for (int y = 0; y < radius && y < height; y++)
        for (int x = 0; x < width; x++)
            sums[x] = (uint16_t)(sums[x] + work->rows[(size_t)y * (size_t)width + x]);
    for (int y = 0; y < height; y++) {
        uint8_t *out = dst + (size_t)y * (size_t)width;
        if (y + radius < height) {
            const uint8_t *in = work->rows + (size_t)(y + radius) * (size_t)width;
            for (int x = 0; x < width; x++)
                sums[x] = (uint16_t)(sums[x] + in[x]);
        }
        for (int x = 0; x < width; x++)
            out[x] = sums[x] > 0;
        if (y >= radius) {
            const uint8_t *in = work->rows + (size_t)(y - radius) * (size_t)width;
            for (int x = 0; x < width; x++)
                sums[x] = (uint16_t)(sums[x] - in[x]);
        }
    }
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
    bd_components_find(found, mask, 1, true);
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
    bd_components_find(found, mask, 0, false);
    for (int y = 0; y < work->height; y++)
        for (int32_t i = found->row_first[y]; i < found->row_first[y + 1]; i++) {
            const struct bd_run *component = &found->runs[bd_components_root(found, i)];
            if (!component->border && component->area <= most)
                paint_run(work, mask, y, i, 1);
        }
}

/* Whether pixel (x, y) of `mask` goes. */
static bool is_mostly_background(const struct bd_mask_work *work, const uint8_t *mask,
                                 const uint8_t *plain, const uint8_t *difference, int x, int y)
{
    int largest = 0;
    bool touches = false;
    for (int v = y > 0 ? y - 1 : 0; v <= y + 1 && v < work->height; v++)
        for (int u = x > 0 ? x - 1 : 0; u <= x + 1 && u < work->width; u++) {
            size_t i = (size_t)v * (size_t)work->width + (size_t)u;
            touches |= plain[i] && !mask[i];
            largest = difference[i] > largest ? difference[i] : largest;
        }
    return touches && bd_sep_trim_of * difference[(size_t)y * (size_t)work->width + (size_t)x] <
                          bd_sep_trim_part * largest;
}

void bd_mask_trim(struct bd_mask_work *work, uint8_t *mask, const uint8_t *plain,
                  const uint8_t *difference)
{
    size_t width = (size_t)work->width, size = width * (size_t)work->height;
    uint8_t *trimmed = work->rows;
    memcpy(trimmed, mask, size);
    const uint8_t *at = mask;
    for (; (at = memchr(at, 1, size - (size_t)(at - mask))); at++) {
        size_t i = (size_t)(at - mask);
        if (is_mostly_background(work, mask, plain, difference, (int)(i % width), (int)(i / width)))
            trimmed[i] = 0;
    }
    memcpy(mask, trimmed, size);
}
