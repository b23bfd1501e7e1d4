#include <backdrop/rpca.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "linalg/check.h"
#include "linalg/shared/rpca_ops.h"

enum { most_columns = 4096 };

/* The step of an iteration is enqueued before the outcomes of the last two are known: its mu
 * depends on the outcome before those, whatever else is known by then. So the host never waits, and
 * the steps do not depend on timing. */
enum { steps_kept = bd_rpca_ahead + 1, lag = bd_rpca_ahead - 1 };

struct schedule {
    struct bd_rpca_step steps[steps_kept]; /* step k, from 0, is number k % steps_kept */
    double balance[steps_kept];            /* of the outcome of step k: balance_of */
    double mu, least, most;                /* mu of the newest step; its bounds */
};

struct bd_rpca {
    struct bd_backend *backend;
    int64_t m, n;
    struct bd_rpca_options options; /* without zeros, but for lambda and rho */
    struct bd_matrix observed;      /* data NULL: all of M */
    void *plan;                     /* the backend's */
    double lambda, nu;              /* of the matrix that is solved */
    struct schedule schedule;
    int iterations; /* whose outcomes are known */
    int solved;
};

static const struct bd_rpca_options defaults = { .tolerance = 1e-6,
                                                 .optimality = 1e-4,
                                                 .max_iterations = 500 };

/* mu stays within this factor of its first value: 1 / mu is then far below the rounding of the
 * largest singular value. */
static const double mu_growth = 1e9;

/* What is wrong with the options, or BD_OK. */
static enum bd_status check_options(const struct bd_rpca_options *o)
{
    if (!(o->lambda >= 0) || !isfinite(o->lambda))
        return bd_fail(BD_ERROR_ARGUMENT, "Robust PCA: lambda = %g: a positive number is wanted",
                       o->lambda);
    if (!(o->tolerance > 0 && o->tolerance < 1))
        return bd_fail(BD_ERROR_ARGUMENT, "Robust PCA: tolerance = %g: must be in (0, 1)",
                       o->tolerance);
    if (!(o->optimality > 0 && o->optimality < 1))
        return bd_fail(BD_ERROR_ARGUMENT, "Robust PCA: optimality = %g: must be in (0, 1)",
                       o->optimality);
    if (!(o->rho == 0 || (o->rho > 1 && o->rho <= 10)))
        return bd_fail(BD_ERROR_ARGUMENT, "Robust PCA: rho = %g: must be in (1, 10]", o->rho);
    if (o->max_iterations < 0)
        return bd_fail(BD_ERROR_ARGUMENT, "Robust PCA: max_iterations = %d: must be positive",
                       o->max_iterations);
    if (!(o->noise >= 0) || !isfinite(o->noise))
        return bd_fail(BD_ERROR_ARGUMENT,
                       "Robust PCA: noise = %g: a standard deviation is wanted, or 0", o->noise);
    return BD_OK;
}

static enum bd_status take_options(struct bd_rpca *rpca, const struct bd_rpca_options *options)
{
    struct bd_rpca_options o = options ? *options : (struct bd_rpca_options){ 0 };
    if (o.tolerance == 0)
        o.tolerance = defaults.tolerance;
    if (o.optimality == 0)
        o.optimality = defaults.optimality;
    if (o.max_iterations == 0)
        o.max_iterations = defaults.max_iterations;
    enum bd_status status = check_options(&o);
    if (status == BD_OK && o.observed) {
        status = bd_check_shape(o.observed, BD_U8, rpca->m, rpca->n, "observed");
        if (status == BD_OK)
            rpca->observed = *o.observed;
    }
    o.observed = NULL; /* the caller's struct may go */
    rpca->options = o;
    return status;
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
        status = backend->ops->rpca->create(
            backend, m, n, rpca->observed.data || rpca->options.noise > 0, &rpca->plan);
    if (status != BD_OK) {
        free(rpca);
        return status;
    }
    *out = rpca;
    return BD_OK;
}

void bd_rpca_destroy(struct bd_rpca **inout)
{
    if (!inout || !*inout)
        return;
    struct bd_rpca *rpca = *inout;
    rpca->backend->ops->rpca->destroy(rpca->plan);
    free(rpca);
    *inout = NULL;
}

