/* A floor with a grain, and things on it that it may mirror. */
#ifndef BD_TESTS_SUPPORT_MIRROR_PICTURE_H
#define BD_TESTS_SUPPORT_MIRROR_PICTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tests/support/random.h"

enum { mirror_width = 300, mirror_height = 200, mirror_pixels = mirror_width * mirror_height };

struct mirror_picture {
    int width, height;
    uint8_t f[3 * mirror_pixels], l[3 * mirror_pixels];
    uint8_t mask[mirror_pixels];
};

static inline void clear_mirror_picture(struct mirror_picture *p, int width, int height)
{
    p->width = width;
    p->height = height;
    memset(p->mask, 0, sizeof p->mask);
    for (int i = 0; i < 3 * width * height; i++)
        p->f[i] = p->l[i] = (uint8_t)(90 + 15 * (i % 3) + hash((uint32_t)i) % 9);
}

/* A box that differs from the floor by stripes of colours, from (x, y) on. Its image begins `gap`
 * rows below it and differs by `tenths` of that; 0: there is none. Noise of 4 grey levels. */
static inline void put(struct mirror_picture *p, int x, int y, int width, int height, int gap,
                       int tenths, uint32_t colours)
{
    for (int v = y; v < y + 2 * height + gap && v < p->height; v++)
        for (int u = x; u < x + width && u < p->width; u++) {
            const bool image = v >= y + height + gap;
            const int above = image ? 2 * (y + height) + gap - 1 - v : v, i = v * p->width + u;
            if ((image && !tenths) || (!image && v >= y + height))
                continue;
            for (int c = 0; c < 3; c++) {
                const uint32_t stripe =
                    hash(colours + 3 * (uint32_t)((above - y) / 8) + (uint32_t)c);
                const int differs = (stripe % 2 ? 40 : -40) + (int)(stripe / 2 % 40);
                const int noise = (int)(hash((uint32_t)(3 * i + c) + colours) % 5) - 2;
                p->f[3 * i + c] =
                    (uint8_t)(p->l[3 * i + c] + differs * (image ? tenths : 10) / 10 + noise);
            }
            p->mask[i] = 1;
        }
}

/* Things of random sizes, some with images of any strength, some one upon the other. */
static inline void put_things(struct mirror_picture *p, uint32_t *seed)
{
    for (int things = between(seed, 1, 5); things > 0; things--) {
        const int width = between(seed, 4, p->width / 3), height = between(seed, 8, p->height / 2);
        put(p, between(seed, 0, p->width - width), between(seed, 0, p->height - height), width,
            height, between(seed, 0, height / 3), between(seed, 0, 2) ? between(seed, 2, 11) : 0,
            random_bits(seed));
    }
    for (int holes = between(seed, 0, 6); holes > 0; holes--) {
        const int side = between(seed, 1, 12);
        const int x = between(seed, 0, p->width - side), y = between(seed, 0, p->height - side);
        for (int v = y; v < y + side; v++)
            memset(p->mask + v * p->width + x, 0, (size_t)side);
    }
}

#endif
