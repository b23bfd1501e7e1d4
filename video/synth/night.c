/* Night: a lamp that flickers, a screen, a sign that blinks, and the head lights of cars, also of
 * those out of view. Their light is no object in the truth, nor are reflections on the wet road. */
#include "video/synth/world.h"

/* Light on an ellipse, brightest in its middle. */
struct light {
    int64_t x, y, rx, ry; /* u8 */
    int color[3];         /* 256 is daylight; of a glow, grey levels */
    bool glow;            /* is seen itself, whatever it falls on */
    bool wet;             /* a reflection: ripples break it into pieces */
};

enum { MOST = 48, CARS = 8, STRIP = 64 };

struct lights {
    struct light all[MOST];
    int count;
};

static const int white[3] = { 236, 226, 190 }, sodium[3] = { 230, 150, 70 },
                 red[3] = { 150, 22, 18 };

static void add(struct lights *lights, struct light light, const int color[3], int percent)
{
    for (int c = 0; c < 3; c++)
        light.color[c] = color[c] * percent / 100;
    if (lights->count < MOST && percent > 0)
        lights->all[lights->count++] = light;
}

/* A lamp at (x, y) and its image in the wet ground, a column from `foot` on. */
static void add_source(struct lights *lights, int64_t x, int64_t y, int64_t foot, int size,
                       const int color[3], int percent)
{
    int64_t r = size * INT64_C(256);
    add(lights, (struct light){ .x = x, .y = y, .rx = r, .ry = r, .glow = true }, color, percent);
    int64_t middle = foot + (foot - y), reach = (foot - y) + 22 * 256;
    add(lights,
        (struct light){
            .x = x, .y = middle, .rx = r * 2 / 3, .ry = reach, .glow = true, .wet = true },
        color, percent * 45 / 100);
}

static void add_car(struct lights *lights, const struct bd_synth_car *car)
{
    int64_t size = car->length, ahead = size * car->direction;
    int64_t lamp = car->front - ahead / 40, rear = car->front - ahead * 39 / 40;
    add(lights,
        (struct light){ .x = car->front + ahead,
                        .y = car->ground + size / 16,
                        .rx = size * 11 / 10,
                        .ry = size / 6 },
        white, 62);
    add(lights,
        (struct light){ .x = car->front + ahead * 3 / 8,
                        .y = car->ground + size / 24,
                        .rx = size / 2,
                        .ry = size / 12 },
        white, 80);
    add(lights,
        (struct light){
            .x = car->front + ahead * 2, .y = car->ground - size / 3, .rx = size, .ry = size / 2 },
        white, 14);
    add_source(lights, lamp, car->ground - size * 15 / 100, car->ground, 8, white, 110);
    add_source(lights, rear, car->ground - size * 15 / 100, car->ground, 5, red, 90);
}

/* A car that turns out of view: its beams sweep over the houses, every few seconds. */
static void add_sweep(struct lights *lights, int64_t time, int64_t width, uint32_t seed)
{
    enum { EVERY = 4 * 65536 };
    int64_t round = time / EVERY, at = time % EVERY;
    uint32_t look = bd_synth_hash(seed, 80, (uint32_t)round);
    int64_t begin = look % 65536, last = 110000 + (look >> 16) % 40000;
    if (at < begin || at > begin + last)
        return;
    int64_t way = (at - begin) * 256 / last; /* 0..256 */
    int64_t x = -70 * 256 + (width + 140 * 256) * way / 256;
    if (look & 1)
        x = width - x;
    int strength = (int)(way < 64 ? way : 256 - way > 192 ? 192 : 256 - way);
    add(lights, (struct light){ .x = x, .y = 74 * 256, .rx = 64 * 256, .ry = 46 * 256 }, white,
        strength / 4);
    add(lights, (struct light){ .x = x, .y = 128 * 256, .rx = 80 * 256, .ry = 24 * 256 }, white,
        strength / 5);
}

