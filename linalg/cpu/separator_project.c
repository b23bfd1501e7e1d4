/* The live separator on the CPU: a frame against the basis. */
#include <string.h>

#include "linalg/cpu/separator_state.h"

struct fit {
    struct bd_cpu_separator *state;
    const uint8_t *f;
    const float *w;
    float lambda;
};

static void fit_chunk(void *arg, int64_t chunk, int thread)
{
    (void)thread;
    const struct fit *fit = arg;
    struct bd_cpu_separator *state = fit->state;
    int64_t from, count = bd_sep_range(state, chunk, &from);
    double *dw = state->partial + chunk * bd_max_rank;
    memset(dw, 0, bd_max_rank * sizeof *dw);
    state->kernels->project(count, fit->f + from, state->basis + from, state->ld, state->rank,
                            fit->w, fit->lambda, dw);
}

void bd_sep_fit(struct bd_cpu_separator *state, const uint8_t *f, float *w, int rounds,
                float lambda)
{
    struct fit fit = { .state = state, .f = f, .w = w, .lambda = lambda };
    for (int round = 0; round < rounds; round++) {
        bd_pool_run(state->pool, fit_chunk, &fit, state->chunks);
        /* B is orthonormal, so B^T (l + e) = w + B^T e. */
        for (int k = 0; k < state->rank; k++) {
            double dw = 0;
            for (int64_t i = 0; i < state->chunks; i++)
                dw += state->partial[i * bd_max_rank + k];
            w[k] += (float)dw;
        }
    }
}

/* The chunk's outliers, in a double for want of another place: exact. */
static void outliers_chunk(void *arg, int64_t chunk, int thread)
{
    (void)thread;
    const struct fit *fit = arg;
    const struct bd_cpu_separator *state = fit->state;
    int64_t from, count = bd_sep_range(state, chunk, &from);
    state->partial[chunk] = (double)state->kernels->outliers(
        count, fit->f + from, state->basis + from, state->ld, state->rank, fit->w, 2 * fit->lambda);
}

/* How many values of the frame differ from B w by more than 2 lambda. */
static double count_outliers(struct bd_cpu_separator *state, float lambda)
{
    struct fit fit = { .state = state, .f = state->frame, .w = state->w, .lambda = lambda };
    bd_pool_run(state->pool, outliers_chunk, &fit, state->chunks);
    double outliers = 0;
    for (int64_t i = 0; i < state->chunks; i++)
        outliers += state->partial[i];
    return outliers;
}

/* Where the light has changed w is brought near, for the usual rounds to finish. What that does not
 * explain is no change of light: w stays. */
static void follow_light(struct bd_cpu_separator *state, float lambda)
{
    float w[bd_max_rank];
    double before = count_outliers(state, lambda);
    if (before <= bd_sep_outlier_share * (double)state->m)
        return;
    memcpy(w, state->w, sizeof w);
    for (int times = bd_sep_light_times; times > 1; times /= 2)
        bd_sep_fit(state, state->frame, state->w, 1, (float)times * lambda);
    if (count_outliers(state, lambda) > bd_sep_explained_share * before)
        memcpy(state->w, w, sizeof w);
}

static void background_chunk(void *arg, int64_t chunk, int thread)
{
    (void)thread;
    struct bd_cpu_separator *state = arg;
    int64_t from, count = bd_sep_range(state, chunk, &from);
    state->kernels->background(count, state->basis + from, state->ld, state->rank, state->w,
                               state->background + from);
}

enum bd_status bd_cpu_sep_project(void *arg, int rounds, float lambda)
{
    struct bd_cpu_separator *state = arg;
    if (rounds > 0)
        follow_light(state, lambda);
    bd_sep_fit(state, state->frame, state->w, rounds, lambda);
    bd_pool_run(state->pool, background_chunk, state, state->chunks);
    return BD_OK;
}
