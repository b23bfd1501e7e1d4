#include "video/synth/paint.h"

#include <stdlib.h>

enum { FULL = 256 }; /* complete coverage */

/* Half-open ranges of pixels. */
struct box {
    int x0, y0, x1, y1;
};

uint32_t bd_synth_hash(uint32_t a, uint32_t b, uint32_t c)
{
    uint64_t h = (uint64_t)a << 32 | b;
    return (uint32_t)(bd_synth_mix64(h ^ bd_synth_mix64(c + UINT64_C(0x9e3779b97f4a7c15))) >> 16);
}

/* Cheaper than bd_synth_hash: four of these make one sample of noise. */
static inline int lattice(uint32_t x, uint32_t y, uint32_t seed)
{
    uint32_t h = x * 0x9e3779b1u ^ (y * 0x85ebca77u + seed);
    h = (h ^ h >> 15) * 0x2c1b3c6du;
    h = (h ^ h >> 13) * 0x297a2d39u;
    return (int)(h >> 24);
}

/* 3t^2 - 2t^3 of a fraction in units of 1/256. */
static inline int smooth(int t)
{
    return t * t * (768 - 2 * t) >> 16;
}

int bd_synth_noise(int64_t x, int64_t y, int shift, uint32_t seed)
{
    uint32_t cx = (uint32_t)(x >> shift), cy = (uint32_t)(y >> shift);
    int64_t mask = (INT64_C(1) << shift) - 1;
    int tx = smooth((int)((x & mask) * 256 >> shift)),
        ty = smooth((int)((y & mask) * 256 >> shift));
    int top = lattice(cx, cy, seed) * (256 - tx) + lattice(cx + 1, cy, seed) * tx;
    int bottom = lattice(cx, cy + 1, seed) * (256 - tx) + lattice(cx + 1, cy + 1, seed) * tx;
    return (top * (256 - ty) + bottom * ty) >> 16;
}

int bd_synth_sin(int64_t turn)
{
    /* Bhaskara's rational approximation on a half turn: 16 p / (5 - 4 p) with p = t (1 - t). */
    int64_t t = turn & 32767;
    int64_t p = t * (32768 - t); /* 1 is 2^30 */
    int64_t value = ((p << 4) >> 8) * 16384 / (((INT64_C(5) << 30) - 4 * p) >> 8);
    return (int)(turn & 32768 ? -value : value);
}

int64_t bd_synth_unit(const struct bd_synth_canvas *canvas, int64_t pixel)
{
    return (2 * pixel + 1) * (128 * BD_SYNTH_UNITS) / canvas->height;
}

int32_t bd_synth_px8(const struct bd_synth_canvas *canvas, int64_t u8)
{
    int64_t px8 = u8 * canvas->height / BD_SYNTH_UNITS;
    return (int32_t)(px8 > INT32_MAX / 4    ? INT32_MAX / 4
                     : px8 < -INT32_MAX / 4 ? -INT32_MAX / 4
                                            : px8);
}

int64_t bd_synth_width(const struct bd_synth_canvas *canvas)
{
    return (int64_t)canvas->width * 256 * BD_SYNTH_UNITS / canvas->height;
}

static inline int clamp(int64_t value, int low, int high)
{
    return (int)(value < low ? low : value > high ? high : value);
}

/* The pixels touched by a shape between these px8, with a pixel around for its soft edge. */
static struct box box_of(const struct bd_synth_canvas *canvas, int64_t x0, int64_t y0, int64_t x1,
                         int64_t y1)
{
    int64_t wobble = canvas->mirror ? canvas->mirror->wobble : 0;
    x0 -= wobble;
    x1 += wobble;
    return (struct box){ clamp((x0 >> 8) - 1, 0, canvas->width),
                         clamp((y0 >> 8) - 1, 0, canvas->height),
                         clamp((x1 >> 8) + 2, 0, canvas->width),
                         clamp((y1 >> 8) + 2, 0, canvas->height) };
}

