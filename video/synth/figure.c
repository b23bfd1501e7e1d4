/* The shapes of the actors. Colours differ from those of the ground behind them (road 85, near
 * pavement 155, house fronts 185), in gray as well as in colour, so that the truth can be seen. */
#include "video/synth/world.h"

/* Against the road. */
static const struct bd_synth_color coats_on_dark[] = { { 226, 226, 222 }, { 232, 190, 62 },
                                                       { 238, 122, 92 },  { 128, 186, 226 },
                                                       { 150, 206, 160 }, { 26, 28, 38 },
                                                       { 216, 160, 190 } };
static const struct bd_synth_color trousers_on_dark[] = { { 34, 36, 50 },
                                                          { 28, 28, 28 },
                                                          { 52, 32, 22 } };
/* Against the house fronts and the far pavement. */
static const struct bd_synth_color coats_on_bright[] = {
    { 176, 42, 40 }, { 42, 66, 150 }, { 34, 92, 58 }, { 36, 36, 42 }, { 112, 44, 108 }
};
static const struct bd_synth_color trousers_on_bright[] = { { 34, 40, 62 }, { 40, 36, 34 } };
static const struct bd_synth_color skins[] = { { 206, 164, 138 },
                                               { 186, 140, 110 },
                                               { 150, 106, 80 } };
static const struct bd_synth_color hairs[] = { { 36, 28, 24 }, { 30, 30, 32 }, { 56, 34, 20 } };
static const struct bd_synth_color paints[] = { { 228, 228, 224 }, { 176, 180, 186 },
                                                { 218, 178, 66 },  { 112, 166, 214 },
                                                { 232, 130, 56 },  { 238, 104, 84 },
                                                { 24, 28, 46 } };

#define PICK(table, look) (table)[(look) % (sizeof(table) / sizeof *(table))]

/* A joint of the body, and what hangs from it: thousandths of the height, angle in turns/65536 from
 * straight down, forwards positive. */
static struct bd_synth_point hang(const struct bd_synth_walker *walker, struct bd_synth_point from,
                                  int length, int64_t angle)
{
    int64_t reach = (int64_t)walker->height * length;
    return (struct bd_synth_point){
        from.x + (int32_t)(reach * bd_synth_sin(angle) / (16384 * 1000)) * walker->direction,
        from.y + (int32_t)(reach * bd_synth_sin(angle + 16384) / (16384 * 1000))
    };
}

static void limb(const struct bd_synth_canvas *canvas, const struct bd_synth_walker *walker,
                 struct bd_synth_point a, int ra, struct bd_synth_point b, int rb,
                 struct bd_synth_ink ink)
{
    ink.anchor = walker->feet;
    bd_synth_capsule(canvas, a, (int32_t)((int64_t)walker->height * ra / 1000), b,
                     (int32_t)((int64_t)walker->height * rb / 1000), &ink);
}

struct leg {
    struct bd_synth_point knee, foot, toe;
};

static struct leg leg_at(const struct bd_synth_walker *walker, struct bd_synth_point hip,
                         int64_t phase)
{
    int64_t thigh = (int64_t)bd_synth_sin(phase) * 4600 / 16384 * walker->swing / 256;
    /* The knee bends while the leg comes forwards, a quarter turn before it is in front. */
    int64_t lift = bd_synth_sin(phase + 16384);
    int64_t bend = (lift > 0 ? lift * 7200 / 16384 : 0) * walker->swing / 256 + 300;
    struct leg leg;
    leg.knee = hang(walker, hip, 235, thigh + 300);
    leg.foot = hang(walker, leg.knee, 225, thigh + 300 - bend);
    leg.toe = hang(walker, leg.foot, 62, thigh - bend + 15500);
    return leg;
}

static void shift_leg(struct leg *leg, int32_t dy)
{
    leg->knee.y += dy;
    leg->foot.y += dy;
    leg->toe.y += dy;
}

static void paint_leg(const struct bd_synth_canvas *canvas, const struct bd_synth_walker *walker,
                      struct bd_synth_point hip, const struct leg *leg, struct bd_synth_ink cloth)
{
    struct bd_synth_ink shoe = { .color = { 30, 26, 26 }, .object = true };
    limb(canvas, walker, leg->foot, 26, leg->toe, 20, shoe);
    limb(canvas, walker, hip, 66, leg->knee, 48, cloth);
    limb(canvas, walker, leg->knee, 47, leg->foot, 33, cloth);
}

