/* Rain: drops at several distances, the rings where they hit the ground, veils of fine drops, and a
 * wet ground that mirrors the houses. */
#include "video/synth/world.h"

/* Depths, far to near. */
static const struct depth {
    int count;        /* drops in a picture of 320 units */
    int length;       /* of a streak, units */
    int radius;       /* u8 */
    int speed;        /* units a second */
    int transparency; /* 0..256 */
} depths[] = { { 420, 14, 120, 330, 176 }, { 200, 30, 230, 520, 168 }, { 96, 60, 640, 800, 180 } };

enum {
    GROUND = 100,      /* units: where rings begin */
    RINGS = 320,       /* alive at a time, in a picture of 320 units */
    RING_TIME = 16384, /* a quarter of a second */
    RING_REACH = 6     /* units */
};

static int64_t scaled(int count, int64_t width)
{
    return count * width / (320 * 256) + 1;
}

static void paint_depth(const struct bd_synth_canvas *canvas, int number, int64_t time,
                        uint32_t seed)
{
    const struct depth *depth = &depths[number];
    int64_t width = bd_synth_width(canvas), fall = (BD_SYNTH_UNITS + depth->length) * INT64_C(256);
    struct bd_synth_canvas drops = *canvas;
    drops.transparency = depth->transparency;
    struct bd_synth_ink ink = { .color = { 214, 220, 226 } };
    /* The wind slants all drops alike, and its gusts take seconds. */
    int64_t slant = 20 + bd_synth_noise(time, 0, 17, seed) / 4; /* 256 is a slope of 1 */
    for (int64_t i = 0, count = scaled(depth->count, width); i < count; i++) {
        uint32_t look = bd_synth_hash(seed, 60 + (uint32_t)number, (uint32_t)i);
        int64_t covered = time * depth->speed / 256 + look % (uint32_t)fall;
        uint32_t drop = bd_synth_hash(look, 61, (uint32_t)(covered / fall));
        int64_t y = covered % fall, x = drop % (uint32_t)(width + width / 4) - y * slant / 256;
        int64_t length = depth->length * (INT64_C(160) + (drop >> 8) % 160);
        struct bd_synth_point head = { bd_synth_px8(canvas, x), bd_synth_px8(canvas, y) };
        struct bd_synth_point tail = { bd_synth_px8(canvas, x + length * slant / 256),
                                       bd_synth_px8(canvas, y - length) };
        bd_synth_capsule(&drops, head, bd_synth_px8(canvas, depth->radius), tail,
                         bd_synth_px8(canvas, depth->radius / 2), &ink);
    }
}

/* A ring that grows from 0 to RING_REACH and fades; `age` 0..256. */
static void paint_ring(const struct bd_synth_canvas *canvas, int64_t x, int64_t y, int64_t reach,
                       int age)
{
    struct bd_synth_canvas water = *canvas;
    water.transparency = 80 + age * 170 / 256;
    struct bd_synth_ink ink = { .color = { 206, 212, 218 } };
    enum { SIDES = 10 };
    struct bd_synth_point last = { 0, 0 };
    int32_t thin = bd_synth_px8(canvas, 110);
    int64_t r = reach * age / 256 + 128;
    for (int i = 0; i <= SIDES; i++) {
        int64_t turn = (int64_t)i * 65536 / SIDES;
        struct bd_synth_point now = { bd_synth_px8(canvas, x + r * bd_synth_sin(turn) / 16384),
                                      bd_synth_px8(canvas,
                                                   y + r * bd_synth_sin(turn + 16384) / 40960) };
        if (i)
            bd_synth_capsule(&water, last, thin, now, thin, &ink);
        last = now;
    }
}

static void paint_rings(const struct bd_synth_canvas *canvas, int64_t time, uint32_t seed)
{
    int64_t width = bd_synth_width(canvas);
    for (int64_t i = 0, count = scaled(RINGS, width); i < count; i++) {
        uint32_t look = bd_synth_hash(seed, 70, (uint32_t)i);
        int64_t clock = time + look % RING_TIME;
        uint32_t drop = bd_synth_hash(look, 71, (uint32_t)(clock / RING_TIME));
        int64_t y = GROUND * 256 + (drop >> 12) % ((BD_SYNTH_UNITS - GROUND) * 256);
        int64_t reach = RING_REACH * (y - 60 * 256) / 180;
        paint_ring(canvas, drop % (uint32_t)width, y, reach,
                   (int)(clock % RING_TIME * 256 / RING_TIME));
    }
}

/* Veils of fine drops drift before everything, and take its contrast. */
static void paint_veils(const struct bd_synth_canvas *canvas, int64_t time, uint32_t seed)
{
    for (int y = 0; canvas->picture && y < canvas->height; y++) {
        uint8_t *p = canvas->picture->data + y * canvas->picture->stride;
        int64_t v = bd_synth_unit(canvas, y);
        for (int x = 0; x < canvas->width; x++, p += 3) {
            int64_t u = bd_synth_unit(canvas, x);
            int veil = 24 + bd_synth_noise(u + time / 4, v / 2 - time, 13, seed) / 2;
            p[0] = (uint8_t)(p[0] + (178 - p[0]) * veil / 256);
            p[1] = (uint8_t)(p[1] + (184 - p[1]) * veil / 256);
            p[2] = (uint8_t)(p[2] + (190 - p[2]) * veil / 256);
        }
    }
}

void bd_synth_paint_wet_ground(const struct bd_synth_canvas *canvas,
                               const struct bd_synth_scene *scene, uint32_t seed, int64_t index)
{
    int64_t time = index * 65536 / scene->fps;
    for (int y = 0; canvas->picture && y < canvas->height; y++) {
        int64_t v = bd_synth_unit(canvas, y);
        if (v < GROUND * 256)
            continue;
        uint8_t *p = canvas->picture->data + y * canvas->picture->stride;
        for (int x = 0; x < canvas->width; x++, p += 3) {
            int64_t u = bd_synth_unit(canvas, x);
            /* Two fields of ripples that cross each other, up to 6 units. */
            int ripple = bd_synth_noise(u + 5 * time / 64, v - 2 * time / 16, 10, seed) +
                         bd_synth_noise(u - time / 16, v + time / 12, 9, seed + 1) - 255;
            int64_t from = 2 * GROUND * 256 - v + 24 * ripple;
            int row = (int)(from * canvas->height / (256 * BD_SYNTH_UNITS));
            int column = x + ripple * canvas->height / (64 * BD_SYNTH_UNITS);
            row = row < 0 ? 0 : row > y ? y : row;
            column = column < 0 ? 0 : column >= canvas->width ? canvas->width - 1 : column;
            const uint8_t *far =
                canvas->picture->data + row * canvas->picture->stride + 3 * (int64_t)column;
            for (int c = 0; c < 3; c++)
                p[c] = (uint8_t)((p[c] * 120 + far[c] * 108) / 256);
        }
    }
}

void bd_synth_paint_rain(const struct bd_synth_canvas *canvas, const struct bd_synth_scene *scene,
                         uint32_t seed, int64_t index)
{
    if (!canvas->picture)
        return;
    int64_t time = index * 65536 / scene->fps;
    paint_rings(canvas, time, seed);
    paint_veils(canvas, time, seed + 5);
    for (int i = 0; i < (int)(sizeof depths / sizeof *depths); i++)
        paint_depth(canvas, i, time, seed);
}
