#include "video/synth/world.h"

#include <stddef.h>

/* Heights of the bands of the street, in units from the top. */
enum {
    WOODS = 90,      /* beyond the meadows of a park */
    WHARF = 88,      /* wall of a river's far bank */
    WALL_FOOT = 70,  /* where the light ground floor of the houses begins */
    FAR_WALK = 100,  /* pavement at the foot of the houses */
    FAR_KERB = 119,  /* */
    ROAD = 122,      /* */
    NEAR_KERB = 193, /* */
    NEAR_WALK = 197, /* */
    HORIZON = 30,    /* where the joints of the pavements meet */
    LOT = 74         /* mean width of a house */
};

static const struct bd_synth_color walls[] = { { 176, 120, 92 },  { 196, 178, 146 },
                                               { 150, 150, 148 }, { 168, 98, 78 },
                                               { 186, 190, 180 }, { 204, 188, 120 } };

static struct bd_synth_color shade(struct bd_synth_color color, int percent)
{
    return (struct bd_synth_color){ bd_synth_byte(color.r * percent / 100),
                                    bd_synth_byte(color.g * percent / 100),
                                    bd_synth_byte(color.b * percent / 100) };
}

/* A rectangle in whole and quarter units: x0 is u8, the rest quarters of a unit. */
static void block(const struct bd_synth_canvas *canvas, int64_t x0, int y0, int width, int height,
                  struct bd_synth_ink ink)
{
    ink.anchor = (struct bd_synth_point){ 0, 0 };
    bd_synth_rect(canvas, bd_synth_px8(canvas, x0), bd_synth_px8(canvas, 64 * y0),
                  bd_synth_px8(canvas, x0 + 64 * width),
                  bd_synth_px8(canvas, 64 * ((int64_t)y0 + height)), &ink);
}

/* Frame, glass, cross-bars and, in some, a curtain. */
static void paint_window(const struct bd_synth_canvas *canvas, int64_t x, int y, int width,
                         int height, uint32_t look)
{
    struct bd_synth_ink frame = { .color = { 222, 220, 212 } };
    struct bd_synth_ink sill = { .color = { 120, 116, 110 } };
    struct bd_synth_ink glass = { .color = shade((struct bd_synth_color){ 66, 82, 98 },
                                                 70 + (int)(look % 70)),
                                  .grain = 14,
                                  .slope = 16,
                                  .seed = look };
    struct bd_synth_ink curtain = { .color = { 188, 176, 160 }, .grain = 18, .seed = look };
    block(canvas, x, y, width, height, frame);
    block(canvas, x + 64 * 3, y + 3, width - 6, height - 6, glass);
    if (look & 0x300)
        block(canvas, x + 64 * 3, y + 3, (width - 6) / (look & 0x100 ? 3 : 4), height - 6, curtain);
    block(canvas, x + 32 * width - 64, y, 2, height, frame);
    block(canvas, x, y + height / 2 - 1, width, 2, frame);
    block(canvas, x - 64 * 2, y + height, width + 4, 4, sill);
}

/* Where house number k begins, u8. */
static int64_t lot_start(int64_t k, uint32_t seed)
{
    return (k * LOT - LOT / 2) * 256 + bd_synth_hash(seed, 11, (uint32_t)k) % (20 * 256);
}

static void paint_house(const struct bd_synth_canvas *canvas, int64_t k, int foot, uint32_t seed)
{
    int64_t x0 = lot_start(k, seed), x1 = lot_start(k + 1, seed);
    uint32_t look = bd_synth_hash(seed, 12, (uint32_t)k);
    int width = (int)((x1 - x0) / 64), top = (int)(look % 20) * 4 - 24;
    struct bd_synth_color wall = walls[(look >> 8) % (sizeof walls / sizeof *walls)];
    struct bd_synth_ink body = { .color = wall, .grain = 9, .slope = 8, .seed = look };
    struct bd_synth_ink trim = { .color = shade(wall, 122), .grain = 5, .seed = look };
    struct bd_synth_ink shadow = { .color = shade(wall, 78), .grain = 5, .seed = look };
    block(canvas, x0, top, width + 1, 4 * WALL_FOOT - top, body);
    block(canvas, x0 - 64, top, width + 2, 9, trim);
    block(canvas, x0, top + 9, width, 3, shadow);
    for (int course = top + 24; course < 4 * WALL_FOOT - 8; course += 12)
        block(canvas, x0, course, width, 1, shadow);
    int columns = 2 + (int)(look >> 16) % 2, w = 44 + (int)(look >> 20) % 12;
    for (int row = 0; row < 2; row++) {
        for (int i = 0; i < columns; i++) {
            int64_t x = x0 + 64 * ((2 * i + 1) * (int64_t)width / (2 * columns) - w / 2);
            paint_window(canvas, x, 4 * WALL_FOOT - 92 - 104 * row, w, 66,
                         bd_synth_hash(look, (uint32_t)row, (uint32_t)i));
        }
    }
    block(canvas, x0, 4 * WALL_FOOT - 8, width + 1, 8, trim);
    block(canvas, x1 - 64, top, 2, 4 * foot - top, shadow);
}