/* Puts `coverage` (0..FULL) of the ink on a pixel; `light` is added to its colour. */
static inline void dab(const struct bd_synth_canvas *canvas, int x, int y, int coverage, int light,
                       const struct bd_synth_ink *ink)
{
    coverage -= coverage * canvas->transparency / FULL;
    if (canvas->picture) {
        uint8_t *p = canvas->picture->data + y * canvas->picture->stride + 3 * (int64_t)x;
        if (ink->grain) {
            int64_t u = ((int64_t)x * 256 - ink->anchor.x) * BD_SYNTH_UNITS / canvas->height;
            int64_t v = ((int64_t)y * 256 - ink->anchor.y) * BD_SYNTH_UNITS / canvas->height;
            light += (bd_synth_noise(u, v, 9, ink->seed) - 128) * ink->grain / 128;
        }
        p[0] = (uint8_t)(p[0] + (bd_synth_byte(ink->color.r + light) - p[0]) * coverage / FULL);
        p[1] = (uint8_t)(p[1] + (bd_synth_byte(ink->color.g + light) - p[1]) * coverage / FULL);
        p[2] = (uint8_t)(p[2] + (bd_synth_byte(ink->color.b + light) - p[2]) * coverage / FULL);
    }
    if (canvas->truth && (ink->object || ink->hides)) {
        uint8_t *t = canvas->truth->data + y * canvas->truth->stride + x;
        int covered = *t >> 1, shadow = *t & 1;
        if (ink->object && !canvas->covers)
            covered += ((127 - covered) * coverage + FULL / 2) / FULL;
        else
            covered -= (covered * coverage + FULL / 2) / FULL;
        if (ink->hides && coverage >= FULL / 2)
            shadow = 0;
        *t = (uint8_t)(covered << 1 | shadow);
    }
}

/* What the ink's slope adds on row y of a box. */
static int slope_light(const struct bd_synth_ink *ink, const struct box *box, int y)
{
    int rows = box->y1 - box->y0;
    return rows > 1 ? ink->slope * (rows - 1 - 2 * (y - box->y0)) / (rows - 1) : 0;
}

/* Nothing to do for shapes that change neither frame. */
static bool skips(const struct bd_synth_canvas *canvas, const struct bd_synth_ink *ink)
{
    return !canvas->picture && !(canvas->truth && (ink->object || ink->hides));
}

/* Where a point is seen: below the axis on a canvas with a mirror. */
static struct bd_synth_point seen(const struct bd_synth_canvas *canvas, struct bd_synth_point at)
{
    if (canvas->mirror)
        at.y = 2 * canvas->mirror->axis - at.y;
    return at;
}

/* How far ripples move row y to the right, px8: two waves that travel towards us, and more of them
 * away from what is mirrored. */
static int32_t row_shift(const struct bd_synth_canvas *canvas, int y)
{
    const struct bd_synth_mirror *mirror = canvas->mirror;
    if (!mirror)
        return 0;
    int64_t v = bd_synth_unit(canvas, y);
    int wave = bd_synth_sin(v * 40 - mirror->time * 2) + bd_synth_sin(v * 67 - mirror->time * 3);
    return (int32_t)((int64_t)mirror->wobble * wave / 32768);
}

/* How much of the pixel [256 i, 256 i + 256) lies between a and b. */
static int overlap(int i, int32_t a, int32_t b)
{
    int64_t low = a > 256 * (int64_t)i ? a : 256 * (int64_t)i;
    int64_t high = b < 256 * (int64_t)(i + 1) ? b : 256 * (int64_t)(i + 1);
    return clamp(high - low, 0, FULL);
}

