#include <backdrop/rpca.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "linalg/check.h"
#include "linalg/shared/rpca_ops.h"

enum { most_columns = 4096 };

/* The parameters of a step. They do not depend on results, so that the host can enqueue steps
 * without waiting. */
struct schedule {
    struct bd_rpca_step step; /* the next one */
    double mu, most;          /* mu of that step; upper bound of mu */
};

struct bd_rpca {
    struct bd_backend *backend;
    int64_t m, n;
    struct bd_rpca_options options; /* without zeros */
    void *plan;                     /* the backend's */
    struct schedule schedule;       /* after the last iteration whose outcome is known */
    int solved;
};

static const struct bd_rpca_options defaults = { .tolerance = 1e-6,
                                                 .rho = 1.5,
                                                 .max_iterations = 200 };

/* mu grows to at most this times its first value: 1 / mu is then far below the rounding of the
 * largest singular value. (The reference code of Lin, Chen and Ma has 1e7, with which bytes of
 * exact rank 1 take 64 iterations to a residual of 1e-7 instead of 43.) */
static const double mu_growth = 1e9;

static enum bd_status take_options(struct bd_rpca *rpca, const struct bd_rpca_options *options)
{
    struct bd_rpca_options o = options ? *options : (struct bd_rpca_options){ 0 };
    if (o.lambda == 0)
        o.lambda = 1 / sqrt((double)(rpca->m > rpca->n ? rpca->m : rpca->n));
    if (o.tolerance == 0)
        o.tolerance = defaults.tolerance;
    if (o.rho == 0)
        o.rho = defaults.rho;
    if (o.max_iterations == 0)
        o.max_iterations = defaults.max_iterations;
    if (!(o.lambda > 0) || !isfinite(o.lambda))
        return bd_fail(BD_ERROR_ARGUMENT, "Robust PCA: lambda = %g: a positive number is wanted",
                       o.lambda);
    if (!(o.tolerance > 0 && o.tolerance < 1))
        return bd_fail(BD_ERROR_ARGUMENT, "Robust PCA: tolerance = %g: must be in (0, 1)",
                       o.tolerance);
    if (!(o.rho > 1 && o.rho <= 10))
        return bd_fail(BD_ERROR_ARGUMENT, "Robust PCA: rho = %g: must be in (1, 10]", o.rho);
    if (o.max_iterations < 0)
        return bd_fail(BD_ERROR_ARGUMENT, "Robust PCA: max_iterations = %d: must be positive",
                       o.max_iterations);
    rpca->options = o;
    return BD_OK;
}

enum bd_status bd_rpca_create(struct bd_rpca **out, struct bd_backend *backend, int64_t m,
                              int64_t n, const struct bd_rpca_options *options)
{
    enum bd_status status = bd_check_create(out, "rpca", backend);
    if (status == BD_OK && (m < 1 || n < 1 || n > most_columns))
        status = bd_fail(BD_ERROR_ARGUMENT,
                         "Robust PCA of %lld x %lld: rows >= 1 and columns of 1 to %d are wanted",
                         (long long)m, (long long)n, most_columns);
    if (status == BD_OK)
        status = bd_check_elements("Robust PCA", m, n);
    if (status == BD_OK)
        status = bd_backend_require(backend, backend->ops->rpca, "Robust PCA");
    if (status != BD_OK)
        return status;
    struct bd_rpca *rpca = calloc(1, sizeof *rpca);
    if (!rpca)
        return bd_fail(BD_ERROR_MEMORY, "no memory for Robust PCA");
    rpca->backend = backend;
    rpca->m = m;
    rpca->n = n;
    status = take_options(rpca, options);
    if (status == BD_OK)
        status = backend->ops->rpca->create(backend, m, n, &rpca->plan);
    if (status != BD_OK) {
        free(rpca);
        return status;
    }
    *out = rpca;
    return BD_OK;
}

void bd_rpca_destroy(struct bd_rpca **inout)
{
    struct bd_rpca *rpca = *inout;
    if (!rpca)
        return;
    rpca->backend->ops->rpca->destroy(rpca->plan);
    free(rpca);
    *inout = NULL;
}

/* The first step, L = S = 0 and Y = M / max(||M||_2, ||M||_max / lambda) (Lin, Chen, Ma). Its X is
 * M times 1 + dual_scale, and so are the singular values, by which tau is divided here instead. */
static struct schedule first_step(const struct bd_rpca_options *options,
                                  const struct bd_rpca_norms *norms)
{
    struct schedule s = { .step = { .clip_read = FLT_MAX, .clip_write = 1, .keep_svd = 1 },
                          .mu = 1,
                          .most = 1 };
    if (norms->frobenius > 0) {
        s.mu = 1.25 / norms->spectral;
        s.most = s.mu * mu_growth;
        s.step.dual_scale =
            (float)(1 / (s.mu * fmax(norms->spectral, norms->max / options->lambda)));
        s.step.clip_write = (float)(options->lambda / s.mu);
    }
    s.step.tau = 1 / (s.mu * (1 + (double)s.step.dual_scale));
    return s;
}

