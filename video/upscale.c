#include "video/upscale.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "video/device.h"
#include "video/yuv.h"

struct bd_upscaler {
    int width, height, small_width, small_height;
    struct bd_place *columns; /* width */
    struct bd_place *rows;    /* height */
    int *edges;     /* small_width + 1: first full-size column of each small one, then the width */
    int *row_edges; /* small_height + 1: the same of rows */
    struct bd_pool *pool;
    struct scratch *scratch;   /* one a thread */
    struct bd_device_user gpu; /* for pictures that are in the memory of one */
};

/* Memory of a thread, for the small row that it works on. */
struct scratch {
    uint8_t *memory; /* of all below but the runs */
    uint8_t *local;  /* small_width: threshold of each cell; 0: not in the band */
    /* Of each cell and those above and below it: OR and AND of the masks, and the largest
     * difference. small_width values, and one more at either end. */
    uint8_t *any, *all, *most;
    uint8_t *line; /* width: the small mask's row, enlarged */
    int *runs;     /* small_width + 1: first cell of a run in the band, first after it, and so on */
};

struct bd_place bd_upscale_place(int i, int count, int small)
{
    /* centres of pixels, in units of 1/(2 count) of a small pixel */
    int64_t twice = (int64_t)(2 * i + 1) * small - count;
    int64_t limit = (int64_t)(small - 1) * 2 * count;
    twice = twice < 0 ? 0 : twice > limit ? limit : twice;
    int first = (int)(twice / (2 * count));
    return (struct bd_place){ .cell = (int)((int64_t)i * small / count),
                              .first = first,
                              .second = first + 1 < small ? first + 1 : small - 1,
                              .fraction = (int)(twice % (2 * count) * 256 / (2 * count)) };
}

static void place_all(struct bd_place *places, int count, int small)
{
    for (int i = 0; i < count; i++)
        places[i] = bd_upscale_place(i, count, small);
}

static void find_edges(int *edges, const struct bd_place *places, int count, int small)
{
    for (int i = count - 1; i >= 0; i--)
        edges[places[i].cell] = i;
    edges[small] = count;
}

static bool create_scratch(struct scratch *scratch, int width, int small_width)
{
    size_t cells = (size_t)small_width, padded = cells + 2;
    scratch->memory = calloc(cells + 3 * padded + (size_t)width, 1);
    scratch->runs = calloc(cells + 1, sizeof *scratch->runs);
    if (!scratch->memory || !scratch->runs)
        return false;
    scratch->local = scratch->memory;
    scratch->any = scratch->local + cells + 1;
    scratch->all = scratch->any + padded;
    scratch->most = scratch->all + padded;
    scratch->line = scratch->local + cells + 3 * padded;
    return true;
}

enum bd_status bd_upscaler_create(struct bd_upscaler **upscaler, struct bd_pool *pool, int width,
                                  int height, int small_width, int small_height)
{
    struct bd_upscaler *self = calloc(1, sizeof *self);
    *upscaler = NULL;
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for enlarging masks");
    self->width = width;
    self->height = height;
    self->small_width = small_width;
    self->small_height = small_height;
    self->columns = calloc((size_t)width, sizeof *self->columns);
    self->rows = calloc((size_t)height, sizeof *self->rows);
    self->edges = calloc((size_t)small_width + 1, sizeof *self->edges);
    self->row_edges = calloc((size_t)small_height + 1, sizeof *self->row_edges);
    self->pool = pool;
    self->scratch = calloc((size_t)bd_pool_threads(pool), sizeof *self->scratch);
    bool enough = self->columns && self->rows && self->edges && self->row_edges && self->scratch;
    for (int i = 0; enough && i < bd_pool_threads(pool); i++)
        enough = create_scratch(&self->scratch[i], width, small_width);
    if (!enough) {
        bd_upscaler_destroy(&self);
        return bd_fail(BD_ERROR_MEMORY, "out of memory for enlarging masks to %dx%d", width,
                       height);
    }
    place_all(self->columns, width, small_width);
    place_all(self->rows, height, small_height);
    find_edges(self->edges, self->columns, width, small_width);
    find_edges(self->row_edges, self->rows, height, small_height);
    *upscaler = self;
    return BD_OK;
}

void bd_upscaler_destroy(struct bd_upscaler **upscaler)
{
    struct bd_upscaler *self = *upscaler;
    if (!self)
        return;
    bd_device_leave(&self->gpu);
    for (int i = 0; self->scratch && i < bd_pool_threads(self->pool); i++) {
        free(self->scratch[i].memory);
        free(self->scratch[i].runs);
    }
    free(self->scratch);
    free(self->columns);
    free(self->rows);
    free(self->edges);
    free(self->row_edges);
    free(self);
    *upscaler = NULL;
}

