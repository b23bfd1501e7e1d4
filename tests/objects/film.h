/* Drawn films of masks: actors that walk as a script says, with noise along their edges, and what a
 * tracker makes of them. */
#ifndef BD_TESTS_OBJECTS_FILM_H
#define BD_TESTS_OBJECTS_FILM_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <backdrop/tracker.h>

#include "tests/support/random.h"

enum { film_width = 640, film_height = 360, film_actors = 8, film_numbers = 64 };

/* Where an actor is at a time; between two places it moves evenly. */
struct place {
    double time, x, y; /* centre */
};

struct actor {
    double width, height;
    bool ellipse;
    int places;
    struct place path[8];
};

struct film {
    uint32_t seed; /* of the noise along edges */
    int noise;     /* pixels by which an edge is off, at most */
    double rate, seconds;
    int actors;
    struct actor actor[film_actors];
    /* Changes the mask after the actors are drawn; may be NULL. */
    void (*spoil)(uint8_t *mask, int frame, double time, uint32_t *seed);
    struct bd_tracker_options options;
};

/* What came out. */
struct film_result {
    int changes;                  /* of the number of an actor */
    int objects;                  /* numbers in all */
    int found, wanted, reported;  /* boxes: at an overlap of half; of actors; of seen objects */
    int64_t number[film_actors];  /* the last of each actor; 0: none */
    int64_t first[film_actors];   /* the first */
    double hidden;                /* seconds of objects that were listed and not seen */
    double last;                  /* time of the last frame with an object */
    int grouped;                  /* objects that were reported in a group */
    int64_t parent[film_numbers]; /* of each number */
    uint64_t checksum;            /* of everything that was reported */
};

static inline bool film_place(const struct actor *actor, double time, double *x, double *y)
{
    const struct place *p = actor->path;
    int i = 0;
    if (time < p[0].time || time > p[actor->places - 1].time)
        return false;
    while (i + 2 < actor->places && time > p[i + 1].time)
        i++;
    const double span = p[i + 1].time - p[i].time, share = span > 0 ? (time - p[i].time) / span : 0;
    *x = p[i].x + share * (p[i + 1].x - p[i].x);
    *y = p[i].y + share * (p[i + 1].y - p[i].y);
    return true;
}

/* Draws an actor at its place. *box: around what was drawn (of no width: nothing). */
static inline void film_draw(uint8_t *mask, const struct film *film, const struct actor *actor,
                             double x, double y, uint32_t *seed, struct bd_object *box)
{
    int left = film_width, right = 0, top = film_height, bottom = 0;
    for (int row = (int)(y - actor->height / 2); row < (int)(y + actor->height / 2); row++) {
        const double v = 2 * (row + .5 - y) / actor->height;
        const double half =
            actor->width / 2 * (actor->ellipse ? (v * v < 1 ? sqrt(1 - v * v) : 0) : 1);
        int from = (int)(x - half) + between(seed, -film->noise, film->noise);
        int to = (int)(x + half) + between(seed, -film->noise, film->noise);
        from = from < 0 ? 0 : from;
        to = to > film_width ? film_width : to;
        if (row < 0 || row >= film_height || from >= to)
            continue;
        memset(mask + row * film_width + from, 255, (size_t)(to - from));
        left = from < left ? from : left;
        right = to > right ? to : right;
        top = row < top ? row : top;
        bottom = row + 1 > bottom ? row + 1 : bottom;
    }
    *box = (struct bd_object){
        .x = left, .y = top, .width = right > left ? right - left : 0, .height = bottom - top
    };
}

static inline double film_overlap(const struct bd_object *a, const struct bd_object *b)
{
    const int right = a->x + a->width < b->x + b->width ? a->x + a->width : b->x + b->width;
    const int bottom = a->y + a->height < b->y + b->height ? a->y + a->height : b->y + b->height;
    const int width = right - (a->x > b->x ? a->x : b->x);
    const int height = bottom - (a->y > b->y ? a->y : b->y);
    if (width <= 0 || height <= 0)
        return 0;
    const double both = (double)width * height;
    return both / ((double)a->width * a->height + (double)b->width * b->height - both);
}

