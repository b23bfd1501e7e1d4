/* Binary pictures that are hard for what looks for components: noise of many densities, spirals,
 * combs, rings. */
#ifndef BD_TESTS_SUPPORT_MASK_PICTURES_H
#define BD_TESTS_SUPPORT_MASK_PICTURES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/random.h"

/* Pictures are drawn with 1 and 0. */
typedef void draw_fn(uint8_t *mask, int width, int height, int argument);

static void draw_noise(uint8_t *mask, int width, int height, int percent)
{
    uint32_t seed = (uint32_t)(percent + 101 * width + 10007 * height);
    for (int i = 0; i < width * height; i++)
        mask[i] = random_bits(&seed) % 100 < (uint32_t)percent;
}

/* Discs and boxes, with one pixel in a hundred flipped: what a camera sees. */
static void draw_scene(uint8_t *mask, int width, int height, int shapes)
{
    uint32_t seed = (uint32_t)(shapes + 31 * width);
    memset(mask, 0, (size_t)width * (size_t)height);
    for (int s = 0; s < shapes; s++) {
        int cx = (int)(random_bits(&seed) % (uint32_t)width);
        int cy = (int)(random_bits(&seed) % (uint32_t)height);
        int r = 1 + (int)(random_bits(&seed) % (uint32_t)(1 + height / 8));
        for (int y = cy < r ? 0 : cy - r; y <= cy + r && y < height; y++)
            for (int x = cx < r ? 0 : cx - r; x <= cx + r && x < width; x++)
                if (s % 2 || (x - cx) * (x - cx) + (y - cy) * (y - cy) <= r * r)
                    mask[y * width + x] = s % 5 != 4;
    }
    for (int i = 0; i < width * height; i++)
        mask[i] ^= random_bits(&seed) % 100 == 0;
}

/* A path of one pixel that winds inwards, `gap` pixels between its turns. */
static void draw_spiral(uint8_t *mask, int width, int height, int gap)
{
    static const int dx[4] = { 1, 0, -1, 0 }, dy[4] = { 0, 1, 0, -1 };
    int x0 = 0, y0 = 0, x1 = width - 1, y1 = height - 1, x = 0, y = 0;
    memset(mask, 0, (size_t)width * (size_t)height);
    mask[0] = 1;
    for (int side = 0; x0 <= x1 && y0 <= y1; side++) {
        int k = side % 4;
        int steps = k == 0 ? x1 - x : k == 1 ? y1 - y : k == 2 ? x - x0 : y - y0;
        for (int s = 0; s < steps; s++) {
            x += dx[k];
            y += dy[k];
            mask[y * width + x] = 1;
        }
        /* The side just drawn is the border of what is left, a gap further in. */
        if (k == 0)
            y0 = y + gap + 1;
        else if (k == 1)
            x1 = x - gap - 1;
        else if (k == 2)
            y1 = y - gap - 1;
        else
            x0 = x + gap + 1;
    }
}

/* Vertical teeth, joined by the last row only. */
static void draw_comb(uint8_t *mask, int width, int height, int period)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            mask[y * width + x] = x % period == 0 || y == height - 1;
}

/* A path that goes to and fro. */
static void draw_winding(uint8_t *mask, int width, int height, int period)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            int turn = y / period % 2 ? 0 : width - 1;
            mask[y * width + x] = y % period == 0 || x == turn;
        }
}

/* Diagonals: joined at corners, their complement parted there. */
static void draw_diagonals(uint8_t *mask, int width, int height, int period)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            mask[y * width + x] = (period > 0 ? x + y : x + 64 * 4096 - y) % abs(period) == 0;
}

/* Wide columns, whose edges are those of words of 32 pixels: 64 of them are set on one side alone.
 */
static void draw_columns(uint8_t *mask, int width, int height, int across)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            mask[y * width + x] = x / across % 2;
}

/* Rectangles within each other, holes within parts within holes. */
static void draw_rings(uint8_t *mask, int width, int height, int step)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            int d = x < y ? x : y;
            d = d < width - 1 - x ? d : width - 1 - x;
            d = d < height - 1 - y ? d : height - 1 - y;
            mask[y * width + x] = d / step % 2 == 1;
        }
}

struct picture {
    const char *name;
    draw_fn *draw;
    int argument;
};
static const struct picture pictures[] = {
    { "empty", draw_noise, 0 },         { "noise 1 %", draw_noise, 1 },
    { "noise 20 %", draw_noise, 20 },   { "noise 41 %", draw_noise, 41 },
    { "noise 50 %", draw_noise, 50 },   { "noise 59 %", draw_noise, 59 },
    { "noise 95 %", draw_noise, 95 },   { "full", draw_noise, 100 },
    { "scene", draw_scene, 30 },        { "spiral", draw_spiral, 1 },
    { "wide spiral", draw_spiral, 5 },  { "comb", draw_comb, 2 },
    { "comb of 3", draw_comb, 3 },      { "winding", draw_winding, 2 },
    { "diagonals", draw_diagonals, 3 }, { "other diagonals", draw_diagonals, -2 },
    { "rings", draw_rings, 1 },         { "thick rings", draw_rings, 7 },
    { "columns", draw_columns, 64 },    { "narrow columns", draw_columns, 32 },
};
enum { picture_count = sizeof pictures / sizeof pictures[0] };

#endif
