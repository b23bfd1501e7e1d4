#include "linalg/qr_update.h"

#include <stdlib.h>

#include "linalg/backend_ops.h"
#include "linalg/qr_update_private.h"

enum bd_status bd_qr_update_create(struct bd_qr_update **out, struct bd_backend *backend,
                                   const struct bd_qr_update_shape *shape)
{
    *out = NULL;
    if (!shape)
        return bd_fail(BD_ERROR_ARGUMENT, "QR update: shape is NULL");
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
    struct bd_qr_update *update = calloc(1, sizeof *update);
    if (!update)
        return bd_fail(BD_ERROR_MEMORY, "no memory for a QR update");
    *update = (struct bd_qr_update){ .backend = backend, .shape = *shape };
    enum bd_status status = backend->ops->update_create(backend, shape, &update->work);
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
    if (!*update)
        return;
    const struct bd_backend_ops *ops = (*update)->backend->ops;
    ops->update_destroy((*update)->work);
    ops->free((*update)->backend, (*update)->gram);
    free((*update)->staged);
    free(*update);
    *update = NULL;
}

/* A call at work. */
struct change {
    enum { insert_columns, remove_columns, insert_rows, remove_rows, slide } kind;
    int64_t m, n, rhs;         /* before; m = 0 without Q, rhs = 0 without d */
    int64_t k, p;              /* where, how many */
    int64_t m_after, n_after;  /* m_after = 0 without Q */
    const struct bd_matrix *u; /* what comes in */
    const struct bd_matrix *e; /* and its right-hand sides */
    const struct bd_matrix *b; /* d is formed from it in the end; NULL: the slot keeps it */
};

static bool has_q(const struct bd_qr_factors *f)
{
    return f->q.data != NULL;
}

enum bd_status bd_qr_update_check_r(const struct bd_qr_update *update, const struct bd_matrix *r)
{
    enum bd_status status = bd_matrix_check(r, BD_F32, "r");
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
    int64_t rows = has_q(f) ? f->q.cols : f->r.cols;
    if (d->rows != rows || d->cols < 1 || d->cols > update->shape.max_rhs)
        return bd_fail(BD_ERROR_ARGUMENT, "d is %lld x %lld: %lld x 1 .. %lld is wanted",
                       (long long)d->rows, (long long)d->cols, (long long)rows,
                       (long long)update->shape.max_rhs);
    return BD_OK;
}

/* The factors are ones that this workspace has been made for; fills what is known of the change. */
static enum bd_status begin(const struct bd_qr_update *update, const struct bd_qr_factors *f,
                            struct change *change)
{
    if (!f)
        return bd_fail(BD_ERROR_ARGUMENT, "the factors are NULL");
    enum bd_status status = bd_qr_update_check_r(update, &f->r);
    if (status == BD_OK && has_q(f))
        status = check_q(update, f);
    if (status == BD_OK && f->d.data)
        status = check_d(update, f);
    if (status != BD_OK)
        return status;
    change->m = change->m_after = has_q(f) ? f->q.rows : 0;
    change->n = change->n_after = f->r.cols;
    change->rhs = f->d.data ? f->d.cols : 0;
    return BD_OK;
}

static enum bd_status check_count(const struct bd_qr_update *update, int64_t p)
{
    if (p < 0 || p > update->shape.max_block)
        return bd_fail(BD_ERROR_ARGUMENT, "QR update by %lld at a time: 0 to %lld are possible",
                       (long long)p, (long long)update->shape.max_block);
    return BD_OK;
}

static enum bd_status need_q(const struct bd_qr_factors *f, const char *what)
{
    if (!has_q(f))
        return bd_fail(BD_ERROR_ARGUMENT, "q has no data: it is needed to %s", what);
    return BD_OK;
}

