#include <backdrop/least_squares.h>

#include "linalg/check.h"
#include "linalg/shared/update_ops.h"
#include "linalg/update/private.h"
#include <backdrop/qr.h>

enum bd_status bd_qr_solve(struct bd_qr_update *update, const struct bd_qr_factors *f,
                           struct bd_matrix *x)
{
    enum bd_status status = bd_check_pointer(update, "update");
    if (status == BD_OK)
        status = bd_check_pointer(f, "the factors");
    if (status == BD_OK)
        status = bd_qr_update_check_r(update, &f->r);
    if (status == BD_OK)
        status = bd_matrix_check(&f->d, BD_F32, "d");
    if (status == BD_OK)
        status = bd_check_matrix(x, BD_F32, f->r.cols, f->d.cols, "x");
    if (status != BD_OK)
        return status;
    int64_t n = f->r.cols, rhs = f->d.cols;
    if (f->d.rows < n || rhs > update->shape.max_rhs)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "d is %lld x %lld: at least %lld rows, as r, and at most %lld columns are "
                       "wanted",
                       (long long)f->d.rows, (long long)rhs, (long long)n,
                       (long long)update->shape.max_rhs);
    if (n == 0 || rhs == 0)
        return BD_OK;
    return update->backend->ops->update->solve(update->work, f->r.data, f->r.ld, n, f->d.data,
                                               f->d.ld, rhs, x->data, x->ld);
}

static enum bd_status check_problem(const struct bd_backend *backend, const struct bd_matrix *a,
                                    const struct bd_matrix *b, const struct bd_matrix *x)
{
    enum bd_status status = bd_check_pointer(backend, "backend");
    if (status == BD_OK)
        status = bd_matrix_check(a, BD_F32, "a");
    if (status == BD_OK && (a->cols < 1 || a->rows < a->cols))
        status = bd_fail(BD_ERROR_ARGUMENT, "a is %lld x %lld: rows >= columns >= 1 are wanted",
                         (long long)a->rows, (long long)a->cols);
    if (status == BD_OK)
        status = bd_check_matrix(b, BD_F32, a->rows, -1, "b");
    return status == BD_OK ? bd_check_matrix(x, BD_F32, a->cols, b->cols, "x") : status;
}

/* Everything that a call needs. */
struct room {
    struct bd_qr *qr;
    struct bd_qr_update *update;
    struct bd_qr_factors f;
};

static enum bd_status make_room(struct room *room, struct bd_backend *backend, int64_t m, int64_t n,
                                int64_t rhs)
{
    const struct bd_qr_update_shape shape = {
        .max_rows = m, .max_cols = n, .max_block = 1, .max_rhs = rhs
    };
    enum bd_status status = bd_qr_update_create(&room->update, backend, &shape);
    if (status == BD_OK)
        status = bd_qr_create(&room->qr, backend, m, n, NULL);
    if (status == BD_OK)
        status = bd_matrix_create(backend, &room->f.q, m, n, BD_F32);
    if (status == BD_OK)
        status = bd_matrix_create(backend, &room->f.r, n, n, BD_F32);
    if (status == BD_OK)
        status = bd_matrix_create(backend, &room->f.d, n, rhs, BD_F32);
    return status;
}

static enum bd_status solve(struct room *room, const struct bd_matrix *a, const struct bd_matrix *b,
                            struct bd_matrix *x)
{
    const struct bd_backend_ops *ops = room->update->backend->ops;
    void *work = room->update->work;
    enum bd_status status = ops->update->check(work, a->data, a->ld, a->rows, a->cols);
    if (status == BD_OK)
        status = ops->update->check(work, b->data, b->ld, b->rows, b->cols);
    if (status == BD_OK)
        status = bd_qr_thin(room->qr, a, &room->f.q, &room->f.r);
    if (status != BD_OK)
        return status;
    const struct bd_qr_parts parts = bd_qr_update_parts(&room->f);
    status = ops->update->project(work, &parts, b->data, b->ld);
    return status == BD_OK ? bd_qr_solve(room->update, &room->f, x) : status;
}

enum bd_status bd_least_squares(struct bd_backend *backend, const struct bd_matrix *a,
                                const struct bd_matrix *b, struct bd_matrix *x)
{
    enum bd_status status = check_problem(backend, a, b, x);
    if (status != BD_OK || b->cols == 0)
        return status;
    struct room room = { 0 };
    status = make_room(&room, backend, a->rows, a->cols, b->cols);
    if (status == BD_OK)
        status = solve(&room, a, b, x);
    if (status == BD_OK)
        status = backend->ops->device->sync(backend); /* before its room goes */
    bd_matrix_destroy(backend, &room.f.q);
    bd_matrix_destroy(backend, &room.f.r);
    bd_matrix_destroy(backend, &room.f.d);
    bd_qr_destroy(&room.qr);
    bd_qr_update_destroy(&room.update);
    return status;
}
