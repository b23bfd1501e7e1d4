#include "video/input/tone_curve.h"

#include <libavutil/frame.h>
#include <libavutil/pixdesc.h>
#include <math.h>
#include <stdlib.h>

enum {
    most_levels = 1 << 16,
    bytes_used = 254,    /* rounding takes the rest */
    least_margin = 12,   /* bytes beside the picture's levels where the curve is steep */
    least_gain = 4,      /* times as steep as the usual conversion */
    grid_samples = 4096, /* pixels for the median difference, about */
    rare = 5000          /* a level that fewer pixels than 1 in `rare` have is not the picture's */
};

/* Bytes: where the curve is d bytes of its steep part away from it, its slope has fallen by the
 * factor 1 + d / softness. With 2, all levels of 16 bits above the picture's take 30 bytes; with 4
 * they took 43, and a picture of two groups of levels left a person 13 times the noise warmer at 8
 * bytes. */
static const double softness = 2;

/* Share of |N(0, 1)| below .3186 is a quarter. Second differences of noise are sqrt(6) times as
 * large as the noise. The lower quartile is used because edges and texture are in the upper ones.
 */
static const double quartile_of_noise = 0.3186 * 2.44949;

static const double least_noise = 0.5; /* levels: what rounding to levels hides */

/* How the levels of a pixel format lie in memory. */
struct layout {
    int depth, shift, step, offset;
    bool big_endian;
};

struct bd_tone_curve {
    int width, height, format; /* of the pictures; AVPixelFormat */
    struct layout layout;
    int levels;                   /* 2^depth */
    uint8_t *bytes;               /* levels: the curve */
    uint16_t *distance;           /* levels: from the nearest level of the first picture */
    uint32_t *counts;             /* levels, for making the curve */
    int margin;                   /* levels: the largest distance of the steep part */
    int pitch, sample_count;      /* of the grid: pixels between samples */
    int32_t *first, *differences; /* sample_count: levels of the first picture; work */
    int strays; /* pictures in a row of which a third was outside the steep part */
};

/* Whether the levels of `format` can be read: gray of 9 to 16 bits, with or without alpha. */
static bool find_layout(struct layout *layout, int format)
{
    const AVPixFmtDescriptor *d = av_pix_fmt_desc_get(format);
    const uint64_t other = AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM |
                           AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_BAYER | AV_PIX_FMT_FLAG_FLOAT;
    if (!d || (d->flags & other) || d->nb_components > 2 || d->comp[0].plane != 0 ||
        d->comp[0].depth <= 8 || d->comp[0].depth > 16)
        return false;
    *layout = (struct layout){ .depth = d->comp[0].depth,
                               .shift = d->comp[0].shift,
                               .step = d->comp[0].step,
                               .offset = d->comp[0].offset,
                               .big_endian = d->flags & AV_PIX_FMT_FLAG_BE };
    return true;
}

/* The level at `pixel`, below `levels`. */
static int level_at(const struct bd_tone_curve *c, const uint8_t *pixel)
{
    const struct layout *l = &c->layout;
    const uint8_t *at = pixel + l->offset;
    int word = l->big_endian ? at[0] << 8 | at[1] : at[1] << 8 | at[0];
    return word >> l->shift & (c->levels - 1);
}

static const uint8_t *row_of(const AVFrame *src, int y)
{
    return src->data[0] + (int64_t)y * src->linesize[0];
}

/* Reads the levels of the grid. Their number is sample_count. */
static void sample(const struct bd_tone_curve *c, int32_t *samples, const AVFrame *src)
{
    for (int y = c->pitch / 2; y < c->height; y += c->pitch)
        for (int x = c->pitch / 2; x < c->width; x += c->pitch)
            *samples++ = level_at(c, row_of(src, y) + (int64_t)x * c->layout.step);
}

