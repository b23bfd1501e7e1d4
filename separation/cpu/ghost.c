/* The live separator on the CPU: ghost removal (bd_separation_ops.remove_ghosts). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "separation/cpu/state.h"

/* A parallel loop over the pixels. */
struct watch {
    struct bd_cpu_separator *state;
    const struct bd_ghost_params *params;
    uint8_t *region, *apart;
};

/* For how many looks each pixel has been still, by f and the remembered pixels, and the region: the
 * pixels of the mask that have been still for long enough. */
static void look_chunk(void *arg, int64_t chunk, int thread)
{
    (void)thread;
    const struct watch *watch = arg;
    const struct bd_cpu_separator *state = watch->state;
    int channels = state->shape.channels, enough = watch->params->still;
    int64_t p, count = bd_sep_pixel_range(state, chunk, &p), i = p * channels;
    const struct bd_limits limits = { .least = (float)watch->params->reach,
                                      .most = (float)watch->params->reach };
    const uint8_t *f = state->frame + i, *raw = state->raw + p;
    uint8_t *earlier = state->earlier + i, *still = state->still + p, *moved = state->lower + p;
    uint8_t *region = watch->region + p, *apart = watch->apart + p;
    state->exact->compare(count, channels, f, earlier, state->noise + p, &limits, apart, moved,
                          region);
    for (int64_t q = 0; q < count; q++) {
        if (moved[q]) {
            memcpy(earlier + q * channels, f + q * channels, (size_t)channels);
            still[q] = 0;
        } else if (still[q] < 255) {
            still[q]++;
        }
    }
    for (int64_t q = 0; q < count; q++)
        region[q] = (uint8_t)(raw[q] & (still[q] >= enough));
}

/* lower := the pixels with enough votes; counts them. */
static void vote_chunk(void *arg, int64_t chunk, int thread)
{
    (void)thread;
    const struct watch *watch = arg;
    const struct bd_cpu_separator *state = watch->state;
    int enough = watch->params->votes;
    int64_t from, count = bd_sep_pixel_range(state, chunk, &from), agreed = 0;
    uint8_t *restrict votes = state->votes + from, *restrict lower = state->lower + from;
    for (int64_t p = 0; p < count; p++) {
        votes[p] = (uint8_t)(lower[p] ? votes[p] + 1 : 0);
        lower[p] = votes[p] >= enough;
        agreed += lower[p];
    }
    state->counts[chunk] = agreed;
}

/* Pixel p of f becomes background in all of the state. */
static void take_pixel(struct bd_cpu_separator *state, const int *order, int count,
                       const struct bd_ghost_params *params, int64_t p)
{
    int channels = state->shape.channels;
    const uint8_t *f = state->frame + p * channels;
    for (int c = 0; c < channels; c++) {
        int64_t i = p * channels + c;
        for (int j = 0; j < count; j++)
            state->window[(int64_t)order[j] * state->ld + i] = f[c];
        state->basis[i] = (float)f[c] / state->w[0];
        for (int k = 1; k < state->rank; k++)
            state->basis[k * state->ld + i] = 0;
    }
    state->noise[p] = state->known_noise[p] = params->noise;
    state->age[p] = 0;
    state->still[p] = state->votes[p] = 0;
    state->ghost_pixels++;
}

/* Scales the first column of B to norm 1 again, and w and C so that l stays the same: otherwise,
 * where a large and bright area was uncovered, the rounds of the next frames would not converge. */
static void scale_basis(struct bd_cpu_separator *state, const int *order, int count)
{
    double square = 0;
    for (int64_t i = 0; i < state->m; i++)
        square += (double)state->basis[i] * (double)state->basis[i];
    float norm = (float)sqrt(square);
    if (norm <= 0)
        return;
    for (int64_t i = 0; i < state->m; i++)
        state->basis[i] /= norm;
    for (int j = 0; j < count; j++)
        state->coefficients[(int64_t)order[j] * bd_max_rank] *= norm;
    state->w[0] *= norm;
    state->norm = 1;
}

enum bd_status bd_cpu_sep_remove_ghosts(void *arg, const int *order, int count,
                                        const struct bd_ghost_params *params)
{
    struct bd_cpu_separator *state = arg;
    uint8_t *region = state->scratch, *apart = state->scratch + state->pixels;
    uint8_t *taken = region; /* the region is done with by then */
    int64_t items = bd_sep_pixel_chunks(state);
    struct watch watch = { .state = state, .params = params, .region = region, .apart = apart };
    bd_pool_run(state->pool, look_chunk, &watch, items);
    bd_mask_median(state->mask_work, region, region, 3);
    bd_mask_leave_out(state->mask_work, apart, state->raw, region);
    struct bd_boundary boundary = { .outside = state->set.background,
                                    .inside = state->frame,
                                    .channels = state->shape.channels,
                                    .region = region,
                                    .apart = apart,
                                    .least = params->least,
                                    .times = params->times };
    bd_boundary_find(state->mask_work, state->lower, &boundary);
    int64_t agreed = bd_sep_run_and_count(state, vote_chunk, &watch, items);
    if (!agreed || !(state->w[0] >= 1)) /* nothing, or a black picture: B is at most 1 */
        return BD_OK;
    bd_sep_forget_products(state);
    bd_mask_dilate(state->mask_work, taken, state->lower, params->margin);
    for (int64_t p = 0; p < state->pixels; p++)
        if (state->lower[p] || (taken[p] && !state->raw[p] && state->still[p] >= params->still))
            take_pixel(state, order, count, params, p);
    scale_basis(state, order, count);
    return BD_OK;
}
