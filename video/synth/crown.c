/* A tree close to the camera: a trunk, limbs, and boughs whose leaves hide what passes behind. */
#include "video/synth/world.h"

enum {
    BOUGHS = 60,
    LEAVES = 70, /* on a bough */
    TWIG = 6     /* leaves that move as one, besides their own flutter */
};

/* The parts that hardly move; units, the trunk first. Boughs grow on the limbs. */
static const struct limb {
    int x0, y0, r0, x1, y1, r1;
} limbs[] = {
    { 38, 244, 12, 50, 100, 8 }, { 50, 104, 7, 140, -14, 3 }, { 49, 122, 6, 268, 44, 1 },
    { 50, 104, 6, -14, 14, 3 },  { 92, 44, 4, 262, -4, 1 },   { 49, 132, 4, 168, 92, 1 }
};

enum { LIMBS = sizeof limbs / sizeof *limbs };

/* Greens from the far side of the crown, in its own shade, to the near one. */
static const struct bd_synth_color greens[] = {
    { 38, 58, 30 }, { 52, 78, 36 }, { 66, 98, 42 }, { 84, 118, 50 }, { 112, 142, 62 }
};

/* u8. */
struct spot {
    int64_t x, y;
};

/* The wind, 40..256: gusts that rise and fall in seconds and travel to the right. */
static int gust_at(int64_t time, int64_t x, uint32_t seed)
{
    int64_t at = time - x * 2; /* 128 units in a second */
    int gust = 2 * bd_synth_noise(at, 0, 17, seed) + bd_synth_noise(at, 0, 15, seed + 1);
    return 40 + gust * 216 / 765;
}

/* How far the tip of a bough is from its place: the wind pushes it, and it swings about that with
 * its own frequency, 0.4 to 1.2 Hz. */
static struct spot swing(int64_t time, int64_t x, uint32_t look, uint32_t seed)
{
    int gust = gust_at(time, x, seed);
    int64_t turn = time * (26 + (int64_t)(look % 52)) / 64 + look;
    int64_t wave = bd_synth_sin(turn) + bd_synth_sin(turn * 9 / 5 + (look >> 7)) / 3;
    int64_t rise = bd_synth_sin(turn + 9000 + (look >> 9) % 14000);
    struct spot move;
    move.x = gust * gust / 40 + wave * gust * 11 / 16384;
    move.y = rise * gust * 6 / 16384;
    return move;
}

static struct bd_synth_point place(const struct bd_synth_canvas *canvas, struct spot at)
{
    return (struct bd_synth_point){ bd_synth_px8(canvas, at.x), bd_synth_px8(canvas, at.y) };
}

/* One leaf of a bough at `stem`. It turns in the wind: it shows its edge, and another light. */
static void paint_leaf(const struct bd_synth_canvas *canvas, struct spot stem, int depth,
                       int64_t time, int gust, uint32_t look)
{
    int64_t beat = time * (5 + (int64_t)(look >> 3) % 7) / 2 + (look >> 5);
    int flutter = bd_synth_sin(beat) * gust / 256;
    int64_t angle = (int64_t)(look % 30000) - 15000 + flutter * 3 / 8;
    int64_t length = 1200 + 280 * depth + (look >> 11) % 500;
    int64_t width = (380 + 110 * depth) * (640 + flutter * 24 / 1024) / 1024;
    struct spot tip = { stem.x + length * bd_synth_sin(angle) / 16384,
                        stem.y + length * bd_synth_sin(angle + 16384) / 16384 };
    int light = (int)(look >> 17) % 44 - 22 + flutter * 26 / 16384;
    struct bd_synth_ink ink = { .color = greens[depth + (look >> 24) % 3], .hides = true };
    ink.color.r = bd_synth_byte(ink.color.r + light);
    ink.color.g = bd_synth_byte(ink.color.g + light);
    ink.color.b = bd_synth_byte(ink.color.b + light / 2);
    bd_synth_capsule(canvas, place(canvas, stem), bd_synth_px8(canvas, width * 3 / 5),
                     place(canvas, tip), bd_synth_px8(canvas, width), &ink);
}

