/* The live separator on the CPU: the window of frames and the basis learned from it. */
#include "separation/cpu/recurrence.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "separation/shared/drift.h"
#include "separation/shared/rounding.h"

struct insertion {
    struct bd_cpu_separator *state;
    uint8_t *column;
    int slot, guarded;
};

/* A chunk of pixels (not elements) enters the window. */
static void insert_chunk(void *arg, int64_t chunk, int thread)
{
    (void)thread;
    const struct insertion *insertion = arg;
    const struct bd_cpu_separator *state = insertion->state;
    int channels = state->shape.channels;
    int64_t from, count = bd_sep_pixel_range(state, chunk, &from);
    memcpy(insertion->column + from * channels, state->frame + from * channels,
           (size_t)(count * channels));
    bd_recurrence_enter_pixels(insertion->state, insertion->slot, from, count);
    if (!insertion->guarded)
        return;
    for (int64_t p = from; p < from + count; p++)
        if (state->guard[p])
            memcpy(insertion->column + p * channels, state->set.background + p * channels,
                   (size_t)channels);
}

enum bd_status bd_cpu_sep_insert(void *arg, int slot, int guarded)
{
    struct bd_cpu_separator *state = arg;
    struct insertion insertion = {
        .state = state, .column = bd_sep_column(state, slot), .slot = slot, .guarded = guarded
    };
    bd_pool_run(state->pool, insert_chunk, &insertion, bd_sep_pixel_chunks(state));
    memcpy(bd_sep_coefficients(state, slot), state->w, sizeof state->w);
    bd_sep_forget_products(state);
    bd_recurrence_enter(state, slot);
    return BD_OK;
}

enum bd_status bd_cpu_sep_recall(void *arg, int slot)
{
    struct bd_cpu_separator *state = arg;
    bd_sep_take_set(state);
    bd_recurrence_recall(state, slot);
    return BD_OK;
}

/* A parallel loop over the window, chunk by chunk of the rows. */
struct sweep {
    struct bd_cpu_separator *state;
    const int *order;
    int count;
    float lambda;
    int rank; /* of the new basis */
    const float *g;
    double *gram;   /* count: products with the newest column; NULL: not wanted */
    int64_t chunks; /* the loop begins behind so many */
};

/* A column is read in pieces of a few cache lines, too short for the machine to see what comes
 * next. So what is needed two pieces later is fetched: rows of a later column, or the next ones of
 * the first columns. (Inlined, since GCC drops calls of a function that does nothing else.) */
static inline __attribute__((always_inline)) void prefetch(const struct sweep *sweep, int j,
                                                           int64_t from, int64_t count)
{
    const struct bd_cpu_separator *state = sweep->state;
    enum { line = 64, ahead = 2 };
    bool more = j + ahead < sweep->count;
    const uint8_t *next = bd_sep_column(state, sweep->order[(j + ahead) % sweep->count]);
    int64_t first = more ? from : from + count;
    int64_t end = first + count < state->m ? first + count : state->m;
    for (int64_t i = first; i < end; i += line)
        __builtin_prefetch(next + i);
}

/* x := `count` rows from row `from` of column j of X. */
static void form_rows(const struct sweep *sweep, int j, int64_t from, int64_t count, float *x)
{
    const struct bd_cpu_separator *state = sweep->state;
    const uint8_t *f = bd_sep_column(state, sweep->order[j]) + from;
    const float *b = state->basis + from, *c = bd_sep_coefficients(state, sweep->order[j]);
    prefetch(sweep, j, from, count);
    state->exact->form(count, f, b, state->ld, state->rank, c, sweep->lambda, x);
}

static float *tile(const struct bd_cpu_separator *state, int thread, int which)
{
    return state->tiles + ((int64_t)thread * 2 + which) * bd_sep_chunk;
}

/* Columns are formed a few rows at a time, for these, of X and of B, to stay in the level-1 cache:
 * whole tiles of the kernel `dot`. */
enum { few_rows = 512 };

/* Rows at `from` of a chunk of `count` rows. */
static int64_t rows_at(int64_t from, int64_t count)
{
    return count - from < few_rows ? count - from : few_rows;
}

