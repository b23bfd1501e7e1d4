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

/* As many passes as the method has, or 0: until Q is orthogonal. */
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

/* Makes a V whose pass was bad fit for one: columns of 0 are filled, and columns of which the
 * squares leave the range of double are scaled; G is that of the new V. BD_ERROR_NUMERIC, and V as
 * it was, where nothing of that is to be done. */
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

/* The records of passes `from` to `to`; *bad: the first that was bad, or -1. */
static enum bd_status tell(struct bd_gram_qr *qr, int from, int to,
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

/* Whether the last pass by SVD raised as many singular values as the one before: columns may depend
 * so exactly on others that what is left of them is no noise but parallel to those still. */
static bool stuck(const struct bd_gram_qr_report *report, int pass)
{
    const struct bd_gram_qr_pass *record = report->pass;
    return pass >= 2 && record[pass - 1].truncated > 0 &&
           record[pass - 1].truncated >= record[pass - 2].truncated;
}

/* exponent[j] := bd_gram_fill for columns of G (n x n in qr->sum, overwritten) that depend on those
 * before them to rounding, 0 for others: a Cholesky factorisation of G scaled to unit diagonal that
 * leaves those out. Its eigenvalues are at most n. */
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

/* Gives columns new directions (a repair, which must not come twice in a pass) that still depend on
 * others after two passes by SVD. Each of these has left less than (n epsilon)^1/2 of them: what is
 * lost is a rounding of V. */
static enum bd_status replace(struct bd_gram_qr *qr, struct bd_matrix *v)
{
    enum bd_status status = reduce(qr);
    if (status == BD_OK)
        status = qr->blocks[0].ops->gram_qr->get(qr->blocks[0].work, qr->sum);
    if (status != BD_OK)
        return status;
    for (int64_t j = 0; j < qr->n; j++)
        if (!(qr->sum[j + j * qr->n] >= 0x1p-900 && qr->sum[j + j * qr->n] <= 0x1p1000))
            return form(qr, v); /* a bad pass, which repair will see to */
    find_dependent(qr);
    for (int i = 0; i < qr->count && status == BD_OK; i++)
        status = qr->blocks[i].ops->gram_qr->repair(qr->blocks[i].work, v[i].data, v[i].ld,
                                                    qr->exponent, qr->blocks[i].first_row);
    return status == BD_OK ? form(qr, v) : status;
}

/* Passes by the backend at one go, if it has that: *made of them, whether there are to be `more`,
 * for which G is there, and the first one that was bad, or -1. */
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
            status = tell(qr, 0, *made - 1, report, bad);
        if (status != BD_OK)
            return status;
    }
    *more = !*made || another;
    return *made ? BD_OK : form(qr, v);
}

/* A method of so many passes enqueues them and asks then, whether they were good; one that goes on
 * until Q is orthogonal asks each pass but the last that it may make before V is touched, so that
 * the solve knows whether it should form the next G too. */
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
    int told = pass;
    bool repaired = bad >= 0; /* V, in this pass */
    if (repaired) {
        pass = told = bad;
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
            status = tell(qr, pass, pass, report, &bad);
            more = more && !bd_gram_good_enough(qr->n, qr->type, qr->wanted, &report->pass[pass]);
        }
        if (status == BD_OK && bad < 0)
            status = solve(qr, v, more);
        if (status == BD_OK && !ask && !more)
            status = tell(qr, own ? told : pass, pass, report, &bad);
        repaired = bad >= 0;
        if (status == BD_OK && repaired) {
            pass = told = bad;
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