/* The street lamp (see paint_lamp): at times it fails to burn steadily. */
static int flicker(int64_t time, uint32_t seed)
{
    if (bd_synth_noise(time, 0, 17, seed) < 132)
        return 100;
    uint32_t state = bd_synth_hash(seed, 81, (uint32_t)(time / 5243)); /* 80 ms */
    return state % 3 ? 100 : (int)(20 + (state >> 8) % 60);
}

/* The colours of the pictures on the screen, which change every 1.6 seconds. */
static const int slides[][3] = {
    { 60, 120, 230 }, { 220, 60, 60 }, { 230, 220, 210 }, { 40, 170, 90 }, { 220, 170, 50 }
};

static const int *slide_at(int64_t time, uint32_t seed)
{
    uint32_t pick = bd_synth_hash(seed, 82, (uint32_t)(time / 104858));
    return slides[pick % (sizeof slides / sizeof *slides)];
}

static bool sign_is_on(int64_t time)
{
    return time % 72000 < 40000;
}

enum {
    SCREEN_X = 168,
    SCREEN_Y = 28,
    SCREEN_WIDTH = 46,
    SCREEN_HEIGHT = 28,
    SIGN_X = 262,
    SIGN_Y = 66
};

static void gather(struct lights *lights, const struct bd_synth_scene *scene, uint32_t seed,
                   int64_t index, int64_t width)
{
    int64_t time = index * 65536 / scene->fps;
    struct bd_synth_car cars[CARS];
    int count = bd_synth_find_cars(scene, seed, index, width, cars, CARS);
    for (int i = 0; i < count; i++)
        add_car(lights, &cars[i]);
    add_sweep(lights, time, width, seed);
    int lamp = flicker(time, seed);
    add(lights, (struct light){ .x = 46 * 256, .y = 112 * 256, .rx = 76 * 256, .ry = 34 * 256 },
        sodium, lamp * 56 / 100);
    add_source(lights, 46 * 256, 32 * 256, 104 * 256, 11, sodium, lamp);
    int64_t x = (SCREEN_X + SCREEN_WIDTH / 2) * 256;
    add(lights, (struct light){ .x = x, .y = 112 * 256, .rx = 62 * 256, .ry = 30 * 256 },
        slide_at(time, seed), 34);
    add(lights,
        (struct light){
            .x = x, .y = 140 * 256, .rx = 16 * 256, .ry = 60 * 256, .glow = true, .wet = true },
        slide_at(time, seed), 22);
    if (sign_is_on(time)) {
        add(lights,
            (struct light){ .x = SIGN_X * 256, .y = 110 * 256, .rx = 44 * 256, .ry = 24 * 256 },
            red, 60);
        add(lights,
            (struct light){ .x = SIGN_X * 256,
                            .y = 136 * 256,
                            .rx = 9 * 256,
                            .ry = 46 * 256,
                            .glow = true,
                            .wet = true },
            red, 60);
    }
}

/* How much of a light reaches a row, for the strip of pixels from x0 on. */
static void light_strip(const struct bd_synth_canvas *canvas, const struct light *light, int x0,
                        int count, int64_t v, int64_t time, int lit[][3], int glow[][3])
{
    int64_t dy = v - light->y, y2 = dy * dy * 4096 / (light->ry * light->ry);
    if (y2 >= 4096)
        return;
    int64_t middle = light->x;
    int piece = 256;
    if (light->wet) {
        middle += bd_synth_noise(time / 2, v - time / 8, 10, 91) * 4 - 510;
        piece = bd_synth_noise(time, v * 2 - time / 4, 10, 92) + 60;
    }
    for (int i = 0; i < count; i++) {
        int64_t dx = bd_synth_unit(canvas, x0 + i) - middle;
        if (dx >= light->rx || dx <= -light->rx)
            continue;
        int64_t inside = 4096 - y2 - dx * dx * 4096 / (light->rx * light->rx);
        if (inside <= 0)
            continue;
        int strength = (int)(inside * inside >> 16) * piece / 256; /* 0..256 */
        for (int c = 0; c < 3; c++) {
            if (light->glow)
                glow[i][c] += light->color[c] * strength / 256;
            else
                lit[i][c] += light->color[c] * strength / 256;
        }
    }
}