/* Adds a row of the small result to the three columns. There are no branches, so that the compiler
 * vectorises the loop, here and in find_thresholds. */
static void gather(uint8_t *restrict any, uint8_t *restrict all, uint8_t *restrict most,
                   const uint8_t *restrict mask, const uint8_t *restrict difference, int count)
{
    for (int x = 0; x < count; x++) {
        any[x] |= mask[x];
        all[x] &= mask[x];
        most[x] = difference[x] > most[x] ? difference[x] : most[x];
    }
}

/* Combines columns of three cells to squares of nine. `least` >= 1. */
static void find_thresholds(uint8_t *restrict local, const uint8_t *restrict any,
                            const uint8_t *restrict all, const uint8_t *restrict most,
                            uint8_t least, int count)
{
    for (int x = 0; x < count; x++) {
        uint8_t one = any[x - 1] | any[x] | any[x + 1];
        uint8_t each = all[x - 1] & all[x] & all[x + 1];
        uint8_t top = most[x - 1] > most[x] ? most[x - 1] : most[x];
        top = most[x + 1] > top ? most[x + 1] : top;
        uint8_t half = top / 2 > least ? top / 2 : least;
        local[x] = one == each ? 0 : half;
    }
}

/* For each cell of small row y: 0 where it and its eight neighbours agree; else half the largest
 * difference among them, but at least the threshold. Where an object's edge crosses a pixel, its
 * difference is about half of that inside the object. */
static void find_band(struct scratch *scratch, const struct bd_small_result *small, int y)
{
    int width = small->width;
    int from = y > 0 ? y - 1 : 0, to = y + 1 < small->height ? y + 1 : y;
    int least = small->threshold < 1 ? 1 : small->threshold > 255 ? 255 : (int)small->threshold;
    memset(scratch->any, 0, (size_t)width);
    memset(scratch->all, 255, (size_t)width);
    memset(scratch->most, 0, (size_t)width);
    for (int j = from; j <= to; j++)
        gather(scratch->any, scratch->all, scratch->most, small->mask + (size_t)j * (size_t)width,
               small->difference + (size_t)j * (size_t)width, width);
    /* neutral values beyond the ends */
    scratch->any[-1] = scratch->any[width] = 0;
    scratch->all[-1] = scratch->all[width] = 255;
    scratch->most[-1] = scratch->most[width] = 0;
    find_thresholds(scratch->local, scratch->any, scratch->all, scratch->most, (uint8_t)least,
                    width);
}

/* The first of `count` bytes from `at` on that is not `value`; `count` if there is none. */
static int run_end(const uint8_t *bytes, int at, int count, uint8_t value)
{
    uint64_t eight, same = value * UINT64_C(0x0101010101010101);
    while (at + 8 <= count && memcpy(&eight, bytes + at, 8) && eight == same)
        at += 8;
    while (at < count && bytes[at] == value)
        at++;
    return at;
}

/* Lists the runs of cells in the band; returns the number of entries of `runs`. */
static int list_runs(struct scratch *scratch, int count)
{
    int numbers = 0;
    for (int x = 0; (x = run_end(scratch->local, x, count, 0)) < count;) {
        scratch->runs[numbers++] = x;
        while (x < count && scratch->local[x])
            x++;
        scratch->runs[numbers++] = x;
    }
    return numbers;
}

/* Enlarges a row of the small mask to full width. */
static void widen(const struct bd_upscaler *self, uint8_t *line, const uint8_t *small_row)
{
    for (int i = 0, end; i < self->small_width; i = end) {
        end = run_end(small_row, i, self->small_width, small_row[i]);
        memset(line + self->edges[i], small_row[i], (size_t)(self->edges[end] - self->edges[i]));
    }
}

/* Bilinear value of a tight picture with `channels` interleaved samples. */
static int interpolate(const uint8_t *row0, const uint8_t *row1, const struct bd_place *x,
                       int fraction_y, int channels, int channel)
{
    int i = x->first * channels + channel, j = x->second * channels + channel;
    int top = row0[i] * (256 - x->fraction) + row0[j] * x->fraction;
    int bottom = row1[i] * (256 - x->fraction) + row1[j] * x->fraction;
    return (top * (256 - fraction_y) + bottom * fraction_y + (1 << 15)) >> 16;
}