static void paint_arm(const struct bd_synth_canvas *canvas, const struct bd_synth_walker *walker,
                      struct bd_synth_point shoulder, int64_t phase, struct bd_synth_ink cloth,
                      struct bd_synth_ink skin)
{
    int64_t swing = (int64_t)bd_synth_sin(phase) * 4200 / 16384 * walker->swing / 256;
    struct bd_synth_point elbow = hang(walker, shoulder, 165, swing);
    struct bd_synth_point hand = hang(walker, elbow, 150, swing + 1800);
    limb(canvas, walker, hand, 26, hand, 26, skin);
    limb(canvas, walker, shoulder, 44, elbow, 36, cloth);
    limb(canvas, walker, elbow, 36, hand, 28, cloth);
}

static struct bd_synth_ink darker(struct bd_synth_ink ink)
{
    ink.color.r = (uint8_t)(ink.color.r * 4 / 5);
    ink.color.g = (uint8_t)(ink.color.g * 4 / 5);
    ink.color.b = (uint8_t)(ink.color.b * 4 / 5);
    return ink;
}

static void paint_head(const struct bd_synth_canvas *canvas, const struct bd_synth_walker *walker,
                       struct bd_synth_point neck, struct bd_synth_ink skin)
{
    struct bd_synth_ink hair = { .color = PICK(hairs, walker->look >> 9), .object = true };
    struct bd_synth_point chin = hang(walker, neck, 50, 32768 - 800);
    struct bd_synth_point crown = hang(walker, neck, 112, 32768 - 400);
    struct bd_synth_point back = hang(walker, neck, 104, 32768 + 1200);
    struct bd_synth_point top = hang(walker, neck, 124, 32768 - 300);
    limb(canvas, walker, neck, 38, chin, 38, skin);
    limb(canvas, walker, back, 64, top, 60, hair);
    limb(canvas, walker, chin, 46, hang(walker, crown, 22, 9000), 48, skin);
}

void bd_synth_paint_walker(const struct bd_synth_canvas *canvas,
                           const struct bd_synth_walker *walker)
{
    uint32_t look = walker->look;
    struct bd_synth_ink coat = { .color = walker->bright_ground ? PICK(coats_on_bright, look)
                                                                : PICK(coats_on_dark, look),
                                 .grain = 14,
                                 .slope = 10,
                                 .object = true,
                                 .seed = look };
    struct bd_synth_ink cloth = { .color = walker->bright_ground
                                               ? PICK(trousers_on_bright, look >> 5)
                                               : PICK(trousers_on_dark, look >> 5),
                                  .grain = 10,
                                  .object = true,
                                  .seed = look + 1 };
    struct bd_synth_ink skin = { .color = PICK(skins, walker->bright_ground ? 2 : look >> 13),
                                 .slope = 10,
                                 .object = true };
    struct bd_synth_point hip = hang(walker, walker->feet, 492, 32768);
    struct leg near = leg_at(walker, hip, walker->phase);
    struct leg far = leg_at(walker, hip, walker->phase + 32768);
    /* Lower the body so that the lower foot is on the ground: walkers bob, feet do not sink. */
    int32_t low = near.foot.y > far.foot.y ? near.foot.y : far.foot.y;
    int32_t dy = walker->feet.y - (int32_t)((int64_t)walker->height * 26 / 1000) - low;
    hip.y += dy;
    shift_leg(&near, dy);
    shift_leg(&far, dy);
    struct bd_synth_point chest = hang(walker, hip, 275, 32768 - 400);
    struct bd_synth_point shoulder = hang(walker, hip, 292, 32768 - 400);
    struct bd_synth_point neck = hang(walker, hip, 345, 32768 - 500);

    paint_arm(canvas, walker, shoulder, walker->phase, darker(coat), darker(skin));
    paint_leg(canvas, walker, hip, &far, darker(cloth));
    paint_leg(canvas, walker, hip, &near, cloth);
    limb(canvas, walker, chest, 92, hip, 80, coat);
    paint_head(canvas, walker, neck, skin);
    paint_arm(canvas, walker, shoulder, walker->phase + 32768, coat, skin);
}

/* Outlines of cars in thousandths of the length: x from the rear end forwards, y up. */
struct outline {
    int count;
    int16_t xy[BD_SYNTH_MAX_CORNERS][2];
};

