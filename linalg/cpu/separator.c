/* The live separator on the CPU: its memory, and the mask of a frame. */
#include "linalg/cpu/separator_state.h"

#include <stdlib.h>
#include <string.h>

#include "linalg/cpu/kernels/kernels.h"

void bd_cpu_sep_destroy(void *arg)
{
    struct bd_cpu_separator *state = arg;
    if (!state)
        return;
    free(state->frame);
    free(state->background);
    free(state->window);
    free(state->basis);
    free(state->next_basis);
    free(state->coefficients);
    free(state->g);
    free(state->partial);
    bd_tsqr_destroy(&state->tsqr);
    free(state->tiles);
    free(state->difference);
    free(state->noise);
    free(state->age);
    free(state->raw);
    free(state->guard);
    free(state->mask);
    free(state->picture);
    free(state->shadow);
    free(state->shadow_mask);
    bd_shadow_work_destroy(&state->shadow_work);
    bd_contact_work_destroy(&state->contact_work);
    free(state->scratch);
    free(state->still);
    free(state->votes);
    free(state->earlier);
    free(state->smoother);
    bd_mask_work_destroy(&state->mask_work);
    bd_seam_work_destroy(&state->seam_work);
    free(state);
}

enum bd_status bd_cpu_sep_create(struct bd_backend *backend,
                                 const struct bd_separation_shape *shape, void **out)
{
    *out = NULL;
    struct bd_cpu_separator *state = calloc(1, sizeof *state);
    if (!state)
        return bd_fail(BD_ERROR_MEMORY, "no memory for the separator");
    state->pool = bd_cpu_pool(backend);
    state->kernels = bd_kernels()->pixel;
    state->shape = *shape;
    state->pixels = (int64_t)shape->width * shape->height;
    state->m = state->pixels * shape->channels;
    state->ld = (state->m + 63) / 64 * 64;
    state->chunks = (state->m + bd_sep_chunk - 1) / bd_sep_chunk;

    size_t m = (size_t)state->m, ld = (size_t)state->ld, pixels = (size_t)state->pixels;
    size_t n = (size_t)shape->window, rank = (size_t)shape->rank;
    size_t partial = n > 2 * bd_max_rank ? n : 2 * bd_max_rank;
    size_t threads = (size_t)bd_pool_threads(state->pool);
    state->frame = bd_cpu_alloc(m);
    state->background = bd_cpu_alloc(m);
    state->window = bd_cpu_alloc(ld * n);
    state->basis = bd_cpu_alloc(ld * rank * sizeof(float));
    state->next_basis = bd_cpu_alloc(ld * rank * sizeof(float));
    state->coefficients = bd_cpu_alloc(n * bd_max_rank * sizeof(float));
    state->g = bd_cpu_alloc(n * rank * sizeof(float));
    state->partial = bd_cpu_alloc((size_t)state->chunks * partial * sizeof(double));
    state->tiles = bd_cpu_alloc(threads * 2 * bd_sep_chunk * sizeof(float));
    state->difference = bd_cpu_alloc(pixels);
    state->noise = bd_cpu_alloc(pixels * sizeof(float));
    state->age = bd_cpu_alloc(pixels * sizeof(float));
    state->raw = bd_cpu_alloc(pixels);
    state->guard = bd_cpu_alloc(pixels);
    state->mask = bd_cpu_alloc(pixels);
    state->picture = bd_cpu_alloc(m);
    state->shadow = bd_cpu_alloc(pixels);
    if (shape->outputs & BD_SEPARATOR_SHADOW)
        state->shadow_mask = bd_cpu_alloc(pixels);
    state->scratch = bd_cpu_alloc(2 * pixels);
    state->still = bd_cpu_alloc(pixels);
    state->votes = bd_cpu_alloc(pixels);
    state->earlier = bd_cpu_alloc(m);
    state->smoother = bd_cpu_alloc(pixels);
    enum bd_status status = BD_OK;
    if (!state->frame || !state->background || !state->window || !state->basis ||
        !state->next_basis || !state->coefficients || !state->g || !state->partial ||
        !state->tiles || !state->difference || !state->noise || !state->age || !state->raw ||
        !state->guard || !state->mask || !state->picture || !state->smoother || !state->scratch ||
        !state->shadow || (shape->outputs & BD_SEPARATOR_SHADOW && !state->shadow_mask) ||
        !state->still || !state->votes || !state->earlier)
        status = bd_fail(BD_ERROR_MEMORY,
                         "no memory for a window of %d frames of %d x %d (%zu MiB); a smaller "
                         "--window or --scale needs less",
                         shape->window, shape->width, shape->height, ld * n >> 20);
    if (status == BD_OK)
        status = bd_tsqr_create(&state->tsqr, shape->window, 0, bd_sep_accumulators);
    if (status == BD_OK)
        status = bd_mask_work_create(&state->mask_work, shape->width, shape->height);
    if (status == BD_OK)
        status = bd_seam_work_create(&state->seam_work, shape->width, shape->height);
    if (status == BD_OK)
        status =
            bd_shadow_work_create(&state->shadow_work, state->pool, shape->width, shape->height);
    if (status == BD_OK)
        status = bd_contact_work_create(&state->contact_work, shape->width, shape->height);
    if (status != BD_OK) {
        bd_cpu_sep_destroy(state);
        return status;
    }
    *out = state;
    return BD_OK;
}

