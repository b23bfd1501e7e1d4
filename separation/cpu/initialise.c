/* The live separator on the CPU: the first background, from the frames of the window. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "separation/cpu/state.h"

/* The item's part of the background's squared norm. */
static double take_background(struct bd_cpu_separator *state, int64_t from, int64_t count)
{
    const uint8_t *background = state->set.background + from;
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        state->basis[from + i] = background[i];
        sum += (double)background[i] * background[i];
    }
    return sum;
}

/* A parallel loop over the columns of the window that are looked at, chunk by chunk. */
struct sweep {
    struct bd_cpu_separator *state;
    int count;
    const uint8_t **columns;
};

static bool shows(const uint8_t *pixel, const uint8_t *value, int channels)
{
    for (int c = 0; c < channels; c++)
        if (abs(pixel[c] - value[c]) > bd_sep_stable_reach)
            return false;
    return true;
}

/* When the second stable value of a pixel is seen. */
enum seen { seen_first, seen_last, seen_between };

static enum seen when_seen(const uint8_t *const *columns, int count, int channels, int64_t p,
                           const uint8_t *first, const uint8_t *second)
{
    const int64_t at = p * channels;
    bool begun = false, before = false, after = false;
    for (int j = 0; j < count; j++) {
        if (shows(columns[j] + at, first + at, channels)) {
            before |= !begun;
            after = true;
        } else if (shows(columns[j] + at, second + at, channels)) {
            begun = true;
            after = false;
        }
    }
    return !before ? seen_first : after ? seen_between : seen_last;
}

/* Pixel p of both stable values changes places. */
static void swap_values(struct bd_cpu_separator *state, int64_t p)
{
    const int64_t channels = state->shape.channels;
    for (int64_t i = p * channels; i < (p + 1) * channels; i++) {
        const uint8_t value = state->set.background[i];
        state->set.background[i] = state->picture[i];
        state->picture[i] = value;
    }
    const uint8_t noise = state->raw[p];
    state->raw[p] = state->set.mask[p];
    state->set.mask[p] = noise;
}

/* Both stable values of a chunk of pixels (not elements): pictures and noise levels. state->guard
 * := 1 in the region, in which state->set.background is what was there first, and state->picture
 * what came; elsewhere both are the stable value. state->scratch := 1 where the stable value came.
 */
static void stable_chunk(void *arg, int64_t chunk, int thread)
{
    (void)thread;
    const struct sweep *sweep = arg;
    struct bd_cpu_separator *state = sweep->state;
    const int channels = state->shape.channels;
    int64_t from, count = bd_sep_pixel_range(state, chunk, &from), at = from * channels;
    const uint8_t *here[bd_max_stable];
    const int least = (sweep->count + bd_sep_second_share - 1) / bd_sep_second_share;
    for (int j = 0; j < sweep->count; j++)
        here[j] = sweep->columns[j] + at;
    uint8_t *first = state->set.background + at, *second = state->picture + at;
    uint8_t *region = state->guard + from, *came = state->scratch + from;
    state->kernels->stable(count, channels, here, sweep->count, bd_sep_stable_reach, NULL, 1, first,
                           state->raw + from, came);
    state->kernels->stable(count, channels, here, sweep->count, bd_sep_stable_reach, first, least,
                           second, state->set.mask + from, region);
    for (int64_t p = 0; p < count; p++) {
        region[p] = region[p] >= least;
        came[p] = 0;
        if (region[p]) {
            const enum seen seen = when_seen(here, sweep->count, channels, p, first, second);
            region[p] = seen != seen_between;
            came[p] = seen == seen_first;
        }
        if (!region[p]) {
            memcpy(second + p * channels, first + p * channels, (size_t)channels);
            state->set.mask[from + p] = state->raw[from + p];
        } else if (came[p]) {
            swap_values(state, from + p);
        }
    }
}

/* A chunk of the first background. state->lower: where what came is the background; the second half
 * of state->scratch: where what was there first is; elsewhere the stable value is. */
