#include "app/summary/heat_legend.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "app/stroke_text.h"
#include "app/summary/heat_scale.h"

/* A bar of all colours, the longest time at its top, with seconds beside it. Pixels. */
struct legend {
    int left, top, width, height;
    int gap;           /* around and between its parts */
    int bar;           /* width of the bar */
    int first, length; /* the bar's upper end, and its height */
    double text;       /* height of a capital */
};

/* The largest of ..., 0.1, 0.2, 0.5, 1, 2, 5, 10, ... that is at most `seconds`. */
static double round_down(double seconds)
{
    double power = pow(10, floor(log10(seconds) + 1e-9));
    double digit = seconds / power;
    return power * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1);
}

/* The sizes of a legend for a picture of that height. */
static void choose_sizes(struct legend *legend, int picture_height, double top)
{
    const double least_text = 8, lines = 15;
    char longest[32];
    snprintf(longest, sizeof longest, "%g s", round_down(top));
    legend->text = fmax(least_text, picture_height / 48.0);
    legend->gap = (int)lrint(legend->text * 0.75);
    legend->bar = (int)lrint(legend->text * 1.25);
    double words = fmax(bd_stroke_text_width(legend->text, longest),
                        bd_stroke_text_width(legend->text, "0.05 s"));
    legend->width = 3 * legend->gap + legend->bar + (int)ceil(words);
    legend->height = 2 * legend->gap + (int)(lines * legend->text);
}

/* Places the legend in the corner with the least heat. */
static void choose_corner(struct legend *legend, const struct bd_frame *picture,
                          const struct bd_heat *heat, float *row)
{
    double sums[4] = { 0 }; /* upper left, upper right, lower left, lower right */
    const int below = picture->height - legend->height, right = picture->width - legend->width;
    for (int i = 0; i < 2 * legend->height; i++) { /* the upper rows, then the lower ones */
        bool lower = i >= legend->height;
        bd_heat_row(row, heat, lower ? below + i - legend->height : i);
        for (int x = 0; x < legend->width; x++) {
            sums[2 * lower] += row[x];
            sums[2 * lower + 1] += row[right + x];
        }
    }
    int best = 0;
    for (int i = 1; i < 4; i++)
        best = sums[i] < sums[best] ? i : best;
    legend->left = best % 2 ? right : 0;
    legend->top = best / 2 ? below : 0;
    legend->first = legend->top + legend->gap + (int)(legend->text / 2);
    legend->length = legend->height - 2 * legend->gap - (int)legend->text;
}

static void draw_ground(struct bd_frame *picture, const struct legend *legend)
{
    const int dark = 24;
    for (int y = legend->top; y < legend->top + legend->height; y++)
        memset(picture->data + y * picture->stride + (int64_t)3 * legend->left, dark,
               (size_t)legend->width * 3);
}

static void draw_bar(struct bd_frame *picture, const struct legend *legend)
{
    for (int i = 0; i < legend->length; i++) {
        uint8_t rgb[3] = { 60, 60, 60 }; /* as a dimmed background */
        bd_heat_tint(rgb, 1 - i / (legend->length - 1.0));
        uint8_t *row = picture->data + (legend->first + i) * picture->stride +
                       (int64_t)3 * (legend->left + legend->gap);
        for (int x = 0; x < legend->bar; x++)
            memcpy(row + (int64_t)3 * x, rgb, 3);
    }
}

/* Times beside the bar, from the longest one down, as many as have room. */
static void draw_times(struct bd_frame *picture, const struct legend *legend, double top)
{
    const struct bd_stroke_color ink = { 235, 235, 235 };
    const double least = top / 200, spacing = 1.5 * legend->text;
    double last = -INFINITY; /* the middle of the last one that was drawn */
    double time = round_down(top);
    while (time > least) {
        char text[32];
        double y = legend->first + (legend->length - 1) * (1 - bd_heat_place(time, top));
        snprintf(text, sizeof text, "%g s", time);
        if (y - last >= spacing) {
            bd_stroke_text_draw(picture, legend->left + 2 * legend->gap + legend->bar,
                                y - legend->text / 2, legend->text, ink, text);
            last = y;
        }
        time = round_down(time * 0.99);
    }
}

void bd_heat_legend_draw(struct bd_frame *picture, const struct bd_heat *heat, double top,
                         float *row)
{
    struct legend legend;
    choose_sizes(&legend, picture->height, top);
    if (legend.width > picture->width / 3 || legend.height > 3 * picture->height / 5)
        return;
    choose_corner(&legend, picture, heat, row);
    draw_ground(picture, &legend);
    draw_bar(picture, &legend);
    draw_times(picture, &legend, top);
}