/* Standard deviation of the noise of a pixel, in levels, from second differences along rows. */
static double measure_noise(struct bd_tone_curve *c, const AVFrame *src)
{
    int64_t total = 0, below = 0;
    for (int i = 0; i < c->levels; i++)
        c->counts[i] = 0;
    for (int y = 0; y < c->height; y++) {
        const uint8_t *row = row_of(src, y);
        for (int x = 1; x + 1 < c->width; x++, total++) {
            const uint8_t *at = row + (int64_t)x * c->layout.step;
            int bend = 2 * level_at(c, at) - level_at(c, at - c->layout.step) -
                       level_at(c, at + c->layout.step);
            c->counts[abs(bend) < c->levels ? abs(bend) : c->levels - 1]++;
        }
    }
    int i = 0;
    while (i + 1 < c->levels && below + c->counts[i] < total / 4)
        below += c->counts[i++];
    /* Between i - 1/2 and i + 1/2. */
    double share = c->counts[i] ? ((double)total / 4 - (double)below) / c->counts[i] : 0;
    double quartile = i ? i - 0.5 + share : 0.5 * share;
    return fmax(least_noise, quartile / quartile_of_noise);
}

/* Fills in the distance of every level from the nearest one that the picture has. */
static void measure_distances(struct bd_tone_curve *c, const AVFrame *src, double noise)
{
    int bin = (int)ceil(2 * noise); /* levels that are counted together */
    uint32_t least = (uint32_t)((int64_t)c->width * c->height / rare + 1);
    for (int i = 0; i < c->levels; i++)
        c->counts[i] = 0;
    for (int y = 0; y < c->height; y++) {
        const uint8_t *at = row_of(src, y);
        for (int x = 0; x < c->width; x++, at += c->layout.step)
            c->counts[level_at(c, at) / bin]++;
    }
    int last = c->levels; /* steps since a level of the picture */
    for (int i = 0; i < c->levels; i++) {
        last = c->counts[i / bin] >= least ? 0 : last + 1;
        c->distance[i] = (uint16_t)(last < c->levels ? last : c->levels - 1);
    }
    last = c->levels;
    for (int i = c->levels - 1; i >= 0; i--) {
        last = c->distance[i] == 0 ? 0 : last + 1;
        c->distance[i] = (uint16_t)(last < c->distance[i] ? last : c->distance[i]);
    }
}

/* Bytes that level i is above the one below it. */
static double slope_at(const struct bd_tone_curve *c, int i, double slope, double margin)
{
    double away = c->distance[i] * slope - margin;
    return away > 0 ? slope / (1 + away / softness) : slope;
}

static double length(const struct bd_tone_curve *c, double slope, double margin)
{
    double sum = 0;
    for (int i = 0; i < c->levels; i++)
        sum += slope_at(c, i, slope, margin);
    return sum;
}

/* The largest slope up to `most` (bytes a level) that leaves room for the margins, and then the
 * largest margin (bytes) that there is room for: both by bisection. */
static double choose_slope(const struct bd_tone_curve *c, double most, double *margin)
{
    enum { halvings = 24 };
    double slope = most, low = 0, high = bytes_used;
    *margin = least_margin;
    if (length(c, most, least_margin) > bytes_used) {
        for (int k = 0; k < halvings; k++) {
            slope = (low + most) / 2;
            if (length(c, slope, least_margin) > bytes_used)
                most = slope;
            else
                low = slope;
        }
        return low;
    }
    for (int k = 0; k < halvings; k++) {
        *margin = (low + high) / 2;
        if (length(c, slope, *margin) > bytes_used)
            high = *margin;
        else
            low = *margin;
    }
    *margin = low;
    return slope;
}

/* Makes the curve for films like `src`; returns its slope as a multiple of the usual one. */
static double make_curve(struct bd_tone_curve *c, const AVFrame *src)
{
    double noise = measure_noise(c, src), margin, sum = 0;
    measure_distances(c, src, noise);
    double slope = choose_slope(c, 1 / noise, &margin);
    for (int i = 0; i < c->levels; i++) {
        sum += slope_at(c, i, slope, margin);
        c->bytes[i] = (uint8_t)(sum + 0.5);
    }
    c->margin = (int)(margin / slope);
    c->strays = 0;
    sample(c, c->first, src);
    bd_log(BD_LOG_DEBUG, "tone curve: noise %.1f levels, %.2f levels a byte", noise, 1 / slope);
    return slope * (c->levels - 1) / 255;
}