void bd_synth_rect(const struct bd_synth_canvas *canvas, int32_t x0, int32_t y0, int32_t x1,
                   int32_t y1, const struct bd_synth_ink *ink)
{
    if (skips(canvas, ink))
        return;
    if (canvas->mirror) {
        int32_t top = y0, twice = 2 * canvas->mirror->axis;
        y0 = twice - y1;
        y1 = twice - top;
    }
    struct box box = box_of(canvas, x0, y0, x1, y1);
    for (int y = box.y0; y < box.y1; y++) {
        int rows = overlap(y, y0, y1), light = slope_light(ink, &box, y);
        int32_t shift = row_shift(canvas, y);
        for (int x = box.x0; rows && x < box.x1; x++) {
            int coverage = rows * overlap(x, x0 + shift, x1 + shift) / FULL;
            if (coverage)
                dab(canvas, x, y, coverage, light, ink);
        }
    }
}

/* Signed distance to the edge of a capsule at a point relative to a, px8, positive inside. Near the
 * edge (r^2 - d^2) / 2r is the distance, and it takes no square root. */
static inline int64_t capsule_depth(int64_t x, int64_t y, struct bd_synth_point ab, int64_t length2,
                                    int32_t ra, int32_t rb)
{
    int t = length2 ? clamp((x * ab.x + y * ab.y) * 4096 / length2, 0, 4096) : 0;
    int64_t dx = x - ((int64_t)ab.x * t >> 12), dy = y - ((int64_t)ab.y * t >> 12);
    int64_t r = ra + ((int64_t)(rb - ra) * t >> 12);
    return (r * r - dx * dx - dy * dy) / (2 * r);
}

void bd_synth_capsule(const struct bd_synth_canvas *canvas, struct bd_synth_point a, int32_t ra,
                      struct bd_synth_point b, int32_t rb, const struct bd_synth_ink *ink)
{
    if (skips(canvas, ink))
        return;
    ra = ra < 1 ? 1 : ra;
    rb = rb < 1 ? 1 : rb;
    a = seen(canvas, a);
    b = seen(canvas, b);
    int64_t r = ra > rb ? ra : rb;
    struct bd_synth_point ab = { b.x - a.x, b.y - a.y };
    int64_t length2 = (int64_t)ab.x * ab.x + (int64_t)ab.y * ab.y;
    struct box box = box_of(canvas, (ab.x < 0 ? b.x : a.x) - r, (ab.y < 0 ? b.y : a.y) - r,
                            (ab.x < 0 ? a.x : b.x) + r, (ab.y < 0 ? a.y : b.y) + r);
    for (int y = box.y0; y < box.y1; y++) {
        int light = slope_light(ink, &box, y);
        int64_t left = a.x + row_shift(canvas, y);
        for (int x = box.x0; x < box.x1; x++) {
            int64_t px = 256 * (int64_t)x + 128 - left, py = 256 * (int64_t)y + 128 - a.y;
            int coverage = clamp(capsule_depth(px, py, ab, length2, ra, rb) + 128, 0, FULL);
            if (coverage)
                dab(canvas, x, y, coverage, light, ink);
        }
    }
}

static int64_t square_root(int64_t value)
{
    int64_t root = 0;
    for (int64_t bit = INT64_C(1) << 30; bit; bit >>= 1)
        if ((root + bit) * (root + bit) <= value)
            root += bit;
    return root;
}

/* A side as a line: nx x + ny y - c is the depth below it, in px8; nx and ny in units of 2^-14. */
struct side {
    int64_t nx, ny, c;
};

static int polygon_sides(const struct bd_synth_point *corners, int count, struct side *sides)
{
    int64_t area = 0;
    for (int i = 0; i < count; i++) {
        struct bd_synth_point p = corners[i], q = corners[(i + 1) % count];
        area += (int64_t)p.x * q.y - (int64_t)q.x * p.y;
    }
    int used = 0;
    for (int i = 0; i < count; i++) {
        struct bd_synth_point p = corners[i], q = corners[(i + 1) % count];
        int64_t dx = q.x - p.x, dy = q.y - p.y, length = square_root(dx * dx + dy * dy);
        if (!length)
            continue;
        int64_t flip = area < 0 ? -1 : 1;
        int64_t nx = -dy * flip * 16384 / length, ny = dx * flip * 16384 / length;
        sides[used++] = (struct side){ nx, ny, nx * p.x + ny * p.y };
    }
    return used;
}

