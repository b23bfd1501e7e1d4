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
        own->samples = bd_cpu_alloc((size_t)state->ld * n);
        own->visits = bd_cpu_alloc((size_t)state->pixels * n);
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

/* ---- step 6 for a pixel, in registers ----------------------------------------------------------
 */

enum { SIDE = 2 * bd_recurrence_near + 1, BYTES = 16 };

/* GCC's and clang's vector extension. */
typedef uint8_t bytes __attribute__((vector_size(BYTES)));

/* bd_recurrence_is_near, where the square of neighbours and what is read behind it lies in the
 * picture: v is the first of them. `wanted` has 255 at the first byte of each pixel of a row. */
BD_INLINE bool is_near(const struct bd_recurrence_window *window, int channels, const uint8_t *f,
                       const uint8_t *l, const uint8_t *v, int light, bytes wanted)
{
    uint8_t least[3] = { 0 }, span[3] = { 0 };
    for (int k = 0; k < channels; k++) {
        int middle = f[k] - l[k] + ((l[k] * light + 2048) >> 12);
        int low = middle - window->reach, high = middle + window->reach;
        if (low > 255 || high < 0)
            return false;
        least[k] = (uint8_t)(low > 0 ? low : 0);
        span[k] = (uint8_t)((high < 255 ? high : 255) - least[k]);
    }
    bytes any = { 0 };
    for (int row = 0; row < SIDE; row++, v += (int64_t)window->width * channels) {
        bytes like = wanted;
        for (int k = 0; k < channels; k++) {
            bytes here;
            memcpy(&here, v + k, sizeof here);
            like &= (bytes)(here - least[k] <= (bytes){ 0 } + span[k]);
        }
        any |= like;
    }
    uint64_t halves[2];
    memcpy(halves, &any, sizeof halves);
    return halves[0] | halves[1];
}

/* bd_recurrence_recurs for pixel p, whose first neighbour is pixel `first`. */
BD_INLINE bool search_near(const struct bd_recurrence_window *window, int channels,
                           const uint8_t *f, const uint8_t *l, uint8_t visit, int64_t p,
                           int64_t first)
{
    bytes wanted = { 0 };
    for (int i = 0; i < SIDE; i++)
        wanted[i * channels] = 255;
    int found = 0, slot = window->newest;
    uint8_t last = visit; /* of the samples that are like it, the one before */
    for (int j = 0; j < window->columns && found < bd_recurrence_visits; j++) {
        uint8_t then = window->visits[slot * window->pitch + p];
        if (then != visit && then != last &&
            is_near(window, channels, f, l, window->samples + slot * window->ld + first * channels,
                    window->lights[slot], wanted)) {
            last = then;
            found++;
        }
        slot = slot ? slot - 1 : window->slots - 1;
    }
    return found == bd_recurrence_visits;
}

bool bd_recurrence_recurs_near(const struct bd_recurrence_window *window, const uint8_t *f,
                               const uint8_t *l, uint8_t visit, int x, int y)
{
    const int near = bd_recurrence_near, channels = window->channels, width = window->width;
    const int64_t p = (int64_t)y * width + x, first = p - (int64_t)near * (width + 1);
    const int bytes_read = BYTES + channels - 1; /* of a row of neighbours */
    const bool inside = x >= near && y >= near && y + near < window->height &&
                        (x - near) * channels + bytes_read <= width * channels;
    if (inside && channels == 3)
        return search_near(window, 3, f, l, visit, p, first);
    if (inside && channels == 1)
        return search_near(window, 1, f, l, visit, p, first);
    return bd_recurrence_recurs(window, f, l, visit, x, y, near);
}

/* ---- a frame -----------------------------------------------------------------------------------
 */

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
    return bd_recurrence_recurs_near(&search->window, state->frame + i, state->set.background + i,
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

/* raw := 0 where a value recurs in a cell that moves. */
static void clear_strip(void *arg, int64_t item, int thread)
{
    (void)thread;
    const struct search *search = arg;
    const struct bd_cpu_separator *state = search->state;
    const struct bd_recurrence *own = state->recurrence;
    int to, from = bd_mask_strip(state->mask_work, item, &to), width = state->shape.width;
    for (int y = from; y < to; y++) {
        const uint8_t *moves = own->moves + (y >> own->power) * own->across;
        for (int x = 0; x < width; x++) {
            int64_t p = (int64_t)y * width + x;
            if (moves[x >> own->power] &&
                bd_recurrence_is_foreground(state->raw, state->shadow, p) &&
                recurs_near(search, x, y))
                state->raw[p] = 0;
        }
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
