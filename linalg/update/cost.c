/* What an update costs, and what factoring again would. */
#include "linalg/shared/update_cost.h"

#include <math.h>

#include "linalg/shared/update_ops.h"
#include "linalg/sizes.h"
#include "linalg/update/private.h"

static bool changes_rows(enum bd_qr_change_kind kind)
{
    return kind == BD_QR_INSERT_ROWS || kind == BD_QR_REMOVE_ROWS;
}

/* New columns, and rows that go, bring in p directions: they are made orthogonal to Q, by two
 * projections where Q is thin, and to each other. All else is a Givens sweep over R and Q. */
static double update_seconds(const struct bd_update_rates *rates, const struct bd_qr_change *c,
                             enum bd_cost_form form)
{
    const double n = (double)c->n, p = (double)c->p, blocks = ceil(p / 64);
    const double m = form == bd_cost_no_q ? 0 : (double)c->m;
    const double q_cols = form == bd_cost_full ? m : n;
    const double projections = form == bd_cost_full ? 1 : 2;
    double sweep = changes_rows(c->kind) ? n : n - (double)c->k; /* rows of R, columns of Q */
    if (c->kind == BD_QR_REMOVE_COLUMNS)
        sweep -= p;
    double operations = 2 * sweep * p * (sweep + 2 * m);
    double bytes = 4 * sweep * blocks * (sweep + 2 * m);
    if (c->kind == BD_QR_INSERT_COLUMNS || c->kind == BD_QR_REMOVE_ROWS) {
        operations += 4 * projections * m * q_cols * p + 8 * m * p * p;
        bytes += 4 * (projections + 1) * m * q_cols * blocks;
    } else if (c->kind == BD_QR_INSERT_ROWS) {
        bytes += 8 * m * q_cols; /* rows move */
    }
    return rates->call + rates->start * blocks * fmin(sweep, 128) + rates->step * sweep +
           rates->vector * p + rates->byte * bytes + rates->operation * operations;
}

static double factor_seconds(const struct bd_factor_rates *rates, double m, double n,
                             enum bd_cost_form form)
{
    double operations = (form == bd_cost_thin ? 4 : 2) * m * n * n, bytes = 12 * m * n;
    if (form == bd_cost_full) {
        operations += 4 * m * m * n;
        bytes += 8 * m * m;
    }
    return rates->call + rates->column * n + rates->byte * bytes + rates->operation * operations;
}

static enum bd_status check_change(const struct bd_qr_change *c)
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
    bool rows = changes_rows(c->kind);
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
    return BD_OK;
}

enum bd_status bd_qr_update_cost(const struct bd_qr_update *update,
                                 const struct bd_qr_change *change, struct bd_qr_cost *cost)
{
    *cost = (struct bd_qr_cost){ 0 };
    if (!change)
        return bd_fail(BD_ERROR_ARGUMENT, "the change is NULL");
    enum bd_status status = check_change(change);
    if (status != BD_OK)
        return status;
    const struct bd_qr_update_costs *costs = update->backend->ops->update->costs;
    enum bd_cost_form form = !change->with_q        ? bd_cost_no_q
                             : update->shape.full_q ? bd_cost_full
                                                    : bd_cost_thin;
    int64_t m = change->m, n = change->n, p = change->p;
    m += change->kind == BD_QR_INSERT_ROWS ? p : change->kind == BD_QR_REMOVE_ROWS ? -p : 0;
    n += change->kind == BD_QR_INSERT_COLUMNS ? p : change->kind == BD_QR_REMOVE_COLUMNS ? -p : 0;
    if (p)
        cost->update_seconds = update_seconds(&costs->update[change->kind][form], change, form);
    if (form == bd_cost_no_q && update->shape.max_rhs > 0)
        form = bd_cost_no_q_d;
    if (n)
        cost->factor_seconds = factor_seconds(&costs->factor[form], (double)m, (double)n, form);
    return BD_OK;
}