/* The colour of a pixel of ground, sky or ground floor before anything stands on it. */
struct tone {
    struct bd_synth_color color;
    int coarse, fine; /* amplitude of the texture of 16 units and of 1 unit */
};

/* Bands of the picture: each begins `from` units from the top, the last is the sky. */
struct band {
    int from;
    struct tone tone;
};

static const struct band street[] = {
    { NEAR_WALK, { { 158, 152, 144 }, 14, 12 } }, { NEAR_KERB, { { 196, 192, 184 }, 8, 10 } },
    { ROAD, { { 84, 85, 90 }, 10, 12 } },         { FAR_KERB, { { 190, 186, 180 }, 8, 10 } },
    { FAR_WALK, { { 154, 149, 142 }, 10, 10 } },  { WALL_FOOT, { { 188, 180, 168 }, 8, 8 } },
    { INT32_MIN, { { 150, 188, 226 }, 0, 0 } }
};

/* Verges and meadows in place of the pavements, and woods far away. */
static const struct band park[] = {
    { NEAR_KERB, { { 98, 116, 60 }, 26, 34 } },  { ROAD, { { 92, 92, 94 }, 10, 12 } },
    { FAR_KERB, { { 150, 142, 118 }, 10, 14 } }, { FAR_WALK, { { 118, 136, 70 }, 20, 22 } },
    { WOODS, { { 62, 80, 52 }, 22, 18 } },       { INT32_MIN, { { 196, 212, 232 }, 0, 0 } }
};

static const struct band river[] = { { BD_SYNTH_QUAY, { { 158, 152, 144 }, 14, 12 } },
                                     { WHARF, { { 112, 106, 98 }, 14, 16 } },
                                     { WALL_FOOT, { { 188, 180, 168 }, 8, 8 } },
                                     { INT32_MIN, { { 150, 188, 226 }, 0, 0 } } };

static struct tone tone_at(enum bd_synth_place place, int v)
{
    const struct band *band = place == BD_SYNTH_PARK    ? park
                              : place == BD_SYNTH_RIVER ? river
                                                        : street;
    while (v < band->from)
        band++;
    return band->tone;
}

/* The first row of the pavement that a row belongs to, or 0. */
static int pavement_of(enum bd_synth_place place, int v)
{
    if (place == BD_SYNTH_RIVER)
        return v >= BD_SYNTH_QUAY ? BD_SYNTH_QUAY : 0;
    if (place == BD_SYNTH_PARK)
        return 0;
    return v >= NEAR_WALK ? NEAR_WALK : v >= FAR_WALK && v < FAR_KERB ? FAR_WALK : 0;
}

/* Darkness of the joints between the slabs of a pavement: they meet in a vanishing point. */
static int joint(int64_t u, int64_t v, int64_t middle, int first)
{
    int64_t depth = v - HORIZON * 256;
    int64_t across = (u - middle) * 160 * 256 / depth; /* as if seen 160 units below the horizon */
    int64_t period = first >= NEAR_WALK ? 30 * 256 : 24 * 256;
    int64_t offset = ((across % period) + period) % period;
    int64_t row = (v - first * 256) % ((first >= NEAR_WALK ? 15 : 7) * 256);
    return offset < 200 || row < 150 ? 22 : 0;
}

static void paint_ground(const struct bd_synth_canvas *canvas, const struct bd_synth_scene *scene,
                         uint32_t seed)
{
    int64_t middle = bd_synth_width(canvas) / 2;
    for (int y = 0; y < canvas->height; y++) {
        uint8_t *p = canvas->picture->data + y * canvas->picture->stride;
        int64_t v = bd_synth_unit(canvas, y);
        int band = (int)(v >> 8);
        struct tone tone = tone_at(scene->place, band);
        int walk = pavement_of(scene->place, band);
        if (scene->rain && !tone.fine)
            tone.color = (struct bd_synth_color){ 176, 182, 190 }; /* overcast */
        for (int x = 0; x < canvas->width; x++, p += 3) {
            int64_t u = bd_synth_unit(canvas, x);
            int light;
            if (tone.fine) {
                light = (bd_synth_noise(u, 2 * v, 12, seed) - 128) * tone.coarse / 128 +
                        (bd_synth_noise(u, v, 8, seed + 1) - 128) * tone.fine / 128;
                light -= walk ? joint(u, v, middle, walk) : 0;
            } else { /* sky: lighter towards the roofs, with thin cloud */
                light = band / 2 + (bd_synth_noise(u, 3 * v, 13, seed + 2) - 128) / 5;
            }
            p[0] = bd_synth_byte(tone.color.r + light);
            p[1] = bd_synth_byte(tone.color.g + light);
            p[2] = bd_synth_byte(tone.color.b + light);
        }
    }
}