/* To the next step: it reads the state that this one writes. */
static void advance(struct schedule *s, const struct bd_rpca_options *options)
{
    double next = fmin(s->mu * options->rho, s->most);
    s->step.clip_read = s->step.clip_write;
    s->step.dual_scale = (float)(s->mu / next);
    s->step.clip_write = (float)(options->lambda / next);
    s->step.keep_svd = 0;
    s->step.tau = 1 / next;
    s->mu = next;
}

/* Polls the outcomes that are ready; waits until fewer than `most` are outstanding. *done: the
 * tolerance has been reached. */
static enum bd_status take_outcomes(struct bd_rpca *rpca, int enqueued, int most, double norm_f,
                                    struct bd_rpca_result *result, int *done)
{
    while (!*done && result->iterations < enqueued) {
        struct bd_rpca_outcome outcome;
        int ready, wait = enqueued - result->iterations >= most;
        enum bd_status status = rpca->backend->ops->rpca->poll(rpca->plan, wait, &outcome, &ready);
        if (status != BD_OK || !ready)
            return status;
        if (!isfinite(outcome.residual))
            return bd_fail(BD_ERROR_NUMERIC, "Robust PCA: NaN or Inf in iteration %d",
                           result->iterations + 1);
        advance(&rpca->schedule, &rpca->options);
        rpca->solved = 1;
        result->iterations++;
        result->rank = outcome.rank;
        result->residual = outcome.residual / norm_f;
        *done = outcome.residual < rpca->options.tolerance * norm_f;
    }
    return BD_OK;
}

/* Iterations are enqueued before the outcomes of earlier ones are known, so that a GPU never waits
 * for the host. The backend skips those enqueued after the last one needed. */
static enum bd_status iterate(struct bd_rpca *rpca, double norm_f, struct bd_rpca_result *result)
{
    const struct bd_rpca_options *options = &rpca->options;
    struct schedule ahead = rpca->schedule;
    int enqueued = 0, interrupted = 0, done = 0;
    enum bd_status status = BD_OK;
    while (status == BD_OK && !done && !interrupted && enqueued < options->max_iterations) {
        interrupted = options->interrupted && options->interrupted(options->user);
        if (interrupted)
            break;
        status =
            rpca->backend->ops->rpca->iterate(rpca->plan, &ahead.step, options->tolerance * norm_f);
        if (status != BD_OK)
            break;
        enqueued++;
        advance(&ahead, options);
        status = take_outcomes(rpca, enqueued, bd_rpca_ahead, norm_f, result, &done);
    }
    if (status == BD_OK)
        status = take_outcomes(rpca, enqueued, 1, norm_f, result, &done);
    if (status != BD_OK)
        rpca->solved = 0; /* how far the state has come is not known */
    if (status != BD_OK || done)
        return status;
    if (interrupted)
        return bd_fail(BD_ERROR_INTERRUPTED, "Robust PCA: interrupted after %d iterations",
                       result->iterations);
    return bd_fail(BD_ERROR_NUMERIC,
                   "Robust PCA: residual %.3g after %d iterations; %.3g was wanted",
                   result->residual, result->iterations, options->tolerance);
}

static enum bd_status check_window(const struct bd_rpca *rpca, const struct bd_matrix *matrix,
                                   enum bd_type type, const char *name)
{
    enum bd_status status = bd_check_pointer(rpca, "rpca");
    return status == BD_OK ? bd_check_matrix(matrix, type, rpca->m, rpca->n, name) : status;
}

enum bd_status bd_rpca_solve(struct bd_rpca *rpca, const struct bd_matrix *m,
                             struct bd_rpca_result *out)
{
    struct bd_rpca_result result = { 0 };
    struct bd_rpca_norms norms;
    double start = bd_clock_seconds();
    if (out)
        *out = result;
    enum bd_status status = check_window(rpca, m, m && m->type == BD_U8 ? BD_U8 : BD_F32, "m");
    if (status != BD_OK)
        return status;
    rpca->solved = 0;
    status = rpca->backend->ops->rpca->start(rpca->plan, m->data, m->ld, m->type, &norms);
    if (status == BD_OK) {
        rpca->schedule = first_step(&rpca->options, &norms);
        if (norms.frobenius > 0)
            status = iterate(rpca, norms.frobenius, &result);
        else
            rpca->solved = 1;
    }
    result.seconds = bd_clock_seconds() - start;
    if (out)
        *out = result;
    return status;
}

enum bd_status bd_rpca_get(struct bd_rpca *rpca, struct bd_matrix *l, struct bd_matrix *s)
{
    enum bd_status status = bd_check_pointer(rpca, "rpca");
    if (status == BD_OK && !rpca->solved)
        status = bd_fail(BD_ERROR_ARGUMENT, "Robust PCA: nothing has been solved yet");
    if (status == BD_OK && l)
        status = check_window(rpca, l, BD_F32, "l");
    if (status == BD_OK && s)
        status = check_window(rpca, s, BD_F32, "s");
    if (status != BD_OK || (!l && !s))
        return status;
    return rpca->backend->ops->rpca->get(rpca->plan, &rpca->schedule.step, l ? l->data : NULL,
                                         l ? l->ld : 0, s ? s->data : NULL, s ? s->ld : 0);
}
