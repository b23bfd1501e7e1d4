/* The live separator on the CPU: the first background, from the frames of the window. */
#include <math.h>
#include <string.h>

#include "separation/cpu/state.h"

/* The item's part of the background's squared norm. */
static double take_background(struct bd_cpu_separator *state, int64_t from, int64_t count)
{
    const uint8_t *background = state->background + from;
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

/* Median and spread of a chunk of elements. The spread is kept in state->frame, until
 * spread_chunk. */
static void median_chunk(void *arg, int64_t chunk, int thread)
{
    (void)thread;
    const struct sweep *sweep = arg;
    struct bd_cpu_separator *state = sweep->state;
    int64_t from, count = bd_sep_range(state, chunk, &from);
    const uint8_t *here[bd_max_window];
    for (int j = 0; j < sweep->count; j++)
        here[j] = sweep->columns[j] + from;
    uint8_t *median = state->background + from;
    state->kernels->median(count, here, sweep->count, median);
    state->kernels->spread(count, here, sweep->count, median, state->frame + from);
    state->partial[chunk] = take_background(state, from, count);
}

/* Both stable values of a chunk of pixels (not elements): pictures, noise levels and numbers of
 * members. */
static void stable_chunk(void *arg, int64_t chunk, int thread)
{
    (void)thread;
    const struct sweep *sweep = arg;
    struct bd_cpu_separator *state = sweep->state;
    int channels = state->shape.channels;
    int64_t from, count = bd_sep_pixel_range(state, chunk, &from), at = from * channels;
    const uint8_t *here[bd_max_stable];
    for (int j = 0; j < sweep->count; j++)
        here[j] = sweep->columns[j] + at;
    uint8_t *other = state->background + at, *members = state->guard + from;
    state->kernels->stable(count, channels, here, sweep->count, bd_sep_stable_reach, NULL, other,
                           state->raw + from, members);
    state->kernels->stable(count, channels, here, sweep->count, bd_sep_stable_reach, other,
                           state->picture + at, state->mask + from, members);
    /* From here on: where the second value has members enough to be the background's. */
    for (int64_t p = from; p < from + count; p++)
        state->guard[p] = state->guard[p] * bd_sep_second_share >= sweep->count;
}

/* A chunk of the first background: the first stable value, but the second where state->lower is
 * set.
 */
static void choose_chunk(void *arg, int64_t chunk, int thread)
{
    (void)thread;
    struct bd_cpu_separator *state = arg;
    size_t channels = (size_t)state->shape.channels;
    int64_t from, count = bd_sep_pixel_range(state, chunk, &from);
    for (int64_t p = from; p < from + count; p++) {
        uint8_t noise = state->lower[p] ? state->mask[p] : state->raw[p];
        state->noise[p] = (float)noise / 16;
        if (state->lower[p])
            memcpy(state->background + (size_t)p * channels, state->picture + (size_t)p * channels,
                   channels);
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
    state->products_lambda = 0;
    for (int j = 0; j < count; j++) {
        float *c = bd_sep_coefficients(state, order[j]);
        memset(c, 0, bd_max_rank * sizeof *c);
        c[0] = (float)sqrt(square);
        bd_sep_fit(state, bd_sep_column(state, order[j]), c, 3, lambda);
    }
    memcpy(state->w, bd_sep_coefficients(state, order[count - 1]), sizeof state->w);
}

/* Noise levels of a chunk of pixels from the spread, which median_chunk left in state->frame. */
static void spread_chunk(void *arg, int64_t chunk, int thread)
{
    (void)thread;
    struct bd_cpu_separator *state = arg;
    int channels = state->shape.channels;
    int64_t from, count = bd_sep_pixel_range(state, chunk, &from);
    for (int64_t p = from; p < from + count; p++) {
        uint8_t most = 0;
        for (int c = 0; c < channels; c++) {
            uint8_t spread = state->frame[p * channels + c];
            most = spread > most ? spread : most;
        }
        state->noise[p] = most < bd_sep_most_start_noise ? most : bd_sep_most_start_noise;
    }
}

enum bd_status bd_cpu_sep_median(void *arg, const int *order, int count, float lambda)
{
    struct bd_cpu_separator *state = arg;
    const uint8_t *columns[bd_max_window];
    for (int j = 0; j < count; j++)
        columns[j] = bd_sep_column(state, order[j]);
    struct sweep sweep = { .state = state, .count = count, .columns = columns };
    bd_pool_run(state->pool, median_chunk, &sweep, state->chunks);
    bd_pool_run(state->pool, spread_chunk, state, bd_sep_pixel_chunks(state));
    start_basis(state, state->chunks, order, count, lambda);
    return bd_cpu_sep_recall(state, order[count - 1]);
}

enum bd_status bd_cpu_sep_stable(void *arg, const int *order, int count, float lambda, int choose)
{
    struct bd_cpu_separator *state = arg;
    const uint8_t *columns[bd_max_stable];
    int looked_at = count < bd_max_stable ? count : bd_max_stable;
    for (int j = 0; j < looked_at; j++)
        columns[j] = bd_sep_column(state, order[(int64_t)j * count / looked_at]);
    struct sweep sweep = { .state = state, .count = looked_at, .columns = columns };
    int64_t items = bd_sep_pixel_chunks(state);
    bd_pool_run(state->pool, stable_chunk, &sweep, items);
    struct bd_boundary boundary = { .outside = state->background,
                                    .inside = state->picture,
                                    .channels = state->shape.channels,
                                    .region = state->guard,
                                    .apart = NULL,
                                    .least = (int)(state->pixels / bd_sep_second_least),
                                    .times = bd_sep_second_times };
    bd_mask_median(state->mask_work, state->guard, state->guard, 3);
    if (choose)
        bd_boundary_find(state->mask_work, state->lower, &boundary);
    else
        memset(state->lower, 0, (size_t)state->pixels);
    memset(state->guard, 0, (size_t)state->pixels);
    bd_pool_run(state->pool, choose_chunk, state, items);
    start_basis(state, items, order, count, lambda);
    return bd_cpu_sep_recall(state, order[count - 1]);
}
