/* Checks of arguments: whether they fit the workspace and each other. */
#include <stddef.h>

#include "linalg/check.h"
#include "linalg/update/private.h"

bool bd_qr_update_has_q(const struct bd_qr_factors *f)
{
    return f->q.data != NULL;
}

enum bd_status bd_qr_update_check_r(const struct bd_qr_update *update, const struct bd_matrix *r)
{
    enum bd_status status = bd_check_pointer(update, "update");
    if (status == BD_OK)
        status = bd_matrix_check(r, BD_F32, "r");
    if (status != BD_OK)
        return status;
    if (r->rows != r->cols || r->cols > update->shape.max_cols)
        return bd_fail(BD_ERROR_ARGUMENT, "r is %lld x %lld: square, of at most %lld is wanted",
                       (long long)r->rows, (long long)r->cols, (long long)update->shape.max_cols);
    return BD_OK;
}

static enum bd_status check_q(const struct bd_qr_update *update, const struct bd_qr_factors *f)
{
    const struct bd_matrix *q = &f->q;
    enum bd_status status = bd_matrix_check(q, BD_F32, "q");
    if (status != BD_OK)
        return status;
    int64_t cols = update->shape.full_q ? q->rows : f->r.cols;
    if (q->cols != cols)
        return bd_fail(BD_ERROR_ARGUMENT, "q is %lld x %lld: %lld columns are wanted (%s Q)",
                       (long long)q->rows, (long long)q->cols, (long long)cols,
                       update->shape.full_q ? "full" : "thin");
    if (q->rows < f->r.cols || q->rows > update->shape.max_rows)
        return bd_fail(BD_ERROR_ARGUMENT, "q has %lld rows: %lld (as r) to %lld are possible",
                       (long long)q->rows, (long long)f->r.cols, (long long)update->shape.max_rows);
    return BD_OK;
}

static enum bd_status check_d(const struct bd_qr_update *update, const struct bd_qr_factors *f)
{
    const struct bd_matrix *d = &f->d;
    enum bd_status status = bd_matrix_check(d, BD_F32, "d");
    if (status != BD_OK)
        return status;
    int64_t rows = bd_qr_update_has_q(f) ? f->q.cols : f->r.cols;
    if (d->rows != rows || d->cols < 1 || d->cols > update->shape.max_rhs)
        return bd_fail(BD_ERROR_ARGUMENT, "d is %lld x %lld: %lld x 1 .. %lld is wanted",
                       (long long)d->rows, (long long)d->cols, (long long)rows,
                       (long long)update->shape.max_rhs);
    return BD_OK;
}

enum bd_status bd_qr_update_begin(const struct bd_qr_update *update, const struct bd_qr_factors *f,
                                  struct bd_qr_update_job *job)
{
    if (!f)
        return bd_fail(BD_ERROR_ARGUMENT, "the factors are NULL");
    enum bd_status status = bd_qr_update_check_r(update, &f->r);
    if (status == BD_OK && bd_qr_update_has_q(f))
        status = check_q(update, f);
    if (status == BD_OK && f->d.data)
        status = check_d(update, f);
    if (status != BD_OK)
        return status;
    job->m = job->m_after = bd_qr_update_has_q(f) ? f->q.rows : 0;
    job->n = job->n_after = f->r.cols;
    job->rhs = f->d.data ? f->d.cols : 0;
    return BD_OK;
}

enum bd_status bd_qr_update_check_count(const struct bd_qr_update *update, int64_t p)
{
    if (p < 0 || p > update->shape.max_block)
        return bd_fail(BD_ERROR_ARGUMENT, "QR update by %lld at a time: 0 to %lld are possible",
                       (long long)p, (long long)update->shape.max_block);
    return BD_OK;
}

enum bd_status bd_qr_update_need_q(const struct bd_qr_factors *f, const char *what)
{
    if (!bd_qr_update_has_q(f))
        return bd_fail(BD_ERROR_ARGUMENT, "q has no data: it is needed to %s", what);
    return BD_OK;
}

enum bd_status bd_qr_update_check_columns(const struct bd_qr_update *update,
                                          const struct bd_qr_factors *f, const struct bd_matrix *u,
                                          bool more)
{
    enum bd_status status = bd_matrix_check(u, BD_F32, "u");
    if (status == BD_OK)
        status = bd_qr_update_check_count(update, u->cols);
    if (status == BD_OK)
        status = bd_qr_update_need_q(f, "bring in columns; bd_qr_append_gram works without");
    if (status != BD_OK)
        return status;
    if (u->rows != f->q.rows)
        return bd_fail(BD_ERROR_ARGUMENT, "u has %lld rows: %lld, as q, are wanted",
                       (long long)u->rows, (long long)f->q.rows);
    const int64_t n = f->r.cols + (more ? u->cols : 0);
    if (n > update->shape.max_cols || n > f->q.rows)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "%lld columns: this QR update was made for %lld, and Q has %lld rows",
                       (long long)n, (long long)update->shape.max_cols, (long long)f->q.rows);
    if (f->r.ld < n || (u->cols && !f->r.data))
        return bd_fail(BD_ERROR_ARGUMENT, "r has ld = %lld%s: room for %lld columns is wanted",
                       (long long)f->r.ld, f->r.data ? "" : " and no data", (long long)n);
    if (f->d.data && !update->shape.full_q && f->d.ld < n)
        return bd_fail(BD_ERROR_ARGUMENT, "d has ld = %lld: room for %lld rows is wanted",
                       (long long)f->d.ld, (long long)n);
    return BD_OK;
}

