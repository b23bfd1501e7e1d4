/* Factoring a changed problem again, where that is expected to be faster than updating. */
#include <stdlib.h>

#include "linalg/shared/update_ops.h"
#include "linalg/update/private.h"
#include <backdrop/qr.h>

/* Kept for the next problem of the same size. */
struct bd_qr_refactoring {
    int64_t m, n, rhs;
    struct bd_qr *qr;
    struct bd_matrix a, b; /* copies that are factored and transformed; a thin Q needs none */
};

void bd_qr_refactor_destroy(struct bd_backend *backend, struct bd_qr_refactoring **refactoring)
{
    if (!*refactoring)
        return;
    bd_qr_destroy(&(*refactoring)->qr);
    bd_matrix_destroy(backend, &(*refactoring)->a);
    bd_matrix_destroy(backend, &(*refactoring)->b);
    free(*refactoring);
    *refactoring = NULL;
}

bool bd_qr_update_prefers_refactoring(const struct bd_qr_update *update,
                                      const struct bd_qr_factors *f,
                                      const struct bd_qr_update_job *job,
                                      const struct bd_qr_problem *after)
{
    bool q = bd_qr_update_has_q(f);
    if (!after || !after->a || job->n_after < 1 || (job->rhs && !after->b))
        return false;
    /* without Q, m follows from A alone: before rows come in it is p less */
    int64_t rows = after->a->rows - (job->kind == BD_QR_INSERT_ROWS ? job->p : 0);
    struct bd_qr_change change = { .kind = job->kind,
                                   .m = q ? job->m : rows,
                                   .n = job->n,
                                   .k = job->k,
                                   .p = job->p,
                                   .with_q = q };
    struct bd_qr_cost cost, back = { 0 };
    if (bd_qr_update_cost(update, &change, &cost) != BD_OK)
        return false;
    if (job->slide) {
        change.kind = BD_QR_INSERT_COLUMNS;
        change.n = change.k = job->n - job->p;
        if (bd_qr_update_cost(update, &change, &back) != BD_OK)
            return false;
        cost.factor_seconds = back.factor_seconds;
    }
    return cost.factor_seconds < cost.update_seconds + back.update_seconds;
}

/* Whether A has to be factored in a copy: the full Q and a d without Q need reflectors. */
static bool needs_reflectors(const struct bd_qr_update *update, const struct bd_qr_factors *f)
{
    return bd_qr_update_has_q(f) ? update->shape.full_q : f->d.data != NULL;
}

static enum bd_status make_refactoring(struct bd_qr_update *update, const struct bd_qr_factors *f,
                                       int64_t m, int64_t n)
{
    struct bd_backend *backend = update->backend;
    int64_t rhs = f->d.data && !bd_qr_update_has_q(f) ? f->d.cols : 0;
    bool copies = needs_reflectors(update, f);
    struct bd_qr_refactoring *refactoring = update->refactoring;
    if (refactoring && refactoring->m == m && refactoring->n == n && refactoring->rhs >= rhs &&
        (!copies || refactoring->a.data))
        return BD_OK;
    bd_qr_refactor_destroy(backend, &update->refactoring);
    refactoring = calloc(1, sizeof *refactoring);
    if (!refactoring)
        return bd_fail(BD_ERROR_MEMORY, "no memory for factoring again");
    *refactoring = (struct bd_qr_refactoring){ .m = m, .n = n, .rhs = rhs };
    const struct bd_qr_options reflectors = { .method = BD_QR_HOUSEHOLDER };
    enum bd_status status =
        bd_qr_create(&refactoring->qr, backend, m, n, copies ? &reflectors : NULL);
    if (status == BD_OK && copies)
        status = bd_matrix_create(backend, &refactoring->a, m, n, BD_F32);
    if (status == BD_OK && rhs)
        status = bd_matrix_create(backend, &refactoring->b, m, rhs, BD_F32);
    update->refactoring = refactoring;
    if (status != BD_OK)
        bd_qr_refactor_destroy(backend, &update->refactoring);
    return status;
}

enum bd_status bd_qr_refactor_prepare(struct bd_qr_update *update, const struct bd_qr_factors *f,
                                      const struct bd_qr_problem *after)
{
    const struct bd_backend_ops *ops = update->backend->ops;
    const struct bd_matrix *a = after->a, *b = after->b;
    enum bd_status status = ops->update->check(update->work, a->data, a->ld, a->rows, a->cols);
    if (status == BD_OK && f->d.data)
        status = ops->update->check(update->work, b->data, b->ld, b->rows, b->cols);
    return status == BD_OK ? make_refactoring(update, f, a->rows, a->cols) : status;
}

static enum bd_status copy(struct bd_backend *backend, struct bd_matrix *to,
                           const struct bd_matrix *from)
{
    return backend->ops->device->copy(backend, to->data, (size_t)to->ld * sizeof(float), from->data,
                                      (size_t)from->ld * sizeof(float),
                                      (size_t)from->rows * sizeof(float), (size_t)from->cols);
}

/* With reflectors: R, the full Q, and d of all of Q^T B or of its first n rows. */
static enum bd_status by_reflectors(struct bd_qr_update *update, struct bd_qr_factors *f,
                                    const struct bd_qr_problem *after)
{
    struct bd_backend *backend = update->backend;
    struct bd_qr_refactoring *refactoring = update->refactoring;
    bool q = bd_qr_update_has_q(f), d = f->d.data != NULL;
    struct bd_matrix b = q ? f->d : refactoring->b;
    b.rows = refactoring->m;
    b.cols = f->d.cols;
    enum bd_status status = copy(backend, &refactoring->a, after->a);
    if (status == BD_OK)
        status = bd_qr_factor(refactoring->qr, &refactoring->a);
    if (status == BD_OK)
        status = bd_qr_get_r(refactoring->qr, &f->r);
    if (status == BD_OK && q)
        status = bd_qr_form_full_q(refactoring->qr, &f->q);
    if (status == BD_OK && d)
        status = copy(backend, &b, after->b);
    if (status == BD_OK && d)
        status = bd_qr_apply(refactoring->qr, BD_QR_Q_TRANSPOSED, &b);
    b.rows = refactoring->n;
    return status == BD_OK && d && !q ? copy(backend, &f->d, &b) : status;
}

enum bd_status bd_qr_refactor(struct bd_qr_update *update, struct bd_qr_factors *f,
                              const struct bd_qr_problem *after)
{
    struct bd_qr_refactoring *refactoring = update->refactoring;
    if (needs_reflectors(update, f))
        return by_reflectors(update, f, after);
    if (!bd_qr_update_has_q(f))
        return bd_qr_reduce(refactoring->qr, after->a, &f->r);
    enum bd_status status = bd_qr_thin(refactoring->qr, after->a, &f->q, &f->r);
    if (status != BD_OK || !f->d.data)
        return status;
    struct bd_qr_parts parts = bd_qr_update_parts(f);
    return update->backend->ops->update->project(update->work, &parts, after->b->data,
                                                 after->b->ld);
}