/* lambda and nu for M (backdrop/rpca.h). */
static void weigh_parts(struct bd_rpca *rpca, const struct bd_rpca_norms *norms)
{
    double m = (double)rpca->m, n = (double)rpca->n;
    double share = (double)(norms->observed > 0 ? norms->observed : 1) / (m * n);
    rpca->lambda = rpca->options.lambda;
    if (rpca->lambda == 0)
        rpca->lambda = 1 / sqrt(share * fmax(m, n));
    rpca->nu = rpca->options.noise * sqrt(share) * (sqrt(m) + sqrt(n));
}

/* What a step with this mu writes. */
static void set_write(const struct bd_rpca *rpca, struct bd_rpca_step *step, double mu)
{
    step->clip_write = (float)(rpca->lambda / mu);
    step->clip_sparse = (float)(rpca->lambda / mu + rpca->lambda * rpca->nu);
    step->scale_write = (float)(1 / (1 + rpca->nu * mu));
}

/* The first step, L = S = 0 and Y = M / max(||M||_2, ||M||_max / lambda) (Lin, Chen, Ma). Its X is
 * M times 1 + dual_scale, and so are the singular values, by which tau is divided here instead. */
static void first_step(struct bd_rpca *rpca, const struct bd_rpca_norms *norms)
{
    struct schedule *s = &rpca->schedule;
    struct bd_rpca_step step = { .clip_read = FLT_MAX, .scale_read = 1, .keep_svd = 1 };
    *s = (struct schedule){ .mu = 1 };
    if (norms->frobenius > 0) {
        s->mu = 1.25 / norms->spectral;
        step.dual_scale = (float)(1 / (s->mu * fmax(norms->spectral, norms->max / rpca->lambda)));
    }
    s->most = s->mu * mu_growth;
    s->least = s->mu / mu_growth;
    step.tau = 1 / (s->mu * (1 + (double)step.dual_scale));
    set_write(rpca, &step, s->mu);
    s->steps[0] = step;
}

/* Above 1, the residual is behind the optimality and mu is to grow. A hundredth brings both to
 * their default tolerances together: 48 to 114 iterations on planted matrices and noisy scenes. A
 * thousandth takes 42 to 209. */
static double balance_of(double residual, double optimality)
{
    return optimality > 0 ? residual / (1e-2 * optimality) : INFINITY;
}

/* mu of the step after step k. With rho = 0 it balances the residuals (Boyd and others 2011,
 * section 3.4.1), by factors within a reach that goes to 1 so fast that mu stays bounded, which is
 * what convergence asks for (He, Yang, Wang 2000). */
static double next_mu(const struct bd_rpca *rpca, int k)
{
    const struct schedule *s = &rpca->schedule;
    double factor = rpca->options.rho;
    if (factor == 0) {
        double reach = 1 + 0.5 / (1 + k / 50.0 * (k / 50.0));
        factor = k < lag ? reach : pow(s->balance[(k - lag) % steps_kept], 0.1);
        factor = fmin(fmax(factor, 1 / reach), reach);
    }
    return fmin(fmax(s->mu * factor, s->least), s->most);
}

/* Makes step k + 1, which reads the state that step k writes. */
static void advance(struct bd_rpca *rpca, int k)
{
    struct schedule *s = &rpca->schedule;
    const struct bd_rpca_step *now = &s->steps[k % steps_kept];
    double mu = next_mu(rpca, k);
    struct bd_rpca_step next = { .clip_read = now->clip_write,
                                 .scale_read = now->scale_write,
                                 .dual_scale = (float)(s->mu / mu),
                                 .tau = 1 / mu };
    set_write(rpca, &next, mu);
    s->mu = mu;
    s->steps[(k + 1) % steps_kept] = next;
}

/* Polls the outcomes that are ready; waits until fewer than `most` are outstanding. *done: that
 * was the last one needed. */
static enum bd_status take_outcomes(struct bd_rpca *rpca, int enqueued, int most, double norm_f,
                                    struct bd_rpca_result *result, int *done)
{
    while (!*done && rpca->iterations < enqueued) {
        struct bd_rpca_outcome outcome;
        int ready, wait = enqueued - rpca->iterations >= most;
        enum bd_status status = rpca->backend->ops->rpca->poll(rpca->plan, wait, &outcome, &ready);
        if (status != BD_OK || !ready)
            return status;
        if (!isfinite(outcome.residual) || !isfinite(outcome.change))
            return bd_fail(BD_ERROR_NUMERIC, "Robust PCA: NaN or Inf in iteration %d",
                           rpca->iterations + 1);
        result->rank = outcome.rank;
        result->residual = outcome.residual / norm_f;
        result->optimality = outcome.change / outcome.dual;
        rpca->schedule.balance[rpca->iterations % steps_kept] =
            balance_of(result->residual, result->optimality);
        rpca->solved = 1;
        result->iterations = ++rpca->iterations;
        *done = outcome.stopped;
    }
    return BD_OK;
}