/* e := `count` rows from row `from` of X - B C, column j. */
static void form_residual(const struct sweep *sweep, int j, int64_t from, int64_t count, float *e)
{
    const struct bd_cpu_separator *state = sweep->state;
    const int slot = sweep->order[j];
    prefetch(sweep, j, from, count);
    state->exact->residual(count, bd_sep_column(state, slot) + from, state->basis + from, state->ld,
                           state->rank, bd_sep_coefficients(state, slot), sweep->lambda, e);
}

/* Sums over the rows of a chunk. E = X - B C is at most lambda, which is small against X: its
 * products need fewer digits. */
struct chunk_sums {
    double b_b[bd_max_rank][bd_max_rank];   /* B^T B */
    double e_b[bd_max_window][bd_max_rank]; /* E^T B */
    double e_e[bd_max_window];              /* E^T e, e the newest column of E */
};

/* Rows from row `from`. */
static void sum_rows(const struct sweep *sweep, int64_t from, int64_t rows, struct chunk_sums *sums)
{
    const struct bd_cpu_separator *state = sweep->state;
    const float *b = state->basis + from;
    float e[few_rows], newest[few_rows];
    for (int k = 0; k < state->rank; k++)
        for (int l = 0; l < state->rank; l++)
            state->kernels->dot(rows, b + k * state->ld, b + l * state->ld, &sums->b_b[k][l]);
    if (sweep->gram)
        form_residual(sweep, sweep->count - 1, from, rows, newest);
    for (int j = 0; j < sweep->count; j++) {
        const bool formed = sweep->gram && j == sweep->count - 1;
        if (!formed)
            form_residual(sweep, j, from, rows, e);
        state->kernels->multiply_residual(rows, formed ? newest : e, b, state->ld, state->rank,
                                          sweep->gram ? newest : NULL, sums->e_b[j], &sums->e_e[j]);
    }
}

/* The chunk's part of X_j^T B(:, k). */
static double product_with_basis(const struct sweep *sweep, const struct chunk_sums *sums, int j,
                                 int k)
{
    const struct bd_cpu_separator *state = sweep->state;
    const float *c = bd_sep_coefficients(state, sweep->order[j]);
    double sum = sums->e_b[j][k];
    for (int l = 0; l < state->rank; l++)
        sum += (double)c[l] * sums->b_b[k][l];
    return sum;
}

/* The chunk's parts of X_j^T b for each column j, b the first column of B; behind them, with
 * sweep->gram, those of X_j^T x, x the newest column of X. With X = B C + E, and c and e the
 * newest columns of C and E, that is (X^T B) c + C^T (B^T e) + E^T e. */
static void multiply_chunk(void *arg, int64_t item, int thread)
{
    (void)thread;
    const struct sweep *sweep = arg;
    const struct bd_cpu_separator *state = sweep->state;
    const int newest = sweep->count - 1;
    const int64_t chunk = sweep->chunks + item;
    int64_t first, count = bd_sep_range(state, chunk, &first);
    double *products = state->partial + chunk * 2 * state->shape.window;
    double *gram = products + state->shape.window;
    const float *last = bd_sep_coefficients(state, sweep->order[newest]);
    struct chunk_sums sums;
    memset(sums.b_b, 0, sizeof sums.b_b);
    memset(sums.e_b, 0, (size_t)sweep->count * sizeof *sums.e_b);
    memset(sums.e_e, 0, (size_t)sweep->count * sizeof *sums.e_e);
    for (int64_t i = 0; i < count; i += few_rows)
        sum_rows(sweep, first + i, rows_at(i, count), &sums);
    for (int j = 0; j < sweep->count; j++) {
        const float *c = bd_sep_coefficients(state, sweep->order[j]);
        products[j] = product_with_basis(sweep, &sums, j, 0);
        gram[j] = sums.e_e[j];
        for (int k = 0; k < state->rank; k++)
            gram[j] += product_with_basis(sweep, &sums, j, k) * (double)last[k] +
                       (double)c[k] * sums.e_b[newest][k];
    }
}

/* The sum of entry `which` of the items' `each` partial sums. */
static double sum_parts(const struct bd_cpu_separator *state, int each, int which)
{
    double sum = 0;
    for (int64_t chunk = 0; chunk < state->chunks; chunk++)
        sum += state->partial[chunk * each + which];
    return sum;
}