/* New columns U fit Q; R has room for n columns, and d for as many rows. */
static enum bd_status check_new_columns(const struct bd_qr_update *update,
                                        const struct bd_qr_factors *f, const struct bd_matrix *u,
                                        int64_t n)
{
    enum bd_status status = bd_matrix_check(u, BD_F32, "u");
    if (status == BD_OK)
        status = check_count(update, u->cols);
    if (status == BD_OK)
        status = need_q(f, "bring in columns; bd_qr_append_gram works without");
    if (status != BD_OK)
        return status;
    if (u->rows != f->q.rows)
        return bd_fail(BD_ERROR_ARGUMENT, "u has %lld rows: %lld, as q, are wanted",
                       (long long)u->rows, (long long)f->q.rows);
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

static enum bd_status check_after_a(const struct change *change, const struct bd_matrix *a)
{
    enum bd_status status = bd_matrix_check(a, BD_F32, "after->a");
    if (status != BD_OK)
        return status;
    if (a->cols != change->n_after || a->rows < a->cols ||
        (change->m_after && a->rows != change->m_after))
        return bd_fail(BD_ERROR_ARGUMENT, "after->a is %lld x %lld: %lld x %lld is wanted",
                       (long long)a->rows, (long long)a->cols, (long long)change->m_after,
                       (long long)change->n_after);
    return BD_OK;
}

static enum bd_status check_after_b(const struct change *change, const struct bd_matrix *b,
                                    int64_t rows)
{
    enum bd_status status = bd_matrix_check(b, BD_F32, "after->b");
    if (status != BD_OK)
        return status;
    if (b->cols != change->rhs || (rows && b->rows != rows))
        return bd_fail(BD_ERROR_ARGUMENT, "after->b is %lld x %lld: %lld x %lld is wanted",
                       (long long)b->rows, (long long)b->cols, (long long)rows,
                       (long long)change->rhs);
    return BD_OK;
}

/* What the caller tells of the problem fits the change; change->b is set where d needs it. */
static enum bd_status check_after(const struct bd_qr_update *update, struct change *change,
                                  const struct bd_qr_problem *after)
{
    const struct bd_matrix *a = after ? after->a : NULL, *b = after ? after->b : NULL;
    enum bd_status status = a ? check_after_a(change, a) : BD_OK;
    if (status == BD_OK && b && change->rhs)
        status = check_after_b(change, b, a ? a->rows : change->m_after);
    if (status != BD_OK)
        return status;
    bool directions =
        change->kind == insert_columns || change->kind == slide || change->kind == remove_rows;
    if (!change->rhs || !change->m || update->shape.full_q || !directions)
        return BD_OK;
    if (!b)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "after->b is NULL: with a thin Q, d needs it when columns come or rows go");
    change->b = b;
    return BD_OK;
}

