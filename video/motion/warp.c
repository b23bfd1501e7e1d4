#include "video/motion/warp.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"

/* Weights of neighbouring pixels add up to `whole`, which is the largest that a 16-bit factor can
 * be a power of two and still leave room for weights above 1. Places are rounded to a `steps`-th of
 * a pixel. */
enum { taps = 4, whole = 1 << 14, step_bits = 6, steps = 1 << step_bits };

/* A row as a whole is rounded to so many steps, so that the next ones often have the same weights:
 * making them for each row took four fifths of the time. */
enum { row_steps = 4 };

/* The largest turn and grow is 1 / most_slope. */
enum { most_slope = 16 };

/* Fractions of a slope. */
enum { slope_bits = 26 };

/* Pixels from..to-1 of a row are made of those `first`, first + 1, .. after their own places. */
struct run {
    int from, to, first;
};

/* How far the pixels of a row are from their places in one direction: `start` steps plus `slope`
 * (2^-slope_bits of a step a pixel). It is made again only if these change, which for small angles
 * they do once in several rows. */
struct line {
    bool made, linear;
    int channels, start;
    int64_t slope;
    int16_t *weights[taps]; /* one for each sample */
    struct run *runs;
    int count;
};

/* Memory for a band of rows of the output, which one thread makes. */
struct band {
    int16_t *row;  /* a row of the output before its pixels are moved along it, replicated by twice
                      the width of the picture to either side */
    int16_t *wide; /* the last `slots` rows of the input that were used, and their numbers */
    int *number;
    struct line across, down;
};

struct bd_warper {
    int width, height, channels, slots, most_slots;
    int16_t cubic[steps][taps], linear[steps][taps];
    struct bd_pool *pool;
    struct band *bands; /* one a thread */
};

/* Catmull-Rom at t of 0..1 between the second and the third of four pixels. */
static void cubic_weights(double t, int16_t weights[taps])
{
    double exact[taps] = { ((-t + 2) * t - 1) * t / 2, ((3 * t - 5) * t * t + 2) / 2,
                           ((-3 * t + 4) * t + 1) * t / 2, (t - 1) * t * t / 2 };
    int sum = 0;
    for (int i = 0; i < taps; i++) {
        weights[i] = (int16_t)lround(exact[i] * whole);
        sum += weights[i];
    }
    weights[t < 0.5 ? 1 : 2] += (int16_t)(whole - sum);
}

static bool create_line(struct line *line, int width, int64_t samples)
{
    line->runs = malloc((size_t)width * sizeof *line->runs);
    line->weights[0] = malloc((size_t)(taps * samples) * sizeof *line->weights[0]);
    for (int i = 1; i < taps && line->weights[0]; i++)
        line->weights[i] = line->weights[0] + i * samples;
    return line->runs && line->weights[0];
}

static bool create_band(const struct bd_warper *warper, struct band *band)
{
    size_t width = (size_t)warper->width, channels = (size_t)warper->channels;
    size_t samples = width * channels, slots = (size_t)warper->most_slots;
    band->row = calloc(5 * samples + 2 * (size_t)taps * channels, sizeof *band->row);
    band->wide = malloc(slots * samples * sizeof *band->wide);
    band->number = malloc(slots * sizeof *band->number);
    bool lines = create_line(&band->across, warper->width, (int64_t)samples);
    lines = create_line(&band->down, warper->width, (int64_t)samples) && lines;
    return band->row && band->wide && band->number && lines;
}

enum bd_status bd_warper_create(struct bd_warper **warper, int width, int height, int channels,
                                int threads)
{
    *warper = NULL;
    if (width < 1 || height < 1 || channels < 1 || channels > 4)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "warper: %d x %d, %d channels: sides and channels start "
                       "at 1, channels end at 4",
                       width, height, channels);
    struct bd_warper *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for a warper");
    self->width = width;
    self->height = height;
    self->channels = channels;
    self->most_slots = width / (most_slope - 1) + taps + 2;
    enum bd_status status = bd_pool_create(&self->pool, threads);
    if (!status)
        self->bands = calloc((size_t)threads, sizeof *self->bands);
    bool enough = self->bands;
    for (int i = 0; enough && i < threads; i++)
        enough = create_band(self, &self->bands[i]);
    if (!enough) {
        bd_warper_destroy(&self);
        return bd_fail(BD_ERROR_MEMORY, "out of memory for a warper");
    }
    for (int i = 0; i < steps; i++) {
        cubic_weights((double)i / steps, self->cubic[i]);
        self->linear[i][1] = (int16_t)(whole / steps * (steps - i));
        self->linear[i][2] = (int16_t)(whole / steps * i);
    }
    *warper = self;
    return BD_OK;
}

