#include "app/summary/heat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Whole units, not floats, since sums of many frames stay exact in them: to an hour in a float,
 * a frame of 33 ms can only be added with an error of 0.4 %, and to a day with one of 12 %. */
enum { units_a_second = 10000 };

/* Columns of a row between which all its foreground lies; `to` is exclusive. */
struct span {
    int from, to;
};

struct bd_heat {
    int width, height;
    uint32_t *sums;      /* height x width: units for which each pixel was foreground */
    uint8_t *mask;       /* height x width: the last one, valid within the spans */
    struct span *spans;  /* of the rows of the last mask */
    double shown;        /* seconds of all masks added */
    int64_t shown_units; /* the same, rounded, so that errors do not add up */
};

enum bd_status bd_heat_create(struct bd_heat **heat, int width, int height)
{
    size_t pixels = (size_t)width * (size_t)height;
    struct bd_heat *self = *heat = calloc(1, sizeof *self);
    if (self) {
        self->width = width;
        self->height = height;
        self->sums = calloc(pixels, sizeof *self->sums);
        self->mask = malloc(pixels);
        self->spans = calloc((size_t)height, sizeof *self->spans);
    }
    if (self && self->sums && self->mask && self->spans)
        return BD_OK;
    bd_heat_destroy(heat);
    return bd_fail(BD_ERROR_MEMORY, "out of memory for the heat map");
}

void bd_heat_destroy(struct bd_heat **heat)
{
    struct bd_heat *self = *heat;
    if (!self)
        return;
    free(self->sums);
    free(self->mask);
    free(self->spans);
    free(self);
    *heat = NULL;
}

/* sums[i] += units where mask[i] is set; a sum that is full stays so. */
static void add_units(uint32_t *sums, const uint8_t *mask, int count, uint32_t units)
{
    for (int i = 0; i < count; i++) {
        uint32_t sum = sums[i] + (mask[i] ? units : 0);
        sums[i] = sum < sums[i] ? UINT32_MAX : sum;
    }
}

/* Adds what was in row `y` of the last mask. */
static void add_row(struct bd_heat *heat, int y, uint32_t units)
{
    const struct span span = heat->spans[y];
    size_t at = (size_t)y * (size_t)heat->width + (size_t)span.from;
    add_units(heat->sums + at, heat->mask + at, span.to - span.from, units);
}

/* Copies what is foreground in row `y` of a mask. Most rows are empty, and memchr says so. */
static void keep_row(struct bd_heat *heat, int y, const uint8_t *row)
{
    struct span *span = &heat->spans[y];
    const uint8_t *first = memchr(row, 255, (size_t)heat->width);
    *span = (struct span){ 0, 0 };
    if (!first)
        return;
    const uint8_t *last = memrchr(row, 255, (size_t)heat->width);
    span->from = (int)(first - row);
    span->to = (int)(last - row) + 1;
    memcpy(heat->mask + (size_t)y * (size_t)heat->width + span->from, first,
           (size_t)(last - first) + 1);
}

/* Counts the time in which the last mask was shown. */
static uint32_t take_units(struct bd_heat *heat, double seconds)
{
    heat->shown += seconds;
    int64_t before = heat->shown_units;
    heat->shown_units = llround(heat->shown * units_a_second);
    return (uint32_t)(heat->shown_units - before);
}

void bd_heat_add(struct bd_heat *heat, const struct bd_frame *mask, double seconds)
{
    uint32_t units = take_units(heat, seconds);
    for (int y = 0; y < heat->height; y++) {
        add_row(heat, y, units);
        keep_row(heat, y, mask->data + (int64_t)y * mask->stride);
    }
}

void bd_heat_end(struct bd_heat *heat, double seconds)
{
    uint32_t units = take_units(heat, seconds);
    for (int y = 0; y < heat->height; y++)
        add_row(heat, y, units);
}

void bd_heat_row(float *seconds, const struct bd_heat *heat, int y)
{
    const uint32_t *sums = heat->sums + (size_t)y * (size_t)heat->width;
    for (int x = 0; x < heat->width; x++)
        seconds[x] = (float)((double)sums[x] / units_a_second);
}
