#include "linalg/gram_qr.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "linalg/backend_ops.h"
#include "linalg/sizes.h"

struct block {
    struct bd_backend *backend;
    const struct bd_backend_ops *ops;
    void *work;
    int64_t rows, first_row;
};

struct bd_gram_qr {
    struct block *blocks;
    int count;
    int64_t m, n;
    enum bd_type type;
    struct bd_gram_qr_options options;
    double *sum, *g;             /* n x n: of all blocks, and with several of one */
    double *magnitude, *largest; /* n each: of a block, of V */
    int *exponent;               /* n */
};

static double type_epsilon(enum bd_type type)
{
    return type == BD_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
}

static enum bd_status check_options(const struct bd_gram_qr_options *options, int64_t n,
                                    enum bd_type type)
{
    double least = (double)n * type_epsilon(type);
    if (options->method < BD_GRAM_QR_CHOLESKY || options->method > BD_GRAM_QR_SVD)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "method = %d: must be BD_GRAM_QR_CHOLESKY, _CHOLESKY2, _SHIFTED3 or _SVD",
                       (int)options->method);
    if (options->solve < BD_TRIANGULAR_ADAPTIVE || options->solve > BD_TRIANGULAR_INVERSION)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "solve = %d: must be BD_TRIANGULAR_ADAPTIVE, _SUBSTITUTION or _INVERSION",
                       (int)options->solve);
    if (options->mixed && (type != BD_F64 || options->method != BD_GRAM_QR_SVD))
        return bd_fail(BD_ERROR_ARGUMENT, "mixed: only for BD_GRAM_QR_SVD of float64 matrices");
    if (options->orthogonality != 0 &&
        !(options->orthogonality >= least && options->orthogonality <= 0.25))
        return bd_fail(BD_ERROR_ARGUMENT,
                       "orthogonality = %g: must be 0 or %.3g (n * epsilon) to 0.25",
                       options->orthogonality, least);
    if (options->max_passes < 0 || options->max_passes > bd_gram_qr_max_passes)
        return bd_fail(BD_ERROR_ARGUMENT, "max_passes = %d: must be 0 (as the method has) to %d",
                       options->max_passes, (int)bd_gram_qr_max_passes);
    return BD_OK;
}

static enum bd_status check_blocks(struct bd_backend *const *backends, const int64_t *rows,
                                   int blocks, int64_t n, int64_t *m)
{
    *m = 0;
    if (blocks < 1)
        return bd_fail(BD_ERROR_ARGUMENT, "%d blocks of rows: at least 1 is wanted", blocks);
    for (int i = 0; i < blocks; i++) {
        if (rows[i] < 0 || __builtin_add_overflow(*m, rows[i], m))
            return bd_fail(BD_ERROR_ARGUMENT, "block %d has %lld rows", i, (long long)rows[i]);
        if (backends[i]->ops != backends[0]->ops)
            return bd_fail(BD_ERROR_ARGUMENT,
                           "block %d is on a %s backend, block 0 on %s: all must be of one kind", i,
                           backends[i]->ops->name, backends[0]->ops->name);
    }
    if (n < 1 || *m < n)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "QR of a %lld x %lld matrix: rows >= columns >= 1 are wanted", (long long)*m,
                       (long long)n);
    return BD_OK;
}

