#include "app/summary/heat_picture.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/stroke_text.h"

/* Hues differ, and each is lighter than the one before: the order is seen without colour vision,
 * too. Blue is far from the dark gray of the background. */
static const struct {
    double place;
    uint8_t rgb[3];
    uint8_t opacity;
} points[] = {
    { 0, { 40, 40, 170 }, 130 },    { .25, { 70, 60, 230 }, 190 }, { .5, { 200, 40, 160 }, 215 },
    { .75, { 250, 120, 40 }, 230 }, { 1, { 255, 240, 110 }, 240 },
};

void bd_heat_colour(uint8_t rgb[3], int *opacity, double place)
{
    const int last = (int)(sizeof points / sizeof *points) - 1;
    int i = 0;
    while (i < last - 1 && place > points[i + 1].place)
        i++;
    double share = (place - points[i].place) / (points[i + 1].place - points[i].place);
    share = fmin(fmax(share, 0), 1);
    for (int c = 0; c < 3; c++)
        rgb[c] =
            (uint8_t)lrint(points[i].rgb[c] + share * (points[i + 1].rgb[c] - points[i].rgb[c]));
    *opacity = (int)lrint(points[i].opacity + share * (points[i + 1].opacity - points[i].opacity));
}

/* The place of a time on the scale, 0..1. A film has paths that were taken once and places where
 * somebody stayed: a linear scale would show the latter alone. */
static double place_of(double seconds, double top)
{
    const double range = 100;
    return fmin(log1p((range - 1) * seconds / top) / log(range), 1);
}

/* Classes of times, each 2 % wider than the one before, from 0.1 ms to five days. */
enum { classes = 1120 };
static const double first_class = 1e-4, classes_a_factor = 50; /* 1 / log(1.02) */

static int class_of(double seconds)
{
    int class = (int)(log(seconds / first_class) * classes_a_factor);
    return class < 0 ? 0 : class >= classes ? classes - 1 : class;
}

/* The time that 0.1 % of the pixels that ever were foreground exceed: single pixels that flicker
 * do not decide about the colours of all others. 0: none was. */
static double find_top(const struct bd_heat *heat, int width, int height, float *row)
{
    int64_t counts[classes] = { 0 }, total = 0, above = 0;
    for (int y = 0; y < height; y++) {
        bd_heat_row(row, heat, y);
        for (int x = 0; x < width; x++)
            if (row[x] > 0) {
                counts[class_of(row[x])]++;
                total++;
            }
    }
    int class = classes - 1;
    while (class > 0 && above + counts[class] <= total / 1000)
        above += counts[class --];
    return total ? first_class * exp((class + 1) / classes_a_factor) : 0;
}

/* Half as bright, and nearly gray. */
static void dim(uint8_t *rgb)
{
    int gray = (77 * rgb[0] + 150 * rgb[1] + 29 * rgb[2]) >> 8;
    for (int c = 0; c < 3; c++)
        rgb[c] = (uint8_t)((3 * gray + rgb[c]) / 8);
}

static void blend(uint8_t *rgb, const uint8_t colour[3], int opacity)
{
    for (int c = 0; c < 3; c++)
        rgb[c] = (uint8_t)((rgb[c] * (255 - opacity) + colour[c] * opacity) / 255);
}

static void draw_row(uint8_t *pixels, const float *seconds, int width, double top)
{
    for (int x = 0; x < width; x++, pixels += 3) {
        uint8_t colour[3];
        int opacity;
        dim(pixels);
        if (seconds[x] <= 0)
            continue;
        bd_heat_colour(colour, &opacity, place_of(seconds[x], top));
        blend(pixels, colour, opacity);
    }
}

/* The largest of ..., 0.1, 0.2, 0.5, 1, 2, 5, 10, ... that is at most `seconds`. */
static double round_down(double seconds)
{
    double power = pow(10, floor(log10(seconds) + 1e-9));
    double digit = seconds / power;
    return power * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1);
}

/* The legend lies in a corner: a bar of all colours, the longest time at its top, with seconds
 * beside it. Pixels. */
struct legend {
    int left, top, width, height;
    int gap; /* around and between its parts */
    int bar; /* width of the bar */
    double text;
};

