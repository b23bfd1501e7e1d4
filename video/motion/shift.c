#include "video/motion/shift.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weights of neighbouring pixels add up to `whole`, which is the largest that a 16-bit factor can
 * be a power of two and still leave room for weights above 1. */
enum { taps = 4, whole = 1 << 14, steps = 16 };

struct bd_shifter {
    int width, height, channels;
    int16_t *row; /* a row of the output before its pixels are moved along it, replicated by the
                     width of the picture to either side */
    int16_t *wide[taps]; /* rows of the input, and their numbers */
    int number[taps];
};

/* A shift along one direction, as whole pixels and the weights of those from `first` on. */
struct axis {
    int first;
    int16_t weights[taps];
    int from, to; /* output that has its nearest pixel in the input */
};

enum bd_status bd_shifter_create(struct bd_shifter **shifter, int width, int height, int channels)
{
    *shifter = NULL;
    if (width < 1 || height < 1 || channels < 1 || channels > 4)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "shifter: %d x %d, %d channels: sides and channels start "
                       "at 1, channels end at 4",
                       width, height, channels);
    struct bd_shifter *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for a shifter");
    self->width = width;
    self->height = height;
    self->channels = channels;
    size_t samples = (size_t)width * (size_t)channels;
    size_t row = 3 * samples + 2 * (size_t)taps * (size_t)channels;
    self->row = calloc(row + taps * samples, sizeof *self->row);
    for (int i = 0; i < taps && self->row; i++)
        self->wide[i] = self->row + row + (size_t)i * samples;
    if (!self->row) {
        free(self);
        return bd_fail(BD_ERROR_MEMORY, "out of memory for a shifter");
    }
    *shifter = self;
    return BD_OK;
}

void bd_shifter_destroy(struct bd_shifter **shifter)
{
    if (*shifter)
        free((*shifter)->row);
    free(*shifter);
    *shifter = NULL;
}

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

/* The shift as sixteenths of a pixel. */
static int sixteenths(double shift, int side)
{
    double most = (double)side * steps;
    double value = isnan(shift) ? 0 : round(shift * steps);
    return (int)(value > most ? most : value < -most ? -most : value);
}

static int floor_steps(int value)
{
    return value >= 0 ? value / steps : -((-value + steps - 1) / steps);
}

static struct axis make_axis(double shift, int side)
{
    int value = sixteenths(shift, side), pixels = floor_steps(value);
    struct axis axis = { .first = pixels - 1 };
    cubic_weights((double)(value - pixels * steps) / steps, axis.weights);
    int nearest = floor_steps(value + steps / 2);
    axis.from = nearest < 0 ? -nearest : 0;
    axis.to = nearest > 0 ? side - nearest : side;
    return axis;
}

static int clamp(int value, int low, int high)
{
    return value < low ? low : value > high ? high : value;
}

/* The upper half of a product of 16 bits each: an instruction for eight of them. */
static inline int16_t high(int16_t a, int16_t b)
{
    return (int16_t)((int32_t)a * b >> 16);
}

/* Row `number` of the input as 16-bit samples, times 128; made once while it is in use. */
static const int16_t *widen_row(struct bd_shifter *shifter, const uint8_t *restrict in, int number,
                                int64_t n)
{
    int slot = number % taps;
    int16_t *restrict out = shifter->wide[slot];
    if (shifter->number[slot] == number)
        return out;
    shifter->number[slot] = number;
    for (int64_t i = 0; i < n; i++)
        out[i] = (int16_t)(in[i] * 128);
    return out;
}

/* out = the column filter of four such rows of n samples, in units of 1/64. */
static void mix_rows(int16_t *restrict out, const int16_t *const rows[taps],
                     const int16_t weights[taps], int64_t n)
{
    const int16_t *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
    int16_t wa = weights[0], wb = weights[1], wc = weights[2], wd = weights[3];
    for (int64_t i = 0; i < n; i++) {
        int16_t sum =
            (int16_t)(high(a[i], wa) + high(b[i], wb) + high(c[i], wc) + high(d[i], wd) + 1);
        out[i] = (int16_t)(sum * 2);
    }
}

