#include "app/summary/heat_picture.h"

#include <math.h>
#include <stdlib.h>

#include "app/summary/heat_legend.h"
#include "app/summary/heat_scale.h"

/* Classes of times, each 2 % wider than the one before, from 0.1 ms to five days. */
enum { classes = 1120 };
static const double first_class = 1e-4, classes_a_factor = 50; /* 1 / log(1.02) */

static int class_of(double seconds)
{
    int at = (int)(log(seconds / first_class) * classes_a_factor);
    return at < 0 ? 0 : at >= classes ? classes - 1 : at;
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
    int at = classes - 1;
    while (at > 0 && above + counts[at] <= total / 1000)
        above += counts[at--];
    return total ? first_class * exp((at + 1) / classes_a_factor) : 0;
}

/* Half as bright, and nearly gray. */
static void dim(uint8_t *rgb)
{
    int gray = (77 * rgb[0] + 150 * rgb[1] + 29 * rgb[2]) >> 8;
    for (int c = 0; c < 3; c++)
        rgb[c] = (uint8_t)((3 * gray + rgb[c]) / 8);
}

static void draw_row(uint8_t *rgb, const float *seconds, int width, double top)
{
    for (int x = 0; x < width; x++, rgb += 3) {
        dim(rgb);
        if (seconds[x] > 0)
            bd_heat_tint(rgb, bd_heat_place(seconds[x], top));
    }
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
        bd_heat_legend_draw(picture, heat, top, row);
    free(row);
    return BD_OK;
}
