/* QR updating on the CPU: what joins the small matrices and the passes over Q.
 *
 * New columns go through classical Gram-Schmidt with reorthogonalisation, in groups of up to
 * bd_update_group: W = Q^T U (one pass), V = U - Q W and Q^T V (one pass), V -= Q (Q^T V) (one
 * pass, left out when Q^T V turns out to be rounding already). Giraud, Langou, Rozloznik, van den
 * Eshof: Rounding error analysis of the classical Gram-Schmidt orthogonalization process (2005). */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/cpu/kernels/kernels.h"
#include "linalg/cpu/qr_update.h"
#include "linalg/qr_update.h"

/* Q^T v / ||v|| of a v orthogonal to working accuracy: rounding of the inner products alone leaves
 * about half of this (uniform random Q, n = 10 .. 200). */
static double orthogonal(int64_t n)
{
    return 0.5 * FLT_EPSILON * sqrt((double)n);
}

/* What is left of a column of norm 1 that lies in the span of Q: rounding of u - Q w, and the
 * error of Q R itself after many updates. */
static double negligible(int64_t n)
{
    return 4 * FLT_EPSILON * (1 + sqrt((double)n));
}

/* The rows of this call: at most those the workspace was made for. */
static void set_rows(struct bd_cpu_update *work, int64_t m)
{
    work->m = m;
    work->items = (m + work->item_rows - 1) / work->item_rows;
}

enum bd_status bd_cpu_update_create(struct bd_backend *backend,
                                    const struct bd_qr_update_shape *shape, void **out)
{
    enum { most_items = 128, least_rows = 2048, unit = 512 };
    int64_t m = shape->max_rows, max_cols = shape->max_cols;
    int64_t max_block = shape->max_block < max_cols ? shape->max_block : max_cols;
    struct bd_cpu_update *work = calloc(1, sizeof *work);
    if (!work)
        return bd_fail(BD_ERROR_MEMORY, "no memory for QR updating");
    work->pool = bd_cpu_pool(backend);
    work->kernels = bd_kernels()->column;
    work->max_cols = max_cols;
    work->max_block = max_block;
    work->item_rows = (m / most_items + unit) / unit * unit;
    if (work->item_rows < least_rows)
        work->item_rows = least_rows;
    set_rows(work, m);
    work->pack_size = (unit + 16) * max_cols;
    size_t n = (size_t)max_cols, p = (size_t)max_block, group = bd_update_group;
    size_t reflectors = (n + bd_reflect_group) * (p + bd_reflect_group) * sizeof(float);
    work->transform.cs = bd_cpu_alloc(2 * n * p * sizeof(float));
    work->transform.v = bd_cpu_alloc(reflectors);
    work->transform.vt = bd_cpu_alloc(reflectors);
    work->transform.tau = bd_cpu_alloc(n * sizeof(double));
    work->column = bd_cpu_alloc(n * sizeof(double));
    work->w = bd_cpu_alloc(n * p * sizeof(double));
    work->sums = bd_cpu_alloc((n + 1) * group * sizeof(double));
    work->small = bd_cpu_alloc(n * group * sizeof(float));
    work->partials = bd_cpu_alloc((size_t)work->items * (n + 1) * group * sizeof(double));
    work->pack =
        bd_cpu_alloc((size_t)bd_pool_threads(work->pool) * (size_t)work->pack_size * sizeof(float));
    const struct bd_transform *t = &work->transform;
    if (!t->cs || !t->v || !t->vt || !t->tau || !work->column || !work->w || !work->sums ||
        !work->small || !work->partials || !work->pack) {
        bd_cpu_update_destroy(work);
        return bd_fail(BD_ERROR_MEMORY, "no memory for QR updating of %lld x %lld", (long long)m,
                       (long long)max_cols);
    }
    *out = work;
    return BD_OK;
}

void bd_cpu_update_destroy(void *plan)
{
    struct bd_cpu_update *work = plan;
    if (!work)
        return;
    free(work->transform.cs);
    free(work->transform.v);
    free(work->transform.vt);
    free(work->transform.tau);
    free(work->column);
    free(work->w);
    free(work->sums);
    free(work->small);
    free(work->partials);
    free(work->pack);
    free(work);
}

