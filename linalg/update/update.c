#include <backdrop/qr_update.h>

#include <stdlib.h>

#include "linalg/check.h"
#include "linalg/shared/update_ops.h"
#include "linalg/update/private.h"

enum bd_status bd_qr_update_create(struct bd_qr_update **out, struct bd_backend *backend,
                                   const struct bd_qr_update_shape *shape)
{
    enum bd_status status = bd_check_create(out, "update", backend);
    if (status == BD_OK)
        status = bd_check_pointer(shape, "shape");
    if (status != BD_OK)
        return status;
    if (shape->max_cols < 1 || shape->max_rows < shape->max_cols)
        return bd_fail(
            BD_ERROR_ARGUMENT,
            "QR update: max_rows = %lld, max_cols = %lld: 1 <= max_cols <= max_rows is wanted",
            (long long)shape->max_rows, (long long)shape->max_cols);
    if (shape->max_block < 1 || shape->max_block > shape->max_rows)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "QR update: max_block = %lld: 1 to max_rows = %lld is wanted",
                       (long long)shape->max_block, (long long)shape->max_rows);
    if (shape->max_rhs < 0)
        return bd_fail(BD_ERROR_ARGUMENT, "QR update: max_rhs = %lld: 0 or more is wanted",
                       (long long)shape->max_rhs);
    status = bd_check_elements("QR update", shape->max_rows,
                               shape->full_q ? shape->max_rows : shape->max_cols);
    if (status == BD_OK)
        status = bd_check_elements("QR update: right-hand sides", shape->max_rows, shape->max_rhs);
    if (status == BD_OK)
        status = bd_backend_require(backend, backend->ops->update, "QR updating");
    if (status != BD_OK)
        return status;
    struct bd_qr_update *update = calloc(1, sizeof *update);
    if (!update)
        return bd_fail(BD_ERROR_MEMORY, "no memory for a QR update");
    *update = (struct bd_qr_update){ .backend = backend, .shape = *shape };
    status = backend->ops->update->create(backend, shape, &update->work);
    if (status == BD_OK)
        status = bd_qr_update_make_gram(update);
    if (status != BD_OK) {
        bd_qr_update_destroy(&update);
        return status;
    }
    *out = update;
    return BD_OK;
}

void bd_qr_update_destroy(struct bd_qr_update **update)
{
    if (!update || !*update)
        return;
    const struct bd_backend_ops *ops = (*update)->backend->ops;
    bd_qr_refactor_destroy((*update)->backend, &(*update)->refactoring);
    ops->update->destroy((*update)->work);
    ops->device->free((*update)->backend, (*update)->gram);
    free((*update)->host_gram);
    free(*update);
    *update = NULL;
}

struct bd_qr_parts bd_qr_update_parts(const struct bd_qr_factors *f)
{
    bool q = bd_qr_update_has_q(f), d = f->d.data != NULL;
    return (struct bd_qr_parts){ .q = f->q.data,
                                 .ldq = q ? f->q.ld : 0,
                                 .m = q ? f->q.rows : 0,
                                 .q_cols = q ? f->q.cols : 0,
                                 .r = f->r.data,
                                 .ldr = f->r.ld,
                                 .n = f->r.cols,
                                 .d = f->d.data,
                                 .ldd = d ? f->d.ld : 0,
                                 .rhs = d ? f->d.cols : 0 };
}

/* Sets the sizes of the views after a change. */
static void resize(const struct bd_qr_update *update, struct bd_qr_factors *f, int64_t m, int64_t n)
{
    f->r.rows = f->r.cols = n;
    if (bd_qr_update_has_q(f)) {
        f->q.rows = m;
        f->q.cols = update->shape.full_q ? m : n;
    }
    if (f->d.data)
        f->d.rows = bd_qr_update_has_q(f) ? f->q.cols : n;
}

static enum bd_status call_backend(struct bd_qr_update *update, const struct bd_qr_parts *parts,
                                   const struct bd_qr_update_job *c)
{
    const struct bd_backend_ops *ops = update->backend->ops;
    void *work = update->work;
    if (c->slide)
        return ops->update->slide(work, parts, c->p, c->u->data, c->u->ld);
    switch (c->kind) {
    case BD_QR_INSERT_COLUMNS:
        return ops->update->insert(work, parts, c->k, c->p, c->u->data, c->u->ld);
    case BD_QR_REMOVE_COLUMNS:
        return ops->update->remove(work, parts, c->k, c->p);
    case BD_QR_INSERT_ROWS:
        return ops->update->insert_rows(work, parts, c->k, c->p, c->u->data, c->u->ld,
                                        c->e ? c->e->data : NULL, c->e ? c->e->ld : 0);
    case BD_QR_REMOVE_ROWS:
        break;
    }
    return ops->update->remove_rows(work, parts, c->k, c->p);
}

static enum bd_status factor_again(struct bd_qr_update *update, struct bd_qr_factors *f,
                                   const struct bd_qr_update_job *job,
                                   const struct bd_qr_problem *after)
{
    enum bd_status status = bd_qr_refactor_prepare(update, f, after);
    if (status != BD_OK)
        return status;
    resize(update, f, job->m_after, job->n_after);
    return bd_qr_refactor(update, f, after);
}