/* A fixed rho ends the solve where it is feasible: from there on mu only freezes the point. */
static struct bd_rpca_stop stop_of(const struct bd_rpca_options *options, double norm_f)
{
    return (struct bd_rpca_stop){ .residual = options->tolerance * norm_f,
                                  .change = options->rho == 0 ? options->optimality : INFINITY };
}

/* Iterations are enqueued before the outcomes of earlier ones are known, so that a GPU never waits
 * for the host. The backend skips those enqueued after the last one needed. *done: both tolerances
 * were met, or the one that a fixed rho waits for. */
static enum bd_status enqueue_all(struct bd_rpca *rpca, double norm_f,
                                  struct bd_rpca_result *result, int *done, int *interrupted)
{
    const struct bd_rpca_options *options = &rpca->options;
    const struct bd_rpca_stop stop = stop_of(options, norm_f);
    int enqueued = 0;
    enum bd_status status = BD_OK;
    while (status == BD_OK && !*done && enqueued < options->max_iterations) {
        *interrupted = options->interrupted && options->interrupted(options->user);
        if (*interrupted)
            break;
        status = rpca->backend->ops->rpca->iterate(
            rpca->plan, &rpca->schedule.steps[enqueued % steps_kept], &stop);
        if (status == BD_OK)
            status = take_outcomes(rpca, enqueued + 1, bd_rpca_ahead, norm_f, result, done);
        if (status == BD_OK)
            advance(rpca, enqueued++);
    }
    if (status == BD_OK)
        status = take_outcomes(rpca, enqueued, 1, norm_f, result, done);
    return status;
}

static enum bd_status iterate(struct bd_rpca *rpca, double norm_f, struct bd_rpca_result *result)
{
    const struct bd_rpca_options *options = &rpca->options;
    int done = 0, interrupted = 0;
    enum bd_status status = enqueue_all(rpca, norm_f, result, &done, &interrupted);
    if (status != BD_OK)
        rpca->solved = 0; /* how far the state has come is not known */
    if (status != BD_OK || (done && result->optimality < options->optimality))
        return status;
    if (interrupted && !done)
        return bd_fail(BD_ERROR_INTERRUPTED, "Robust PCA: interrupted after %d iterations",
                       result->iterations);
    return bd_fail(BD_ERROR_CONVERGENCE,
                   "Robust PCA: residual %.3g and optimality %.3g after %d iterations; %.3g and "
                   "%.3g were wanted%s",
                   result->residual, result->optimality, result->iterations, options->tolerance,
                   options->optimality,
                   done ? "; a smaller rho comes nearer, or 0, which adapts" : "");
}

static enum bd_status check_window(const struct bd_rpca *rpca, const struct bd_matrix *matrix,
                                   enum bd_type type, const char *name)
{
    enum bd_status status = bd_check_pointer(rpca, "rpca");
    return status == BD_OK ? bd_check_shape(matrix, type, rpca->m, rpca->n, name) : status;
}

enum bd_status bd_rpca_solve(struct bd_rpca *rpca, const struct bd_matrix *m,
                             struct bd_rpca_result *out)
{
    struct bd_rpca_result result = { 0 };
    struct bd_rpca_norms norms;
    double start = bd_clock_seconds();
    if (out)
        *out = result;
    enum bd_status status = bd_check_pointer(m, "m");
    if (status == BD_OK)
        status = check_window(rpca, m, m->type == BD_U8 ? BD_U8 : BD_F32, "m");
    if (status != BD_OK)
        return status;
    rpca->solved = rpca->iterations = 0;
    status = rpca->backend->ops->rpca->start(rpca->plan, m,
                                             rpca->observed.data ? &rpca->observed : NULL, &norms);
    if (status == BD_OK) {
        weigh_parts(rpca, &norms);
        first_step(rpca, &norms);
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
    const struct bd_rpca_step *step = &rpca->schedule.steps[rpca->iterations % steps_kept];
    return rpca->backend->ops->rpca->get(rpca->plan, step, l ? l->data : NULL, l ? l->ld : 0,
                                         s ? s->data : NULL, s ? s->ld : 0);
}
