#include "linalg/cpu/mask.h"

#include <stdlib.h>
#include <string.h>

/* A horizontal run of equal pixels, and its place in a union-find forest. */
struct run {
    int32_t from, to; /* columns, `to` exclusive */
    int32_t parent;   /* run of the same component; itself at the root */
    int32_t area;     /* at the root: pixels of the component */
    uint8_t border;   /* at the root: the component touches the picture's border */
};

struct bd_mask_work {
    int width, height;
    struct run *runs;   /* (width + 1) / 2 * height */
    int32_t *row_first; /* height + 1: first run of each row */
    uint16_t *sums;     /* width: column sums */
    uint8_t *rows;      /* a whole picture, so that median may work in place */
};

enum bd_status bd_mask_work_create(struct bd_mask_work **out, int width, int height)
{
    *out = NULL;
    struct bd_mask_work *work = calloc(1, sizeof *work);
    if (!work)
        goto error;
    work->width = width;
    work->height = height;
    work->runs = malloc(((size_t)width + 1) / 2 * (size_t)height * sizeof *work->runs);
    work->row_first = malloc(((size_t)height + 1) * sizeof *work->row_first);
    work->sums = malloc((size_t)width * sizeof *work->sums);
    work->rows = malloc((size_t)width * (size_t)height);
    if (!work->runs || !work->row_first || !work->sums || !work->rows)
        goto error;
    *out = work;
    return BD_OK;
error:
    bd_mask_work_destroy(&work);
    return bd_fail(BD_ERROR_MEMORY, "no memory for masks of %d x %d", width, height);
}

void bd_mask_work_destroy(struct bd_mask_work **inout)
{
    struct bd_mask_work *work = *inout;
    if (!work)
        return;
    free(work->runs);
    free(work->row_first);
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

static int32_t root(struct run *runs, int32_t i)
{
    while (runs[i].parent != i) {
        runs[i].parent = runs[runs[i].parent].parent;
        i = runs[i].parent;
    }
    return i;
}

static void join(struct run *runs, int32_t a, int32_t b)
{
    a = root(runs, a);
    b = root(runs, b);
    if (a == b)
        return;
    int32_t first = a < b ? a : b, second = a < b ? b : a;
    runs[second].parent = first;
    runs[first].area += runs[second].area;
    runs[first].border |= runs[second].border;
}

/* Joins the runs of row y with those of the row above that touch them; `reach` is 1 for
 * 8-connected components and 0 for 4-connected ones. */
static void join_rows(struct bd_mask_work *work, int y, int reach)
{
    struct run *runs = work->runs;
    int32_t a = work->row_first[y - 1], a_end = work->row_first[y];
    int32_t b = a_end, b_end = work->row_first[y + 1];
    while (a < a_end && b < b_end) {
        if (runs[a].from < runs[b].to + reach && runs[b].from < runs[a].to + reach)
            join(runs, a, b);
        if (runs[a].to < runs[b].to)
            a++;
        else
            b++;
    }
}

/* Finds the components of pixels equal to `value`. */
static void find_components(struct bd_mask_work *work, const uint8_t *mask, uint8_t value,
                            int reach)
{
    int width = work->width, height = work->height;
    int32_t count = 0;
    for (int y = 0; y < height; y++) {
        const uint8_t *row = mask + (size_t)y * (size_t)width;
        work->row_first[y] = count;
        for (int x = 0; x < width;) {
            const uint8_t *start = memchr(row + x, value, (size_t)(width - x));
            if (!start)
                break;
            int from = (int)(start - row);
            const uint8_t *stop = memchr(start, 1 - value, (size_t)(width - from));
            int to = stop ? (int)(stop - row) : width;
            work->runs[count] = (struct run){
                .from = from,
                .to = to,
                .parent = count,
                .area = to - from,
                .border = y == 0 || y == height - 1 || from == 0 || to == width,
            };
            count++;
            x = to;
        }
        work->row_first[y + 1] = count;
        if (y)
            join_rows(work, y, reach);
    }
}

/* Gives `value` to the pixels of run i, which lies in row y. */
static void paint_run(struct bd_mask_work *work, uint8_t *mask, int y, int32_t i, uint8_t value)
{
    const struct run *run = &work->runs[i];
    memset(mask + (size_t)y * (size_t)work->width + run->from, value,
           (size_t)(run->to - run->from));
}

void bd_mask_remove_small(struct bd_mask_work *work, uint8_t *mask, int least)
{
    if (least <= 1)
        return;
    find_components(work, mask, 1, 1);
    for (int y = 0; y < work->height; y++)
        for (int32_t i = work->row_first[y]; i < work->row_first[y + 1]; i++)
            if (work->runs[root(work->runs, i)].area < least)
                paint_run(work, mask, y, i, 0);
}

void bd_mask_fill_holes(struct bd_mask_work *work, uint8_t *mask, int most)
{
    if (most < 1)
        return;
    find_components(work, mask, 0, 0);
    for (int y = 0; y < work->height; y++)
        for (int32_t i = work->row_first[y]; i < work->row_first[y + 1]; i++) {
            const struct run *component = &work->runs[root(work->runs, i)];
            if (!component->border && component->area <= most)
                paint_run(work, mask, y, i, 1);
        }
}
