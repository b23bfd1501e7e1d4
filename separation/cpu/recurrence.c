/* The live separator on the CPU: what moves in place (separation/shared/recurrence.h). */
#include "separation/cpu/recurrence.h"

#include <stdlib.h>
#include <string.h>

#include "linalg/shared/isa.h"
#include "separation/cpu/mask_work.h"
#include "separation/shared/recurrence.h"

struct bd_recurrence {
    int power;                           /* bd_recurrence_cell_power */
    int across, down;                    /* cells */
    uint8_t *samples;                    /* ld x n: the frames of the window as they came */
    uint8_t *visits;                     /* pixels x n: each pixel's visit, by slot */
    uint8_t *visit;                      /* pixels: the visit in hand */
    int *lights;                         /* n: bd_recurrence_light of each slot's frame */
    struct bd_recurrence_counts *counts; /* across x down */
    uint8_t *seeds, *moves;              /* across x down: 0 or 1, the map */
    int looks;                           /* how often pixels have been looked at */
    int followed;                        /* frames in which ways have been counted */
    bool stale;                          /* the map is to be made again */
    bool any;                            /* something moves */
    int recalled; /* slot that the frame in hand was recalled from; -1: it is new */
};

void bd_recurrence_destroy(struct bd_recurrence **inout)
{
    struct bd_recurrence *own = *inout;
    if (!own)
        return;
    free(own->samples);
    free(own->visits);
    free(own->visit);
    free(own->lights);
    free(own->counts);
    free(own->seeds);
    free(own->moves);
    free(own);
    *inout = NULL;
}

enum bd_status bd_recurrence_create(struct bd_cpu_separator *state)
{
    const struct bd_separation_shape *shape = &state->shape;
    struct bd_recurrence *own = state->recurrence = calloc(1, sizeof *own);
    if (own) {
        const int power = own->power = bd_recurrence_cell_power(shape->height);
        own->across = (shape->width + (1 << power) - 1) >> power;
        own->down = (shape->height + (1 << power) - 1) >> power;
        size_t cells = (size_t)own->across * (size_t)own->down, n = (size_t)shape->window;
        /* Those of a slot are written when its frame enters. */
        own->samples = bd_cpu_reserve((size_t)state->ld * n);
        own->visits = bd_cpu_reserve((size_t)state->pixels * n);
        own->visit = bd_cpu_alloc((size_t)state->pixels);
        own->lights = calloc(n, sizeof *own->lights);
        own->counts = calloc(cells, sizeof *own->counts);
        own->seeds = calloc(cells, 1);
        own->moves = calloc(cells, 1);
    }
    if (!own || !own->samples || !own->visits || !own->visit || !own->lights || !own->counts ||
        !own->seeds || !own->moves)
        return bd_fail(BD_ERROR_MEMORY, "no memory for the frames of the window");
    return BD_OK;
}

void bd_recurrence_reset(struct bd_cpu_separator *state)
{
    struct bd_recurrence *own = state->recurrence;
    size_t cells = (size_t)own->across * (size_t)own->down;
    memset(own->visit, 0, (size_t)state->pixels);
    memset(own->counts, 0, cells * sizeof *own->counts);
    memset(own->moves, 0, cells);
    own->looks = own->followed = 0;
    own->any = own->stale = false;
}

/* A parallel loop over strips of the picture, which are whole rows of cells. */
struct search {
    const struct bd_cpu_separator *state;
    struct bd_recurrence_window window;
    const uint8_t *visit; /* pixels: that of the frame in hand */
    unsigned look;        /* the first of `looks` */
    int looks;
    uint8_t half; /* of the threshold */
    bool follow;  /* ways are counted, of the pixels that are looked at */
    bool all;     /* of all pixels, and nothing else is done */
};

static bool recurs(const struct search *search, int x, int y)
{
    const struct bd_cpu_separator *state = search->state;
    int64_t p = (int64_t)y * state->shape.width + x, i = p * state->shape.channels;
    return bd_recurrence_recurs(&search->window, state->frame + i, state->set.background + i,
                                search->visit[p], x, y, 0);
}