static enum bd_status take_arrays(struct bd_tone_curve *c)
{
    size_t levels = (size_t)c->levels, samples = (size_t)c->sample_count;
    c->bytes = malloc(levels);
    c->distance = malloc(levels * sizeof *c->distance);
    c->counts = malloc(levels * sizeof *c->counts);
    c->first = malloc(samples * sizeof *c->first);
    c->differences = malloc(samples * sizeof *c->differences);
    if (c->bytes && c->distance && c->counts && c->first && c->differences)
        return BD_OK;
    return bd_fail(BD_ERROR_MEMORY, "no memory for the tone curve");
}

enum bd_status bd_tone_curve_create(struct bd_tone_curve **curve, const AVFrame *first)
{
    struct layout layout;
    *curve = NULL;
    if (!find_layout(&layout, first->format) || first->width < 3)
        return BD_OK;
    struct bd_tone_curve *c = calloc(1, sizeof *c);
    if (!c)
        return bd_fail(BD_ERROR_MEMORY, "no memory for the tone curve");
    c->width = first->width;
    c->height = first->height;
    c->format = first->format;
    c->layout = layout;
    c->levels = 1 << layout.depth;
    c->pitch = (int)fmax(1, sqrt((double)c->width * c->height / grid_samples));
    while (c->pitch / 2 >= c->height) /* a strip lower than the pitch */
        c->pitch = c->height;
    int half = c->pitch / 2;
    c->sample_count =
        ((c->width - half - 1) / c->pitch + 1) * ((c->height - half - 1) / c->pitch + 1);
    enum bd_status status = take_arrays(c);
    if (status != BD_OK || make_curve(c, first) < least_gain)
        bd_tone_curve_destroy(&c);
    *curve = c;
    return status;
}

void bd_tone_curve_destroy(struct bd_tone_curve **curve)
{
    struct bd_tone_curve *c = *curve;
    if (!c)
        return;
    free(c->bytes);
    free(c->distance);
    free(c->counts);
    free(c->first);
    free(c->differences);
    free(c);
    *curve = NULL;
}

bool bd_tone_curve_fits(const struct bd_tone_curve *c, const AVFrame *src)
{
    return src->width == c->width && src->height == c->height && src->format == c->format;
}

static int clamp(const struct bd_tone_curve *c, int level)
{
    return level < 0 ? 0 : level >= c->levels ? c->levels - 1 : level;
}

/* The median of the differences: the least value that half of them do not exceed, by bisection. */
static int median_difference(const struct bd_tone_curve *c)
{
    int low = -c->levels, high = c->levels;
    while (high - low > 1) {
        int middle = low + (high - low) / 2, count = 0;
        for (int i = 0; i < c->sample_count; i++)
            count += c->differences[i] <= middle;
        if (2 * count >= c->sample_count)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* The offset of the picture from the first one, in levels. Makes the curve anew if it is time. */
static int follow(struct bd_tone_curve *c, const AVFrame *src)
{
    int outside = 0;
    sample(c, c->differences, src);
    for (int i = 0; i < c->sample_count; i++)
        c->differences[i] -= c->first[i];
    int offset = median_difference(c);
    for (int i = 0; i < c->sample_count; i++)
        outside += c->distance[clamp(c, c->first[i] + c->differences[i] - offset)] > c->margin;
    c->strays = 3 * outside > c->sample_count ? c->strays + 1 : 0;
    if (c->strays < bd_tone_curve_patience)
        return offset;
    bd_log(BD_LOG_INFO, "the levels of the film have changed for good: a new tone curve is used");
    make_curve(c, src);
    return 0;
}

void bd_tone_curve_run(struct bd_tone_curve *c, struct bd_frame *dst, const AVFrame *src)
{
    int offset = follow(c, src), channels = dst->format;
    for (int y = 0; y < c->height; y++) {
        const uint8_t *from = row_of(src, y);
        uint8_t *to = dst->data + y * dst->stride;
        for (int x = 0; x < c->width; x++, from += c->layout.step)
            for (int k = 0, byte = c->bytes[clamp(c, level_at(c, from) - offset)]; k < channels;
                 k++)
                *to++ = (uint8_t)byte;
    }
}
