#include "linalg/rpca.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "linalg/backend_ops.h"
#include "linalg/small_svd.h"

struct bd_rpca {
    struct bd_backend *backend;
    int64_t m, n;
    struct bd_rpca_options options; /* without zeros */
    void *plan;                     /* the backend's */
    struct bd_small_svd *svd;
    struct bd_matrix r, v, w, f, ft;
    float *sigma; /* n */
    /* The step to come. */
    struct bd_rpca_step step;
    double mu;
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
    *out = NULL;
    if (m < 1 || n < 1)
        return bd_fail(BD_ERROR_ARGUMENT, "Robust PCA of %lld x %lld: at least 1 x 1 is wanted",
                       (long long)m, (long long)n);
    struct bd_rpca *rpca = calloc(1, sizeof *rpca);
    if (!rpca)
        return bd_fail(BD_ERROR_MEMORY, "no memory for Robust PCA");
    rpca->backend = backend;
    rpca->m = m;
    rpca->n = n;
    enum bd_status status = take_options(rpca, options);
    if (status == BD_OK)
        status = bd_small_svd_create(&rpca->svd, backend, n);
    if (status == BD_OK)
        status = bd_matrix_create(backend, &rpca->r, n, n, BD_F32);
    if (status == BD_OK)
        status = bd_matrix_create(backend, &rpca->v, n, n, BD_F32);
    if (status == BD_OK)
        status = bd_matrix_create(backend, &rpca->w, n, n, BD_F32);
    if (status == BD_OK)
        status = bd_matrix_create(backend, &rpca->f, n, n, BD_F32);
    if (status == BD_OK)
        status = bd_matrix_create(backend, &rpca->ft, n, n, BD_F32);
    if (status != BD_OK)
        goto error;
    rpca->sigma = calloc((size_t)n, sizeof *rpca->sigma);
    if (!rpca->sigma) {
        status = bd_fail(BD_ERROR_MEMORY, "no memory for Robust PCA");
        goto error;
    }
    status = backend->ops->rpca_create(backend, m, n, &rpca->plan);
    if (status != BD_OK)
        goto error;
    *out = rpca;
    return BD_OK;

error:
    bd_rpca_destroy(&rpca);
    return status;
}

void bd_rpca_destroy(struct bd_rpca **inout)
{
    struct bd_rpca *rpca = *inout;
    if (!rpca)
        return;
    if (rpca->plan)
        rpca->backend->ops->rpca_destroy(rpca->plan);
    bd_small_svd_destroy(&rpca->svd);
    bd_matrix_destroy(rpca->backend, &rpca->r);
    bd_matrix_destroy(rpca->backend, &rpca->v);
    bd_matrix_destroy(rpca->backend, &rpca->w);
    bd_matrix_destroy(rpca->backend, &rpca->f);
    bd_matrix_destroy(rpca->backend, &rpca->ft);
    free(rpca->sigma);
    free(rpca);
    *inout = NULL;
}

/* The SVD of X of the step to come. */
static enum bd_status decompose(struct bd_rpca *rpca)
{
    enum bd_status status =
        rpca->backend->ops->rpca_reduce(rpca->plan, &rpca->step, rpca->r.data, rpca->r.ld);
    if (status != BD_OK)
        return status;
    return bd_small_svd_compute(rpca->svd, rpca->sigma, &rpca->v, &rpca->r);
}

/* The state of the first step, L = S = 0 and Y = M / max(||M||_2, ||M||_max / lambda) (Lin, Chen,
 * Ma), and the SVD of M. The X of that step is M times 1 + dual_scale: no need for another. */
static enum bd_status begin(struct bd_rpca *rpca, double norm_f, double norm_max)
{
    rpca->step = (struct bd_rpca_step){ .clip_read = FLT_MAX, .dual_scale = 0, .clip_write = 1 };
    enum bd_status status = decompose(rpca);
    if (status != BD_OK)
        return status;
    if (norm_f == 0) {
        rpca->mu = 1;
        return BD_OK;
    }
    double norm2 = (double)rpca->sigma[0];
    rpca->mu = 1.25 / norm2;
    rpca->step.dual_scale = (float)(1 / (rpca->mu * fmax(norm2, norm_max / rpca->options.lambda)));
    rpca->step.clip_write = (float)(rpca->options.lambda / rpca->mu);
    return BD_OK;
}

/* The state that has been written becomes the one to be read. */
static void advance(struct bd_rpca *rpca, double most)
{
    double next = fmin(rpca->mu * rpca->options.rho, most);
    rpca->step.clip_read = rpca->step.clip_write;
    rpca->step.dual_scale = (float)(rpca->mu / next);
    rpca->step.clip_write = (float)(rpca->options.lambda / next);
    rpca->mu = next;
}

/* Singular values of the L to come that are more than float32 rounding of the largest. */
static int64_t rank_of_l(const struct bd_rpca *rpca, double tau)
{
    double least = tau + FLT_EPSILON * (double)rpca->sigma[0];
    int64_t rank = 0;
    while (rank < rpca->n && (double)rpca->sigma[rank] > least)
        rank++;
    return rank;
}