static bool recurs_near(const struct search *search, int x, int y)
{
    const struct bd_cpu_separator *state = search->state;
    int64_t p = (int64_t)y * state->shape.width + x, i = p * state->shape.channels;
    return state->exact->recurs_near(&search->window, state->frame + i, state->set.background + i,
                                     search->visit[p], x, y);
}

/* Ways of the pixels that will begin or end a visit with this frame. */
static void follow_rows(const struct search *search, int from, int to)
{
    const struct bd_cpu_separator *state = search->state;
    const uint8_t *raw = state->raw, *shadow = state->shadow, *visit = search->visit;
    struct bd_recurrence *own = state->recurrence;
    const int width = state->shape.width, power = own->power, every = bd_recurrence_every(power);
    for (int y = from > 0 ? from : 1; y < to && y + 1 < state->shape.height; y++) {
        int x = 1, right, down;
        while (!search->all && !bd_recurrence_looks_at(x, y, search->look, power))
            x++;
        for (; x + 1 < width; x += search->all ? 1 : every) {
            int64_t p = (int64_t)y * width + x;
            uint8_t next =
                bd_recurrence_visit(visit[p], bd_recurrence_is_foreground(raw, shadow, p),
                                    state->set.difference[p] <= search->half);
            if (!((next ^ visit[p]) & 1))
                continue;
            bd_recurrence_way(&right, &down, raw, shadow, width, p);
            struct bd_recurrence_counts *counts =
                &own->counts[(y >> power) * own->across + (x >> power)];
            counts->changes += right || down;
            counts->right += next & 1 ? right : -right;
            counts->down += next & 1 ? down : -down;
        }
    }
}

/* The visits after this frame. */
static void visit_rows(const struct search *search, int from, int to)
{
    const struct bd_cpu_separator *state = search->state;
    int64_t first = (int64_t)from * state->shape.width, end = (int64_t)to * state->shape.width;
    const uint8_t *restrict raw = state->raw, *restrict shadow = state->shadow;
    const uint8_t *restrict difference = state->set.difference;
    uint8_t *restrict visit = state->recurrence->visit, half = search->half;
    for (int64_t p = first; p < end; p++)
        visit[p] = bd_recurrence_visit(visit[p], raw[p] & ~shadow[p], difference[p] <= half);
}

static void visit_strip(void *arg, int64_t item, int thread)
{
    (void)thread;
    const struct search *search = arg;
    int to, from = bd_mask_strip(search->state->mask_work, item, &to);
    if (search->follow)
        follow_rows(search, from, to);
    if (!search->all)
        visit_rows(search, from, to);
}

/* Brings the samples of pixel p near: each of them, and its visit, lies in a cache line of its own.
 * (Inlined, since GCC drops calls of a function that does nothing else.) */
BD_INLINE void fetch_samples(const struct bd_recurrence_window *window, int64_t p)
{
    int slot = window->newest;
    for (int j = 0; j < window->columns; j++) {
        __builtin_prefetch(window->visits + slot * window->pitch + p);
        __builtin_prefetch(window->samples + slot * window->ld + p * window->channels);
        slot = slot ? slot - 1 : window->slots - 1;
    }
}

/* Counts pixel (x, y) in its cell. */
static void count_pixel(const struct search *search, int x, int y)
{
    const struct bd_cpu_separator *state = search->state;
    struct bd_recurrence *own = state->recurrence;
    struct bd_recurrence_counts *counts =
        &own->counts[(y >> own->power) * own->across + (x >> own->power)];
    const int64_t width = state->shape.width;
    counts->seen++;
    counts->recurring += recurs(search, x, y);
    counts->edges += bd_recurrence_edges(state->raw, state->shadow, width, y * width + x);
}

/* All looks at a row follow each other, for they share cache lines. The samples of a pixel arrive
 * while the pixel before it is counted. */
