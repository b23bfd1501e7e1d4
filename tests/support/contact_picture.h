/* A road of one grey level, and things on black strips of shadow that stand on it. */
#ifndef BD_TESTS_SUPPORT_CONTACT_PICTURE_H
#define BD_TESTS_SUPPORT_CONTACT_PICTURE_H

#include <stdint.h>
#include <string.h>

#include "tests/support/random.h"

enum { most_width = 300, most_height = 150, most_pixels = most_width * most_height };

struct contact_picture {
    int width, height, channels;
    uint8_t f[3 * most_pixels], l[3 * most_pixels];
    uint8_t mask[most_pixels], shadow[most_pixels], given[most_pixels];
};

static inline struct contact_picture new_picture(int width, int height, int channels)
{
    struct contact_picture p = { .width = width, .height = height, .channels = channels };
    memset(p.f, 140, sizeof p.f);
    memset(p.l, 140, sizeof p.l);
    return p;
}

/* A box of the mask, from (x, y) on. */
static inline void box(struct contact_picture *p, int x, int y, int width, int height, uint8_t grey)
{
    for (int v = y; v < y + height; v++)
        for (int u = x; u < x + width; u++) {
            int i = v * p->width + u;
            memset(p->f + i * p->channels, grey, (size_t)p->channels);
            p->mask[i] = 1;
        }
}

/* A car of 40 x 35 whose last five rows are shadow, the last of them blurred. */
static inline struct contact_picture a_car(int channels)
{
    struct contact_picture p = new_picture(80, 60, channels);
    box(&p, 20, 10, 40, 30, 200);
    box(&p, 20, 40, 40, 4, 12);
    box(&p, 20, 44, 40, 1, 70);
    return p;
}

/* Things of random sizes on black strips, some one upon the other, some over the border. */
static inline void draw_things(struct contact_picture *p, uint32_t *seed)
{
    for (int things = between(seed, 1, 4); things > 0; things--) {
        int width = between(seed, 8, p->width / 2), height = between(seed, 8, p->height / 2);
        int x = between(seed, 0, p->width - width), y = between(seed, 0, p->height - height);
        int strip = between(seed, 1, 2 + height / 5);
        box(p, x, y, width, height, (uint8_t)between(seed, 20, 220));
        box(p, x, y + height - strip, width, strip, (uint8_t)between(seed, 5, 45));
        if (between(seed, 0, 3) == 0) /* a gap in it */
            for (int v = y + height - strip; v < y + height; v++)
                memset(p->mask + v * p->width + x + width / 3, 0, (size_t)(width / 5));
    }
    for (int i = 0; i < p->width * p->height; i++)
        for (int c = 0; c < p->channels; c++)
            p->f[i * p->channels + c] += (uint8_t)between(seed, 0, 4);
}

#endif