/* Pairs boxes of actors with objects that overlap them by half at least, and counts. As with CLEAR
 * MOT (Bernardin and Stiefelhagen 2008), the pairs of the frame before stay where they can; of the
 * others, the most overlapping comes first. */
static inline void film_judge(struct film_result *result, const struct film *film,
                              const struct bd_object *truth, const struct bd_object *objects,
                              int count)
{
    bool actor_done[film_actors] = { false }, object_done[256] = { false };
    for (;;) {
        double most = .5;
        int actor = -1, object = -1;
        for (int a = 0; a < film->actors; a++)
            for (int o = 0; o < count; o++) {
                double overlap = film_overlap(&truth[a], &objects[o]);
                if (actor_done[a] || object_done[o] || !objects[o].seen || overlap <= .5)
                    continue;
                if (result->number[a] == objects[o].id)
                    overlap += 1;
                if (overlap <= most)
                    continue;
                most = overlap;
                actor = a;
                object = o;
            }
        if (actor < 0)
            return;
        actor_done[actor] = object_done[object] = true;
        result->found++;
        result->changes += result->number[actor] && result->number[actor] != objects[object].id;
        result->number[actor] = objects[object].id;
        if (!result->first[actor])
            result->first[actor] = objects[object].id;
    }
}

static inline void film_note(struct film_result *result, const struct film *film, double time,
                             const struct bd_object *objects, int count)
{
    if (count)
        result->last = time;
    for (int i = 0; i < count; i++) {
        const struct bd_object *o = &objects[i];
        result->reported += o->seen;
        result->hidden += o->seen ? 0 : 1 / film->rate;
        result->grouped += o->group > 0;
        if (o->id > result->objects)
            result->objects = (int)o->id;
        if (o->id < film_numbers)
            result->parent[o->id] = o->parent;
        const int64_t numbers[] = { o->id, o->x, o->y, o->width, o->height, o->area, o->seen };
        for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++)
            result->checksum = (result->checksum ^ (uint64_t)numbers[j]) * 0x100000001b3u;
        assert_true(o->x >= 0 && o->y >= 0 && o->width > 0 && o->height > 0);
        assert_true(o->x + o->width <= film_width && o->y + o->height <= film_height);
        assert_true(o->confidence >= 0 && o->confidence <= 1);
        assert_true(i == 0 || o->id > objects[i - 1].id);
    }
}

/* Runs the film through a tracker. */
static inline struct film_result film_run(const struct film *film)
{
    static uint8_t mask[film_width * film_height];
    struct film_result result = { 0 };
    struct bd_tracker_options options = film->options;
    struct bd_tracker *tracker = NULL;
    uint32_t seed = film->seed;
    options.width = film_width;
    options.height = film_height;
    assert_int_equal(bd_tracker_create(&tracker, &options), BD_OK);
    for (int frame = 0; frame < (int)(film->seconds * film->rate); frame++) {
        const double time = frame / film->rate;
        struct bd_object truth[film_actors] = { 0 };
        const struct bd_object *objects = NULL;
        int count = 0;
        memset(mask, 0, sizeof mask);
        for (int a = 0; a < film->actors; a++) {
            double x = 0, y = 0;
            if (film_place(&film->actor[a], time, &x, &y))
                film_draw(mask, film, &film->actor[a], x, y, &seed, &truth[a]);
            result.wanted += truth[a].width > 0;
        }
        if (film->spoil)
            film->spoil(mask, frame, time, &seed);
        assert_int_equal(bd_tracker_add(tracker, mask, film_width, time, &objects, &count), BD_OK);
        film_note(&result, film, time, objects, count);
        film_judge(&result, film, truth, objects, count);
    }
    bd_tracker_destroy(&tracker);
    return result;
}

/* Of boxes: twice what was found by what was wanted and what was reported. */
static inline double film_f(const struct film_result *result)
{
    return 2. * result->found / (result->wanted + result->reported);
}

#endif