static void paint_lights(const struct bd_synth_canvas *canvas, const struct lights *lights,
                         int64_t time)
{
    static const int ambient[3] = { 80, 82, 96 };
    for (int y = 0; y < canvas->height; y++) {
        uint8_t *p = canvas->picture->data + y * canvas->picture->stride;
        int64_t v = bd_synth_unit(canvas, y);
        for (int x0 = 0; x0 < canvas->width; x0 += STRIP) {
            int lit[STRIP][3], glow[STRIP][3] = { { 0 } };
            int count = canvas->width - x0 < STRIP ? canvas->width - x0 : STRIP;
            for (int i = 0; i < count; i++)
                for (int c = 0; c < 3; c++)
                    lit[i][c] = ambient[c];
            for (int k = 0; k < lights->count; k++)
                light_strip(canvas, &lights->all[k], x0, count, v, time, lit, glow);
            for (int i = 0; i < count; i++, p += 3)
                for (int c = 0; c < 3; c++)
                    p[c] = bd_synth_byte(p[c] * lit[i][c] / 256 + glow[i][c]);
        }
    }
}

static void block(const struct bd_synth_canvas *canvas, int x, int y, int width, int height,
                  struct bd_synth_ink ink)
{
    bd_synth_rect(canvas, bd_synth_px8(canvas, x * INT64_C(256)),
                  bd_synth_px8(canvas, y * INT64_C(256)),
                  bd_synth_px8(canvas, (x + width) * INT64_C(256)),
                  bd_synth_px8(canvas, (y + height) * INT64_C(256)), &ink);
}

/* The screen's pictures: a ground, a figure that moves on it, and a line of text that runs. */
static void paint_screen(const struct bd_synth_canvas *canvas, int64_t time, uint32_t seed)
{
    const int *color = slide_at(time, seed);
    struct bd_synth_ink ground = { .color = { bd_synth_byte(color[0] * 9 / 10),
                                              bd_synth_byte(color[1] * 9 / 10),
                                              bd_synth_byte(color[2] * 9 / 10) },
                                   .slope = 24 };
    struct bd_synth_ink figure = { .color = { 240, 236, 226 } };
    block(canvas, SCREEN_X, SCREEN_Y, SCREEN_WIDTH, SCREEN_HEIGHT, ground);
    int at = (int)(time % 104858 * (SCREEN_WIDTH - 12) / 104858);
    block(canvas, SCREEN_X + at, SCREEN_Y + 6, 12, 12, figure);
    for (int i = 0; i < SCREEN_WIDTH - 4; i += 4)
        if (bd_synth_hash(seed, 83, (uint32_t)(i / 4 + time / 16384)) & 1)
            block(canvas, SCREEN_X + i + 1, SCREEN_Y + 22, 3, 3, figure);
}

void bd_synth_paint_night(const struct bd_synth_canvas *canvas, const struct bd_synth_scene *scene,
                          uint32_t seed, int64_t index)
{
    if (!canvas->picture)
        return;
    int64_t time = index * 65536 / scene->fps;
    struct lights lights = { .count = 0 };
    gather(&lights, scene, seed, index, bd_synth_width(canvas));
    paint_lights(canvas, &lights, time);
    paint_screen(canvas, time, seed);
    struct bd_synth_ink tube = { .color = { 240, 60, 50 } };
    if (!sign_is_on(time))
        tube.color = (struct bd_synth_color){ 30, 14, 16 };
    for (int i = 0; i < 5; i++)
        block(canvas, SIGN_X - 17 + 7 * i, SIGN_Y, 5, 7, tube);
}