enum bd_status bd_cpu_sep_reset(void *arg)
{
    struct bd_cpu_separator *state = arg;
    size_t pixels = (size_t)state->pixels;
    state->rank = 0;
    memset(state->w, 0, sizeof state->w);
    memset(state->noise, 0, pixels * sizeof *state->noise);
    memset(state->age, 0, pixels * sizeof *state->age);
    memset(state->guard, 0, pixels);
    memset(state->still, 0, pixels);
    memset(state->votes, 0, pixels);
    memset(state->earlier, 0, (size_t)state->m);
    state->revealed = 0;
    return BD_OK;
}

enum bd_status bd_cpu_sep_load(void *arg, const uint8_t *picture, int64_t stride)
{
    struct bd_cpu_separator *state = arg;
    size_t row = (size_t)state->shape.width * (size_t)state->shape.channels;
    for (int y = 0; y < state->shape.height; y++)
        memcpy(state->frame + (size_t)y * row, picture + y * stride, row);
    return BD_OK;
}

enum bd_status bd_cpu_sep_load_background(void *arg, const uint8_t *background)
{
    struct bd_cpu_separator *state = arg;
    memcpy(state->background, background, (size_t)state->m);
    return BD_OK;
}

static inline uint8_t distance(uint8_t a, uint8_t b)
{
    return (uint8_t)(a > b ? a - b : b - a);
}

/* While a frame's mask is made: 1 where it is certain that there is nothing. */
static uint8_t *plain_background(const struct bd_cpu_separator *state)
{
    return state->scratch + state->pixels;
}

/* |f - l|, the maximum over channels, and where it exceeds the pixel's threshold. */
static void compare(struct bd_cpu_separator *state, const struct bd_detect_params *params,
                    int64_t from, int64_t to)
{
    const uint8_t *f = state->frame, *l = state->background;
    uint8_t *difference = state->difference;
    if (state->shape.channels == 1) {
        for (int64_t p = from; p < to; p++)
            difference[p] = distance(f[p], l[p]);
    } else {
        for (int64_t p = from; p < to; p++) {
            uint8_t r = distance(f[3 * p], l[3 * p]);
            uint8_t g = distance(f[3 * p + 1], l[3 * p + 1]);
            uint8_t b = distance(f[3 * p + 2], l[3 * p + 2]);
            uint8_t most = r > g ? r : g;
            difference[p] = most > b ? most : b;
        }
    }
    const float *noise = state->noise;
    uint8_t *plain = plain_background(state);
    float gain = params->noise_gain, least = params->threshold, most = params->most;
    for (int64_t p = from; p < to; p++) {
        float limit = gain * noise[p];
        limit = limit > most ? most : limit;
        limit = limit < least ? least : limit;
        state->raw[p] = (float)difference[p] > limit;
        plain[p] = (float)difference[p] <= params->plain * limit;
    }
}

/* What must not be learned: the mask, and shadows. */
static void occupy(struct bd_cpu_separator *state, const struct bd_detect_params *params,
                   int64_t from, int64_t to)
{
    (void)params;
    for (int64_t p = from; p < to; p++)
        state->scratch[p] = state->raw[p] | state->shadow[p];
}

/* Noise levels of the pixels outside the guard, ages of those that are occupied. A pixel that is so
 * no more loses its age four times as fast as it came, so that a flicker does not start it anew. */
static void learn_pixels(struct bd_cpu_separator *state, const struct bd_detect_params *params,
                         int64_t from, int64_t to)
{
    float rate = params->noise_rate, seconds = params->seconds;
    for (int64_t p = from; p < to; p++) {
        float share = state->guard[p] ? 0.0f : rate;
        state->noise[p] += share * ((float)state->difference[p] - state->noise[p]);
        float age = state->age[p] + (state->scratch[p] ? seconds : -4.0f * seconds);
        state->age[p] = age > 0.0f ? age : 0.0f;
    }
}