static void look_strip(void *arg, int64_t item, int thread)
{
    (void)thread;
    const struct search *search = arg;
    const struct bd_cpu_separator *state = search->state;
    const uint8_t *raw = state->raw, *shadow = state->shadow;
    const int width = state->shape.width, power = state->recurrence->power;
    const int every = bd_recurrence_every(power);
    int to, from = bd_mask_strip(state->mask_work, item, &to);
    int before_x = -1, before_y = 0; /* -1: there is none */
    for (int i = from * search->looks; i < to * search->looks; i++) {
        const int y = i / search->looks;
        int x = 0;
        while (!bd_recurrence_looks_at(x, y, search->look + (unsigned)(i % search->looks), power))
            x++;
        for (; x < width; x += every) {
            int64_t p = (int64_t)y * width + x;
            if (!bd_recurrence_is_foreground(raw, shadow, p) ||
                !bd_recurrence_is_solid(raw, shadow, width, state->shape.height, x, y))
                continue;
            fetch_samples(&search->window, p);
            if (before_x >= 0)
                count_pixel(search, before_x, before_y);
            before_x = x;
            before_y = y;
        }
    }
    if (before_x >= 0)
        count_pixel(search, before_x, before_y);
}

/* Brings near what the row below row y asks for in addition, of `count` pixels from column `from`
 * on, in each slot: visits, and samples of the row that is bd_recurrence_near further below.
 * (Inlined, as above.) */
BD_INLINE void fetch_below(const struct bd_recurrence_window *window, int from, int y, int count)
{
    enum { near = bd_recurrence_near };
    if (y + 1 + near >= window->height)
        return;
    const int channels = window->channels, left = from < near ? 0 : from - near;
    const int64_t visit = (int64_t)(y + 1) * window->width + from;
    const int64_t sample = ((int64_t)(y + 1 + near) * window->width + left) * channels;
    const int64_t last = sample + (int64_t)(count + near) * channels;
    int slot = window->newest;
    for (int j = 0; j < window->columns; j++) {
        const uint8_t *samples = window->samples + slot * window->ld;
        __builtin_prefetch(window->visits + slot * window->pitch + visit);
        __builtin_prefetch(samples + sample);
        __builtin_prefetch(samples + last);
        slot = slot ? slot - 1 : window->slots - 1;
    }
}

/* raw := 0 where a value recurs, of `count` pixels of a row from (from, y) on. */
static void clear_run(const struct search *search, int from, int y, int count)
{
    const struct bd_cpu_separator *state = search->state;
    const int64_t first = (int64_t)y * state->shape.width + from;
    const uint8_t *row = state->raw + first, *end = row + count;
    bool fetched = false;
    for (const uint8_t *at = row; (at = bd_mask_next(at, end)); at++) {
        const int64_t p = first + (at - row);
        if (state->shadow[p])
            continue;
        if (!fetched)
            fetch_below(&search->window, from, y, count);
        fetched = true;
        if (recurs_near(search, from + (int)(at - row), y))
            state->raw[p] = 0;
    }
}

/* The same in the cells that move, one cell after the other: neighbours share their samples. */
static void clear_strip(void *arg, int64_t item, int thread)
{
    (void)thread;
    const struct search *search = arg;
    const struct bd_cpu_separator *state = search->state;
    const struct bd_recurrence *own = state->recurrence;
    const int side = 1 << own->power, width = state->shape.width;
    int to, from = bd_mask_strip(state->mask_work, item, &to);
    for (int top = from; top < to; top += side)
        for (int cell = 0; cell < own->across; cell++) {
            const int left = cell * side, count = width - left < side ? width - left : side;
            if (own->moves[(top >> own->power) * own->across + cell])
                for (int y = top; y < to && y < top + side; y++)
                    clear_run(search, left, y, count);
        }
}