/* Pixel (x, y) of the input, gray or RGB. */
static void take_pixel(const struct bd_frame *input, int x, int y, int channels, uint8_t *pixel)
{
    const int samples = (int)input->format;
    if (input->yuv) {
        bd_yuv_pixel(input->yuv, x, y, channels, pixel);
        return;
    }
    const uint8_t *in = input->data + y * input->stride + (int64_t)x * samples;
    if (samples > channels) /* colour input, separated by brightness */
        pixel[0] = (uint8_t)((in[0] * 77 + in[1] * 150 + in[2] * 29) >> 8);
    else
        memcpy(pixel, in, (size_t)channels);
}

/* Is the full-size pixel in column `column` of row `row` foreground? */
static uint8_t decide(const struct bd_small_result *small, const struct bd_frame *input,
                      const struct bd_place *x, const struct bd_place *y, int column, int row,
                      int threshold)
{
    size_t tight = (size_t)small->width;
    const uint8_t *mask0 = small->mask + (size_t)y->first * tight;
    const uint8_t *mask1 = small->mask + (size_t)y->second * tight;
    int smooth = interpolate(mask0, mask1, x, y->fraction, 1, 0);
    if (smooth == 0 || smooth == 255)
        return (uint8_t)smooth;
    const uint8_t *row0 = small->background + (size_t)y->first * tight * (size_t)small->channels;
    const uint8_t *row1 = small->background + (size_t)y->second * tight * (size_t)small->channels;
    int difference = 0;
    uint8_t pixel[3] = { 0 };
    take_pixel(input, column, row, small->channels, pixel);
    for (int c = 0; c < small->channels; c++) {
        int d = abs(pixel[c] - interpolate(row0, row1, x, y->fraction, small->channels, c));
        if (d > difference)
            difference = d;
    }
    /* The smooth mask is a prior: even odds at one half, certainty at 0 and 255. */
    return difference * smooth >= threshold * (255 - smooth) ? 255 : 0;
}

/* A loop over the small rows. */
struct enlargement {
    const struct bd_upscaler *upscaler;
    struct bd_frame *mask;
    const struct bd_frame *input;
    const struct bd_small_result *small;
};

/* The full-size pixels of row y in the cells from `first` to before `end`, which are in the band.
 */
static void decide_run(const struct enlargement *all, const uint8_t *local, int y, int first,
                       int end)
{
    const struct bd_upscaler *self = all->upscaler;
    uint8_t *out = all->mask->data + (int64_t)y * all->mask->stride;
    for (int i = first; i < end; i++)
        for (int x = self->edges[i]; x < self->edges[i + 1]; x++)
            out[x] =
                decide(all->small, all->input, &self->columns[x], &self->rows[y], x, y, local[i]);
}

/* The full-size rows of small row `cell`. */
static void enlarge_row(void *arg, int64_t cell, int thread)
{
    const struct enlargement *all = arg;
    const struct bd_upscaler *self = all->upscaler;
    struct scratch *scratch = &self->scratch[thread];
    find_band(scratch, all->small, (int)cell);
    widen(self, scratch->line, all->small->mask + (size_t)cell * (size_t)self->small_width);
    int numbers = list_runs(scratch, self->small_width);
    for (int y = self->row_edges[cell]; y < self->row_edges[cell + 1]; y++) {
        memcpy(all->mask->data + (int64_t)y * all->mask->stride, scratch->line,
               (size_t)self->width);
        for (int k = 0; k < numbers; k += 2)
            decide_run(all, scratch->local, y, scratch->runs[k], scratch->runs[k + 1]);
    }
}

enum bd_status bd_upscale_mask(struct bd_upscaler *upscaler, struct bd_frame *mask,
                               const struct bd_frame *input, const struct bd_small_result *small)
{
    struct enlargement all = { upscaler, mask, input, small };
    struct bd_device *device = input->yuv ? input->yuv->device : NULL;
    enum bd_status status = BD_ERROR_MEMORY;
    if (device)
        status = device->ops->enlarge(device, bd_device_enter(&upscaler->gpu, device), mask,
                                      input->yuv, small);
    if (status != BD_ERROR_MEMORY)
        return status;
    /* Without a GPU, or where it has no memory left, on the host. */
    status = device ? bd_yuv_fetch(input->yuv) : BD_OK;
    if (status == BD_OK)
        bd_pool_run(upscaler->pool, enlarge_row, &all, upscaler->small_height);
    return status;
}
