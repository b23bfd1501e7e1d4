/* The actors' paths: who is where at a frame. Their shapes are in figure.c. */
#include "video/synth/world.h"

#include <stddef.h>

enum actor_kind { NOBODY, WALKER, CAR, BOAT };

/* An actor crosses the picture, leaves, and comes back after `gap` with other looks. The table is
 * in painting order, from far to near. */
struct actor {
    enum actor_kind kind;
    int rank;      /* present in scenes of more than `rank` objects */
    int ground;    /* units from the top at which it stands */
    int size;      /* units: a walker's height, a car's length */
    int speed;     /* units a second */
    int direction; /* 1: to the right */
    int gap;       /* units */
    int start;     /* units of its way covered at frame 0 */
};

enum { ACTOR_COUNT = BD_SYNTH_MOST_OBJECTS, STOPPER = 0 /* rank of who stops */ };

static const struct actor street[ACTOR_COUNT] = {
    { WALKER, 5, 109, 36, 24, -1, 60, 250 }, { WALKER, 2, 114, 39, 30, 1, 50, 120 },
    { CAR, 3, 149, 84, 118, 1, 190, 60 },    { CAR, 1, 186, 104, 150, -1, 230, 330 },
    { WALKER, 4, 206, 68, 56, -1, 90, 330 }, { WALKER, 0, 217, 76, 48, 1, 60, 150 },
    { WALKER, 6, 224, 80, 70, 1, 200, 40 },  { WALKER, 7, 230, 84, 64, -1, 240, 300 },
};

/* Few and with long gaps: most of the time nobody is there. The walkers at 217 and 226 are before
 * the crown. */
static const struct actor park[ACTOR_COUNT] = {
    { CAR, 0, 149, 84, 150, 1, 3400, 3845 },
    { CAR, 1, 178, 104, 170, -1, 3700, 2600 },
    { WALKER, 2, 226, 82, 88, 1, 2300, 1300 },
};

/* The walker is on the quay. */
static const struct actor river[ACTOR_COUNT] = {
    { BOAT, 1, 140, 66, 26, -1, 240, 430 },
    { BOAT, 0, 176, 104, 34, 1, 420, 150 },
    { WALKER, 2, 236, 80, 46, 1, 700, 980 },
};

/* Walkers both ways on each pavement and on the road, at speeds that make them meet and overtake.
 */
static const struct actor crowd[ACTOR_COUNT] = {
    { WALKER, 4, 150, 50, 44, 1, 40, 300 }, { WALKER, 5, 158, 53, 33, -1, 60, 120 },
    { WALKER, 2, 186, 62, 62, -1, 50, 30 }, { WALKER, 3, 196, 66, 40, 1, 30, 210 },
    { WALKER, 0, 214, 74, 52, 1, 60, 60 },  { WALKER, 1, 224, 78, 45, -1, 40, 150 },
};

static const struct actor *actors_of(const struct bd_synth_scene *scene)
{
    if (scene->crowd)
        return crowd;
    return scene->place == BD_SYNTH_PARK ? park : scene->place == BD_SYNTH_RIVER ? river : street;
}

static bool takes_part(const struct actor *actor, const struct bd_synth_scene *scene)
{
    return actor->kind != NOBODY && actor->rank < scene->objects;
}

struct place {
    int64_t passage; /* how often it has crossed the picture before */
    int64_t x;       /* u8 from the left edge: middle of a walker, rear end of a car */
    int64_t covered; /* u8 walked since frame 0, for the stride */
    int swing;       /* 0..256 */
    uint32_t look;
};

/* The frame number on the actor's own clock, which is stopped while the actor is. */
static int64_t own_frame(const struct bd_synth_scene *scene, int64_t index)
{
    if (index <= scene->stop_from)
        return index;
    return index < scene->stop_to ? scene->stop_from : index - (scene->stop_to - scene->stop_from);
}

