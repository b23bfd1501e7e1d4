/* A river: waves travel over it, and each bit of its surface mirrors the part of the far bank, the
 * sky or the sun that its slope turns to us. */
#include "video/synth/world.h"

#include <stdlib.h>

/* The picture is that of a camera 4 m above the water. Units from the top; 240 units are also the
 * focal length. */
enum { HORIZON = 66, BANK = 100, HEIGHT_MM = 4000, FOCAL = 240 };

/* Waves: length in mm, direction in turns/65536 from straight to us, slope in 1/4096. The frequency
 * follows from the length, as in deep water. */
static const struct wave {
    int length, direction, slope;
} waves[] = { { 3900, 2400, 230 },  { 2600, -4900, 240 }, { 1750, 7600, 270 }, { 1230, -1100, 280 },
              { 870, -9200, 270 },  { 640, 5200, 260 },   { 450, 12400, 200 }, { 330, -3300, 190 },
              { 240, -11800, 160 }, { 190, 8800, 140 } };

enum { WAVES = sizeof waves / sizeof *waves, TABLE = 1024 };

/* A wave along one row of pixels. */
struct ripple {
    int64_t phase, step; /* turns/2^32, and from a pixel to the next */
    int strength;        /* slope in 1/4096, less where the pixels are larger than the wave */
    int across, along;   /* parts of the slope, 1/16384 */
};

static int64_t whole_root(int64_t value)
{
    int64_t root = 0;
    for (int64_t bit = INT64_C(1) << 30; bit; bit >>= 1)
        if ((root + bit) * (root + bit) <= value)
            root += bit;
    return root;
}

/* The ripple of a wave on a row at `distance` mm; `left` is the first pixel's place and `step` from
 * one to the next, mm/256. `deep`: mm of the row from front to back. */
static struct ripple ripple_of(const struct wave *wave, int64_t distance, int64_t left,
                               int64_t step, int64_t deep, int64_t time)
{
    struct ripple ripple;
    ripple.across = bd_synth_sin(wave->direction);
    ripple.along = bd_synth_sin(wave->direction + 16384);
    int64_t way = (left * ripple.across >> 8) + distance * ripple.along; /* mm/16384 */
    /* sqrt(g / (2 pi length)) turns a second, in units of 2^-16. */
    int64_t turns = INT64_C(39497) * 256 * 65536 / 1000 / whole_root((int64_t)wave->length << 16);
    ripple.phase = way * 262144 / wave->length + turns * time;
    ripple.step = (step * ripple.across >> 8) * 262144 / wave->length;
    int64_t span =
        deep * abs(ripple.along) / 16384 * 256 / wave->length; /* of a wave, in a pixel */
    ripple.strength = span >= 320 ? wave->slope / 5 : wave->slope * (int)(400 - span) / 400;
    return ripple;
}

/* What is seen at a place of the far side, units from the top: painted already, or sky above. */
static void far_side(const struct bd_synth_canvas *canvas, int64_t u, int64_t v, int rgb[3])
{
    static const int low[3] = { 228, 232, 234 }, high[3] = { 74, 116, 176 };
    int64_t sun_x = bd_synth_width(canvas) * 5 / 8 - u, sun_y = v + 60 * 256;
    if (sun_x * sun_x + sun_y * sun_y < INT64_C(30) * 30 * 65536) {
        rgb[0] = rgb[1] = rgb[2] = 900;
        return;
    }
    if (v < 0) { /* bluer the higher */
        int up = v < -300 * 256 ? 256 : (int)(-v / 300);
        for (int c = 0; c < 3; c++)
            rgb[c] = low[c] + (high[c] - low[c]) * up / 256;
        return;
    }
    int x = (int)(u * canvas->height / (256 * BD_SYNTH_UNITS));
    int y = (int)(v * canvas->height / (256 * BD_SYNTH_UNITS));
    x = x < 0 ? 0 : x >= canvas->width ? canvas->width - 1 : x;
    y = y >= canvas->height ? canvas->height - 1 : y;
    const uint8_t *p = canvas->picture->data + y * canvas->picture->stride + 3 * (int64_t)x;
    for (int c = 0; c < 3; c++)
        rgb[c] = p[c];
}

static void paint_row(const struct bd_synth_canvas *canvas, int y, int64_t v, const int *sines,
                      uint32_t seed, int64_t time)
{
    static const int body[3] = { 38, 62, 58 };
    int64_t depth = v - HORIZON * 256, width = bd_synth_width(canvas);
    int64_t distance = (int64_t)HEIGHT_MM * FOCAL * 256 / depth;
    int64_t deep = distance * 256 * BD_SYNTH_UNITS / canvas->height / depth;
    int64_t left = -width / 2 * distance / FOCAL, step = width / canvas->width * distance / FOCAL;
    struct ripple ripples[WAVES];
    for (int i = 0; i < WAVES; i++)
        ripples[i] = ripple_of(&waves[i], distance, left, step, deep, time);
    int mirrored = 220 - (int)(depth * 90 / (174 * 256)); /* less of it where we look down */
    uint8_t *p = canvas->picture->data + y * canvas->picture->stride;
    for (int x = 0; x < canvas->width; x++, p += 3) {
        int64_t u = bd_synth_unit(canvas, x);
        int64_t across = 0, along = 0;
        for (int i = 0; i < WAVES; i++) {
            int slope = ripples[i].strength * sines[ripples[i].phase >> 22 & (TABLE - 1)] >> 6;
            across += slope * ripples[i].across >> 14;
            along += slope * ripples[i].along >> 14;
            ripples[i].phase += ripples[i].step;
        }
        /* Breezes pass over the water. */
        int64_t breeze = 90 + bd_synth_noise(u + time / 6, 3 * v - time / 9, 14, seed) * 3 / 2;
        int rgb[3];
        int64_t turn = 2 * FOCAL * breeze / 256; /* units per slope of 1, which is 2^20 here */
        far_side(canvas, u + (across * turn >> 12), HORIZON * 256 - depth + (along * turn >> 12),
                 rgb);
        int tone = (int)(along >> 13);
        for (int c = 0; c < 3; c++)
            p[c] = bd_synth_byte(body[c] + tone + (rgb[c] - body[c]) * mirrored / 256);
    }
}

void bd_synth_paint_river(const struct bd_synth_canvas *canvas, const struct bd_synth_scene *scene,
                          uint32_t seed, int64_t index)
{
    if (!canvas->picture)
        return;
    int sines[TABLE];
    for (int i = 0; i < TABLE; i++)
        sines[i] = bd_synth_sin((int64_t)i * 65536 / TABLE);
    int64_t time = index * 65536 / scene->fps;
    for (int y = 0; y < canvas->height; y++) {
        int64_t v = bd_synth_unit(canvas, y);
        if (v >= BANK * 256 && v < BD_SYNTH_QUAY * 256)
            paint_row(canvas, y, v, sines, seed + 30, time);
    }
}