/* A four-cornered mark on the road, slanting to the vanishing point; units. */
static void paint_mark(const struct bd_synth_canvas *canvas, int64_t x, int width, int top,
                       int bottom, const struct bd_synth_ink *ink)
{
    int64_t middle = bd_synth_width(canvas) / 512;
    struct bd_synth_point corners[4];
    for (int i = 0; i < 4; i++) {
        int y = i < 2 ? top : bottom; /* quarters of a unit */
        int64_t at = (x + (i == 1 || i == 2 ? width : 0) - middle) * 256;
        corners[i].x = bd_synth_px8(canvas, middle * 256 + at * (y - 4 * HORIZON) / (4 * 125));
        corners[i].y = bd_synth_px8(canvas, 64 * (int64_t)y);
    }
    bd_synth_polygon(canvas, corners, 4, ink);
}

static void paint_road(const struct bd_synth_canvas *canvas, uint32_t seed)
{
    struct bd_synth_ink white = { .color = { 206, 206, 200 }, .grain = 26, .seed = seed + 3 };
    struct bd_synth_ink gutter = { .color = { 62, 62, 64 }, .grain = 14, .seed = seed + 4 };
    int64_t width = bd_synth_width(canvas) / 256, quarters = 4 * width;
    for (int64_t x = -(width % 44) - 88; x < width + 88; x += 44)
        paint_mark(canvas, x, 22, 4 * 154, 4 * 154 + 9, &white);
    int span = quarters > 1 << 20 ? 1 << 20 : (int)quarters + 4;
    block(canvas, 0, 4 * ROAD, span, 6, gutter);
    block(canvas, 0, 4 * NEAR_KERB - 6, span, 6, gutter);
}

static void paint_lamp(const struct bd_synth_canvas *canvas, int64_t x)
{
    struct bd_synth_ink iron = { .color = { 48, 54, 52 }, .slope = 6 };
    struct bd_synth_ink glass = { .color = { 240, 234, 206 } };
    block(canvas, x - 64 * 3, 4 * FAR_WALK + 14, 8, 5, iron);
    block(canvas, x - 64, 4 * 34, 4, 4 * (FAR_WALK - 34) + 16, iron);
    block(canvas, x - 64 * 6, 4 * 30 + 2, 14, 14, glass);
    block(canvas, x - 64 * 8, 4 * 28 + 4, 18, 6, iron);
}

/* The crown is a union of discs (units from the tree's foot) roughened by noise. */
static const struct {
    int x, y, r;
} crown[] = { { 0, -72, 25 },  { -24, -60, 19 }, { 23, -62, 20 },
              { -9, -90, 19 }, { 14, -87, 18 },  { -38, -72, 12 } };

/* 0..256: how much of a leaf there is at a point relative to the tree's foot, u8. */
static int leaf_cover(int64_t u, int64_t v, uint32_t seed)
{
    int64_t best = -256;
    for (size_t i = 0; i < sizeof crown / sizeof *crown; i++) {
        int64_t dx = u - crown[i].x * 256, dy = v - crown[i].y * 256;
        int64_t r2 = (int64_t)crown[i].r * crown[i].r * 256;
        int64_t inside = 256 - (dx * dx + dy * dy) / r2; /* 256 in the middle, 0 on the rim */
        best = inside > best ? inside : best;
    }
    if (best <= -120)
        return 0;
    int64_t cover = (2 * best + bd_synth_noise(u, v, 10, seed) - 150) * 4;
    return (int)(cover < 0 ? 0 : cover > 256 ? 256 : cover);
}

/* How far the wind has moved the leaves at a height, u8: two sines, stronger in gusts. */
static int64_t wind(int64_t index, int fps, int64_t v)
{
    int64_t time = index * 65536 / fps;
    int64_t gust = 160 + bd_synth_sin(time / 7) * 96 / 16384;
    int64_t move = bd_synth_sin(time * 5 / 8 + v * 3) * 420 / 16384 +
                   bd_synth_sin(time * 11 / 8 + v * 9) * 170 / 16384;
    return move * gust / 256;
}