/* The map from the counts. */
static void make_map(struct bd_recurrence *own, int height)
{
    own->any = own->stale = false;
    for (int y = 0; y < own->down; y++)
        for (int x = 0; x < own->across; x++) {
            bool seed =
                bd_recurrence_is_seed(bd_recurrence_sum_around(own->counts, own->across, own->down,
                                                               x, y, bd_recurrence_around),
                                      own->looks, own->followed, height);
            own->seeds[y * own->across + x] = seed;
            own->any |= seed;
        }
    for (int y = 0; own->any && y < own->down; y++)
        for (int x = 0; x < own->across; x++)
            own->moves[y * own->across + x] = bd_recurrence_moves(
                own->seeds, own->counts, own->across, own->down, x, y, own->followed, height);
}

/* The lights of the `columns` newest frames of the window. */
static void find_lights(struct bd_cpu_separator *state, int newest, int columns)
{
    int slot = newest;
    for (int j = 0; j < columns; j++) {
        state->recurrence->lights[slot] =
            bd_recurrence_light(bd_sep_coefficients(state, slot)[0], state->w[0]);
        slot = slot ? slot - 1 : state->shape.window - 1;
    }
}

void bd_recurrence_find(struct bd_cpu_separator *state, const struct bd_detect_params *params,
                        int learn)
{
    struct bd_recurrence *own = state->recurrence;
    struct search search = { .state = state,
                             .look = params->look,
                             .looks = params->looks,
                             .half = (uint8_t)(params->threshold / 2) };
    search.window =
        (struct bd_recurrence_window){ .samples = own->samples,
                                       .visits = own->visits,
                                       .lights = own->lights,
                                       .ld = state->ld,
                                       .pitch = state->pixels,
                                       .width = state->shape.width,
                                       .height = state->shape.height,
                                       .channels = state->shape.channels,
                                       .slots = state->shape.window,
                                       .newest = params->newest,
                                       .columns = params->columns,
                                       .reach = bd_recurrence_reach_of(params->threshold) };
    search.visit =
        learn || own->recalled < 0 ? own->visit : own->visits + own->recalled * state->pixels;
    if (params->follows) {
        search.visit = own->visits + params->newest * state->pixels;
        search.follow = search.all = true;
        own->followed += bd_recurrence_pair;
        bd_mask_run(state->mask_work, visit_strip, &search);
        return;
    }
    if (own->stale && own->recalled < 0) {
        make_map(own, state->shape.height);
        bd_mirror_make_map(&state->places);
    }
    search.follow = learn && params->columns;
    find_lights(state, params->newest, params->columns);
    own->followed += search.follow;
    if (learn)
        bd_mask_run(state->mask_work, visit_strip, &search);
    if (params->looks && params->columns) {
        own->looks += params->looks;
        bd_mask_run(state->mask_work, look_strip, &search);
    }
    if (own->any && params->columns)
        bd_mask_run(state->mask_work, clear_strip, &search);
}

void bd_recurrence_recall(struct bd_cpu_separator *state, int slot)
{
    const struct bd_recurrence *own = state->recurrence;
    state->recurrence->recalled = slot;
    if (slot >= 0)
        state->frame = own->samples + slot * state->ld;
}

void bd_recurrence_enter_pixels(struct bd_cpu_separator *state, int slot, int64_t from,
                                int64_t count)
{
    const struct bd_recurrence *own = state->recurrence;
    const int channels = state->shape.channels;
    uint8_t *sample = own->samples + slot * state->ld;
    if (state->frame != sample) /* a recalled frame is there */
        memcpy(sample + from * channels, state->frame + from * channels,
               (size_t)(count * channels));
    memcpy(own->visits + slot * state->pixels + from, own->visit + from, (size_t)count);
}

void bd_recurrence_enter(struct bd_cpu_separator *state, int slot)
{
    struct bd_recurrence *own = state->recurrence;
    const int half = (state->shape.window + 1) / 2;
    own->stale = true;
    if (slot % half == 0) {
        own->looks /= 2;
        own->followed /= 2;
        for (int i = 0; i < own->across * own->down; i++)
            bd_recurrence_halve(&own->counts[i]);
        bd_mirror_forget(&state->places);
    }
}