static bool stops(const struct actor *actor, const struct bd_synth_scene *scene)
{
    return actor->rank == STOPPER && scene->stop_to > scene->stop_from;
}

/* Shortens the stride just before and after a stop, so that the walker stands with feet together.
 */
static int swing_at(const struct bd_synth_scene *scene, int64_t index)
{
    int64_t ramp = scene->fps / 2 + 1;
    int64_t away = index < scene->stop_from ? scene->stop_from - index : index - scene->stop_to;
    if (index >= scene->stop_from && index <= scene->stop_to)
        return 0;
    return away >= ramp ? 256 : (int)(256 * away / ramp);
}

static struct place place_at(const struct actor *actor, const struct bd_synth_scene *scene,
                             uint32_t seed, int64_t index, int64_t width)
{
    struct place place = { .swing = 256 };
    int64_t margin = actor->size * (actor->kind == WALKER ? 128 : 320);
    int64_t way = width + 2 * margin + actor->gap * 256;
    int64_t start = actor->start * 256 * width / (BD_SYNTH_UNITS / 3 * 4 * 256);
    int64_t frame = index;
    if (stops(actor, scene)) {
        frame = own_frame(scene, index);
        place.swing = swing_at(scene, index);
        /* In the middle of the picture, whatever its width, when it stops. */
        start = width / 2 + margin - scene->stop_from * actor->speed * INT64_C(256) / scene->fps;
        start = (start % way + way) % way;
    }
    place.covered = frame * actor->speed * 256 / scene->fps;
    int64_t at = start + place.covered;
    place.passage = at / way;
    place.look = bd_synth_hash(seed, 100 + (uint32_t)actor->rank, (uint32_t)place.passage);
    place.x = at % way - margin;
    if (actor->direction < 0)
        place.x = width - place.x;
    return place;
}

static struct bd_synth_point ground_point(const struct bd_synth_canvas *canvas,
                                          const struct actor *actor, const struct place *place)
{
    return (struct bd_synth_point){ bd_synth_px8(canvas, place->x),
                                    bd_synth_px8(canvas, actor->ground * INT64_C(256)) };
}

/* The light comes from behind, from the left: shadows fall towards us and to the right. */
static void cast_shadow(const struct bd_synth_canvas *canvas, const struct bd_synth_scene *scene,
                        const struct actor *actor, const struct place *place)
{
    static const uint8_t soft[3] = { 115, 115, 115 }, sun[3] = { 160, 148, 134 };
    const uint8_t *depth = scene->sun ? sun : soft;
    struct bd_synth_point at = ground_point(canvas, actor, place);
    int32_t size = bd_synth_px8(canvas, actor->size * INT64_C(256));
    if (actor->kind == WALKER) {
        struct bd_synth_point head = { at.x + size * 11 / 20, at.y + size * 3 / 20 };
        at.y -= size / 60;
        bd_synth_shadow(canvas, at, head, size * 11 / 100, depth);
    } else {
        int32_t left = actor->direction > 0 ? at.x : at.x - size;
        struct bd_synth_point a = { left + size / 8, at.y + size / 50 };
        struct bd_synth_point b = { left + size * 19 / 20, at.y + size / 50 };
        bd_synth_shadow(canvas, a, b, size * 15 / 100, depth);
    }
}

/* Paints the actor's shape; its reflection if the canvas has a mirror. */
static void paint_shape(const struct bd_synth_canvas *canvas, const struct bd_synth_scene *scene,
                        const struct actor *actor, const struct place *place)
{
    struct bd_synth_point at = ground_point(canvas, actor, place);
    int32_t size = bd_synth_px8(canvas, actor->size * INT64_C(256));
    if (actor->kind == CAR) {
        bd_synth_paint_car(canvas, at, size, actor->direction, place->look);
        return;
    }
    if (actor->kind == BOAT) {
        /* A stroke takes the boat its own length; waves lift it by a fortieth of that. */
        int64_t stroke = place->covered * 256 / actor->size;
        at.y += (int32_t)((int64_t)size * bd_synth_sin(stroke * 3 / 2) / (16384 * 40));
        bd_synth_paint_boat(canvas, at, size, actor->direction, stroke, place->look);
        return;
    }
    /* A stride, two steps, is 0.8 of the height long. */
    struct bd_synth_walker walker = {
        .feet = at,
        .height = size,
        .direction = actor->direction,
        .phase = place->covered * 65536 * 5 / (actor->size * INT64_C(256) * 4),
        .swing = place->swing,
        .look = place->look,
        .bright_ground = actor->ground < 130 || scene->place == BD_SYNTH_RIVER
    };
    bd_synth_paint_walker(canvas, &walker);
}

