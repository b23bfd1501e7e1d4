#include "linalg/gram_qr/passes.h"

#include <float.h>
#include <math.h>

#include "linalg/shared/gram_qr_bound.h"
#include "linalg/shared/gram_qr_ops.h"

double bd_gram_qr_epsilon(enum bd_type type)
{
    return type == BD_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
}

static enum bd_status form(struct bd_gram_qr *qr, const struct bd_matrix *v)
{
    enum bd_status status = BD_OK;
    for (int i = 0; i < qr->count && status == BD_OK; i++)
        status = qr->blocks[i].ops->gram_qr->form(qr->blocks[i].work, v[i].data, v[i].ld);
    return status;
}

/* G of all blocks in each of them. */
static enum bd_status reduce(struct bd_gram_qr *qr)
{
    int64_t n = qr->n;
    enum bd_status status = BD_OK;
    if (qr->count == 1)
        return BD_OK;
    for (int i = 0; i < qr->count && status == BD_OK; i++) {
        status = qr->blocks[i].ops->gram_qr->get(qr->blocks[i].work, i ? qr->g : qr->sum);
        for (int64_t j = 0; j < n && i && status == BD_OK; j++)
            for (int64_t k = 0; k <= j; k++)
                qr->sum[k + j * n] += qr->g[k + j * n];
    }
    for (int i = 0; i < qr->count && status == BD_OK; i++)
        status = qr->blocks[i].ops->gram_qr->put(qr->blocks[i].work, qr->sum);
    return status;
}

/* The number of passes that the method has; 0: as many as it takes until Q is orthogonal. */
static int own_passes(const struct bd_gram_qr *qr)
{
    switch (qr->options.method) {
    case BD_GRAM_QR_CHOLESKY2:
        return 2;
    case BD_GRAM_QR_SHIFTED3:
        return 3;
    default:
        return 0;
    }
}

static struct bd_gram_step make_step(const struct bd_gram_qr *qr, int pass)
{
    const double m = (double)qr->m, n = (double)qr->n;
    const bool svd = qr->options.method == BD_GRAM_QR_SVD;
    const bool shifted = qr->options.method == BD_GRAM_QR_SHIFTED3 && pass == 0;
    return (struct bd_gram_step){
        .method = svd ? BD_GRAM_QR_SVD : BD_GRAM_QR_CHOLESKY,
        .solve = qr->options.solve,
        .mixed = qr->options.mixed,
        .shift = shifted ? 11 * (m * n + n * (n + 1)) * (DBL_EPSILON / 2) : 0,
        .enough = own_passes(qr) ? 0 : qr->wanted,
        .pass = pass,
    };
}

static enum bd_status factor(struct bd_gram_qr *qr, int pass)
{
    const struct bd_gram_step step = make_step(qr, pass);
    enum bd_status status = reduce(qr);
    for (int i = 0; i < qr->count && status == BD_OK; i++)
        status = qr->blocks[i].ops->gram_qr->factor(qr->blocks[i].work, &step);
    return status;
}

static enum bd_status solve(struct bd_gram_qr *qr, struct bd_matrix *v, bool again)
{
    enum bd_status status = BD_OK;
    for (int i = 0; i < qr->count && status == BD_OK; i++)
        status = qr->blocks[i].ops->gram_qr->solve(qr->blocks[i].work, v[i].data, v[i].ld, again);
    return status;
}

/* After a bad pass: fills columns of V that are 0, scales columns whose squares leave the range of
 * double, and forms G of the new V. BD_ERROR_NUMERIC, with V unchanged, where there is no such
 * column. */