enum bd_status bd_gram_qr_create(struct bd_gram_qr **out, struct bd_backend *const *backends,
                                 const int64_t *rows, int blocks, int64_t n, enum bd_type type,
                                 const struct bd_gram_qr_options *options)
{
    const struct bd_gram_qr_options defaults = { 0 };
    int64_t m, first_row = 0;
    *out = NULL;
    options = options ? options : &defaults;
    if (type != BD_F32 && type != BD_F64)
        return bd_fail(BD_ERROR_ARGUMENT, "type = %d: must be BD_F32 or BD_F64", (int)type);
    enum bd_status status = check_blocks(backends, rows, blocks, n, &m);
    if (status == BD_OK)
        status = bd_check_elements("QR by the Gram matrix", m, n);
    if (status == BD_OK)
        status = check_options(options, n, type);
    if (status != BD_OK)
        return status;
    struct bd_gram_qr *qr = calloc(1, sizeof *qr);
    if (!qr)
        return bd_fail(BD_ERROR_MEMORY, "no memory for a QR plan");
    *qr = (struct bd_gram_qr){ .m = m, .n = n, .type = type, .options = *options };
    size_t square = (size_t)(n * n);
    qr->blocks = calloc((size_t)blocks, sizeof *qr->blocks);
    qr->g = calloc(blocks > 1 ? square : 1, sizeof *qr->g);
    qr->sum = calloc(square, sizeof *qr->sum);
    qr->magnitude = calloc((size_t)n, sizeof *qr->magnitude);
    qr->largest = calloc((size_t)n, sizeof *qr->largest);
    qr->exponent = calloc((size_t)n, sizeof *qr->exponent);
    if (!qr->blocks || !qr->g || !qr->sum || !qr->magnitude || !qr->largest || !qr->exponent)
        status =
            bd_fail(BD_ERROR_MEMORY, "no memory for the Gram matrix of %lld columns", (long long)n);
    for (int i = 0; i < blocks && status == BD_OK; i++) {
        struct block *block = &qr->blocks[i];
        *block = (struct block){
            .backend = backends[i], .ops = backends[i]->ops, .rows = rows[i], .first_row = first_row
        };
        status = block->ops->gram_create(block->backend, rows[i], n, type,
                                         options->method == BD_GRAM_QR_SVD ? 1 + options->mixed : 0,
                                         &block->work);
        qr->count += status == BD_OK;
        first_row += rows[i];
    }
    if (status != BD_OK) {
        bd_gram_qr_destroy(&qr);
        return status;
    }
    *out = qr;
    return BD_OK;
}

void bd_gram_qr_destroy(struct bd_gram_qr **out)
{
    struct bd_gram_qr *qr = *out;
    if (!qr)
        return;
    for (int i = 0; i < qr->count; i++)
        qr->blocks[i].ops->gram_destroy(qr->blocks[i].work);
    free(qr->blocks);
    free(qr->g);
    free(qr->sum);
    free(qr->magnitude);
    free(qr->largest);
    free(qr->exponent);
    free(qr);
    *out = NULL;
}

static enum bd_status form(struct bd_gram_qr *qr, const struct bd_matrix *v)
{
    enum bd_status status = BD_OK;
    for (int i = 0; i < qr->count && status == BD_OK; i++)
        status = qr->blocks[i].ops->gram_form(qr->blocks[i].work, v[i].data, v[i].ld);
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
        status = qr->blocks[i].ops->gram_get(qr->blocks[i].work, i ? qr->g : qr->sum);
        for (int64_t j = 0; j < n && i && status == BD_OK; j++)
            for (int64_t k = 0; k <= j; k++)
                qr->sum[k + j * n] += qr->g[k + j * n];
    }
    for (int i = 0; i < qr->count && status == BD_OK; i++)
        status = qr->blocks[i].ops->gram_put(qr->blocks[i].work, qr->sum);
    return status;
}

static enum bd_status factor(struct bd_gram_qr *qr, int pass, double enough)
{
    double m = (double)qr->m, n = (double)qr->n;
    bool svd = qr->options.method == BD_GRAM_QR_SVD;
    struct bd_gram_step step = { .method = svd ? BD_GRAM_QR_SVD : BD_GRAM_QR_CHOLESKY,
                                 .solve = qr->options.solve,
                                 .mixed = qr->options.mixed,
                                 .enough = enough,
                                 .pass = pass };
    if (qr->options.method == BD_GRAM_QR_SHIFTED3 && pass == 0)
        step.shift = 11 * (m * n + n * (n + 1)) * (DBL_EPSILON / 2);
    enum bd_status status = reduce(qr);
    for (int i = 0; i < qr->count && status == BD_OK; i++)
        status = qr->blocks[i].ops->gram_factor(qr->blocks[i].work, &step);
    return status;
}