/* out = the row filter of n samples whose first neighbours are at `in`, `channels` apart. */
static void mix_neighbours(uint8_t *restrict out, const int16_t *restrict in,
                           const int16_t weights[taps], int channels, int64_t n)
{
    const int16_t *a = in, *b = in + channels, *c = b + channels, *d = c + channels;
    int16_t wa = weights[0], wb = weights[1], wc = weights[2], wd = weights[3];
    for (int64_t i = 0; i < n; i++) {
        int16_t sum = (int16_t)(high(a[i], wa) + high(b[i], wb) + high(c[i], wc) + high(d[i], wd));
        sum = (int16_t)(sum + 9); /* 1 for the truncation before, 8 to round */
        sum = (int16_t)(sum >> 4);
        sum = sum < 0 ? 0 : sum;
        sum = sum > 255 ? 255 : sum;
        out[i] = (uint8_t)sum;
    }
}

void bd_shift_picture(struct bd_shifter *shifter, uint8_t *out, int64_t out_stride,
                      const uint8_t *in, int64_t in_stride, int channels, struct bd_shift shift,
                      enum bd_shift_border border)
{
    int width = shifter->width, height = shifter->height;
    struct axis across = make_axis(shift.x, width), down = make_axis(shift.y, height);
    if (border == BD_SHIFT_REPLICATE) {
        across.from = down.from = 0;
        across.to = width;
        down.to = height;
    }
    int64_t bytes = (int64_t)width * channels;
    int before = width + taps; /* room for the first neighbours of a picture moved out of sight */
    int16_t *row = shifter->row + (int64_t)before * channels;
    /* Only as much is replicated as this shift reaches. */
    int left = across.first < 0 ? -across.first : 0;
    int right = across.first + taps > 0 ? across.first + taps : 0;
    left = left > before ? before : left;
    right = right > before ? before : right;
    for (int i = 0; i < taps; i++)
        shifter->number[i] = -1;
    for (int y = down.from; y < down.to; y++) {
        const int16_t *rows[taps];
        for (int i = 0; i < taps; i++) {
            int number = clamp(y + down.first + i, 0, height - 1);
            rows[i] = widen_row(shifter, in + number * in_stride, number, bytes);
        }
        mix_rows(row, rows, down.weights, bytes);
        for (int i = 0; i < left * channels; i++)
            row[-1 - i] = row[channels - 1 - i % channels];
        for (int i = 0; i < right * channels; i++)
            row[bytes + i] = row[bytes - channels + i % channels];
        mix_neighbours(out + y * out_stride + (int64_t)across.from * channels,
                       row + (int64_t)(across.from + across.first) * channels, across.weights,
                       channels, (int64_t)(across.to - across.from) * channels);
    }
}

void bd_shift_mask(struct bd_shifter *shifter, uint8_t *out, int64_t out_stride, const uint8_t *in,
                   int64_t in_stride, struct bd_shift shift)
{
    int width = shifter->width, height = shifter->height;
    int sx = sixteenths(shift.x, width), sy = sixteenths(shift.y, height);
    int px = floor_steps(sx), py = floor_steps(sy);
    int16_t fx = (int16_t)(sx - px * steps), fy = (int16_t)(sy - py * steps);
    int16_t *row = shifter->row + width + taps;
    for (int y = 0; y < height; y++) {
        const uint8_t *a = in + clamp(y + py, 0, height - 1) * in_stride;
        const uint8_t *b = in + clamp(y + py + 1, 0, height - 1) * in_stride;
        for (int x = 0; x < width; x++)
            row[x] = (int16_t)((a[x] & 1) * (steps - fy) + (b[x] & 1) * fy);
        for (int i = 0; i < -px && i < width + taps; i++)
            row[-1 - i] = row[0];
        for (int i = 0; i <= px && i < width + taps; i++)
            row[width + i] = row[width - 1];
        const int16_t *first = row + px;
        uint8_t *to = out + y * out_stride;
        for (int x = 0; x < width; x++) {
            int16_t sum = (int16_t)(first[x] * (steps - fx) + first[x + 1] * fx);
            to[x] = sum >= steps * steps / 2 ? 255 : 0;
        }
    }
}