/* Places the legend in the corner where least is hidden. Returns false where it has no room. */
static bool place_legend(struct legend *legend, const struct bd_frame *picture,
                         const struct bd_heat *heat, double top_time, float *row)
{
    char longest[32];
    const int least_text = 8, lines = 10;
    double sums[4] = { 0 };
    legend->text = fmax(least_text, picture->height / 48.0);
    legend->gap = (int)lrint(legend->text * 0.75);
    legend->bar = (int)lrint(legend->text * 1.25);
    snprintf(longest, sizeof longest, "%g s", round_down(top_time));
    legend->width = 3 * legend->gap + legend->bar +
                    (int)ceil(fmax(bd_stroke_text_width(legend->text, longest),
                                   bd_stroke_text_width(legend->text, "0.05 s")));
    legend->height = (int)(lines * legend->text * 1.5) + 2 * legend->gap;
    if (legend->width > picture->width / 3 || legend->height > picture->height / 2)
        return false;
    for (int y = 0; y < picture->height; y++) {
        bool lower = y >= picture->height - legend->height;
        if (y >= legend->height && !lower)
            continue;
        bd_heat_row(row, heat, y);
        for (int x = 0; x < legend->width; x++) {
            sums[2 * lower] += row[x];
            sums[2 * lower + 1] += row[picture->width - 1 - x];
        }
    }
    int best = 0;
    for (int i = 1; i < 4; i++)
        best = sums[i] < sums[best] ? i : best;
    legend->left = best % 2 ? picture->width - legend->width : 0;
    legend->top = best / 2 ? picture->height - legend->height : 0;
    return true;
}

static void fill(struct bd_frame *picture, int left, int top, int width, int height,
                 const uint8_t rgb[3])
{
    for (int y = top; y < top + height; y++)
        for (int x = left; x < left + width; x++)
            memcpy(picture->data + y * picture->stride + (int64_t)3 * x, rgb, 3);
}

static void draw_bar(struct bd_frame *picture, const struct legend *legend, int top, int height)
{
    for (int i = 0; i < height; i++) {
        uint8_t colour[3], rgb[3] = { 50, 50, 50 };
        int opacity;
        bd_heat_colour(colour, &opacity, 1 - i / (height - 1.0));
        blend(rgb, colour, opacity);
        fill(picture, legend->left + legend->gap, top + i, legend->bar, 1, rgb);
    }
}

/* Times beside the bar, from the longest one down, as many as have room. */
static void draw_times(struct bd_frame *picture, const struct legend *legend, int top, int height,
                       double top_time)
{
    const struct bd_stroke_color ink = { 235, 235, 235 };
    const double fewest = top_time / 200, spacing = 1.5 * legend->text;
    double free = top - spacing; /* the lower end of what is drawn */
    for (double time = round_down(top_time); time > fewest; time = round_down(time * 0.99)) {
        char text[32];
        double y = top + (height - 1) * (1 - place_of(time, top_time));
        if (y - free < spacing)
            continue;
        snprintf(text, sizeof text, "%g s", time);
        bd_stroke_text_draw(picture, legend->left + 2 * legend->gap + legend->bar,
                            y - legend->text / 2, legend->text, ink, text);
        free = y;
    }
}

static void draw_legend(struct bd_frame *picture, const struct bd_heat *heat, double top_time,
                        float *row)
{
    static const uint8_t ground[3] = { 24, 24, 24 };
    struct legend legend;
    if (!place_legend(&legend, picture, heat, top_time, row))
        return;
    int top = legend.top + legend.gap + (int)(legend.text / 2);
    int height = legend.height - 2 * legend.gap - (int)legend.text;
    fill(picture, legend.left, legend.top, legend.width, legend.height, ground);
    draw_bar(picture, &legend, top, height);
    draw_times(picture, &legend, top, height, top_time);
}

enum bd_status bd_heat_picture_draw(struct bd_frame *picture, const struct bd_heat *heat)
{
    float *row = malloc((size_t)picture->width * sizeof *row);
    if (!row)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the picture of the heat map");
    double top = find_top(heat, picture->width, picture->height, row);
    for (int y = 0; y < picture->height; y++) {
        bd_heat_row(row, heat, y);
        draw_row(picture->data + (int64_t)y * picture->stride, row, picture->width, top);
    }
    if (top > 0)
        draw_legend(picture, heat, top, row);
    free(row);
    return BD_OK;
}