static void finish(struct bd_cpu_separator *state, const struct bd_detect_params *params,
                   int64_t from, int64_t to)
{
    for (int64_t p = from; p < to; p++) {
        state->guard[p] = state->guard[p] && state->age[p] < params->memory;
        state->mask[p] = (uint8_t)-state->raw[p];
    }
}

struct pixel_loop {
    struct bd_cpu_separator *state;
    const struct bd_detect_params *params;
    void (*fn)(struct bd_cpu_separator *, const struct bd_detect_params *, int64_t, int64_t);
};

static void pixel_chunk(void *arg, int64_t chunk, int thread)
{
    (void)thread;
    const struct pixel_loop *loop = arg;
    int64_t from, count = bd_sep_pixel_range(loop->state, chunk, &from);
    loop->fn(loop->state, loop->params, from, from + count);
}

static void for_pixels(struct bd_cpu_separator *state, const struct bd_detect_params *params,
                       void (*fn)(struct bd_cpu_separator *, const struct bd_detect_params *,
                                  int64_t, int64_t))
{
    struct pixel_loop loop = { .state = state, .params = params, .fn = fn };
    bd_pool_run(state->pool, pixel_chunk, &loop, bd_sep_pixel_chunks(state));
}

static int64_t count_set(const struct bd_cpu_separator *state, const uint8_t *picture)
{
    int64_t count = 0;
    for (int64_t p = 0; p < state->pixels; p++)
        count += picture[p];
    return count;
}

static void take_shadows_out(struct bd_cpu_separator *state, const struct bd_detect_params *params)
{
    /* Without colour any dark thing on a plain background would pass for a shadow. */
    if (!params->shadows || state->shape.channels == 1) {
        memset(state->shadow, 0, (size_t)state->pixels);
        return;
    }
    bd_shadow_find(state->shadow_work, state->shadow, state->raw, state->frame, state->background);
    for (int64_t p = 0; p < state->pixels; p++)
        state->raw[p] &= (uint8_t)(1 - state->shadow[p]);
}

/* Shadows cleaned up as the mask is. */
static void show_shadows(struct bd_cpu_separator *state, const struct bd_detect_params *params)
{
    uint8_t *shadow = state->shadow_mask;
    bd_mask_median(state->mask_work, shadow, state->shadow, params->median);
    for (int64_t p = 0; p < state->pixels; p++)
        shadow[p] = shadow[p] && !state->raw[p] ? 255 : 0;
}

enum bd_status bd_cpu_sep_detect(void *arg, const struct bd_detect_params *params, int learn)
{
    struct bd_cpu_separator *state = arg;
    for_pixels(state, params, compare);
    state->changed = count_set(state, state->raw);
    take_shadows_out(state, params);
    bd_mask_median(state->mask_work, state->raw, state->raw, params->median);
    bd_mask_remove_small(state->mask_work, state->raw, params->min_area);
    bd_mask_fill_holes(state->mask_work, state->raw, params->max_hole);
    if (params->shadows)
        bd_contact_cut(state->contact_work, state->raw, state->shadow, state->frame,
                       state->background, state->shape.channels);
    if (params->plain >= 0)
        bd_mask_trim(state->mask_work, state->raw, plain_background(state), state->difference);
    for_pixels(state, params, occupy);
    bd_mask_dilate(state->mask_work, state->guard, state->scratch, params->guard);
    if (learn)
        for_pixels(state, params, learn_pixels);
    for_pixels(state, params, finish);
    if (state->shadow_mask)
        show_shadows(state, params);
    state->foreground = count_set(state, state->raw);
    return BD_OK;
}

enum bd_status bd_cpu_sep_finish(void *arg)
{
    struct bd_cpu_separator *state = arg;
    state->result_rank = state->rank;
    state->result_revealed = state->revealed;
    state->revealed = 0;
    return BD_OK;
}

enum bd_status bd_cpu_sep_collect(void *arg, struct bd_separation *results)
{
    const struct bd_cpu_separator *state = arg;
    int outputs = state->shape.outputs;
    results->background = outputs & BD_SEPARATOR_BACKGROUND ? state->background : NULL;
    results->difference = outputs & BD_SEPARATOR_DIFFERENCE ? state->difference : NULL;
    results->mask = outputs & BD_SEPARATOR_MASK ? state->mask : NULL;
    results->shadow = state->shadow_mask;
    results->foreground = state->foreground;
    results->changed = state->changed;
    results->revealed = state->result_revealed;
    results->rank = state->result_rank;
    return BD_OK;
}