/* state->products, and sweep->gram, of the chunks up to `end`. Those before sweep->chunks are in
 * them. Sums are the same in parts and in one. */
static void multiply_columns(struct sweep *sweep, int64_t end)
{
    struct bd_cpu_separator *state = sweep->state;
    const int n = state->shape.window;
    bd_pool_run(state->pool, multiply_chunk, sweep, end - sweep->chunks);
    for (int j = 0; j < sweep->count; j++) {
        double product = sweep->chunks ? state->products[j] : 0;
        double gram = sweep->chunks && sweep->gram ? sweep->gram[j] : 0;
        for (int64_t chunk = sweep->chunks; chunk < end; chunk++) {
            const double *sums = state->partial + chunk * 2 * n;
            product += sums[j];
            gram += sums[n + j];
        }
        state->products[j] = product;
        if (sweep->gram)
            sweep->gram[j] = gram;
    }
    state->products_chunks = end;
    if (end == state->chunks)
        state->products_lambda = sweep->lambda;
}

enum bd_status bd_cpu_sep_gram(void *arg, const int *order, int count, float lambda, int part,
                               double *g, bool *whole)
{
    struct bd_cpu_separator *state = arg;
    struct sweep sweep = {
        .state = state, .order = order, .count = count, .lambda = lambda, .gram = g
    };
    if (part > 0) /* 0 again where the window or B has changed */
        sweep.chunks = state->products_chunks;
    multiply_columns(&sweep, state->chunks * (part + 1) / bd_sep_gram_parts);
    *whole = part == bd_sep_gram_parts - 1;
    return BD_OK;
}

/* Item a forms the row blocks a, a + bd_sep_accumulators, ... and folds them into accumulator a. */
static void reduce_blocks(void *arg, int64_t accumulator, int thread)
{
    (void)thread;
    const struct sweep *sweep = arg;
    struct bd_cpu_separator *state = sweep->state;
    int64_t block = bd_tsqr_block_rows(state->tsqr);
    for (int64_t from = accumulator * block; from < state->m; from += bd_sep_accumulators * block) {
        int64_t rows = state->m - from < block ? state->m - from : block, ld;
        float *x = bd_tsqr_block(state->tsqr, (int)accumulator, &ld);
        for (int j = 0; j < state->shape.window; j++)
            if (j < sweep->count)
                form_rows(sweep, j, from, rows, x + j * ld);
            else
                memset(x + j * ld, 0, (size_t)rows * sizeof *x);
        bd_tsqr_push(state->tsqr, (int)accumulator, rows);
    }
}

enum bd_status bd_cpu_sep_reduce(void *arg, const int *order, int count, float lambda, float *r,
                                 int64_t ldr)
{
    struct bd_cpu_separator *state = arg;
    struct sweep sweep = { .state = state, .order = order, .count = count, .lambda = lambda };
    bd_tsqr_reset(state->tsqr);
    bd_pool_run(state->pool, reduce_blocks, &sweep, bd_sep_accumulators);
    bd_tsqr_finish(state->tsqr, r, ldr);
    return BD_OK;
}

/* B_next += column j of X times row j of G, `count` rows from row `from`. */
static void add_column(const struct sweep *sweep, int j, int64_t from, int64_t count)
{
    const struct bd_cpu_separator *state = sweep->state;
    float *next = state->next_basis + from, x[few_rows];
    if (state->rank == 1 && sweep->rank == 1) {
        int slot = sweep->order[j];
        prefetch(sweep, j, from, count);
        state->exact->add_formed(count, bd_sep_column(state, slot) + from, state->basis + from,
                                 bd_sep_coefficients(state, slot)[0], sweep->lambda, sweep->g[j],
                                 next);
        return;
    }
    form_rows(sweep, j, from, count, x);
    for (int k = 0; k < sweep->rank; k++)
        state->exact->add_multiple(count, sweep->g[(int64_t)k * sweep->count + j], x,
                                   next + k * state->ld);
}

/* The largest singular value and its right vector (count values), by a step of subspace iteration
 * from the basis in use, t = X^T b; or those of R, sigma and v, if b is far from the window. */