/* One more projection of the column v of Q away from columns first .. first + count - 1. coef
 * (count) gains the coefficients (NULL: not wanted); returns the new norm of v. */
static double project(struct bd_cpu_update *work, float *q, int64_t ldq, int64_t first,
                      int64_t count, float *v, double *coef)
{
    struct bd_update_pass pass = {
        .q = q + first * ldq, .ldq = ldq, .n_in = count, .n = count, .v = v, .ldv = work->m, .b = 1
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

/* A unit vector orthogonal to the first n columns of Q, n < m, in v. */
static enum bd_status fresh_direction(struct bd_cpu_update *work, float *q, int64_t ldq, int64_t n,
                                      float *v)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        bd_update_noise(work, v, seed);
        double norm = sqrt((double)work->m / 3);
        for (int round = 0; round < 5; round++) {
            double before = norm;
            norm = project(work, q, ldq, 0, n, v, NULL);
            if (!(norm > 0))
                break;
            struct bd_update_pass scale = { .v = v, .ldv = work->m, .b = 1, .scale = 1 / norm };
            bd_update_run(work, &scale);
            if (norm > 0.5 * before)
                return BD_OK;
            norm = 1;
        }
    }
    return bd_fail(BD_ERROR_NUMERIC, "QR update: found no direction orthogonal to %lld columns",
                   (long long)n);
}

/* Column i of the group that starts at column n of Q has been projected away from the first n
 * columns (its norm fell from `whole` to `norm`; `unsafe` = by so much that once more is needed).
 * Makes it orthogonal to the rest of the group too, and of norm 1; w is its column of R. */
static enum bd_status finish_column(struct bd_cpu_update *work, float *q, int64_t ldq, int64_t n,
                                    int64_t i, double whole, double norm, int unsafe, double *w)
{
    float *v = q + (n + i) * ldq;
    double least = negligible(n + i) * whole, start = norm;
    if (i && norm > least) {
        norm = project(work, q, ldq, n, i, v, w + n);
        if (norm > least)
            norm = project(work, q, ldq, n, i, v, w + n);
    }
    /* What the later projections took away has left the errors of the first behind. */
    unsafe = unsafe || norm < 0.25 * start;
    for (int round = 0; round < 4 && unsafe && norm > least; round++) {
        double before = norm;
        norm = project(work, q, ldq, 0, n + i, v, w);
        unsafe = norm < 0.5 * before;
    }
    if (!(norm > least)) {
        w[n + i] = 0;
        return fresh_direction(work, q, ldq, n + i, v);
    }
    w[n + i] = norm;
    struct bd_update_pass scale = { .v = v, .ldv = work->m, .b = 1, .scale = 1 / norm };
    bd_update_run(work, &scale);
    return BD_OK;
}

static enum bd_status not_finite(void)
{
    return bd_fail(BD_ERROR_NUMERIC, "QR update: the new columns (or Q) hold NaN or Inf");
}

/* b <= bd_update_group columns of U that become columns n .. n+b-1 of Q. */
struct group {
    struct bd_update_pass pass;
    int64_t b, n_in, n; /* columns of Q before its transformation, and of it that stay */
    double *w;          /* their columns of R, ld max_cols */
    double whole[bd_update_group], norm[bd_update_group]; /* of U, and of what is left of it */
    int unsafe[bd_update_group]; /* so little is left that it has to be projected once more */
};

/* Adds the rounded coefficients in work->sums to W, and leaves them in work->small. */
static void take_coefficients(struct bd_cpu_update *work, struct group *g, int64_t lds)
{
    for (int64_t j = 0; j < g->b; j++)
        for (int64_t i = 0; i < g->n; i++) {
            float value = (float)work->sums[i + j * lds];
            work->small[i + j * g->n] = value;
            g->w[i + j * work->max_cols] += (double)value;
        }
}