void bd_warper_destroy(struct bd_warper **warper)
{
    struct bd_warper *self = *warper;
    if (!self)
        return;
    for (int i = 0; self->bands && i < bd_pool_threads(self->pool); i++) {
        struct band *band = &self->bands[i];
        free(band->row);
        free(band->wide);
        free(band->number);
        free(band->across.runs);
        free(band->across.weights[0]);
        free(band->down.runs);
        free(band->down.weights[0]);
    }
    free(self->bands);
    bd_pool_destroy(&self->pool);
    free(self);
    *warper = NULL;
}

static int clamp(int value, int low, int high)
{
    return value < low ? low : value > high ? high : value;
}

static double limited(double value, double most)
{
    return isnan(value) ? 0 : fmax(-most, fmin(value, most));
}

/* The displacement of a row as steps. */
static int rounded(double pixels, int side)
{
    return (int)floor(limited(pixels, side) * steps / row_steps + 0.5) * row_steps;
}

/* The weights of each pixel, for each of its channels. */
static inline void fill_line(struct line *line, const int16_t (*table)[taps], int width,
                             int channels)
{
    int64_t exact = line->start * ((int64_t)1 << slope_bits) + ((int64_t)1 << (slope_bits - 1));
    int previous = 0;
    line->count = 0;
    for (int x = 0; x < width; x++, exact += line->slope) {
        int place = (int)(exact >> slope_bits), first = (place >> step_bits) - 1;
        const int16_t *weights = table[place & (steps - 1)];
        if (x == 0 || first != previous) {
            if (x > 0)
                line->runs[line->count - 1].to = x;
            line->runs[line->count++] = (struct run){ x, width, first };
            previous = first;
        }
        for (int c = 0; c < channels; c++)
            for (int i = 0; i < taps; i++)
                line->weights[i][x * channels + c] = weights[i];
    }
}

static void make_line(const struct bd_warper *warper, struct line *line, bool linear, int channels,
                      int start, int64_t slope)
{
    const int16_t(*table)[taps] = linear ? warper->linear : warper->cubic;
    if (line->made && line->linear == linear && line->channels == channels &&
        line->start == start && line->slope == slope)
        return;
    line->made = true;
    line->linear = linear;
    line->channels = channels;
    line->start = start;
    line->slope = slope;
    if (channels == 1)
        fill_line(line, table, warper->width, 1);
    else if (channels == 3)
        fill_line(line, table, warper->width, 3);
    else
        fill_line(line, table, warper->width, channels);
}

/* The upper half of a product of 16 bits each: an instruction for eight of them. */
static inline int16_t high(int16_t a, int16_t b)
{
    return (int16_t)((int32_t)a * b >> 16);
}

/* Row `number` of the input as 16-bit samples: times 128, or `whole` where a mask is set. It is
 * made once while it is in use. */
static const int16_t *widen_row(const struct band *band, int slots, const uint8_t *restrict in,
                                int number, int64_t n, bool mask)
{
    int slot = number % slots;
    int16_t *restrict out = band->wide + slot * n;
    if (band->number[slot] == number)
        return out;
    band->number[slot] = number;
    if (mask)
        for (int64_t i = 0; i < n; i++)
            out[i] = (int16_t)((in[i] & 1) * whole);
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = (int16_t)(in[i] * 128);
    return out;
}

/* out = n samples of the column filter of four such rows, in units of 1/64; `step` 0: all have the
 * same weights. */
static inline void mix_rows(int16_t *restrict out, const int16_t *const rows[taps],
                            const struct line *line, int64_t from, int64_t n, int step)
{
    const int16_t *a = rows[0] + from, *b = rows[1] + from, *c = rows[2] + from;
    const int16_t *d = rows[3] + from;
    const int16_t *wa = line->weights[0] + from, *wb = line->weights[1] + from;
    const int16_t *wc = line->weights[2] + from, *wd = line->weights[3] + from;
    for (int64_t i = 0; i < n; i++) {
        int64_t k = i * step;
        int16_t sum = (int16_t)(high(a[i], wa[k]) + high(b[i], wb[k]) + high(c[i], wc[k]) +
                                high(d[i], wd[k]) + 1);
        out[i] = (int16_t)(sum * 2);
    }
}