static enum bd_status check_after_a(const struct bd_qr_update_job *job, const struct bd_matrix *a)
{
    enum bd_status status = bd_matrix_check(a, BD_F32, "after->a");
    if (status != BD_OK)
        return status;
    if (a->cols != job->n_after || a->rows < a->cols || (job->m_after && a->rows != job->m_after))
        return bd_fail(BD_ERROR_ARGUMENT, "after->a is %lld x %lld: %lld x %lld is wanted",
                       (long long)a->rows, (long long)a->cols, (long long)job->m_after,
                       (long long)job->n_after);
    return BD_OK;
}

static enum bd_status check_after_b(const struct bd_qr_update_job *job, const struct bd_matrix *b,
                                    int64_t rows)
{
    enum bd_status status = bd_matrix_check(b, BD_F32, "after->b");
    if (status != BD_OK)
        return status;
    if (!job->rhs)
        return BD_OK; /* not wanted */
    if (b->cols != job->rhs || (rows && b->rows != rows))
        return bd_fail(BD_ERROR_ARGUMENT, "after->b is %lld x %lld: %lld x %lld is wanted",
                       (long long)b->rows, (long long)b->cols, (long long)rows,
                       (long long)job->rhs);
    return BD_OK;
}

enum bd_status bd_qr_update_check_after(const struct bd_qr_update *update,
                                        struct bd_qr_update_job *job,
                                        const struct bd_qr_problem *after)
{
    const struct bd_matrix *a = after ? after->a : NULL, *b = after ? after->b : NULL;
    enum bd_status status = a ? check_after_a(job, a) : BD_OK;
    if (status == BD_OK && b)
        status = check_after_b(job, b, a ? a->rows : job->m_after);
    if (status != BD_OK)
        return status;
    bool directions =
        job->kind == BD_QR_INSERT_COLUMNS || job->slide || job->kind == BD_QR_REMOVE_ROWS;
    if (!job->rhs || !job->m || update->shape.full_q || !directions)
        return BD_OK;
    if (!b)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "after->b is NULL: with a thin Q, d needs it when columns come or rows go");
    job->b = b;
    return BD_OK;
}

enum bd_status bd_qr_update_check_rows(const struct bd_qr_update *update,
                                       const struct bd_qr_update_job *job,
                                       const struct bd_matrix *u, const struct bd_matrix *e)
{
    enum bd_status status = bd_matrix_check(u, BD_F32, "u");
    if (status == BD_OK && job->rhs)
        status = bd_matrix_check(e, BD_F32, "e");
    if (status == BD_OK)
        status = bd_qr_update_check_count(update, u->rows);
    if (status != BD_OK)
        return status;
    if (u->cols != job->n)
        return bd_fail(BD_ERROR_ARGUMENT, "u has %lld columns: %lld, as r, are wanted",
                       (long long)u->cols, (long long)job->n);
    if (!job->rhs && e)
        return bd_fail(BD_ERROR_ARGUMENT, "e is there, but d has no data");
    if (e && (e->rows != u->rows || e->cols != job->rhs))
        return bd_fail(BD_ERROR_ARGUMENT, "e is %lld x %lld: %lld x %lld is wanted",
                       (long long)e->rows, (long long)e->cols, (long long)u->rows,
                       (long long)job->rhs);
    return BD_OK;
}

enum bd_status bd_qr_update_check_room(const struct bd_qr_update *update,
                                       const struct bd_qr_factors *f, int64_t m)
{
    if (m > update->shape.max_rows)
        return bd_fail(BD_ERROR_ARGUMENT, "%lld rows: this QR update was made for %lld",
                       (long long)m, (long long)update->shape.max_rows);
    if (f->q.ld < m)
        return bd_fail(BD_ERROR_ARGUMENT, "q has ld = %lld: room for %lld rows is wanted",
                       (long long)f->q.ld, (long long)m);
    if (f->d.data && update->shape.full_q && f->d.ld < m)
        return bd_fail(BD_ERROR_ARGUMENT, "d has ld = %lld: room for %lld rows is wanted",
                       (long long)f->d.ld, (long long)m);
    return BD_OK;
}
