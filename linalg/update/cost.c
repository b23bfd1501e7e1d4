/* What an update costs, and what factoring anew would. */
#include "linalg/shared/update_cost.h"

#include <math.h>
#include <string.h>

#include "linalg/shared/update_ops.h"
#include "linalg/sizes.h"
#include "linalg/update/private.h"

void bd_cost_update(const struct bd_qr_change *c, enum bd_cost_form form, int regime,
                    double terms[bd_cost_update_terms])
{
    bool rows_change = c->kind == BD_QR_INSERT_ROWS || c->kind == BD_QR_REMOVE_ROWS;
    bool directions = c->kind == BD_QR_INSERT_COLUMNS || c->kind == BD_QR_REMOVE_ROWS;
    double n = (double)c->n, p = (double)c->p,
           blocks = ceil(p / (regime ? bd_cost_block : bd_cost_group));
    double rows = form == bd_cost_no_q ? 0 : (double)c->m;
    /* rows of R, and columns of Q, that transformations go through */
    double chase = rows_change ? n : n - (double)c->k;
    if (c->kind == BD_QR_REMOVE_COLUMNS)
        chase -= p;
    double q_cols = form == bd_cost_full ? rows : n;
    /* columns of the full Q that are none of R's; they become fewer from block to block */
    double beyond = form == bd_cost_full ? fmax(rows - n - p / 2, 0) : 0;
    double inner = directions ? rows * q_cols : 0;
    const double all[bd_cost_update_terms] = {
        1,
        p, /* columns that are made orthonormal, or rows that are reflected, one after another */
        n * p, /* the same, where each takes its part of R */
        blocks * fmin(chase / (2 * bd_cost_block), 1), /* what a chase begins with */
        blocks * ceil(chase / bd_cost_block),          /* windows that wait for each other */
        regime ? chase : chase * blocks,               /* steps, of few columns */
        chase * chase * p,                             /* operations on R */
        rows * chase * p,                              /* operations on Q */
        rows * chase * blocks,                         /* passes over Q */
        inner * p, /* inner products with Q, and what they take away */
        directions ? rows * (q_cols + beyond) * blocks : 0, /* the passes that takes */
        directions ? rows * (beyond + p) * p : 0, /* new directions among themselves, or reflectors
                                                     of the full Q */
        rows_change && rows > 0 ? rows * q_cols : n * chase /* what only moves */
    };
    memcpy(terms, all, sizeof all);
}

void bd_cost_factor(int64_t m_rows, int64_t n_cols, enum bd_cost_form form,
                    double terms[bd_cost_factor_terms])
{
    double m = (double)m_rows, n = (double)n_cols;
    double full = form == bd_cost_full ? 1 : 0;
    const double all[bd_cost_factor_terms] = { 1, n, m * n, m * n * n, n * n, n * n * n,
                                               /* the columns of Q beyond n */
                                               full * m * m, full * m * m * n };
    memcpy(terms, all, sizeof all);
}

static double product(const double *coefficients, const double *terms, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += coefficients[i] * terms[i];
    return sum;
}

double bd_cost_update_seconds(const struct bd_qr_update_costs *costs,
                              const struct bd_qr_change *change, enum bd_cost_form form, int regime)
{
    double terms[bd_cost_update_terms];
    bd_cost_update(change, form, regime, terms);
    return product(costs->update[change->kind][form][regime], terms, bd_cost_update_terms);
}

static enum bd_status check_change(const struct bd_qr_update *update, const struct bd_qr_change *c)
{
    if (c->kind < BD_QR_INSERT_COLUMNS || c->kind > BD_QR_REMOVE_ROWS)
        return bd_fail(BD_ERROR_ARGUMENT, "kind = %d: one of bd_qr_change_kind is wanted",
                       (int)c->kind);
    if (c->n < 0 || c->m < c->n || c->p < 0 || c->k < 0)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "a change of %lld x %lld at %lld by %lld: sizes and places must not be "
                       "negative, nor rows fewer than columns",
                       (long long)c->m, (long long)c->n, (long long)c->k, (long long)c->p);
    if (c->m > bd_most_elements || c->p > bd_most_elements)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "a change of %lld rows by %lld: at most %lld are possible", (long long)c->m,
                       (long long)c->p, (long long)bd_most_elements);
    bool rows = c->kind == BD_QR_INSERT_ROWS || c->kind == BD_QR_REMOVE_ROWS;
    bool goes = c->kind == BD_QR_REMOVE_COLUMNS || c->kind == BD_QR_REMOVE_ROWS;
    if (c->k > (rows ? c->m : c->n) - (goes ? c->p : 0))
        return bd_fail(BD_ERROR_ARGUMENT, "a change at %lld by %lld: there are %lld",
                       (long long)c->k, (long long)c->p, (long long)(rows ? c->m : c->n));
    if ((c->kind == BD_QR_INSERT_COLUMNS && c->p > c->m - c->n) ||
        (c->kind == BD_QR_REMOVE_ROWS && c->m - c->p < c->n))
        return bd_fail(BD_ERROR_ARGUMENT, "after this change there would be fewer rows than "
                                          "columns");
    if (!c->with_q && (c->kind == BD_QR_INSERT_COLUMNS || c->kind == BD_QR_REMOVE_ROWS))
        return bd_fail(BD_ERROR_ARGUMENT, "without Q columns cannot be inserted, nor rows removed");
    const struct bd_qr_update_costs *costs = update->backend->ops->update->costs;
    if (!costs)
        return bd_fail(BD_ERROR_UNSUPPORTED, "%s: no model of the cost of QR updates yet",
                       update->backend->ops->name);
    return BD_OK;
}

enum bd_status bd_qr_update_cost(const struct bd_qr_update *update,
                                 const struct bd_qr_change *change, struct bd_qr_cost *cost)
{
    *cost = (struct bd_qr_cost){ 0 };
    if (!change)
        return bd_fail(BD_ERROR_ARGUMENT, "the change is NULL");
    enum bd_status status = check_change(update, change);
    if (status != BD_OK)
        return status;
    const struct bd_qr_update_costs *costs = update->backend->ops->update->costs;
    enum bd_cost_form form = !change->with_q        ? bd_cost_no_q
                             : update->shape.full_q ? bd_cost_full
                                                    : bd_cost_thin;
    enum bd_cost_form anew_form =
        form == bd_cost_no_q && update->shape.max_rhs > 0 ? bd_cost_no_q_d : form;
    double anew[bd_cost_factor_terms];
    int64_t m = change->m, n = change->n, p = change->p;
    m += change->kind == BD_QR_INSERT_ROWS ? p : change->kind == BD_QR_REMOVE_ROWS ? -p : 0;
    n += change->kind == BD_QR_INSERT_COLUMNS ? p : change->kind == BD_QR_REMOVE_COLUMNS ? -p : 0;
    bd_cost_factor(m, n, anew_form, anew);
    if (p)
        cost->update_seconds =
            bd_cost_update_seconds(costs, change, form, costs->few(change, form) ? 0 : 1);
    if (n)
        cost->factor_seconds = product(costs->factor[anew_form], anew, bd_cost_factor_terms);
    return BD_OK;
}
