#include <backdrop/gram_qr.h>

#include <stdio.h>
#include <stdlib.h>

#include "linalg/check.h"
#include "linalg/gram_qr/passes.h"
#include "linalg/shared/gram_qr_bound.h"
#include "linalg/shared/gram_qr_ops.h"

static enum bd_status check_options(const struct bd_gram_qr_options *options, int64_t n,
                                    enum bd_type type)
{
    const double least = (double)n * bd_gram_qr_epsilon(type);
    enum bd_status status = bd_check_solve(options->solve);
    if (status != BD_OK)
        return status;
    if (options->method < BD_GRAM_QR_CHOLESKY || options->method > BD_GRAM_QR_SVD)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "method = %d: must be BD_GRAM_QR_CHOLESKY, _CHOLESKY2, _SHIFTED3 or _SVD",
                       (int)options->method);
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
    if (!backends || !rows)
        return bd_fail(BD_ERROR_ARGUMENT, "%s is NULL", backends ? "rows" : "backends");
    if (blocks < 1)
        return bd_fail(BD_ERROR_ARGUMENT, "%d blocks of rows: at least 1 is wanted", blocks);
    for (int i = 0; i < blocks; i++) {
        if (!backends[i])
            return bd_fail(BD_ERROR_ARGUMENT, "backends[%d] is NULL", i);
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
    options = options ? options : &defaults;
    enum bd_status status = bd_check_pointer(out, "qr");
    if (status != BD_OK)
        return status;
    *out = NULL;
    status = bd_check_float_type(type);
    if (status == BD_OK)
        status = check_blocks(backends, rows, blocks, n, &m);
    if (status == BD_OK)
        status = bd_check_elements("QR by the Gram matrix", m, n);
    if (status == BD_OK)
        status = check_options(options, n, type);
    if (status == BD_OK)
        status =
            bd_backend_require(backends[0], backends[0]->ops->gram_qr, "QR by the Gram matrix");
    if (status != BD_OK)
        return status;
    struct bd_gram_qr *qr = calloc(1, sizeof *qr);
    if (!qr)
        return bd_fail(BD_ERROR_MEMORY, "no memory for a QR plan");
    *qr = (struct bd_gram_qr){ .m = m, .n = n, .type = type, .options = *options };
    qr->wanted = options->orthogonality;
    if (qr->wanted == 0)
        qr->wanted = (double)n * bd_gram_qr_epsilon(type);
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
        struct bd_gram_block *block = &qr->blocks[i];
        *block = (struct bd_gram_block){
            .backend = backends[i], .ops = backends[i]->ops, .rows = rows[i], .first_row = first_row
        };
        status = block->ops->gram_qr->create(
            block->backend, rows[i], n, type,
            options->method == BD_GRAM_QR_SVD ? 1 + options->mixed : 0, &block->work);
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
    if (!out || !*out)
        return;
    struct bd_gram_qr *qr = *out;
    for (int i = 0; i < qr->count; i++)
        qr->blocks[i].ops->gram_qr->destroy(qr->blocks[i].work);
    free(qr->blocks);
    free(qr->g);
    free(qr->sum);
    free(qr->magnitude);
    free(qr->largest);
    free(qr->exponent);
    free(qr);
    *out = NULL;
}

static enum bd_status check_views(const struct bd_gram_qr *qr, const struct bd_matrix *v,
                                  const struct bd_matrix *r)
{
    enum bd_status status = bd_check_pointer(qr, "qr");
    if (status == BD_OK)
        status = bd_check_pointer(v, "V");
    for (int i = 0; status == BD_OK && i < qr->count; i++) {
        char name[32];
        snprintf(name, sizeof name, "V[%d]", i);
        status = bd_check_shape(&v[i], qr->type, qr->blocks[i].rows, qr->n, name);
    }
    return status == BD_OK && r ? bd_check_shape(r, qr->type, qr->n, qr->n, "R") : status;
}

enum bd_status bd_gram_qr_run(struct bd_gram_qr *qr, struct bd_matrix *v, struct bd_matrix *r,
                              struct bd_gram_qr_report *report)
{
    struct bd_gram_qr_report own_report = { 0 };
    if (report)
        *report = own_report;
    else
        report = &own_report;
    enum bd_status status = check_views(qr, v, r);
    if (status == BD_OK)
        status = bd_gram_qr_run_passes(qr, v, r, report);
    if (status != BD_OK)
        return status;
    const struct bd_gram_qr_pass *last = &report->pass[report->passes - 1];
    report->orthogonality = bd_gram_bound(qr->n, qr->type, last);
    if (qr->options.max_passes == 0 && !bd_gram_good_enough(qr->n, qr->type, qr->wanted, last))
        return bd_fail(BD_ERROR_NUMERIC,
                       "QR by the Gram matrix: not as orthogonal as wanted after %d pass%s "
                       "(condition %.1e%s)",
                       report->passes, report->passes == 1 ? "" : "es", last->condition,
                       qr->options.method == BD_GRAM_QR_SVD ? "" : "; BD_GRAM_QR_SVD takes any V");
    return BD_OK;
}