static enum bd_status repair(struct bd_gram_qr *qr, struct bd_matrix *v)
{
    enum bd_status status = BD_OK;
    for (int i = 0; i < qr->count && status == BD_OK; i++) {
        status = qr->blocks[i].ops->gram_qr->magnitudes(qr->blocks[i].work, v[i].data, v[i].ld,
                                                        qr->magnitude);
        for (int64_t j = 0; j < qr->n; j++)
            if (i == 0 || !(qr->magnitude[j] <= qr->largest[j]))
                qr->largest[j] = isnan(qr->largest[j]) && i ? qr->largest[j] : qr->magnitude[j];
    }
    if (status != BD_OK)
        return status;
    bool changes = false;
    for (int64_t j = 0; j < qr->n; j++) {
        double largest = qr->largest[j];
        if (!isfinite(largest))
            return bd_fail(BD_ERROR_NUMERIC, "V holds NaN or Inf in column %lld", (long long)j);
        qr->exponent[j] = largest == 0                               ? bd_gram_fill
                          : largest < 0x1p-400 || largest > 0x1p+400 ? -ilogb(largest)
                                                                     : 0;
        changes = changes || qr->exponent[j] != 0;
    }
    if (!changes)
        return bd_fail(BD_ERROR_NUMERIC, "the eigenvalues of the Gram matrix did not converge");
    for (int i = 0; i < qr->count && status == BD_OK; i++)
        status = qr->blocks[i].ops->gram_qr->repair(qr->blocks[i].work, v[i].data, v[i].ld,
                                                    qr->exponent, qr->blocks[i].first_row);
    return status == BD_OK ? form(qr, v) : status;
}

/* Reads the records of passes `from` to `to`; *bad: the first that was bad, or -1. */
static enum bd_status read_records(struct bd_gram_qr *qr, int from, int to,
                                   struct bd_gram_qr_report *report, int *bad)
{
    enum bd_status status = BD_OK;
    *bad = -1;
    for (int p = from; p <= to && status == BD_OK; p++) {
        status = qr->blocks[0].ops->gram_qr->report(qr->blocks[0].work, p, &report->pass[p]);
        if (status == BD_ERROR_NUMERIC) {
            *bad = p;
            return BD_OK;
        }
        report->passes = p + 1;
    }
    return status;
}

/* Whether the last pass by SVD clamped as many singular values as the one before. Columns may
 * depend so exactly on others that what remains of them is not noise but still parallel to those.
 */
static bool stuck(const struct bd_gram_qr_report *report, int pass)
{
    const struct bd_gram_qr_pass *record = report->pass;
    return pass >= 2 && record[pass - 1].truncated > 0 &&
           record[pass - 1].truncated >= record[pass - 2].truncated;
}

/* exponent[j] := bd_gram_fill for columns of V that depend, to rounding, on those before them, 0
 * for others: by a Cholesky factorisation of G (n x n in qr->sum, overwritten) scaled to unit
 * diagonal, which skips the dependent columns. The eigenvalues of the scaled G are at most n. */
static void find_dependent(struct bd_gram_qr *qr)
{
    int64_t n = qr->n;
    double *norm = qr->magnitude;
    for (int64_t j = 0; j < n; j++) {
        double *column = qr->sum + j * n, pivot = 1;
        norm[j] = sqrt(column[j]);
        for (int64_t i = 0; i < j; i++) {
            const double *before = qr->sum + i * n;
            double x = column[i] / norm[i] / norm[j];
            for (int64_t k = 0; k < i; k++)
                x -= before[k] * column[k];
            column[i] = qr->exponent[i] ? 0 : x / before[i];
            pivot -= column[i] * column[i];
        }
        qr->exponent[j] = pivot <= (double)(n * n) * DBL_EPSILON ? bd_gram_fill : 0;
        column[j] = sqrt(fmax(pivot, 0));
    }
}

/* Replaces columns that still depend on others after two passes by SVD by pseudo-random ones (this
 * is a repair, of which a pass allows one). Each of the two passes has reduced such a column by a
 * factor of (n epsilon)^1/2 or more, so that only rounding of V is lost. */