static enum bd_status solve(struct bd_gram_qr *qr, struct bd_matrix *v, bool again)
{
    enum bd_status status = BD_OK;
    for (int i = 0; i < qr->count && status == BD_OK; i++)
        status = qr->blocks[i].ops->gram_solve(qr->blocks[i].work, v[i].data, v[i].ld, again);
    return status;
}

/* Makes a V whose pass was bad fit for one: columns of 0 are filled, and columns of which the
 * squares leave the range of double are scaled; G is that of the new V. BD_ERROR_NUMERIC, and V as
 * it was, where nothing of that is to be done. */
static enum bd_status repair(struct bd_gram_qr *qr, struct bd_matrix *v)
{
    enum bd_status status = BD_OK;
    for (int i = 0; i < qr->count && status == BD_OK; i++) {
        status = qr->blocks[i].ops->gram_magnitudes(qr->blocks[i].work, v[i].data, v[i].ld,
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
        status = qr->blocks[i].ops->gram_repair(qr->blocks[i].work, v[i].data, v[i].ld,
                                                qr->exponent, qr->blocks[i].first_row);
    return status == BD_OK ? form(qr, v) : status;
}

/* Of what a pass gives. The Gram matrix and R are wrong by roundings of G, Q by those times the
 * condition of G, or in float32 times that of V (theorem 5.1), and by those of its elements. */
static double orthogonality_bound(const struct bd_gram_qr *qr, const struct bd_gram_qr_pass *pass)
{
    double n = (double)qr->n;
    if (pass->skipped)
        return pass->orthogonality;
    if (pass->failed || pass->truncated)
        return HUGE_VAL;
    double bound = n * DBL_EPSILON * pass->condition;
    if (pass->single)
        bound += n * (double)FLT_EPSILON * sqrt(pass->condition);
    if (qr->type == BD_F32)
        bound += n * (double)FLT_EPSILON / 2;
    return bound;
}

/* Another pass would not be wanted, or not improve Q: one whose G is all but I gives what can be
 * had. */
static bool good_enough(const struct bd_gram_qr *qr, const struct bd_gram_qr_pass *pass)
{
    double wanted = qr->options.orthogonality;
    if (wanted == 0)
        wanted = (double)qr->n * type_epsilon(qr->type);
    return orthogonality_bound(qr, pass) <= wanted ||
           (pass->condition < 2 && !pass->failed && !pass->single);
}

/* The records of passes `from` to `to`; *bad: the first that was bad, or -1. */
static enum bd_status tell(struct bd_gram_qr *qr, int from, int to,
                           struct bd_gram_qr_report *report, int *bad)
{
    enum bd_status status = BD_OK;
    *bad = -1;
    for (int p = from; p <= to && status == BD_OK; p++) {
        status = qr->blocks[0].ops->gram_tell(qr->blocks[0].work, p, &report->pass[p]);
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
        status = qr->blocks[0].ops->gram_get(qr->blocks[0].work, qr->sum);
    if (status != BD_OK)
        return status;
    for (int64_t j = 0; j < qr->n; j++)
        if (!(qr->sum[j + j * qr->n] >= 0x1p-900 && qr->sum[j + j * qr->n] <= 0x1p1000))
            return form(qr, v); /* a bad pass, which repair will see to */
    find_dependent(qr);
    for (int i = 0; i < qr->count && status == BD_OK; i++)
        status = qr->blocks[i].ops->gram_repair(qr->blocks[i].work, v[i].data, v[i].ld,
                                                qr->exponent, qr->blocks[i].first_row);
    return status == BD_OK ? form(qr, v) : status;
}

/* All passes. A method of so many passes enqueues them and asks then, whether they were good; one
 * that goes on until Q is orthogonal asks each pass but the last that it may make before V is
 * touched, so that the solve knows whether it should form the next G too. */
static enum bd_status run_passes(struct bd_gram_qr *qr, struct bd_matrix *v,
                                 struct bd_gram_qr_report *report)
{
    const struct bd_gram_qr_options *options = &qr->options;
    int own = options->method == BD_GRAM_QR_CHOLESKY2  ? 2
              : options->method == BD_GRAM_QR_SHIFTED3 ? 3
                                                       : 0;
    int limit = own ? own : bd_gram_qr_max_passes;
    double enough = options->orthogonality;
    if (options->max_passes && options->max_passes < limit)
        limit = options->max_passes;
    if (enough == 0 && !own)
        enough = (double)qr->n * type_epsilon(qr->type);
    enum bd_status status = form(qr, v);
    bool repaired = false; /* V, in this pass */
    for (int pass = 0, told = 0, bad = -1; pass < limit && status == BD_OK;) {
        bool more = pass + 1 < limit;
        if (options->method == BD_GRAM_QR_SVD && !repaired && stuck(report, pass))
            status = replace(qr, v);
        if (status == BD_OK)
            status = factor(qr, pass, own ? 0 : enough);
        const bool ask = !own && more;
        if (status == BD_OK && ask) {
            status = tell(qr, pass, pass, report, &bad);
            more = more && !good_enough(qr, &report->pass[pass]);
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
    return status;
}

static enum bd_status check_views(const struct bd_gram_qr *qr, const struct bd_matrix *v,
                                  const struct bd_matrix *r)
{
    for (int i = 0; i < qr->count; i++) {
        enum bd_status status = bd_matrix_check(&v[i], qr->type, "V");
        if (status != BD_OK)
            return status;
        if (v[i].rows != qr->blocks[i].rows || v[i].cols != qr->n)
            return bd_fail(BD_ERROR_ARGUMENT, "block %d of V is %lld x %lld: %lld x %lld is wanted",
                           i, (long long)v[i].rows, (long long)v[i].cols,
                           (long long)qr->blocks[i].rows, (long long)qr->n);
    }
    enum bd_status status = r ? bd_matrix_check(r, qr->type, "R") : BD_OK;
    if (status == BD_OK && r && (r->rows != qr->n || r->cols != qr->n))
        status =
            bd_fail(BD_ERROR_ARGUMENT, "R is %lld x %lld: %lld x %lld is wanted",
                    (long long)r->rows, (long long)r->cols, (long long)qr->n, (long long)qr->n);
    return status;
}

enum bd_status bd_gram_qr_run(struct bd_gram_qr *qr, struct bd_matrix *v, struct bd_matrix *r,
                              struct bd_gram_qr_report *report)
{
    struct bd_gram_qr_report own_report = { 0 };
    struct block *first = &qr->blocks[0];
    if (report)
        *report = own_report;
    else
        report = &own_report;
    enum bd_status status = check_views(qr, v, r);
    if (status == BD_OK)
        status = run_passes(qr, v, report);
    if (status == BD_OK && r)
        status = first->ops->gram_get_r(first->work, r->data, r->ld);
    for (int i = 0; i < qr->count && status == BD_OK; i++)
        status = qr->blocks[i].ops->sync(qr->blocks[i].backend);
    if (status != BD_OK)
        return status;
    const struct bd_gram_qr_pass *last = &report->pass[report->passes - 1];
    report->orthogonality = orthogonality_bound(qr, last);
    if (qr->options.max_passes == 0 && !good_enough(qr, last))
        return bd_fail(BD_ERROR_NUMERIC,
                       "QR by the Gram matrix: not as orthogonal as wanted after %d pass%s "
                       "(condition %.1e%s)",
                       report->passes, report->passes == 1 ? "" : "es", last->condition,
                       qr->options.method == BD_GRAM_QR_SVD ? "" : "; BD_GRAM_QR_SVD takes any V");
    return BD_OK;
}