static void choose_chunk(void *arg, int64_t chunk, int thread)
{
    (void)thread;
    struct bd_cpu_separator *state = arg;
    const size_t channels = (size_t)state->shape.channels;
    const uint8_t *came = state->scratch, *lower = state->scratch + state->pixels;
    int64_t from, count = bd_sep_pixel_range(state, chunk, &from);
    for (int64_t p = from; p < from + count; p++) {
        const bool take = state->lower[p] || (came[p] && !lower[p]);
        state->noise[p] = (float)(take ? state->set.mask[p] : state->raw[p]) / 16;
        state->known_noise[p] = state->noise[p];
        if (take)
            memcpy(state->set.background + (size_t)p * channels,
                   state->picture + (size_t)p * channels, channels);
    }
    state->partial[chunk] =
        take_background(state, from * state->shape.channels, count * state->shape.channels);
}

struct scaling {
    struct bd_cpu_separator *state;
    double square; /* of the norm */
};

/* A black picture has no direction: the constant picture takes its place. */
static void scale_chunk(void *arg, int64_t chunk, int thread)
{
    (void)thread;
    const struct scaling *scaling = arg;
    int64_t from, count = bd_sep_range(scaling->state, chunk, &from);
    float *b = scaling->state->basis + from;
    float norm = (float)sqrt(scaling->square), constant = 1 / sqrtf((float)scaling->state->m);
    for (int64_t i = 0; i < count; i++)
        b[i] = norm > 0 ? b[i] / norm : constant;
}

/* B := the background in hand, whose squared norm lies in the first `items` partial sums, scaled to
 * norm 1; C := its robust coefficients. */
static void start_basis(struct bd_cpu_separator *state, int64_t items, const int *order, int count,
                        float lambda)
{
    double square = 0;
    for (int64_t i = 0; i < items; i++)
        square += state->partial[i];
    struct scaling scaling = { .state = state, .square = square };
    bd_pool_run(state->pool, scale_chunk, &scaling, state->chunks);
    state->rank = 1;
    state->norm = 1;
    bd_sep_forget_products(state);
    for (int j = 0; j < count; j++) {
        float *c = bd_sep_coefficients(state, order[j]);
        memset(c, 0, bd_max_rank * sizeof *c);
        c[0] = (float)sqrt(square);
        bd_sep_fit(state, bd_sep_column(state, order[j]), c, 3, lambda);
    }
    memcpy(state->w, bd_sep_coefficients(state, order[count - 1]), sizeof state->w);
}

enum bd_status bd_cpu_sep_stable(void *arg, const int *order, int count, float lambda, int choose)
{
    struct bd_cpu_separator *state = arg;
    bd_sep_take_set(state);
    const uint8_t *columns[bd_max_stable];
    int looked_at = count < bd_max_stable ? count : bd_max_stable;
    for (int j = 0; j < looked_at; j++)
        columns[j] = bd_sep_column(state, order[(int64_t)j * count / looked_at]);
    struct sweep sweep = { .state = state, .count = looked_at, .columns = columns };
    int64_t items = bd_sep_pixel_chunks(state);
    bd_pool_run(state->pool, stable_chunk, &sweep, items);
    struct bd_boundary boundary = { .outside = state->set.background,
                                    .inside = state->picture,
                                    .channels = state->shape.channels,
                                    .region = state->guard,
                                    .apart = NULL,
                                    .least = (int)(state->pixels / bd_sep_second_least),
                                    .times = bd_sep_second_times };
    uint8_t *lower = state->scratch + state->pixels;
    memset(state->lower, 0, (size_t)state->pixels);
    memset(lower, 0, (size_t)state->pixels);
    if (choose) {
        bd_mask_median(state->mask_work, state->guard, state->guard, 3);
        bd_boundary_find(state->mask_work, state->lower, &boundary);
        boundary.outside = state->picture;
        boundary.inside = state->set.background;
        bd_boundary_find(state->mask_work, lower, &boundary);
    }
    bd_pool_run(state->pool, choose_chunk, state, items);
    memset(state->guard, 0, (size_t)state->pixels);
    start_basis(state, items, order, count, lambda);
    return bd_cpu_sep_recall(state, order[count - 1]);
}
