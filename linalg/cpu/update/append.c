/* Few new columns for a thin Q on the CPU: classical Gram-Schmidt with reorthogonalisation, in
 * three passes over Q for all of them: W = Q^T U; V = U - Q W and Q^T V; V -= Q (Q^T V), which is
 * left out where Q^T V is only rounding. Giraud, Langou, Rozloznik, van den Eshof: Rounding error
 * analysis of the classical Gram-Schmidt orthogonalization process (2005). */
#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/cpu/update/update.h"

/* Q^T v / ||v|| of a v orthogonal to working accuracy: rounding of the inner products alone leaves
 * about half of this (uniform random Q, n = 10 .. 200). */
static double orthogonal(int64_t n)
{
    return 0.5 * FLT_EPSILON * sqrt((double)n);
}

double bd_update_negligible(int64_t n)
{
    return 4 * FLT_EPSILON * (1 + sqrt((double)n));
}

double bd_update_project_column(struct bd_cpu_update *work, const float *q, int64_t ldq,
                                int64_t count, float *v, double *coef)
{
    struct bd_update_pass pass = {
        .q = (float *)q, .ldq = ldq, .n_in = count, .n = count, .v = v, .ldv = work->m, .b = 1
    };
    pass.dots = 1;
    bd_update_run(work, &pass);
    for (int64_t i = 0; i < count; i++) {
        work->small[i] = (float)work->sums[i];
        if (coef)
            coef[i] += (double)work->small[i];
    }
    pass.dots = 0;
    pass.subtract = pass.squares = pass.backwards = 1;
    bd_update_run(work, &pass);
    return sqrt(work->sums[count]);
}

/* Column i of the group that starts at column n of Q has been projected away from the first n
 * columns (its norm fell from `whole` to `norm`; `unsafe` = by so much that once more is needed).
 * Makes it orthogonal to the rest of the group too, and of norm 1; w is its column of R. */
static enum bd_status finish_column(struct bd_cpu_update *work, float *q, int64_t ldq, int64_t n,
                                    int64_t i, double whole, double norm, int unsafe, double *w)
{
    float *v = q + (n + i) * ldq;
    double least = bd_update_negligible(n + i) * whole, start = norm;
    if (i && norm > least) {
        norm = bd_update_project_column(work, q + n * ldq, ldq, i, v, w + n);
        if (norm > least)
            norm = bd_update_project_column(work, q + n * ldq, ldq, i, v, w + n);
    }
    /* What the later projections took away has left the errors of the first behind. */
    unsafe = unsafe || norm < 0.25 * start;
    for (int round = 0; round < 4 && unsafe && norm > least; round++) {
        double before = norm;
        norm = bd_update_project_column(work, q, ldq, n + i, v, w);
        unsafe = norm < 0.5 * before;
    }
    if (!(norm > least)) {
        w[n + i] = 0;
        const struct bd_directions beyond = {
            .q = q, .ldq = ldq, .m = work->m, .q_cols = n + i, .v = v
        };
        return bd_update_fresh_column(work, &beyond, 0);
    }
    w[n + i] = norm;
    bd_update_scale_column(work, v, 1 / norm);
    return BD_OK;
}

/* Columns of U that become columns n and following of Q. */
struct group {
    struct bd_update_pass pass;
    int64_t n; /* columns of Q that stay after its transformation */
    double whole[bd_update_group], norm[bd_update_group]; /* of U, and of what is left of it */
    int unsafe[bd_update_group]; /* so little is left that it has to be projected once more */
};

/* Adds the rounded coefficients in work->sums (ld lds) to W, and leaves them in work->small. */
static void take_coefficients(struct bd_cpu_update *work, const struct group *g, int64_t lds)
{
    for (int64_t j = 0; j < g->pass.b; j++)
        for (int64_t i = 0; i < g->n; i++) {
            float value = (float)work->sums[i + j * lds];
            work->small[i + j * g->n] = value;
            work->w[i + j * work->max_cols] += (double)value;
        }
}

/* W := Q^T U, as it is after the transformation that Q has still to go through. */
static enum bd_status first_pass(struct bd_cpu_update *work, struct group *g,
                                 const struct bd_transform *transform)
{
    const int64_t b = g->pass.b, n_in = g->pass.n_in;
    g->pass.dots = g->pass.squares = 1;
    bd_update_run(work, &g->pass);
    for (int64_t i = 0; i < (n_in + 1) * b; i++)
        if (!isfinite(work->sums[i]))
            return bd_fail(BD_ERROR_NUMERIC, "QR update: the new columns (or Q) hold NaN or Inf");
    for (int64_t j = 0; j < b; j++) {
        g->whole[j] = sqrt(work->sums[n_in * b + j]);
        memset(work->w + j * work->max_cols, 0, (size_t)(g->n + b) * sizeof *work->w);
    }
    if (transform)
        bd_update_transform_rows(transform, work->sums, n_in, b);
    take_coefficients(work, g, n_in);
    return BD_OK;
}

/* Transforms Q; V = U - Q W. Returns whether Q^T V, in work->sums now, is more than rounding. */
static int second_pass(struct bd_cpu_update *work, struct group *g,
                       const struct bd_transform *transform)
{
    int again = 0;
    g->pass.n = g->n;
    g->pass.transform = transform;
    g->pass.subtract = g->pass.backwards = 1;
    bd_update_run(work, &g->pass);
    for (int64_t j = 0; j < g->pass.b; j++) {
        double square = 0;
        for (int64_t i = 0; i < g->n; i++)
            square += work->sums[i + j * g->n] * work->sums[i + j * g->n];
        g->norm[j] = sqrt(work->sums[g->n * g->pass.b + j]);
        again = again || sqrt(square) > orthogonal(g->n) * g->norm[j];
    }
    return again;
}

/* V -= Q (Q^T V) */
static void third_pass(struct bd_cpu_update *work, struct group *g)
{
    take_coefficients(work, g, g->n);
    g->pass.u = NULL;
    g->pass.transform = NULL;
    g->pass.dots = g->pass.backwards = 0;
    bd_update_run(work, &g->pass);
    for (int64_t j = 0; j < g->pass.b; j++) {
        double before = g->norm[j];
        g->norm[j] = sqrt(work->sums[g->n * g->pass.b + j]);
        g->unsafe[j] = g->norm[j] < 0.5 * before;
    }
}

enum bd_status bd_update_append(struct bd_cpu_update *work, float *q, int64_t ldq, int64_t n_in,
                                int64_t n, const float *u, int64_t ldu, int64_t p,
                                const struct bd_transform *transform)
{
    struct group g = { .pass = { .q = q,
                                 .ldq = ldq,
                                 .n_in = n_in,
                                 .n = n_in,
                                 .u = u,
                                 .ldu = ldu,
                                 .v = q + n * ldq,
                                 .ldv = ldq,
                                 .b = p },
                       .n = n };
    enum bd_status status = first_pass(work, &g, transform);
    if (status != BD_OK)
        return status;
    if (second_pass(work, &g, transform))
        third_pass(work, &g);
    for (int64_t j = 0; j < p && status == BD_OK; j++)
        status = finish_column(work, q, ldq, n, j, g.whole[j], g.norm[j], g.unsafe[j],
                               work->w + j * work->max_cols);
    return status;
}