static void iterate_first(struct sweep *sweep, float sigma, const float *v, float *largest,
                          float *direction)
{
    struct bd_cpu_separator *state = sweep->state;
    const double *t = state->products;
    double t_t = 0, t_v = 0, v_v = 0;
    if (state->products_lambda != sweep->lambda)
        multiply_columns(sweep, state->chunks);
    for (int j = 0; j < sweep->count; j++) {
        t_t += t[j] * t[j];
        t_v += t[j] * v[j];
        v_v += (double)v[j] * v[j];
    }
    state->drift = bd_sep_drift(t_t, t_v, v_v, state->norm, sigma);
    *largest = bd_sep_round_coefficient(sqrt(t_t / state->norm));
    const bool near = *largest >= bd_sep_near_share * sigma;
    for (int j = 0; j < sweep->count; j++)
        direction[j] = near ? bd_sep_round_element(t[j] / sqrt(t_t)) : v[j];
    if (!near)
        *largest = sigma;
}

/* B_next := X G of `count` rows from row `from`. */
static void make_basis(const struct sweep *sweep, int64_t from, int64_t count)
{
    const struct bd_cpu_separator *state = sweep->state;
    for (int k = 0; k < sweep->rank; k++)
        memset(state->next_basis + k * state->ld + from, 0, (size_t)count * sizeof(float));
    for (int j = 0; j < sweep->count; j++)
        add_column(sweep, j, from, count);
}

static void make_chunk(void *arg, int64_t chunk, int thread)
{
    (void)thread;
    const struct sweep *sweep = arg;
    int64_t from, count = bd_sep_range(sweep->state, chunk, &from);
    for (int64_t i = 0; i < count; i += few_rows)
        make_basis(sweep, from + i, rows_at(i, count));
}

/* Rows of B_next = X G, unless they are made, and the chunk's parts of w_next = B_next^T B w, and
 * of the sums of b^2 of the first column of B_next and of b^4 of the others. */
static void basis_chunk(void *arg, int64_t chunk, int thread)
{
    const struct sweep *sweep = arg;
    struct bd_cpu_separator *state = sweep->state;
    int64_t from, count = bd_sep_range(state, chunk, &from);
    float *square = tile(state, thread, 0), *l = tile(state, thread, 1);
    if (chunk >= state->basis_chunks)
        make_chunk(arg, chunk, thread);
    memset(l, 0, (size_t)count * sizeof *l);
    for (int k = 0; k < state->rank; k++)
        state->exact->add_multiple(count, state->w[k], state->basis + k * state->ld + from, l);
    double *products = state->partial + chunk * 2 * bd_max_rank, *powers = products + bd_max_rank;
    for (int k = 0; k < sweep->rank; k++) {
        const float *b = state->next_basis + k * state->ld + from;
        products[k] = powers[k] = 0;
        state->kernels->dot(count, b, l, &products[k]);
        for (int64_t i = 0; k > 0 && i < count; i++)
            square[i] = b[i] * b[i];
        const float *factor = k ? square : b;
        state->kernels->dot(count, factor, factor, &powers[k]);
    }
}

/* The rank of the new basis, its largest singular value with right vector, and G. 0: darker than
 * lambda. Rows that were made ahead with other numbers count no more. */
static int plan_basis(struct sweep *sweep, double tau, const float *sigma, const float *v,
                      int64_t ldv, float *largest, float *direction)
{
    struct bd_cpu_separator *state = sweep->state;
    const int count = sweep->count;
    bool same = state->products_lambda == sweep->lambda; /* as when rows were made */
    state->drift = 0;
    while (sweep->rank < state->shape.rank && sweep->rank < count && sigma[sweep->rank] > tau)
        sweep->rank++;
    if (sweep->rank)
        iterate_first(sweep, sigma[0], v, largest, direction);
    for (int k = 0; k < sweep->rank; k++)
        for (int j = 0; j < count; j++) {
            float *g = &state->g[(int64_t)k * count + j], before = *g;
            *g = k ? v[k * ldv + j] / sigma[k] : direction[j] / *largest;
            same &= *g == before;
        }
    if (!same || state->basis_rank != sweep->rank)
        state->basis_chunks = 0;
    state->basis_rank = sweep->rank;
    return sweep->rank;
}

