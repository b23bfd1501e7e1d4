/* The shape of a rowing boat with two people. */
#include "video/synth/world.h"

static const struct bd_synth_color hulls[] = {
    { 236, 232, 222 }, { 150, 44, 36 }, { 40, 70, 120 }, { 92, 58, 34 }
};
static const struct bd_synth_color shirts[] = {
    { 214, 70, 50 }, { 232, 226, 214 }, { 40, 44, 60 }, { 230, 180, 60 }, { 52, 110, 84 }
};

#define PICK(table, look) (table)[(look) % (sizeof(table) / sizeof *(table))]

struct boat {
    struct bd_synth_point stern;
    int32_t length;
    int direction;
};

/* Thousandths of the length: x from the stern forwards, y up from the water. */
static struct bd_synth_point on_boat(const struct boat *boat, int x, int y)
{
    return (struct bd_synth_point){ boat->stern.x + (int32_t)((int64_t)boat->length * x / 1000) *
                                                        boat->direction,
                                    boat->stern.y - (int32_t)((int64_t)boat->length * y / 1000) };
}

static void limb(const struct bd_synth_canvas *canvas, const struct boat *boat, const int from[2],
                 const int to[2], int radius, struct bd_synth_ink ink)
{
    int32_t r = (int32_t)((int64_t)boat->length * radius / 1000);
    ink.anchor = boat->stern;
    bd_synth_capsule(canvas, on_boat(boat, from[0], from[1]), r, on_boat(boat, to[0], to[1]), r,
                     &ink);
}

/* Someone who sits at x and leans back by `lean`. */
static void paint_sitter(const struct bd_synth_canvas *canvas, const struct boat *boat, int x,
                         int lean, uint32_t look)
{
    struct bd_synth_ink shirt = {
        .color = PICK(shirts, look), .grain = 12, .slope = 10, .object = true, .seed = look
    };
    struct bd_synth_ink skin = { .color = { 198, 152, 124 }, .slope = 10, .object = true };
    struct bd_synth_ink hair = { .color = { 44, 32, 26 }, .object = true };
    int hip[2] = { x, 110 }, neck[2] = { x + lean, 270 };
    int head[2] = { x + lean * 5 / 4, 330 }, crown[2] = { x + lean * 5 / 4, 345 };
    int hand[2] = { x - 110 + lean, 190 }, shoulder[2] = { x + lean, 255 };
    limb(canvas, boat, crown, crown, 40, hair);
    limb(canvas, boat, neck, head, 30, skin);
    limb(canvas, boat, hip, neck, 48, shirt);
    limb(canvas, boat, shoulder, hand, 22, shirt);
    limb(canvas, boat, hand, hand, 18, skin);
}

void bd_synth_paint_boat(const struct bd_synth_canvas *canvas, struct bd_synth_point stern,
                         int32_t length, int direction, int64_t stroke, uint32_t look)
{
    static const int outline[][2] = { { 60, -20 },  { 0, 120 },    { 200, 92 }, { 500, 84 },
                                      { 800, 100 }, { 1000, 160 }, { 900, -20 } };
    enum { CORNERS = sizeof outline / sizeof *outline };
    struct boat boat = { stern, length, direction };
    int lean = 50 * bd_synth_sin(stroke) / 16384;
    paint_sitter(canvas, &boat, 250, 0, look >> 4);
    paint_sitter(canvas, &boat, 580, lean, look >> 8);
    struct bd_synth_ink hull = {
        .color = PICK(hulls, look), .grain = 10, .slope = 14, .object = true, .seed = look
    };
    struct bd_synth_ink rail = { .color = { 66, 46, 32 }, .object = true };
    struct bd_synth_ink oar = { .color = { 176, 140, 92 }, .object = true };
    /* Two convex halves: the sheer is lowest amidships. */
    struct bd_synth_point rear[5], fore[5];
    for (int i = 0; i < 4; i++) {
        rear[i] = on_boat(&boat, outline[i][0], outline[i][1]);
        fore[i] = on_boat(&boat, outline[i + 3][0], outline[i + 3][1]);
    }
    rear[4] = fore[4] = on_boat(&boat, 500, -20);
    hull.anchor = stern;
    bd_synth_polygon(canvas, rear, 5, &hull);
    bd_synth_polygon(canvas, fore, 5, &hull);
    for (int i = 1; i + 2 < CORNERS; i++)
        limb(canvas, &boat, outline[i], outline[i + 1], 9, rail);
    int grip[2] = { 490 + lean, 170 };
    int blade[2] = { 440 - 130 * bd_synth_sin(stroke + 16384) / 16384,
                     10 + 40 * bd_synth_sin(stroke) / 16384 };
    limb(canvas, &boat, grip, blade, 8, oar);
}