static struct bd_qr_parts parts_of(const struct bd_qr_factors *f)
{
    bool q = has_q(f), d = f->d.data != NULL;
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

/* The change has been made: the views follow. */
static void resize(const struct bd_qr_update *update, struct bd_qr_factors *f, int64_t m, int64_t n)
{
    f->r.rows = f->r.cols = n;
    if (has_q(f)) {
        f->q.rows = m;
        f->q.cols = update->shape.full_q ? m : n;
    }
    if (f->d.data)
        f->d.rows = has_q(f) ? f->q.cols : n;
}

static enum bd_status call_slot(struct bd_qr_update *update, const struct bd_qr_parts *parts,
                                const struct change *c)
{
    const struct bd_backend_ops *ops = update->backend->ops;
    void *work = update->work;
    switch (c->kind) {
    case insert_columns:
        return ops->update_insert(work, parts, c->k, c->p, c->u->data, c->u->ld);
    case remove_columns:
        return ops->update_remove(work, parts, c->k, c->p);
    case slide:
        return ops->update_slide(work, parts, c->p, c->u->data, c->u->ld);
    case insert_rows:
        if (ops->update_insert_rows)
            return ops->update_insert_rows(work, parts, c->k, c->p, c->u->data, c->u->ld,
                                           c->e ? c->e->data : NULL, c->e ? c->e->ld : 0);
        break;
    case remove_rows:
        if (ops->update_remove_rows)
            return ops->update_remove_rows(work, parts, c->k, c->p);
        break;
    }
    return bd_fail(BD_ERROR_UNSUPPORTED, "%s: QR updating does not %s rows yet", ops->name,
                   c->kind == insert_rows ? "insert" : "remove");
}

/* Everything has been checked but the problem that the caller tells of. */
static enum bd_status make_change(struct bd_qr_update *update, struct bd_qr_factors *f,
                                  struct change *change, const struct bd_qr_problem *after)
{
    const struct bd_backend_ops *ops = update->backend->ops;
    enum bd_status status = check_after(update, change, after);
    if (status != BD_OK || change->p == 0)
        return status;
    if (change->b && (!ops->update_check || !ops->update_project))
        return bd_fail(BD_ERROR_UNSUPPORTED, "%s: QR updating does not keep d yet", ops->name);
    if (change->b)
        status = ops->update_check(update->work, change->b->data, change->b->ld, change->b->rows,
                                   change->rhs);
    if (status != BD_OK)
        return status;
    struct bd_qr_parts parts = parts_of(f);
    status = call_slot(update, &parts, change);
    if (status != BD_OK)
        return status;
    resize(update, f, change->m_after, change->n_after);
    if (!change->b)
        return BD_OK;
    parts = parts_of(f);
    return ops->update_project(update->work, &parts, change->b->data, change->b->ld);
}

enum bd_status bd_qr_remove_columns(struct bd_qr_update *update, struct bd_qr_factors *f, int64_t k,
                                    int64_t p, const struct bd_qr_problem *after)
{
    struct change change = { .kind = remove_columns, .k = k, .p = p };
    enum bd_status status = begin(update, f, &change);
    if (status == BD_OK)
        status = check_count(update, p);
    if (status != BD_OK)
        return status;
    if (k < 0 || k > change.n - p)
        return bd_fail(BD_ERROR_ARGUMENT, "remove columns %lld .. %lld: there are 0 .. %lld",
                       (long long)k, (long long)(k + p - 1), (long long)change.n - 1);
    change.n_after = change.n - p;
    return make_change(update, f, &change, after);
}

enum bd_status bd_qr_insert_columns(struct bd_qr_update *update, struct bd_qr_factors *f, int64_t k,
                                    const struct bd_matrix *u, const struct bd_qr_problem *after)
{
    struct change change = { .kind = insert_columns, .k = k, .u = u };
    enum bd_status status = begin(update, f, &change);
    if (status == BD_OK)
        status = check_new_columns(update, f, u, change.n + (u ? u->cols : 0));
    if (status != BD_OK)
        return status;
    if (k < 0 || k > change.n)
        return bd_fail(BD_ERROR_ARGUMENT, "insert before column %lld: 0 .. %lld are possible",
                       (long long)k, (long long)change.n);
    change.p = u->cols;
    change.n_after = change.n + u->cols;
    return make_change(update, f, &change, after);
}

enum bd_status bd_qr_slide(struct bd_qr_update *update, struct bd_qr_factors *f,
                           const struct bd_matrix *u, const struct bd_qr_problem *after)
{
    struct change change = { .kind = slide, .u = u };
    enum bd_status status = begin(update, f, &change);
    if (status == BD_OK)
        status = check_new_columns(update, f, u, change.n);
    if (status != BD_OK)
        return status;
    if (u->cols > change.n)
        return bd_fail(BD_ERROR_ARGUMENT, "slide by %lld columns: the window has %lld",
                       (long long)u->cols, (long long)change.n);
    change.p = u->cols;
    return make_change(update, f, &change, after);
}

/* U (p x n) and E (p x rhs, NULL without d) fit the factors. */
static enum bd_status check_new_rows(const struct bd_qr_update *update, const struct change *change,
                                     const struct bd_matrix *u, const struct bd_matrix *e)
{
    enum bd_status status = bd_matrix_check(u, BD_F32, "u");
    if (status == BD_OK && change->rhs)
        status = bd_matrix_check(e, BD_F32, "e");
    if (status == BD_OK)
        status = check_count(update, u->rows);
    if (status != BD_OK)
        return status;
    if (u->cols != change->n)
        return bd_fail(BD_ERROR_ARGUMENT, "u has %lld columns: %lld, as r, are wanted",
                       (long long)u->cols, (long long)change->n);
    if (!change->rhs && e)
        return bd_fail(BD_ERROR_ARGUMENT, "e is there, but d has no data");
    if (e && (e->rows != u->rows || e->cols != change->rhs))
        return bd_fail(BD_ERROR_ARGUMENT, "e is %lld x %lld: %lld x %lld is wanted",
                       (long long)e->rows, (long long)e->cols, (long long)u->rows,
                       (long long)change->rhs);
    return BD_OK;
}

/* Q and d have room for m rows. */
static enum bd_status check_room(const struct bd_qr_update *update, const struct bd_qr_factors *f,
                                 int64_t m)
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

enum bd_status bd_qr_insert_rows(struct bd_qr_update *update, struct bd_qr_factors *f, int64_t k,
                                 const struct bd_matrix *u, const struct bd_matrix *e,
                                 const struct bd_qr_problem *after)
{
    struct change change = { .kind = insert_rows, .k = k, .u = u, .e = e };
    enum bd_status status = begin(update, f, &change);
    if (status == BD_OK)
        status = check_new_rows(update, &change, u, e);
    if (status != BD_OK)
        return status;
    if (k < 0 || (has_q(f) && k > change.m))
        return bd_fail(BD_ERROR_ARGUMENT, "insert before row %lld: 0 .. %lld are possible",
                       (long long)k, (long long)change.m);
    change.p = u->rows;
    if (has_q(f)) {
        change.m_after = change.m + u->rows;
        status = check_room(update, f, change.m_after);
    }
    return status == BD_OK ? make_change(update, f, &change, after) : status;
}

enum bd_status bd_qr_remove_rows(struct bd_qr_update *update, struct bd_qr_factors *f, int64_t k,
                                 int64_t p, const struct bd_qr_problem *after)
{
    struct change change = { .kind = remove_rows, .k = k, .p = p };
    enum bd_status status = begin(update, f, &change);
    if (status == BD_OK)
        status = check_count(update, p);
    if (status == BD_OK)
        status = need_q(f, "remove rows");
    if (status != BD_OK)
        return status;
    if (k < 0 || k > change.m - p)
        return bd_fail(BD_ERROR_ARGUMENT, "remove rows %lld .. %lld: there are 0 .. %lld",
                       (long long)k, (long long)(k + p - 1), (long long)change.m - 1);
    change.m_after = change.m - p;
    if (change.m_after < change.n)
        return bd_fail(BD_ERROR_ARGUMENT, "remove %lld of %lld rows: %lld have to stay, as columns",
                       (long long)p, (long long)change.m, (long long)change.n);
    return make_change(update, f, &change, after);
}