enum bd_status bd_cpu_sep_basis_ahead(void *arg, const int *order, int count, float lambda,
                                      double tau, const float *sigma, const float *v, int64_t ldv)
{
    struct bd_cpu_separator *state = arg;
    struct sweep sweep = {
        .state = state, .order = order, .count = count, .lambda = lambda, .g = state->g
    };
    float direction[bd_max_window] = { 0 }, largest;
    const double drift = state->drift;
    if (state->products_lambda == lambda &&
        plan_basis(&sweep, tau, sigma, v, ldv, &largest, direction)) {
        bd_pool_run(state->pool, make_chunk, &sweep, state->chunks / 2);
        state->basis_chunks = state->chunks / 2;
    }
    state->drift = drift;
    return BD_OK;
}

enum bd_status bd_cpu_sep_basis(void *arg, const int *order, int count, float lambda, double tau,
                                const float *sigma, const float *v, int64_t ldv)
{
    struct bd_cpu_separator *state = arg;
    struct sweep sweep = {
        .state = state, .order = order, .count = count, .lambda = lambda, .g = state->g
    };
    float direction[bd_max_window] = { 0 }, largest;
    const int rank = plan_basis(&sweep, tau, sigma, v, ldv, &largest, direction);
    if (!rank) /* keep the basis there is */
        return BD_OK;
    bd_pool_run(state->pool, basis_chunk, &sweep, state->chunks);
    float *basis = state->basis;
    state->basis = state->next_basis;
    state->next_basis = basis;
    bd_sep_forget_products(state);
    memset(state->w, 0, sizeof state->w);
    state->norm = sum_parts(state, 2 * bd_max_rank, bd_max_rank);
    state->rank = 0;
    do {
        state->w[state->rank] =
            bd_sep_round_coefficient(sum_parts(state, 2 * bd_max_rank, state->rank));
        state->rank++;
    } while (state->rank < rank && sum_parts(state, 2 * bd_max_rank, bd_max_rank + state->rank) *
                                           bd_sep_least_participation * (double)state->m <
                                       1);
    for (int j = 0; j < count; j++) {
        float *c = bd_sep_coefficients(state, order[j]);
        memset(c, 0, bd_max_rank * sizeof *c);
        c[0] = (float)((double)largest - tau) * direction[j];
        for (int k = 1; k < state->rank; k++)
            c[k] = (float)(sigma[k] - tau) * v[k * ldv + j];
    }
    return BD_OK;
}

/* sigma(1) of X is at least |X^T b| / |b|, and at most the Frobenius norm. x is c b + e, |e| is at
 * most lambda for each element, so that |x|^2 is at most 2 c x^T b - c^2 |b|^2 + m lambda^2. */
enum bd_status bd_cpu_sep_basis_only(void *arg, const int *order, int count, float lambda,
                                     double tau, bool *learned)
{
    const double margin = 1.01; /* more than any rounding */
    struct bd_cpu_separator *state = arg;
    struct sweep sweep = { .state = state, .order = order, .count = count, .lambda = lambda };
    const float any[bd_max_window] = { 0 };
    double t_t = 0, frobenius = 0;
    *learned = false;
    if (state->shape.rank > 1 || state->rank != 1)
        return BD_OK;
    if (state->products_lambda != lambda)
        multiply_columns(&sweep, state->chunks);
    for (int j = 0; j < count; j++) {
        const double c = (double)bd_sep_coefficients(state, order[j])[0], t = state->products[j];
        t_t += t * t;
        frobenius += 2 * c * t - c * c * state->norm + (double)lambda * lambda * (double)state->m;
    }
    const double least = sqrt(t_t / state->norm);
    *learned = least > margin * tau && least > margin * bd_sep_near_share * sqrt(frobenius);
    const float sigma = (float)least;
    enum bd_status status =
        *learned ? bd_cpu_sep_basis(arg, order, count, lambda, tau, &sigma, any, count) : BD_OK;
    state->drift = *learned ? 0 : state->drift; /* it takes V */
    return status;
}
