/* The live separator on the CPU: its memory, and the mask of a frame. */
#include "separation/cpu/state.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "separation/cpu/flash.h"
#include "separation/cpu/kernels/kernels.h"
#include "separation/cpu/recurrence.h"

static void sep_destroy(void *arg)
{
    struct bd_cpu_separator *state = arg;
    if (!state)
        return;
    void *const arrays[] = {
        state->copy,        state->window,   state->basis, state->next_basis, state->coefficients,
        state->g,           state->partial,  state->tiles, state->counts,     state->noise,
        state->known_noise, state->age,      state->raw,   state->guard,      state->picture,
        state->shadow,      state->scratch,  state->still, state->votes,      state->earlier,
        state->lower,       state->products, state->image, state->lasting,    state->aged
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    for (int i = 0; i < bd_sep_most_results; i++) {
        free(state->sets[i].background);
        free(state->sets[i].difference);
        free(state->sets[i].mask);
        free(state->sets[i].shadow_mask);
    }
    bd_tsqr_destroy(&state->tsqr);
    bd_mask_work_destroy(&state->mask_work);
    bd_recurrence_destroy(&state->recurrence);
    bd_mirror_destroy(&state->places);
    bd_shadow_destroy(&state->shadows);
    bd_flash_destroy(&state->flash);
    free(state);
}

/* NULL sets *missing. */
static void *take(size_t bytes, bool *missing)
{
    void *data = bd_cpu_alloc(bytes);
    *missing |= !data;
    return data;
}

/* Bytes of state->aged. */
static size_t tiles_of(const struct bd_cpu_separator *state)
{
    return ((size_t)state->pixels + bd_sep_tile - 1) / bd_sep_tile;
}

/* The arrays of the state. */
static enum bd_status take_arrays(struct bd_cpu_separator *state)
{
    const struct bd_separation_shape *shape = &state->shape;
    size_t m = (size_t)state->m, ld = (size_t)state->ld, pixels = (size_t)state->pixels;
    size_t n = (size_t)shape->window, rank = (size_t)shape->rank;
    size_t partial = 2 * (n > bd_max_rank ? n : bd_max_rank);
    size_t threads = (size_t)bd_pool_threads(state->pool);
    bool missing = false;
    state->frame = state->copy = take(m, &missing);
    state->window = bd_cpu_reserve(ld * n); /* columns are written before they are read */
    missing |= !state->window;
    state->basis = take(ld * rank * sizeof(float), &missing);
    state->next_basis = take(ld * rank * sizeof(float), &missing);
    state->coefficients = take(n * bd_max_rank * sizeof(float), &missing);
    state->g = take(n * rank * sizeof(float), &missing);
    state->products = take(n * sizeof(double), &missing);
    state->partial = take((size_t)state->chunks * partial * sizeof(double), &missing);
    state->tiles = take(threads * 2 * bd_sep_chunk * sizeof(float), &missing);
    state->counts = take((size_t)bd_sep_pixel_chunks(state) * sizeof *state->counts, &missing);
    state->noise = take(pixels * sizeof(float), &missing);
    state->known_noise = take(pixels * sizeof(float), &missing);
    state->age = take(pixels * sizeof(float), &missing);
    state->aged = take(tiles_of(state), &missing);
    state->raw = take(pixels, &missing);
    state->lasting = take(pixels, &missing);
    state->guard = take(pixels, &missing);
    state->picture = take(m, &missing);
    state->shadow = take(pixels, &missing);
    state->scratch = take(2 * pixels, &missing);
    state->still = take(pixels, &missing);
    state->votes = take(pixels, &missing);
    state->earlier = take(m, &missing);
    state->lower = take(pixels, &missing);
    state->image = take(pixels, &missing);
    for (int i = 0; i < shape->results; i++) {
        struct bd_sep_set *set = &state->sets[i];
        set->background = take(m, &missing);
        set->difference = take(pixels, &missing);
        set->mask = take(pixels, &missing);
        if (shape->outputs & BD_SEPARATOR_SHADOW)
            set->shadow_mask = take(pixels, &missing);
    }
    state->set = state->sets[0];
    if (!missing)
        return BD_OK;
    return bd_fail(BD_ERROR_MEMORY,
                   "no memory for a window of %d frames of %d x %d (%zu MiB); fewer or smaller "
                   "frames need less",
                   shape->window, shape->width, shape->height, ld * n >> 20);
}

static enum bd_status sep_create(struct bd_backend *backend,
                                 const struct bd_separation_shape *shape, void **out)
{
    *out = NULL;
    struct bd_cpu_separator *state = calloc(1, sizeof *state);
    if (!state)
        return bd_fail(BD_ERROR_MEMORY, "no memory for the separator");
    state->pool = bd_cpu_pool(backend);
    state->kernels = bd_separation_kernels()->pixel;
    state->exact = bd_separation_kernels()->exact;
    state->shape = *shape;
    state->pixels = (int64_t)shape->width * shape->height;
    state->m = state->pixels * shape->channels;
    state->ld = (state->m + 63) / 64 * 64;
    state->chunks = (state->m + bd_sep_chunk - 1) / bd_sep_chunk;
    enum bd_status status = take_arrays(state);
    if (status == BD_OK)
        status = bd_tsqr_create(&state->tsqr, shape->window, 0, bd_sep_accumulators);
    if (status == BD_OK)
        status = bd_mask_work_create(&state->mask_work, state->pool, shape->width, shape->height);
    if (status == BD_OK)
        status = bd_recurrence_create(state);
    if (status == BD_OK)
        status = bd_mirror_create(&state->places, shape->width, shape->height);
    if (status == BD_OK)
        status = bd_shadow_create(&state->shadows, bd_pool_threads(state->pool));
    if (status == BD_OK)
        status = bd_flash_create(&state->flash, state->pool, shape);
    if (status != BD_OK) {
        sep_destroy(state);
        return status;
    }
    *out = state;
    return BD_OK;
}

static enum bd_status sep_reset(void *arg)
{
    struct bd_cpu_separator *state = arg;
    size_t pixels = (size_t)state->pixels;
    state->rank = 0;
    memset(state->w, 0, sizeof state->w);
    memset(state->noise, 0, pixels * sizeof *state->noise);
    memset(state->known_noise, 0, pixels * sizeof *state->known_noise);
    memset(state->age, 0, pixels * sizeof *state->age);
    memset(state->aged, 0, tiles_of(state));
    memset(state->lasting, bd_mask_lasting, pixels);
    memset(state->guard, 0, pixels);
    memset(state->still, 0, pixels);
    memset(state->votes, 0, pixels);
    memset(state->earlier, 0, (size_t)state->m);
    bd_recurrence_reset(state);
    bd_mirror_reset(&state->places);
    bd_shadow_reset(&state->shadows);
    bd_flash_reset(state->flash);
    state->ghost_pixels = 0;
    bd_sep_forget_products(state);
    state->drift = 0;
    return BD_OK;
}

void bd_sep_take_set(struct bd_cpu_separator *state)
{
    if (!state->finished)
        return;
    state->finished = false;
    state->turn = (state->turn + 1) % state->shape.results;
    state->set = state->sets[state->turn];
}

struct loading {
    struct bd_cpu_separator *state;
    const uint8_t *picture;
    int64_t stride;
};

enum { strip = 32 }; /* rows of an item */

static void load_strip(void *arg, int64_t item, int thread)
{
    (void)thread;
    const struct loading *loading = arg;
    const struct bd_cpu_separator *state = loading->state;
    int height = state->shape.height, from = (int)item * strip;
    size_t row = (size_t)state->shape.width * (size_t)state->shape.channels;
    for (int y = from; y < height && y < from + strip; y++)
        memcpy(state->copy + (size_t)y * row, loading->picture + y * loading->stride, row);
}

static enum bd_status sep_load(void *arg, const uint8_t *picture, int64_t stride)
{
    struct bd_cpu_separator *state = arg;
    struct loading loading = { .state = state, .picture = picture, .stride = stride };
    bd_sep_take_set(state);
    bd_recurrence_recall(state, -1);
    const bool tight = stride == (int64_t)state->shape.width * state->shape.channels;
    state->frame = tight ? picture : state->copy;
    if (!tight)
        bd_pool_run(state->pool, load_strip, &loading, (state->shape.height + strip - 1) / strip);
    return BD_OK;
}

static enum bd_status sep_load_background(void *arg, const uint8_t *background)
{
    struct bd_cpu_separator *state = arg;
    memcpy(state->set.background, background, (size_t)state->m);
    state->due = false;
    return BD_OK;
}

/* While a frame's mask is made: 1 where it is certain that there is nothing. */
static uint8_t *plain_background(const struct bd_cpu_separator *state)
{
    return state->scratch + state->pixels;
}

/* A parallel loop over the pixels. */
struct pixel_loop {
    struct bd_cpu_separator *state;
    const struct bd_detect_params *params;
    bool learn;
};

/* Two pictures that are compared. */
struct comparison {
    struct bd_cpu_separator *state;
    const uint8_t *f, *l;
    uint8_t *formed; /* l if it is formed before: while a chunk of it is in the cache; else NULL */
    struct bd_limits limits;
};

/* |f - l|, the maximum over channels, and where it exceeds the pixel's limit. */
static void compare_chunk(void *arg, int64_t chunk, int thread)
{
    (void)thread;
    const struct comparison *now = arg;
    const struct bd_cpu_separator *state = now->state;
    int channels = state->shape.channels;
    int64_t p, count = bd_sep_pixel_range(state, chunk, &p), i = p * channels;
    if (now->formed)
        state->exact->background(count * channels, state->basis + i, state->ld, state->rank,
                                 state->w, now->formed + i);
    state->counts[chunk] = state->exact->compare(
        count, channels, now->f + i, now->l + i, state->known_noise + p, &now->limits,
        state->set.difference + p, state->raw + p, plain_background(state) + p);
}

/* Returns how many pixels exceed their limit. */
static int64_t compare(struct comparison *now)
{
    return bd_sep_run_and_count(now->state, compare_chunk, now, bd_sep_pixel_chunks(now->state));
}

static enum bd_status sep_compare(void *arg, int slot, int other, int reach, int64_t *count)
{
    struct bd_cpu_separator *state = arg;
    struct comparison now = { .state = state,
                              .f = bd_sep_column(state, slot),
                              .l = bd_sep_column(state, other),
                              .limits = { .least = (float)reach, .most = (float)reach } };
    bd_sep_take_set(state);
    *count = compare(&now);
    return BD_OK;
}

/* scratch := what must not be learned: the mask, and shadows. */
static void occupy_chunk(void *arg, int64_t chunk, int thread)
{
    (void)thread;
    const struct bd_cpu_separator *state = ((const struct pixel_loop *)arg)->state;
    int64_t from, count = bd_sep_pixel_range(state, chunk, &from);
    const uint8_t *restrict raw = state->raw + from, *restrict shadow = state->shadow + from;
    uint8_t *restrict occupied = state->scratch + from;
    for (int64_t p = 0; p < count; p++)
        occupied[p] = raw[p] | shadow[p];
}

/* Noise levels of the pixels outside the guard, to known_noise; ages of those that are occupied,
 * and the mask. */
static void learn_chunk(void *arg, int64_t chunk, int thread)
{
    (void)thread;
    const struct pixel_loop *loop = arg;
    const struct bd_cpu_separator *state = loop->state;
    const struct bd_detect_params *params = loop->params;
    const struct bd_learning learning = { .rate = params->noise_rate,
                                          .seconds = loop->learn ? params->seconds : 0,
                                          .memory = params->memory };
    int64_t p, count = bd_sep_pixel_range(state, chunk, &p);
    state->counts[chunk] = state->exact->learn(
        count, &learning, state->set.difference + p, state->scratch + p, state->raw + p,
        state->noise + p, loop->learn ? state->known_noise + p : NULL, state->age + p,
        state->aged + p / bd_sep_tile, state->guard + p, state->set.mask + p);
}

/* Shadows and what is background in other light. */
static void find_shadows(struct bd_cpu_separator *state, const struct bd_detect_params *params,
                         bool learn)
{
    if (!params->shadows)
        memset(state->shadow, 0, (size_t)state->pixels);
    else
        bd_shadow_find(state->mask_work, state->shadow, &state->shadows, state->raw, state->frame,
                       state->set.background, state->shape.channels,
                       learn && bd_mirror_is_evidence(params->look));
    if (params->illumination)
        bd_illumination_find(state->mask_work, state->shadow, state->raw, state->frame,
                             state->set.background, state->shape.channels);
}

/* A chunk of the mirror images leaves the mask and joins the shadows. */
static void cut_image_chunk(void *arg, int64_t chunk, int thread)
{
    (void)thread;
    const struct bd_cpu_separator *state = arg;
    int64_t from, count = bd_sep_pixel_range(state, chunk, &from);
    const uint8_t *restrict image = state->image + from;
    uint8_t *restrict raw = state->raw + from, *restrict shadow = state->shadow + from;
    for (int64_t p = 0; p < count; p++) {
        raw[p] &= (uint8_t)(1 - image[p]);
        shadow[p] |= image[p];
    }
}

/* Cuts contact shadows and mirror images, both of which are looked for in the mask as it is. */
static void cut_shadows(struct bd_cpu_separator *state, const struct bd_detect_params *params)
{
    const bool evidence = params->looks > 0 && bd_mirror_is_evidence(params->look);
    const bool mirrored = params->mirrors &&
                          bd_mirror_find(state->mask_work, state->image, &state->places, state->raw,
                                         state->frame, state->set.background, evidence);
    if (params->shadows)
        bd_contact_shadow_cut(state->mask_work, state->raw, state->shadow, state->frame,
                              state->set.background, state->shape.channels);
    if (mirrored)
        bd_pool_run(state->pool, cut_image_chunk, state, bd_sep_pixel_chunks(state));
}

/* Shadows cleaned up as the mask is. */
static void show_shadows(struct bd_cpu_separator *state, const struct bd_detect_params *params)
{
    uint8_t *shadow = state->set.shadow_mask;
    bd_mask_median(state->mask_work, shadow, state->shadow, params->median);
    for (int64_t p = 0; p < state->pixels; p++)
        shadow[p] = shadow[p] && !state->raw[p] ? 255 : 0;
}

static enum bd_status sep_detect(void *arg, const struct bd_detect_params *params, int learn)
{
    struct bd_cpu_separator *state = arg;
    struct pixel_loop loop = { .state = state, .params = params, .learn = learn };
    int64_t items = bd_sep_pixel_chunks(state);
    struct comparison now = { .state = state,
                              .f = state->frame,
                              .l = state->set.background,
                              .formed = state->due ? state->set.background : NULL,
                              .limits = { params->noise_gain, params->threshold, params->most,
                                          params->plain } };
    state->changed = compare(&now);
    state->due = false;
    bd_flash_follow(state->flash, state->frame, params->flash_quiet, learn);
    find_shadows(state, params, learn);
    bd_recurrence_find(state, params, learn);
    if (params->follows || (params->evidence && !params->mirrors))
        return BD_OK;
    bd_mask_leave_out(state->mask_work, state->scratch, state->raw, state->shadow);
    bd_mask_median(state->mask_work, state->raw, state->scratch, params->median);
    bd_mask_remove_small(state->mask_work, state->raw, state->lasting, params->lasting,
                         params->min_area);
    bd_flash_remove(state->flash, state->mask_work, state->raw);
    bd_mask_fill_holes(state->mask_work, state->raw, params->max_hole);
    cut_shadows(state, params);
    if (params->evidence)
        return BD_OK;
    if (params->plain >= 0)
        bd_mask_trim(state->mask_work, state->raw, plain_background(state), state->set.difference);
    bd_pool_run(state->pool, occupy_chunk, &loop, items);
    bd_mask_dilate(state->mask_work, state->guard, state->scratch, params->guard);
    state->foreground = bd_sep_run_and_count(state, learn_chunk, &loop, items);
    if (learn) {
        float *const learned = state->known_noise;
        state->known_noise = state->noise;
        state->noise = learned;
    }
    if (state->set.shadow_mask)
        show_shadows(state, params);
    return BD_OK;
}

static enum bd_status sep_finish(void *arg)
{
    struct bd_cpu_separator *state = arg;
    state->result_rank = state->rank;
    state->result_drift = state->drift;
    state->result_ghost_pixels = state->ghost_pixels;
    state->ghost_pixels = 0;
    state->finished = true;
    return BD_OK;
}

static enum bd_status sep_collect(void *arg, struct bd_separation *results)
{
    const struct bd_cpu_separator *state = arg;
    int outputs = state->shape.outputs;
    results->background = outputs & BD_SEPARATOR_BACKGROUND ? state->set.background : NULL;
    results->difference = outputs & BD_SEPARATOR_DIFFERENCE ? state->set.difference : NULL;
    results->mask = outputs & BD_SEPARATOR_MASK ? state->set.mask : NULL;
    results->shadow = state->set.shadow_mask;
    results->foreground = state->foreground;
    results->changed = state->changed;
    results->ghost_pixels = state->result_ghost_pixels;
    results->rank = state->result_rank;
    results->drift = state->result_drift;
    return BD_OK;
}

const struct bd_separation_ops bd_cpu_separation_ops = {
    .create = sep_create,
    .destroy = sep_destroy,
    .reset = sep_reset,
    .load = sep_load,
    .load_background = sep_load_background,
    .project = bd_cpu_sep_project,
    .detect = sep_detect,
    .insert = bd_cpu_sep_insert,
    .recall = bd_cpu_sep_recall,
    .gram = bd_cpu_sep_gram,
    .reduce = bd_cpu_sep_reduce,
    .basis_only = bd_cpu_sep_basis_only,
    .basis_ahead = bd_cpu_sep_basis_ahead,
    .basis = bd_cpu_sep_basis,
    .compare = sep_compare,
    .stable = bd_cpu_sep_stable,
    .remove_ghosts = bd_cpu_sep_remove_ghosts,
    .depth = 1,
    .finish = sep_finish,
    .collect = sep_collect,
};