static const struct body {
    struct outline hull, cabin, windows[3], door_line;
    int wheel_x[2];
} bodies[] = {
    { /* saloon */
      .hull = { 9,
                { { 14, 60 },
                  { 0, 90 },
                  { 4, 172 },
                  { 30, 196 },
                  { 640, 204 },
                  { 930, 176 },
                  { 990, 150 },
                  { 1000, 90 },
                  { 985, 60 } } },
      .cabin = { 6,
                 { { 110, 185 },
                   { 210, 296 },
                   { 260, 315 },
                   { 540, 315 },
                   { 600, 298 },
                   { 735, 185 } } },
      .windows = { { 4, { { 190, 205 }, { 258, 290 }, { 385, 292 }, { 385, 205 } } },
                   { 4, { { 410, 205 }, { 410, 292 }, { 535, 290 }, { 610, 205 } } },
                   { 3, { { 628, 208 }, { 578, 288 }, { 668, 206 } } } },
      .door_line = { 4, { { 30, 140 }, { 30, 148 }, { 975, 138 }, { 975, 130 } } },
      .wheel_x = { 195, 805 } },
    { /* van */
      .hull = { 8,
                { { 8, 60 },
                  { 0, 90 },
                  { 0, 230 },
                  { 700, 230 },
                  { 960, 200 },
                  { 995, 165 },
                  { 1000, 90 },
                  { 990, 60 } } },
      .cabin = { 6,
                 { { 2, 220 },
                   { 8, 390 },
                   { 30, 402 },
                   { 620, 402 },
                   { 680, 385 },
                   { 850, 205 } } },
      .windows = { { 4, { { 60, 260 }, { 60, 360 }, { 250, 360 }, { 250, 260 } } },
                   { 4, { { 280, 260 }, { 280, 360 }, { 470, 360 }, { 470, 260 } } },
                   { 4, { { 500, 245 }, { 500, 360 }, { 650, 360 }, { 745, 245 } } } },
      .door_line = { 4, { { 20, 168 }, { 20, 178 }, { 985, 168 }, { 985, 158 } } },
      .wheel_x = { 180, 810 } },
};

static struct bd_synth_point on_car(struct bd_synth_point rear, int32_t length, int direction,
                                    int x, int y)
{
    return (struct bd_synth_point){ rear.x + (int32_t)((int64_t)length * x / 1000) * direction,
                                    rear.y - (int32_t)((int64_t)length * y / 1000) };
}

static void panel(const struct bd_synth_canvas *canvas, struct bd_synth_point rear, int32_t length,
                  int direction, const struct outline *outline, struct bd_synth_ink ink)
{
    struct bd_synth_point corners[BD_SYNTH_MAX_CORNERS];
    for (int i = 0; i < outline->count; i++)
        corners[i] = on_car(rear, length, direction, outline->xy[i][0], outline->xy[i][1]);
    ink.anchor = rear;
    bd_synth_polygon(canvas, corners, outline->count, &ink);
}

static void wheel(const struct bd_synth_canvas *canvas, struct bd_synth_point hub, int32_t length)
{
    struct bd_synth_ink tyre = { .color = { 22, 22, 24 }, .object = true };
    struct bd_synth_ink disc = { .color = { 168, 170, 174 }, .slope = 14, .object = true };
    bd_synth_capsule(canvas, hub, length * 68 / 1000, hub, length * 68 / 1000, &tyre);
    bd_synth_capsule(canvas, hub, length * 40 / 1000, hub, length * 40 / 1000, &disc);
    bd_synth_capsule(canvas, hub, length * 14 / 1000, hub, length * 14 / 1000, &tyre);
}

void bd_synth_paint_car(const struct bd_synth_canvas *canvas, struct bd_synth_point rear,
                        int32_t length, int direction, uint32_t look)
{
    static const struct outline sill = { 4, { { 40, 42 }, { 30, 76 }, { 975, 76 }, { 960, 42 } } };
    static const struct outline head = {
        4, { { 950, 140 }, { 935, 165 }, { 982, 152 }, { 992, 130 } }
    };
    static const struct outline tail = { 4, { { 2, 135 }, { 6, 172 }, { 34, 172 }, { 34, 135 } } };
    const struct body *body = &PICK(bodies, look >> 7);
    struct bd_synth_ink paint = {
        .color = PICK(paints, look), .grain = 6, .slope = 16, .object = true, .seed = look
    };
    struct bd_synth_ink glass = { .color = { 26, 31, 40 }, .slope = 9, .object = true };
    struct bd_synth_ink dark = { .color = { 26, 26, 28 }, .object = true };
    struct bd_synth_ink white = { .color = { 250, 244, 214 }, .object = true };
    struct bd_synth_ink red = { .color = { 188, 30, 30 }, .object = true };
    panel(canvas, rear, length, direction, &sill, dark);
    panel(canvas, rear, length, direction, &body->cabin, paint);
    panel(canvas, rear, length, direction, &body->hull, paint);
    panel(canvas, rear, length, direction, &body->door_line, darker(paint));
    for (int i = 0; i < 3; i++)
        panel(canvas, rear, length, direction, &body->windows[i], glass);
    panel(canvas, rear, length, direction, &head, white);
    panel(canvas, rear, length, direction, &tail, red);
    for (int i = 0; i < 2; i++)
        wheel(canvas, on_car(rear, length, direction, body->wheel_x[i], 68), length);
}
