/* The live separator on the CPU: a frame against the basis. */
#include <stdbool.h>
#include <string.h>

#include "separation/cpu/state.h"
#include "separation/shared/rounding.h"

_Static_assert(bd_sep_chunk % bd_sep_group_block == 0, "chunks are whole blocks of groups");

struct fit {
    struct bd_cpu_separator *state;
    const uint8_t *f;
    const float *w;
    float lambda;
    bool count; /* into state->counts: how many values differ from B w by more than 2 lambda */
};

/* The item's part of B^T clip(f - B w, +-lambda). */
static double *part_of(struct bd_cpu_separator *state, int64_t chunk)
{
    double *dw = state->partial + chunk * bd_max_rank;
    memset(dw, 0, bd_max_rank * sizeof *dw);
    return dw;
}

static void fit_chunk(void *arg, int64_t chunk, int thread)
{
    (void)thread;
    const struct fit *fit = arg;
    struct bd_cpu_separator *state = fit->state;
    int64_t from, count = bd_sep_range(state, chunk, &from);
    state->exact->project(count, fit->f + from, state->basis + from, state->ld, state->rank, fit->w,
                          fit->lambda, part_of(state, chunk),
                          fit->count ? &state->counts[chunk] : NULL);
}

/* B is orthonormal, so B^T (l + e) = w + B^T e. Returns whether w has changed. */
static bool add_parts(const struct bd_cpu_separator *state, float *w)
{
    bool changed = false;
    for (int k = 0; k < state->rank; k++) {
        double dw = 0;
        for (int64_t i = 0; i < state->chunks; i++)
            dw += state->partial[i * bd_max_rank + k];
        float before = w[k];
        w[k] = bd_sep_round_coefficient((double)before + dw);
        changed |= w[k] != before;
    }
    return changed;
}

/* A round that leaves w as it was is the last one: the others would find the same. */
void bd_sep_fit(struct bd_cpu_separator *state, const uint8_t *f, float *w, int rounds,
                float lambda)
{
    struct fit fit = { .state = state, .f = f, .w = w, .lambda = lambda };
    bool changed = true;
    for (int round = 0; round < rounds && changed; round++) {
        bd_pool_run(state->pool, fit_chunk, &fit, state->chunks);
        changed = add_parts(state, w);
    }
}

/* A round for the frame that also counts how many of its values differ by more than 2 lambda from
 * B w before the round. */
static double count_and_fit(struct bd_cpu_separator *state, float lambda)
{
    struct fit fit = {
        .state = state, .f = state->frame, .w = state->w, .lambda = lambda, .count = true
    };
    int64_t outliers = bd_sep_run_and_count(state, fit_chunk, &fit, state->chunks);
    add_parts(state, state->w);
    return (double)outliers;
}

/* The first round. Where the light has changed w is brought near before it, for later rounds or
 * frames to finish. What that does not explain is no change of light: w is that of a usual round.
 */
static void first_round(struct bd_cpu_separator *state, float lambda)
{
    float before[bd_max_rank], usual[bd_max_rank];
    memcpy(before, state->w, sizeof before);
    double outliers = count_and_fit(state, lambda);
    if (outliers <= bd_sep_outlier_share * (double)state->m)
        return;
    memcpy(usual, state->w, sizeof usual);
    memcpy(state->w, before, sizeof before);
    for (int times = bd_sep_light_times; times > 1; times /= 2)
        bd_sep_fit(state, state->frame, state->w, 1, (float)times * lambda);
    if (count_and_fit(state, lambda) > bd_sep_explained_share * outliers)
        memcpy(state->w, usual, sizeof usual);
}

/* The bytes of B w are formed when they are compared with the frame. */
enum bd_status bd_cpu_sep_project(void *arg, int rounds, float lambda)
{
    struct bd_cpu_separator *state = arg;
    if (rounds > 0)
        first_round(state, lambda);
    bd_sep_fit(state, state->frame, state->w, rounds - 1, lambda);
    state->due = true;
    return BD_OK;
}