static void paint_bough(const struct bd_synth_canvas *canvas, int number, int64_t time,
                        uint32_t seed)
{
    uint32_t look = bd_synth_hash(seed, 40, (uint32_t)number);
    const struct limb *limb = &limbs[1 + look % (LIMBS - 1)];
    int64_t along = 30 + (look >> 8) % 230; /* 256 is the limb's end */
    struct spot root = { limb->x0 * 256 + (limb->x1 - limb->x0) * along,
                         limb->y0 * 256 + (limb->y1 - limb->y0) * along };
    struct spot reach = { ((int64_t)(look >> 12) % 86 - 36) * 256,
                          ((int64_t)(look >> 19) % 100 - 26) * 256 };
    struct spot move = swing(time, root.x, look, seed);
    struct bd_synth_ink bark = { .color = { 58, 48, 40 }, .hides = true };
    struct spot tip = { root.x + reach.x + move.x, root.y + reach.y + move.y };
    struct spot middle = { root.x + reach.x / 2 + move.x / 4,
                           root.y + reach.y / 2 - 700 + move.y / 4 };
    bd_synth_capsule(canvas, place(canvas, root), bd_synth_px8(canvas, 380), place(canvas, middle),
                     bd_synth_px8(canvas, 240), &bark);
    bd_synth_capsule(canvas, place(canvas, middle), bd_synth_px8(canvas, 240), place(canvas, tip),
                     bd_synth_px8(canvas, 100), &bark);
    int depth = number * 3 / BOUGHS, gust = gust_at(time, root.x, seed);
    struct spot sway = { 0, 0 };
    for (int i = 0; i < LEAVES; i++) {
        uint32_t leaf = bd_synth_hash(look, 41, (uint32_t)i);
        int64_t t = 40 + (leaf >> 4) % 228;
        if (i % TWIG == 0) {
            int64_t turn = time * (70 + (int64_t)(leaf >> 9) % 60) / 64 + leaf;
            sway.x = (int64_t)bd_synth_sin(turn) * gust * 3 / 16384;
            sway.y = (int64_t)bd_synth_sin(turn + 12000) * gust * 2 / 16384;
        }
        struct spot stem = { root.x + (reach.x * t + move.x * t * t / 256) / 256 + sway.x +
                                 (int64_t)(leaf >> 13) % 9400 - 4700,
                             root.y + (reach.y * t + move.y * t * t / 256) / 256 + sway.y +
                                 (int64_t)bd_synth_hash(leaf, 42, 0) % 9400 - 4700 };
        paint_leaf(canvas, stem, depth, time, gust, bd_synth_hash(leaf, 43, 0));
    }
}

void bd_synth_paint_crown(const struct bd_synth_canvas *canvas, const struct bd_synth_scene *scene,
                          uint32_t seed, int64_t index)
{
    int64_t time = index * 65536 / scene->fps;
    for (int i = 0; i < BOUGHS; i++) {
        if (i == BOUGHS / 3) { /* a third of the boughs are behind the trunk */
            for (int k = 0; k < LIMBS; k++) {
                struct bd_synth_ink bark = {
                    .color = { 70, 58, 48 }, .grain = 26, .slope = -8, .hides = true, .seed = seed
                };
                struct spot a = { limbs[k].x0 * 256, limbs[k].y0 * 256 };
                struct spot b = { limbs[k].x1 * 256, limbs[k].y1 * 256 };
                bd_synth_capsule(canvas, place(canvas, a), bd_synth_px8(canvas, limbs[k].r0 * 256),
                                 place(canvas, b), bd_synth_px8(canvas, limbs[k].r1 * 256), &bark);
            }
        }
        paint_bough(canvas, i, time, seed);
    }
}