/* What wet ground or water shows of an actor below its feet. It is no object in the truth. */
static void paint_reflection(const struct bd_synth_canvas *canvas,
                             const struct bd_synth_scene *scene, int64_t index,
                             const struct actor *actor, const struct place *place)
{
    bool water = scene->place == BD_SYNTH_RIVER;
    struct bd_synth_mirror mirror = { .axis = ground_point(canvas, actor, place).y,
                                      .wobble = bd_synth_px8(canvas, water ? 900 : 300),
                                      .time = index * 65536 / scene->fps };
    struct bd_synth_canvas surface = *canvas;
    surface.truth = NULL;
    surface.mirror = &mirror;
    surface.transparency = water ? 100 : 136;
    paint_shape(&surface, scene, actor, place);
}

void bd_synth_paint_actors(const struct bd_synth_canvas *canvas, const struct bd_synth_scene *scene,
                           uint32_t seed, int64_t index, int top, int bottom)
{
    const struct actor *actors = actors_of(scene);
    struct place places[ACTOR_COUNT];
    bool here[ACTOR_COUNT];
    int64_t width = bd_synth_width(canvas);
    for (int i = 0; i < ACTOR_COUNT; i++) {
        here[i] =
            takes_part(&actors[i], scene) && actors[i].ground >= top && actors[i].ground < bottom;
        if (!here[i])
            continue;
        places[i] = place_at(&actors[i], scene, seed, index, width);
        if (scene->shadows)
            cast_shadow(canvas, scene, &actors[i], &places[i]);
        bool wet = scene->rain || scene->night ||
                   (scene->place == BD_SYNTH_RIVER && actors[i].kind == BOAT);
        if (wet)
            paint_reflection(canvas, scene, index, &actors[i], &places[i]);
    }
    for (int i = 0; i < ACTOR_COUNT; i++) {
        struct bd_synth_canvas layer = *canvas;
        int number = i + 1;
        layer.covers = layer.only && number > layer.only;
        if (here[i] && number >= layer.only && !(layer.covers && layer.alone))
            paint_shape(&layer, scene, &actors[i], &places[i]);
    }
}

int64_t bd_synth_passage(const struct bd_synth_scene *scene, int only, int64_t index, int64_t width)
{
    const struct actor *actor = &actors_of(scene)[only - 1];
    if (!takes_part(actor, scene))
        return 0;
    return place_at(actor, scene, 0, index, width).passage * ACTOR_COUNT + only;
}

int bd_synth_find_cars(const struct bd_synth_scene *scene, uint32_t seed, int64_t index,
                       int64_t width, struct bd_synth_car *cars, int most)
{
    const struct actor *actors = actors_of(scene);
    int count = 0;
    for (int i = 0; i < ACTOR_COUNT && count < most; i++) {
        if (actors[i].kind != CAR || !takes_part(&actors[i], scene))
            continue;
        struct place place = place_at(&actors[i], scene, seed, index, width);
        int64_t length = actors[i].size * INT64_C(256);
        cars[count++] = (struct bd_synth_car){ .front = place.x + length * actors[i].direction,
                                               .ground = actors[i].ground * INT64_C(256),
                                               .length = length,
                                               .direction = actors[i].direction };
    }
    return count;
}
