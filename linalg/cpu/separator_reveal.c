/* The live separator on the CPU: background that was revealed when something left. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/cpu/separator_state.h"

/* How long each pixel has been still, by the pixels of f and of the earlier look. */
static void look(struct bd_cpu_separator *state, const struct bd_reveal_params *params)
{
    int channels = state->shape.channels;
    for (int64_t p = 0; p < state->pixels; p++) {
        const uint8_t *f = state->frame + p * channels;
        uint8_t *earlier = state->earlier + p * channels;
        int most = 0;
        for (int c = 0; c < channels; c++) {
            int difference = abs(f[c] - earlier[c]);
            most = difference > most ? difference : most;
        }
        if (most > params->reach) {
            memcpy(earlier, f, (size_t)channels);
            state->still[p] = 0;
        } else if (state->still[p] < 255) {
            state->still[p]++;
        }
    }
}

/* Pixel p is background as it is now: for all that is remembered. */
static void take_pixel(struct bd_cpu_separator *state, const int *order, int count,
                       const struct bd_reveal_params *params, int64_t p)
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
    state->noise[p] = params->noise;
    state->age[p] = 0;
    state->still[p] = state->votes[p] = 0;
    state->revealed++;
}

/* The first column of B has norm 1 again, and l stays what it was: where much that is brighter than
 * the rest has been revealed, the rounds of the next frames would not converge else. */
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
}

enum bd_status bd_cpu_sep_reveal(void *arg, const int *order, int count,
                                 const struct bd_reveal_params *params)
{
    struct bd_cpu_separator *state = arg;
    uint8_t *region = state->scratch, *apart = state->scratch + state->pixels;
    uint8_t *taken = region; /* the region is done with by then */
    look(state, params);
    for (int64_t p = 0; p < state->pixels; p++)
        region[p] = state->raw[p] && state->still[p] >= params->still;
    bd_mask_median(state->mask_work, region, region, 3);
    for (int64_t p = 0; p < state->pixels; p++)
        apart[p] = state->raw[p] && !region[p];
    struct bd_seam seam = { .outside = state->background,
                            .inside = state->frame,
                            .channels = state->shape.channels,
                            .region = region,
                            .apart = apart,
                            .least = params->least,
                            .times = params->times };
    bd_seam_find(state->seam_work, state->smoother, &seam);
    bool any = false;
    for (int64_t p = 0; p < state->pixels; p++) {
        state->votes[p] = state->smoother[p] ? state->votes[p] + 1 : 0;
        state->smoother[p] = state->votes[p] >= params->votes;
        any |= state->smoother[p];
    }
    if (!any || !(state->w[0] >= 1)) /* nothing, or a black picture: B is at most 1 */
        return BD_OK;
    bd_mask_dilate(state->mask_work, taken, state->smoother, params->margin);
    for (int64_t p = 0; p < state->pixels; p++)
        if (state->smoother[p] || (taken[p] && !state->raw[p] && state->still[p] >= params->still))
            take_pixel(state, order, count, params, p);
    scale_basis(state, order, count);
    return BD_OK;
}