void bd_synth_polygon(const struct bd_synth_canvas *canvas, const struct bd_synth_point *given,
                      int count, const struct bd_synth_ink *ink)
{
    if (skips(canvas, ink))
        return;
    struct bd_synth_point corners[BD_SYNTH_MAX_CORNERS] = { { 0, 0 } };
    for (int i = 0; i < count; i++)
        corners[i] = seen(canvas, given[i]);
    struct side sides[BD_SYNTH_MAX_CORNERS];
    int side_count = polygon_sides(corners, count, sides);
    int64_t x0 = corners[0].x, x1 = x0, y0 = corners[0].y, y1 = y0;
    for (int i = 1; i < count; i++) {
        x0 = corners[i].x < x0 ? corners[i].x : x0;
        x1 = corners[i].x > x1 ? corners[i].x : x1;
        y0 = corners[i].y < y0 ? corners[i].y : y0;
        y1 = corners[i].y > y1 ? corners[i].y : y1;
    }
    struct box box = box_of(canvas, x0, y0, x1, y1);
    for (int y = box.y0; y < box.y1; y++) {
        int light = slope_light(ink, &box, y);
        int32_t shift = row_shift(canvas, y);
        for (int x = box.x0; x < box.x1; x++) {
            int64_t px = 256 * (int64_t)x + 128 - shift, py = 256 * (int64_t)y + 128;
            int64_t depth = FULL;
            for (int i = 0; i < side_count && depth > -128; i++) {
                int64_t d = (sides[i].nx * px + sides[i].ny * py - sides[i].c) / 16384;
                depth = d < depth ? d : depth;
            }
            int coverage = clamp(depth + 128, 0, FULL);
            if (coverage)
                dab(canvas, x, y, coverage, light, ink);
        }
    }
}

void bd_synth_shadow(const struct bd_synth_canvas *canvas, struct bd_synth_point a,
                     struct bd_synth_point b, int32_t r, const uint8_t depth[3])
{
    enum { FLAT = 3 };
    if (r < 1)
        return;
    struct bd_synth_point ab = { b.x - a.x, (b.y - a.y) * FLAT };
    int64_t length2 = (int64_t)ab.x * ab.x + (int64_t)ab.y * ab.y;
    struct box box = box_of(canvas, (ab.x < 0 ? b.x : a.x) - r, (ab.y < 0 ? b.y : a.y) - r / FLAT,
                            (ab.x < 0 ? a.x : b.x) + r, (ab.y < 0 ? a.y : b.y) + r / FLAT);
    for (int y = box.y0; y < box.y1; y++) {
        for (int x = box.x0; x < box.x1; x++) {
            int64_t px = 256 * (int64_t)x + 128 - a.x;
            int64_t py = (256 * (int64_t)y + 128 - a.y) * FLAT;
            /* The depth is r / 2 in the middle: full shadow from a half of that inwards. */
            int dark = clamp(capsule_depth(px, py, ab, length2, r, r) * 4 * FULL / r, 0, FULL);
            if (!dark)
                continue;
            if (canvas->picture) {
                uint8_t *p = canvas->picture->data + y * canvas->picture->stride + 3 * (int64_t)x;
                for (int c = 0; c < 3; c++)
                    p[c] = (uint8_t)(p[c] - p[c] * dark * depth[c] / (FULL * FULL));
            }
            if (canvas->truth && dark > FULL / 4)
                canvas->truth->data[y * canvas->truth->stride + x] |= 1;
        }
    }
}

void bd_synth_finish_truth(const struct bd_synth_canvas *canvas)
{
    for (int y = 0; canvas->truth && y < canvas->height; y++) {
        uint8_t *row = canvas->truth->data + y * canvas->truth->stride;
        for (int x = 0; x < canvas->width; x++)
            row[x] = row[x] >> 1 >= 64 ? 255 : row[x] & 1 ? 50 : 0;
    }
}
