/* Factoring a changed problem anew, where that is expected to be faster than updating. */
#include <stdlib.h>

#include "linalg/shared/update_ops.h"
#include "linalg/update/private.h"
#include <backdrop/qr.h>

/* What was made when it was last done, for problems of the same size. */
struct bd_qr_refactoring {
    int64_t m, n, rhs;
    struct bd_qr *qr;
    struct bd_matrix a, b; /* copies that are factored and transformed; thin Q needs none */
};

void bd_qr_refactor_destroy(struct bd_backend *backend, struct bd_qr_refactoring **anew)
{
    if (!*anew)
        return;
    bd_qr_destroy(&(*anew)->qr);
    bd_matrix_destroy(backend, &(*anew)->a);
    bd_matrix_destroy(backend, &(*anew)->b);
    free(*anew);
    *anew = NULL;
}

bool bd_qr_update_prefers_refactoring(const struct bd_qr_update *update,
                                      const struct bd_qr_factors *f,
                                      const struct bd_qr_update_job *job,
                                      const struct bd_qr_problem *after)
{
    bool q = bd_qr_update_has_q(f);
    if (!after || !after->a || job->n_after < 1 || (job->rhs && !after->b))
        return false;
    static const enum bd_qr_change_kind kinds[] = { [bd_job_insert_columns] = BD_QR_INSERT_COLUMNS,
                                                    [bd_job_remove_columns] = BD_QR_REMOVE_COLUMNS,
                                                    [bd_job_insert_rows] = BD_QR_INSERT_ROWS,
                                                    [bd_job_remove_rows] = BD_QR_REMOVE_ROWS,
                                                    [bd_job_slide] = BD_QR_REMOVE_COLUMNS };
    /* without Q nobody tells m but A: before rows come in it has p less */
    int64_t rows = after->a->rows - (job->kind == bd_job_insert_rows ? job->p : 0);
    struct bd_qr_change change = { .kind = kinds[job->kind],
                                   .m = q ? job->m : rows,
                                   .n = job->n,
                                   .k = job->k,
                                   .p = job->p,
                                   .with_q = q };
    struct bd_qr_cost cost, back = { 0 };
    if (bd_qr_update_cost(update, &change, &cost) != BD_OK)
        return false;
    if (job->kind == bd_job_slide) { /* the same columns come back at the end */
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

static enum bd_status make_anew(struct bd_qr_update *update, const struct bd_qr_factors *f,
                                int64_t m, int64_t n)
{
    struct bd_backend *backend = update->backend;
    int64_t rhs = f->d.data && !bd_qr_update_has_q(f) ? f->d.cols : 0;
    bool copies = needs_reflectors(update, f);
    struct bd_qr_refactoring *anew = update->anew;
    if (anew && anew->m == m && anew->n == n && anew->rhs >= rhs && (!copies || anew->a.data))
        return BD_OK;
    bd_qr_refactor_destroy(backend, &update->anew);
    anew = calloc(1, sizeof *anew);
    if (!anew)
        return bd_fail(BD_ERROR_MEMORY, "no memory for factoring anew");
    *anew = (struct bd_qr_refactoring){ .m = m, .n = n, .rhs = rhs };
    const struct bd_qr_options reflectors = { .method = BD_QR_HOUSEHOLDER };
    enum bd_status status = bd_qr_create(&anew->qr, backend, m, n, copies ? &reflectors : NULL);
    if (status == BD_OK && copies)
        status = bd_matrix_create(backend, &anew->a, m, n, BD_F32);
    if (status == BD_OK && rhs)
        status = bd_matrix_create(backend, &anew->b, m, rhs, BD_F32);
    update->anew = anew;
    if (status != BD_OK)
        bd_qr_refactor_destroy(backend, &update->anew);
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
    return status == BD_OK ? make_anew(update, f, a->rows, a->cols) : status;
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
    struct bd_qr_refactoring *anew = update->anew;
    bool q = bd_qr_update_has_q(f), d = f->d.data != NULL;
    struct bd_matrix b = q ? f->d : anew->b;
    b.rows = anew->m;
    b.cols = f->d.cols;
    enum bd_status status = copy(backend, &anew->a, after->a);
    if (status == BD_OK)
        status = bd_qr_factor(anew->qr, &anew->a);
    if (status == BD_OK)
        status = bd_qr_get_r(anew->qr, &f->r);
    if (status == BD_OK && q)
        status = bd_qr_form_full_q(anew->qr, &f->q);
    if (status == BD_OK && d)
        status = copy(backend, &b, after->b);
    if (status == BD_OK && d)
        status = bd_qr_apply(anew->qr, BD_QR_Q_TRANSPOSED, &b);
    b.rows = anew->n;
    return status == BD_OK && d && !q ? copy(backend, &f->d, &b) : status;
}

enum bd_status bd_qr_refactor(struct bd_qr_update *update, struct bd_qr_factors *f,
                              const struct bd_qr_problem *after)
{
    struct bd_qr_refactoring *anew = update->anew;
    if (needs_reflectors(update, f))
        return by_reflectors(update, f, after);
    if (!bd_qr_update_has_q(f))
        return bd_qr_reduce(anew->qr, after->a, &f->r);
    enum bd_status status = bd_qr_thin(anew->qr, after->a, &f->q, &f->r);
    if (status != BD_OK || !f->d.data)
        return status;
    struct bd_qr_parts parts = bd_qr_update_parts(f);
    return update->backend->ops->update->project(update->work, &parts, after->b->data,
                                                 after->b->ld);
}