/* out = the row filter of n samples from `from` on, whose first neighbours are at `in`. */
static inline void mix_neighbours(uint8_t *restrict out, const int16_t *restrict in,
                                  const struct line *line, int64_t from, int64_t n, int step)
{
    int channels = line->channels;
    const int16_t *a = in, *b = in + channels, *c = b + channels, *d = c + channels;
    const int16_t *wa = line->weights[0] + from, *wb = line->weights[1] + from;
    const int16_t *wc = line->weights[2] + from, *wd = line->weights[3] + from;
    for (int64_t i = 0; i < n; i++) {
        int64_t k = i * step;
        int16_t sum = (int16_t)(high(a[i], wa[k]) + high(b[i], wb[k]) + high(c[i], wc[k]) +
                                high(d[i], wd[k]));
        sum = (int16_t)(sum + 9); /* 1 for the truncation before, 8 to round */
        sum = (int16_t)(sum >> 4);
        sum = sum < 0 ? 0 : sum;
        sum = sum > 255 ? 255 : sum;
        out[i] = (uint8_t)sum;
    }
}

/* The same for a mask: where half is set, but for 1 of the truncation before. */
static void join_neighbours(uint8_t *restrict out, const int16_t *restrict in,
                            const struct line *line, int64_t from, int64_t n)
{
    enum { half = whole / 16 - 1 };
    const int16_t *wb = line->weights[1] + from, *wc = line->weights[2] + from;
    for (int64_t i = 0; i < n; i++) {
        int16_t sum = (int16_t)(high(in[i + 1], wb[i]) + high(in[i + 2], wc[i]));
        out[i] = sum >= half ? 255 : 0;
    }
}

/* Two passes: a pixel x of row y of the output is at u = x + across(x, y) of a row in which all
 * pixels u have been moved to row y from v = y + down(u, y). */
struct passes {
    double across, across_down; /* at (0, 0), and its slope along y */
    double down, down_down;
    int64_t across_slope, down_slope;
};

static int64_t fixed(double slope)
{
    return llround(slope * steps * ((int64_t)1 << slope_bits));
}

static struct passes make_passes(const struct bd_warper *warper, struct bd_similarity by)
{
    double x = (warper->width - 1) / 2.0, y = (warper->height - 1) / 2.0;
    double slope = by.turn / (1 + by.grow), slope_down = by.grow + by.turn * slope;
    return (struct passes){ .across = by.x - by.grow * x + by.turn * y,
                            .across_down = -by.turn,
                            .across_slope = fixed(by.grow),
                            .down = by.y - slope * (by.x + x) - slope_down * y,
                            .down_down = slope_down,
                            .down_slope = fixed(slope) };
}

/* Leaves those pixels from..to-1 of a row for which slope x + start >= 0. */
static void cut(double slope, double start, int *from, int *to)
{
    const double little = 1e-6; /* errors of rounding */
    if (slope > 0)
        *from = (int)fmax(*from, fmin(*to, ceil(-start / slope - little)));
    else if (slope < 0)
        *to = (int)fmin(*to, fmax(*from, floor(-start / slope + little) + 1));
    else if (start < -little)
        *to = *from;
}

/* The pixels from..to-1 of row y whose nearest pixels are in the input. */
static void cut_row(const struct bd_warper *warper, struct bd_similarity by, int y, int *from,
                    int *to)
{
    const double last = 1 - 1e-3; /* the right and lower borders are outside */
    double x = (warper->width - 1) / 2.0, down = y - (warper->height - 1) / 2.0;
    struct bd_point at = bd_similarity_apply(by, (struct bd_point){ -x, down });
    at.x += x + 0.5;
    at.y += (warper->height - 1) / 2.0 + 0.5;
    cut(1 + by.grow, at.x, from, to);
    cut(-1 - by.grow, warper->width - 1 + last - at.x, from, to);
    cut(by.turn, at.y, from, to);
    cut(-by.turn, warper->height - 1 + last - at.y, from, to);
}

/* Row y of the output before pixels move along it, at band->row, with as much replicated beside
 * it as the rest needs. Returns its first pixel. */
static const int16_t *pass_down(const struct bd_warper *warper, const struct band *band,
                                const uint8_t *in, int64_t stride, int y)
{
    const struct line *down = &band->down, *across = &band->across;
    int width = warper->width, channels = down->channels, before = 2 * width + taps;
    int64_t bytes = (int64_t)width * channels;
    int16_t *row = band->row + (int64_t)before * channels;
    for (int i = 0; i < down->count; i++) {
        struct run run = down->runs[i];
        const int16_t *rows[taps];
        for (int k = 0; k < taps; k++) {
            int number = clamp(y + run.first + k, 0, warper->height - 1);
            rows[k] =
                widen_row(band, warper->slots, in + number * stride, number, bytes, down->linear);
        }
        int64_t from = (int64_t)run.from * channels, to = (int64_t)run.to * channels;
        if (down->slope == 0)
            mix_rows(row + from, rows, down, from, to - from, 0);
        else
            mix_rows(row + from, rows, down, from, to - from, 1);
    }
    int left = clamp(-across->runs[0].first, 0, before);
    int right = clamp(across->runs[across->count - 1].first + taps, 0, before);
    for (int i = 0; i < left * channels; i++)
        row[-1 - i] = row[channels - 1 - i % channels];
    for (int i = 0; i < right * channels; i++)
        row[bytes + i] = row[bytes - channels + i % channels];
    return row;
}