/* Makes a change of which all arguments are checked but `after`. */
static enum bd_status make_change(struct bd_qr_update *update, struct bd_qr_factors *f,
                                  struct bd_qr_update_job *job, const struct bd_qr_problem *after)
{
    const struct bd_backend_ops *ops = update->backend->ops;
    enum bd_status status = bd_qr_update_check_after(update, job, after);
    if (status != BD_OK || job->p == 0)
        return status;
    if (bd_qr_update_prefers_refactoring(update, f, job, after))
        return factor_again(update, f, job, after);
    if (job->b)
        status = ops->update->check(update->work, job->b->data, job->b->ld, job->b->rows, job->rhs);
    if (status != BD_OK)
        return status;
    struct bd_qr_parts parts = bd_qr_update_parts(f);
    status = call_backend(update, &parts, job);
    if (status != BD_OK)
        return status;
    resize(update, f, job->m_after, job->n_after);
    if (!job->b)
        return BD_OK;
    parts = bd_qr_update_parts(f);
    return ops->update->project(update->work, &parts, job->b->data, job->b->ld);
}

enum bd_status bd_qr_remove_columns(struct bd_qr_update *update, struct bd_qr_factors *f, int64_t k,
                                    int64_t p, const struct bd_qr_problem *after)
{
    struct bd_qr_update_job job = { .kind = BD_QR_REMOVE_COLUMNS, .k = k, .p = p };
    enum bd_status status = bd_qr_update_begin(update, f, &job);
    if (status == BD_OK)
        status = bd_qr_update_check_count(update, p);
    if (status != BD_OK)
        return status;
    if (k < 0 || k > job.n - p)
        return bd_fail(BD_ERROR_ARGUMENT, "remove %lld columns from column %lld on: there are %lld",
                       (long long)p, (long long)k, (long long)job.n);
    job.n_after = job.n - p;
    return make_change(update, f, &job, after);
}

enum bd_status bd_qr_insert_columns(struct bd_qr_update *update, struct bd_qr_factors *f, int64_t k,
                                    const struct bd_matrix *u, const struct bd_qr_problem *after)
{
    if (!u)
        return bd_fail(BD_ERROR_ARGUMENT, "u is NULL");
    struct bd_qr_update_job job = { .kind = BD_QR_INSERT_COLUMNS, .k = k, .u = u };
    enum bd_status status = bd_qr_update_begin(update, f, &job);
    if (status == BD_OK)
        status = bd_qr_update_check_columns(update, f, u, true);
    if (status != BD_OK)
        return status;
    if (k < 0 || k > job.n)
        return bd_fail(BD_ERROR_ARGUMENT, "insert before column %lld: 0 .. %lld are possible",
                       (long long)k, (long long)job.n);
    job.p = u->cols;
    job.n_after = job.n + u->cols;
    return make_change(update, f, &job, after);
}

enum bd_status bd_qr_slide(struct bd_qr_update *update, struct bd_qr_factors *f,
                           const struct bd_matrix *u, const struct bd_qr_problem *after)
{
    if (!u)
        return bd_fail(BD_ERROR_ARGUMENT, "u is NULL");
    struct bd_qr_update_job job = { .kind = BD_QR_REMOVE_COLUMNS, .slide = true, .u = u };
    enum bd_status status = bd_qr_update_begin(update, f, &job);
    if (status == BD_OK)
        status = bd_qr_update_check_columns(update, f, u, false);
    if (status != BD_OK)
        return status;
    if (u->cols > job.n)
        return bd_fail(BD_ERROR_ARGUMENT, "slide by %lld columns: the window has %lld",
                       (long long)u->cols, (long long)job.n);
    job.p = u->cols;
    return make_change(update, f, &job, after);
}

enum bd_status bd_qr_insert_rows(struct bd_qr_update *update, struct bd_qr_factors *f, int64_t k,
                                 const struct bd_matrix *u, const struct bd_matrix *e,
                                 const struct bd_qr_problem *after)
{
    if (!u)
        return bd_fail(BD_ERROR_ARGUMENT, "u is NULL");
    struct bd_qr_update_job job = { .kind = BD_QR_INSERT_ROWS, .u = u, .e = e };
    enum bd_status status = bd_qr_update_begin(update, f, &job);
    if (status == BD_OK)
        status = bd_qr_update_check_rows(update, &job, u, e);
    if (status != BD_OK)
        return status;
    if (k < 0 || (bd_qr_update_has_q(f) && k > job.m))
        return bd_fail(BD_ERROR_ARGUMENT, "insert before row %lld: 0 .. %lld are possible",
                       (long long)k, (long long)job.m);
    job.p = u->rows;
    if (bd_qr_update_has_q(f)) { /* else k does not matter */
        job.k = k;
        job.m_after = job.m + u->rows;
        status = bd_qr_update_check_room(update, f, job.m_after);
    }
    return status == BD_OK ? make_change(update, f, &job, after) : status;
}

enum bd_status bd_qr_remove_rows(struct bd_qr_update *update, struct bd_qr_factors *f, int64_t k,
                                 int64_t p, const struct bd_qr_problem *after)
{
    struct bd_qr_update_job job = { .kind = BD_QR_REMOVE_ROWS, .k = k, .p = p };
    enum bd_status status = bd_qr_update_begin(update, f, &job);
    if (status == BD_OK)
        status = bd_qr_update_check_count(update, p);
    if (status == BD_OK)
        status = bd_qr_update_need_q(f, "remove rows");
    if (status != BD_OK)
        return status;
    if (k < 0 || k > job.m - p)
        return bd_fail(BD_ERROR_ARGUMENT, "remove %lld rows from row %lld on: there are %lld",
                       (long long)p, (long long)k, (long long)job.m);
    job.m_after = job.m - p;
    if (job.m_after < job.n)
        return bd_fail(BD_ERROR_ARGUMENT, "remove %lld of %lld rows: %lld have to stay, as columns",
                       (long long)p, (long long)job.m, (long long)job.n);
    return make_change(update, f, &job, after);
}
