#include "app/upscale.h"

#include <stdlib.h>
#include <string.h>

/* How a full-size row or column lies among the small ones. */
struct place {
    int cell;  /* the small pixel it falls into */
    int first; /* of the two that are interpolated; the other is `second` */
    int second;
    int fraction; /* of `second`, 0..256 */
};

struct bd_upscaler {
    int width, height, small_width, small_height;
    struct place *columns; /* width */
    struct place *rows;    /* height */
    int *edges;     /* small_width + 1: first full-size column of each small one, then the width */
    int *row_edges; /* small_height + 1: the same of rows */
    uint8_t *local; /* threads x small_width: threshold of each cell of the small row in hand; 0:
                       not in the band */
    struct bd_pool *pool;
};

static void place_all(struct place *places, int count, int small)
{
    for (int i = 0; i < count; i++) {
        /* centres of pixels, in units of 1/(2 count) of a small pixel */
        int64_t twice = (int64_t)(2 * i + 1) * small - count;
        int64_t limit = (int64_t)(small - 1) * 2 * count;
        twice = twice < 0 ? 0 : twice > limit ? limit : twice;
        places[i].cell = (int)((int64_t)i * small / count);
        places[i].first = (int)(twice / (2 * count));
        places[i].fraction = (int)(twice % (2 * count) * 256 / (2 * count));
        places[i].second = places[i].first + 1 < small ? places[i].first + 1 : small - 1;
    }
}

static void find_edges(int *edges, const struct place *places, int count, int small)
{
    for (int i = count - 1; i >= 0; i--)
        edges[places[i].cell] = i;
    edges[small] = count;
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
    self->local = calloc((size_t)small_width * (size_t)bd_pool_threads(pool), 1);
    self->pool = pool;
    if (!self->columns || !self->rows || !self->edges || !self->row_edges || !self->local) {
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
    free(self->columns);
    free(self->rows);
    free(self->edges);
    free(self->row_edges);
    free(self->local);
    free(self);
    *upscaler = NULL;
}

/* For each cell of small row y: 0 where it and its eight neighbours agree; else half the largest
 * difference among them, but at least the threshold. Where an object's edge crosses a pixel, its
 * difference is about half of that inside the object. */
static void find_band(uint8_t *local, const struct bd_small_result *small, int y)
{
    int from = y > 0 ? y - 1 : 0, to = y + 1 < small->height ? y + 1 : y;
    int least = small->threshold < 1 ? 1 : small->threshold > 255 ? 255 : (int)small->threshold;
    for (int x = 0; x < small->width; x++) {
        int left = x > 0 ? x - 1 : 0, right = x + 1 < small->width ? x + 1 : x;
        unsigned any = 0, all = 255, most = 0;
        for (int j = from; j <= to; j++) {
            const uint8_t *mask = small->mask + (size_t)j * (size_t)small->width;
            const uint8_t *difference = small->difference + (size_t)j * (size_t)small->width;
            for (int i = left; i <= right; i++) {
                any |= mask[i];
                all &= mask[i];
                if (difference[i] > most)
                    most = difference[i];
            }
        }
        int half = (int)most / 2;
        local[x] = (uint8_t)(any == all ? 0 : half > least ? half : least);
    }
}

/* Bilinear value of a tight picture with `channels` interleaved samples. */
static int interpolate(const uint8_t *row0, const uint8_t *row1, const struct place *x,
                       int fraction_y, int channels, int channel)
{
    int i = x->first * channels + channel, j = x->second * channels + channel;
    int top = row0[i] * (256 - x->fraction) + row0[j] * x->fraction;
    int bottom = row1[i] * (256 - x->fraction) + row1[j] * x->fraction;
    return (top * (256 - fraction_y) + bottom * fraction_y + (1 << 15)) >> 16;
}

/* Is the full-size pixel (x, y) foreground? `pixel` is its value in the input. */
static uint8_t decide(const struct bd_small_result *small, const struct place *x,
                      const struct place *y, const uint8_t *pixel, int samples, int threshold)
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
    for (int c = 0; c < small->channels; c++) {
        int value = pixel[c];
        if (samples > small->channels) /* colour input, separated by brightness */
            value = (pixel[0] * 77 + pixel[1] * 150 + pixel[2] * 29) >> 8;
        int d = abs(value - interpolate(row0, row1, x, y->fraction, small->channels, c));
        if (d > difference)
            difference = d;
    }
    /* The smooth mask is a prior: even odds where it is a half, certainty at 0 and 255. */
    return difference * smooth >= threshold * (255 - smooth) ? 255 : 0;
}

/* A loop over the small rows. */
struct enlargement {
    const struct bd_upscaler *upscaler;
    struct bd_frame *mask;
    const struct bd_frame *input;
    const struct bd_small_result *small;
};

/* The full-size rows of small row `cell`. */
static void enlarge_row(void *arg, int64_t cell, int thread)
{
    const struct enlargement *all = arg;
    const struct bd_upscaler *self = all->upscaler;
    uint8_t *local = self->local + (size_t)thread * (size_t)self->small_width;
    const uint8_t *small_row = all->small->mask + (size_t)cell * (size_t)self->small_width;
    int samples = (int)all->input->format;
    find_band(local, all->small, (int)cell);
    for (int y = self->row_edges[cell]; y < self->row_edges[cell + 1]; y++) {
        const uint8_t *in = all->input->data + (int64_t)y * all->input->stride;
        uint8_t *out = all->mask->data + (int64_t)y * all->mask->stride;
        for (int i = 0; i < self->small_width; i++) {
            int from = self->edges[i], to = self->edges[i + 1];
            if (!local[i])
                memset(out + from, small_row[i], (size_t)(to - from));
            for (int x = from; local[i] && x < to; x++)
                out[x] = decide(all->small, &self->columns[x], &self->rows[y],
                                in + (size_t)x * (size_t)samples, samples, local[i]);
        }
    }
}

void bd_upscale_mask(struct bd_upscaler *upscaler, struct bd_frame *mask,
                     const struct bd_frame *input, const struct bd_small_result *small)
{
    struct enlargement all = { upscaler, mask, input, small };
    bd_pool_run(upscaler->pool, enlarge_row, &all, upscaler->small_height);
}