/* Pixels from..to-1 of a row of the output. */
static void pass_across(const struct line *across, uint8_t *out, const int16_t *row, int from,
                        int to)
{
    int channels = across->channels;
    for (int i = 0; i < across->count; i++) {
        struct run run = across->runs[i];
        int first = run.from > from ? run.from : from, end = run.to < to ? run.to : to;
        int64_t at = (int64_t)first * channels, n = (int64_t)(end - first) * channels;
        if (n <= 0)
            continue;
        if (across->linear)
            join_neighbours(out + at, row + at + run.first, across, at, n);
        else if (across->slope == 0)
            mix_neighbours(out + at, row + at + (int64_t)run.first * channels, across, at, n, 0);
        else
            mix_neighbours(out + at, row + at + (int64_t)run.first * channels, across, at, n, 1);
    }
}

/* A transform of a picture. */
struct job {
    const struct bd_warper *warper;
    uint8_t *out;
    const uint8_t *in;
    int64_t out_stride, in_stride;
    int channels;
    struct bd_similarity by;
    struct passes passes;
    bool keep, mask;
};

/* Each band has weights and widened rows of its own: the result does not depend on their number. */
static void warp_band(void *arg, int64_t number, int thread)
{
    (void)thread;
    const struct job *job = arg;
    const struct bd_warper *warper = job->warper;
    const struct passes *passes = &job->passes;
    struct band *band = &warper->bands[number];
    const int width = warper->width, height = warper->height;
    const int64_t count = bd_pool_threads(warper->pool);
    for (int i = 0; i < warper->slots; i++)
        band->number[i] = -1;
    for (int y = (int)(number * height / count); y < (number + 1) * height / count; y++) {
        int from = 0, to = width;
        if (job->keep)
            cut_row(warper, job->by, y, &from, &to);
        if (from >= to)
            continue;
        make_line(warper, &band->down, job->mask, job->channels,
                  rounded(passes->down + passes->down_down * y, 2 * height), passes->down_slope);
        make_line(warper, &band->across, job->mask, job->channels,
                  rounded(passes->across + passes->across_down * y, width + width / 2),
                  passes->across_slope);
        pass_across(&band->across, job->out + y * job->out_stride,
                    pass_down(warper, band, job->in, job->in_stride, y), from, to);
    }
}

static void warp(struct bd_warper *warper, uint8_t *out, int64_t out_stride, const uint8_t *in,
                 int64_t in_stride, int channels, struct bd_similarity by, bool keep, bool mask)
{
    const double most = 1.0 / most_slope;
    int width = warper->width, height = warper->height;
    by = (struct bd_similarity){ limited(by.x, width), limited(by.y, height),
                                 limited(by.turn, most), limited(by.grow, most) };
    struct job job = { .warper = warper,
                       .out = out,
                       .in = in,
                       .out_stride = out_stride,
                       .in_stride = in_stride,
                       .channels = channels,
                       .by = by,
                       .passes = make_passes(warper, by),
                       .keep = keep,
                       .mask = mask };
    /* As many rows as one of the output needs: few stay in the cache. */
    warper->slots = (int)(fabs(by.turn / (1 + by.grow)) * width) + taps + 2;
    bd_pool_run(warper->pool, warp_band, &job, bd_pool_threads(warper->pool));
}

void bd_warp_picture(struct bd_warper *warper, uint8_t *out, int64_t out_stride, const uint8_t *in,
                     int64_t in_stride, int channels, struct bd_similarity by,
                     enum bd_warp_border border)
{
    warp(warper, out, out_stride, in, in_stride, channels, by, border == BD_WARP_KEEP, false);
}

void bd_warp_mask(struct bd_warper *warper, uint8_t *out, int64_t out_stride, const uint8_t *in,
                  int64_t in_stride, struct bd_similarity by)
{
    warp(warper, out, out_stride, in, in_stride, 1, by, false, true);
}