static enum bd_status replace(struct bd_gram_qr *qr, struct bd_matrix *v)
{
    enum bd_status status = reduce(qr);
    if (status == BD_OK)
        status = qr->blocks[0].ops->gram_qr->get(qr->blocks[0].work, qr->sum);
    if (status != BD_OK)
        return status;
    for (int64_t j = 0; j < qr->n; j++)
        if (!(qr->sum[j + j * qr->n] >= 0x1p-900 && qr->sum[j + j * qr->n] <= 0x1p1000))
            return form(qr, v); /* the next pass will be bad, and V repaired */
    find_dependent(qr);
    for (int i = 0; i < qr->count && status == BD_OK; i++)
        status = qr->blocks[i].ops->gram_qr->repair(qr->blocks[i].work, v[i].data, v[i].ld,
                                                    qr->exponent, qr->blocks[i].first_row);
    return status == BD_OK ? form(qr, v) : status;
}

/* The first passes in one call of the backend, if it can do that: *made says how many, *more
 * whether another one is to follow (its G is then there), *bad which was the first bad one, or -1.
 */
static enum bd_status begin(struct bd_gram_qr *qr, struct bd_matrix *v, struct bd_matrix *r,
                            int limit, struct bd_gram_qr_report *report, int *made, bool *more,
                            int *bad)
{
    const struct bd_gram_block *block = &qr->blocks[0];
    int another = 1;
    *made = 0;
    *bad = -1;
    if (qr->count == 1 && block->ops->gram_qr->begin) {
        const struct bd_gram_step step = make_step(qr, 0);
        enum bd_status status =
            block->ops->gram_qr->begin(block->work, v->data, v->ld, r ? r->data : NULL,
                                       r ? r->ld : 0, &step, limit, made, &another);
        if (status == BD_OK && *made)
            status = read_records(qr, 0, *made - 1, report, bad);
        if (status != BD_OK)
            return status;
    }
    *more = !*made || another;
    return *made ? BD_OK : form(qr, v);
}

/* A method with a fixed number of passes enqueues all of them and reads the records afterwards. A
 * method that goes on until Q is orthogonal reads the record of each pass, except the last one
 * allowed, before V is changed: the solve then knows whether to form the next G too. */
enum bd_status bd_gram_qr_run_passes(struct bd_gram_qr *qr, struct bd_matrix *v,
                                     struct bd_matrix *r, struct bd_gram_qr_report *report)
{
    const int own = own_passes(qr);
    int limit = own ? own : bd_gram_qr_max_passes, pass, bad;
    bool more;
    if (qr->options.max_passes && qr->options.max_passes < limit)
        limit = qr->options.max_passes;
    enum bd_status status = begin(qr, v, r, limit, report, &pass, &more, &bad);
    if (status != BD_OK || (pass && bad < 0 && !more))
        return status;
    int unread = pass;        /* the first pass whose record has not been read */
    bool repaired = bad >= 0; /* V was repaired in this pass */
    if (repaired) {
        pass = unread = bad;
        bad = -1;
        status = repair(qr, v);
    }
    while (status == BD_OK) {
        more = pass + 1 < limit;
        if (qr->options.method == BD_GRAM_QR_SVD && !repaired && stuck(report, pass))
            status = replace(qr, v);
        if (status == BD_OK)
            status = factor(qr, pass);
        const bool ask = !own && more;
        if (status == BD_OK && ask) {
            status = read_records(qr, pass, pass, report, &bad);
            more = more && !bd_gram_good_enough(qr->n, qr->type, qr->wanted, &report->pass[pass]);
        }
        if (status == BD_OK && bad < 0)
            status = solve(qr, v, more);
        if (status == BD_OK && !ask && !more)
            status = read_records(qr, own ? unread : pass, pass, report, &bad);
        repaired = bad >= 0;
        if (status == BD_OK && repaired) {
            pass = unread = bad;
            bad = -1;
            status = repair(qr, v);
        } else if (more) {
            pass++;
        } else {
            break;
        }
    }
    if (status == BD_OK && r)
        status = qr->blocks[0].ops->gram_qr->get_r(qr->blocks[0].work, r->data, r->ld);
    for (int i = 0; i < qr->count && status == BD_OK; i++)
        status = qr->blocks[i].ops->device->sync(qr->blocks[i].backend);
    return status;
}