/* W := Q^T U, as it is after the transformation that Q has still to go through. */
static enum bd_status first_pass(struct bd_cpu_update *work, struct group *g,
                                 const struct bd_transform *transform)
{
    g->pass.dots = g->pass.squares = 1;
    bd_update_run(work, &g->pass);
    for (int64_t i = 0; i < (g->n_in + 1) * g->b; i++)
        if (!isfinite(work->sums[i]))
            return not_finite();
    for (int64_t j = 0; j < g->b; j++) {
        g->whole[j] = sqrt(work->sums[g->n_in * g->b + j]);
        memset(g->w + j * work->max_cols, 0, (size_t)(g->n + g->b) * sizeof *g->w);
    }
    if (transform)
        bd_update_transform_rows(transform, work->sums, g->n_in, g->b);
    take_coefficients(work, g, g->n_in);
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
    for (int64_t j = 0; j < g->b; j++) {
        double square = 0;
        for (int64_t i = 0; i < g->n; i++)
            square += work->sums[i + j * g->n] * work->sums[i + j * g->n];
        g->norm[j] = sqrt(work->sums[g->n * g->b + j]);
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
    for (int64_t j = 0; j < g->b; j++) {
        double before = g->norm[j];
        g->norm[j] = sqrt(work->sums[g->n * g->b + j]);
        g->unsafe[j] = g->norm[j] < 0.5 * before;
    }
}

/* `transform` (NULL: none) is done to Q in passing; it has n_in columns before and n after. */
static enum bd_status append_group(struct bd_cpu_update *work, float *q, int64_t ldq, int64_t n_in,
                                   int64_t n, const float *u, int64_t ldu, int64_t b, double *w,
                                   const struct bd_transform *transform)
{
    struct group g = { .b = b, .n_in = n_in, .n = n, .w = w };
    g.pass = (struct bd_update_pass){ .q = q,
                                      .ldq = ldq,
                                      .n_in = n_in,
                                      .n = n_in,
                                      .u = u,
                                      .ldu = ldu,
                                      .v = q + n * ldq,
                                      .ldv = ldq,
                                      .b = b };
    enum bd_status status = first_pass(work, &g, transform);
    if (status != BD_OK)
        return status;
    if (second_pass(work, &g, transform))
        third_pass(work, &g);
    for (int64_t j = 0; j < b && status == BD_OK; j++)
        status = finish_column(work, q, ldq, n, j, g.whole[j], g.norm[j], g.unsafe[j],
                               w + j * work->max_cols);
    return status;
}

/* BD_ERROR_NUMERIC if U (m x p) is not finite, before anything has been changed. */
static enum bd_status check_columns(struct bd_cpu_update *work, const float *u, int64_t ldu,
                                    int64_t p)
{
    for (int64_t j = 0; j < p; j += bd_update_group) {
        int64_t b = p - j < bd_update_group ? p - j : bd_update_group;
        struct bd_update_pass pass = { .u = u + j * ldu, .ldu = ldu, .b = b, .squares = 1 };
        bd_update_run(work, &pass);
        for (int64_t i = 0; i < b; i++)
            if (!isfinite(work->sums[i]))
                return not_finite();
    }
    return BD_OK;
}

/* Appends U (m x p) to Q and R of n columns, after `transform` (NULL: none) has made them of n_in.
 * The new columns of R are in work->w; R itself is left alone. */
static enum bd_status append(struct bd_cpu_update *work, float *q, int64_t ldq, int64_t n_in,
                             int64_t n, const float *u, int64_t ldu, int64_t p,
                             const struct bd_transform *transform)
{
    enum bd_status status = BD_OK;
    if (p > bd_update_group) /* else append_group does it in passing */
        status = check_columns(work, u, ldu, p);
    for (int64_t j = 0; j < p && status == BD_OK; j += bd_update_group) {
        int64_t b = p - j < bd_update_group ? p - j : bd_update_group;
        status = append_group(work, q, ldq, j ? n + j : n_in, n + j, u + j * ldu, ldu, b,
                              work->w + j * work->max_cols, j ? NULL : transform);
        for (int64_t i = j; i < j + b; i++) /* entries below: a later group's columns are longer */
            for (int64_t row = n + j + b; row < n + p; row++)
                work->w[row + i * work->max_cols] = 0;
    }
    return status;
}

/* What the factors must be for now: a thin Q or none, and no d that would have to follow. */
static enum bd_status supported(const struct bd_qr_parts *f, int follow)
{
    if ((f->q && f->q_cols != f->n) || (follow && f->rhs))
        return bd_fail(BD_ERROR_UNSUPPORTED, "cpu: QR updating does not keep %s yet",
                       f->q_cols != f->n ? "the full Q" : "d");
    return BD_OK;
}

enum bd_status bd_cpu_update_remove(void *plan, const struct bd_qr_parts *f, int64_t k, int64_t p)
{
    struct bd_cpu_update *work = plan;
    enum bd_status status = supported(f, 1);
    if (status != BD_OK)
        return status;
    bd_update_r_remove(work, f->r, f->ldr, f->n, k, p);
    if (!f->q || work->transform.kind == bd_transform_none)
        return BD_OK;
    struct bd_update_pass pass = {
        .q = f->q, .ldq = f->ldq, .n_in = f->n, .n = f->n - p, .transform = &work->transform
    };
    set_rows(work, f->m);
    bd_update_run(work, &pass);
    return BD_OK;
}

enum bd_status bd_cpu_update_insert(void *plan, const struct bd_qr_parts *f, int64_t k, int64_t p,
                                    const float *u, int64_t ldu)
{
    struct bd_cpu_update *work = plan;
    int64_t n = f->n;
    set_rows(work, f->m);
    enum bd_status status = supported(f, 0);
    if (status == BD_OK)
        status = append(work, f->q, f->ldq, n, n, u, ldu, p, NULL);
    if (status != BD_OK)
        return status;
    bd_update_r_insert(work, f->r, f->ldr, n, k, p);
    struct bd_update_pass pass = {
        .q = f->q, .ldq = f->ldq, .n_in = n + p, .n = n + p, .transform = &work->transform
    };
    if (work->transform.kind != bd_transform_none)
        bd_update_run(work, &pass);
    return BD_OK;
}

enum bd_status bd_cpu_update_slide(void *plan, const struct bd_qr_parts *f, int64_t p,
                                   const float *u, int64_t ldu)
{
    struct bd_cpu_update *work = plan;
    int64_t n = f->n;
    set_rows(work, f->m);
    enum bd_status status = supported(f, 0);
    if (status == BD_OK)
        status = check_columns(work, u, ldu, p);
    if (status != BD_OK)
        return status;
    bd_update_r_remove(work, f->r, f->ldr, n, 0, p);
    const struct bd_transform *transform =
        work->transform.kind == bd_transform_none ? NULL : &work->transform;
    status = append(work, f->q, f->ldq, transform ? n : n - p, n - p, u, ldu, p, transform);
    if (status != BD_OK)
        return status;
    bd_update_r_insert(work, f->r, f->ldr, n - p, n - p, p);
    return BD_OK;
}

enum bd_status bd_cpu_update_append_gram(void *plan, float *r, int64_t ldr, int64_t n,
                                         const double *g)
{
    struct bd_cpu_update *work = plan;
    double *z = work->column, left = g[n] > 0 ? g[n] : 0;
    for (int64_t j = 0; j < n; j++) {
        const float *column = r + j * ldr;
        double rest = g[j], pivot = (double)column[j];
        for (int64_t i = 0; i < j; i++)
            rest -= (double)column[i] * z[i];
        /* ||z|| <= ||u||: what goes beyond is rounding over a small pivot. */
        double most = sqrt(left);
        z[j] = pivot != 0 ? rest / pivot : 0;
        if (fabs(z[j]) > most)
            z[j] = copysign(most, z[j]);
        left -= z[j] * z[j];
        left = left > 0 ? left : 0;
    }
    z[n] = sqrt(left);
    for (int64_t j = 0; j <= n; j++)
        r[j + n * ldr] = (float)z[j];
    for (int64_t j = 0; j < n; j++)
        r[n + j * ldr] = 0;
    return BD_OK;
}