/* What takes X to L, by the last SVD. */
static enum bd_status weigh(struct bd_rpca *rpca, double tau, struct bd_rpca_weights *weights)
{
    *weights = (struct bd_rpca_weights){ 0 };
    enum bd_status status = bd_small_svd_factor(rpca->svd, &rpca->f, &rpca->ft, tau);
    if (status != BD_OK)
        return status;
    weights->rank = rpca->f.cols;
    weights->f = rpca->f.data;
    weights->ldf = rpca->f.ld;
    weights->ft = rpca->ft.data;
    weights->ldft = rpca->ft.ld;
    if (2 * weights->rank < rpca->n)
        return BD_OK;
    weights->w = rpca->w.data;
    weights->ldw = rpca->w.ld;
    return bd_small_svd_threshold(rpca->svd, &rpca->w, NULL, tau);
}

static enum bd_status iterate(struct bd_rpca *rpca, double norm_f, struct bd_rpca_result *result)
{
    double most = rpca->mu * mu_growth, scale = 1 + (double)rpca->step.dual_scale;
    for (;;) {
        double residual, tau = 1 / (rpca->mu * scale);
        if (rpca->options.interrupted && rpca->options.interrupted(rpca->options.user))
            return bd_fail(BD_ERROR_INTERRUPTED, "Robust PCA: interrupted after %d iterations",
                           result->iterations);
        struct bd_rpca_weights weights;
        enum bd_status status = weigh(rpca, tau, &weights);
        if (status == BD_OK)
            status = rpca->backend->ops->rpca_update(rpca->plan, &rpca->step, &weights, &residual);
        if (status != BD_OK)
            return status;
        result->rank = rank_of_l(rpca, tau);
        advance(rpca, most);
        scale = 1;
        result->iterations++;
        result->residual = residual / norm_f;
        rpca->solved = 1;
        if (result->residual < rpca->options.tolerance)
            return BD_OK;
        if (result->iterations >= rpca->options.max_iterations)
            return bd_fail(BD_ERROR_NUMERIC,
                           "Robust PCA: residual %.3g after %d iterations; %.3g was wanted",
                           result->residual, result->iterations, rpca->options.tolerance);
        status = decompose(rpca);
        if (status != BD_OK)
            return status;
    }
}

enum bd_status bd_rpca_solve(struct bd_rpca *rpca, const struct bd_matrix *m,
                             struct bd_rpca_result *out)
{
    struct bd_rpca_result result = { 0 };
    double start = bd_clock_seconds(), norm_f, norm_max;
    if (out)
        *out = result;
    if (!m)
        return bd_fail(BD_ERROR_ARGUMENT, "m is NULL");
    enum bd_status status = bd_matrix_check(m, m->type == BD_U8 ? BD_U8 : BD_F32, "m");
    if (status != BD_OK)
        return status;
    if (m->rows != rpca->m || m->cols != rpca->n)
        return bd_fail(BD_ERROR_ARGUMENT, "m is %lld x %lld: %lld x %lld is wanted",
                       (long long)m->rows, (long long)m->cols, (long long)rpca->m,
                       (long long)rpca->n);
    rpca->solved = 0;
    status =
        rpca->backend->ops->rpca_start(rpca->plan, m->data, m->ld, m->type, &norm_f, &norm_max);
    if (status == BD_OK)
        status = begin(rpca, norm_f, norm_max);
    if (status == BD_OK && norm_f > 0)
        status = iterate(rpca, norm_f, &result);
    else if (status == BD_OK)
        rpca->solved = 1;
    result.seconds = bd_clock_seconds() - start;
    if (out)
        *out = result;
    return status;
}

static enum bd_status check_output(const struct bd_rpca *rpca, const struct bd_matrix *matrix,
                                   const char *name)
{
    enum bd_status status = bd_matrix_check(matrix, BD_F32, name);
    if (status == BD_OK && (matrix->rows != rpca->m || matrix->cols != rpca->n))
        return bd_fail(BD_ERROR_ARGUMENT, "%s is %lld x %lld: %lld x %lld is wanted", name,
                       (long long)matrix->rows, (long long)matrix->cols, (long long)rpca->m,
                       (long long)rpca->n);
    return status;
}

enum bd_status bd_rpca_get(struct bd_rpca *rpca, struct bd_matrix *l, struct bd_matrix *s)
{
    enum bd_status status = BD_OK;
    if (!rpca->solved)
        return bd_fail(BD_ERROR_ARGUMENT, "Robust PCA: nothing has been solved yet");
    if (l)
        status = check_output(rpca, l, "l");
    if (status == BD_OK && s)
        status = check_output(rpca, s, "s");
    if (status == BD_OK && (l || s))
        status = decompose(rpca);
    else
        return status;
    struct bd_rpca_weights weights;
    if (status == BD_OK)
        status = weigh(rpca, 1 / rpca->mu, &weights);
    if (status != BD_OK)
        return status;
    return rpca->backend->ops->rpca_get(rpca->plan, &rpca->step, &weights, l ? l->data : NULL,
                                        l ? l->ld : 0, s ? s->data : NULL, s ? s->ld : 0);
}