static void paint_tree(const struct bd_synth_canvas *canvas, const struct bd_synth_scene *scene,
                       uint32_t seed, int64_t index)
{
    int64_t foot_x = bd_synth_width(canvas) - 62 * 256, foot_y = 105 * 256;
    struct bd_synth_ink bark = { .color = { 74, 58, 46 }, .grain = 22, .seed = seed + 5 };
    struct bd_synth_point low = { bd_synth_px8(canvas, foot_x), bd_synth_px8(canvas, foot_y) };
    struct bd_synth_point high = { low.x + bd_synth_px8(canvas, 512),
                                   bd_synth_px8(canvas, foot_y - 66 * 256) };
    bd_synth_capsule(canvas, low, bd_synth_px8(canvas, 3 * 256), high, bd_synth_px8(canvas, 400),
                     &bark);
    int x0 = (bd_synth_px8(canvas, foot_x - 56 * 256) >> 8);
    int x1 = (bd_synth_px8(canvas, foot_x + 50 * 256) >> 8) + 1;
    x0 = x0 < 0 ? 0 : x0;
    x1 = x1 > canvas->width ? canvas->width : x1;
    for (int y = 0; y < canvas->height; y++) {
        int64_t v = bd_synth_unit(canvas, y) - foot_y;
        if (v > -34 * 256)
            break;
        int64_t sway = scene->sway ? wind(index, scene->fps, v) : 0;
        int64_t bob = scene->sway ? wind(index + scene->fps / 3, scene->fps, v / 2) / 3 : 0;
        for (int x = x0; x < x1; x++) {
            int64_t u = bd_synth_unit(canvas, x) - foot_x;
            /* Leaves further out hang on thinner twigs: they move more. */
            int64_t reach = 128 + (u < 0 ? -u : u) / 96;
            int64_t lu = u + sway * reach / 256, lv = v + bob * reach / 256;
            int cover = leaf_cover(lu, lv, seed + 6);
            if (!cover)
                continue;
            int light = bd_synth_noise(lu, lv, 9, seed + 7) - 128;
            light = light * 38 / 128 - (int)(lv / 256 + 72) / 2;
            int rgb[3] = { 66 + light, 104 + light, 46 + light / 2 };
            uint8_t *p = canvas->picture->data + y * canvas->picture->stride + 3 * (int64_t)x;
            for (int c = 0; c < 3; c++) {
                int value = rgb[c] < 8 ? 8 : rgb[c] > 235 ? 235 : rgb[c];
                p[c] = (uint8_t)(p[c] + (value - p[c]) * cover / 256);
            }
        }
    }
}

/* The tops of the woods: overlapping crowns, far away. */
static void paint_woods(const struct bd_synth_canvas *canvas, uint32_t seed)
{
    int64_t width = bd_synth_width(canvas);
    for (int64_t k = 0; k * 9 * 256 < width + 9 * 256; k++) {
        uint32_t look = bd_synth_hash(seed, 13, (uint32_t)k);
        int light = (int)(look >> 8) % 24 - 12;
        struct bd_synth_ink leaves = { .color = { bd_synth_byte(60 + light),
                                                  bd_synth_byte(80 + light),
                                                  bd_synth_byte(54 + light) },
                                       .grain = 34,
                                       .slope = 16,
                                       .seed = look };
        struct bd_synth_point at = { bd_synth_px8(canvas, k * 9 * 256),
                                     bd_synth_px8(canvas, (86 - look % 10) * INT64_C(256)) };
        int32_t r = bd_synth_px8(canvas, (8 + (look >> 4) % 7) * INT64_C(256));
        bd_synth_capsule(canvas, at, r, at, r, &leaves);
    }
}

void bd_synth_paint_world(const struct bd_synth_canvas *canvas, const struct bd_synth_scene *scene,
                          uint32_t seed, int64_t index)
{
    if (!canvas->picture)
        return;
    paint_ground(canvas, scene, seed);
    int64_t width = bd_synth_width(canvas);
    if (scene->place != BD_SYNTH_PARK)
        for (int64_t k = 0; lot_start(k, seed) < width; k++)
            paint_house(canvas, k, scene->place == BD_SYNTH_RIVER ? WHARF : FAR_WALK, seed);
    if (scene->place == BD_SYNTH_PARK)
        paint_woods(canvas, seed);
    if (scene->place != BD_SYNTH_RIVER)
        paint_road(canvas, seed);
    if (scene->place == BD_SYNTH_STREET) {
        paint_lamp(canvas, 46 * 256);
        paint_tree(canvas, scene, seed, index);
    }
}
