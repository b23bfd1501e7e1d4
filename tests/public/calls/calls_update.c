/* Calls of QR updating and of least squares. */
#include <backdrop/least_squares.h>

#include "tests/public/calls/calls_handles.h"

/* What a call changes. */
struct problem {
    struct bd_qr_update *update;
    struct bd_qr_factors factors, *given;
    struct bd_matrix a, b;
    struct bd_qr_problem after, *after_given;
};

static struct bd_matrix part(const struct bd_call *call, enum bd_call_matrix which, int64_t rows,
                             int64_t cols)
{
    struct bd_matrix view = call->handles->matrix[which];
    view.rows = rows;
    view.cols = cols;
    return view;
}

/* One of the views becomes one that the rule forbids. */
static void spoil(struct bd_call *call, struct bd_qr_factors *f, bool q)
{
    struct bd_matrix *views[] = { &f->r, &f->q };
    struct bd_matrix *view = views[q ? bd_call_choice(call, 2) : 0];
    switch (bd_call_choice(call, 6)) {
    case 0:
        view->type = BD_F64;
        break;
    case 1:
        view->rows = -1;
        break;
    case 2:
        view->ld = view->rows - 1;
        break;
    case 3:
        view->ld = INT64_MAX;
        break;
    case 4:
        view->cols = INT64_MAX;
        break;
    default:
        f->r.data = NULL;
        break;
    }
    call->refused = true;
}

/* Handle and factors: with a thin or a full Q or none, with d or without, empty, square, spoiled.
 */
static void begin(struct bd_call *call, struct problem *p)
{
    static const int64_t columns[] = { call_cols_now, 0, call_n, 1 };
    const int shape = bd_call_choice(call, 6);
    const bool full = shape == 3, q = shape != 1, d = shape == 2 || shape == 3 || shape == 4;
    const int64_t n = columns[bd_call_choice(call, 4)], m = full ? call_rows_now : call_m - 1;
    p->update = bd_call_pointer(call, full ? call->handles->update_full : call->handles->update);
    p->factors = (struct bd_qr_factors){ .r = part(call, CALL_R, n, n) };
    if (q)
        p->factors.q = full ? part(call, CALL_FULL, m, m)
                            : part(call, CALL_Q, shape == 5 ? n : call_rows_now, n);
    if (d)
        p->factors.d = part(call, CALL_D, full ? m : n, call_rhs);
    if (n == 0 && bd_call_choice(call, 2))
        p->factors.r.data = NULL;
    const int change = bd_call_choice(call, 4);
    if (change == 1)
        call->refused = true;
    if (change == 2 && n)
        spoil(call, &p->factors, q);
    p->given = change == 1 ? NULL : &p->factors;
    p->after_given = NULL;
}

/* The problem after the change, of dm more rows and dn more columns, or other sizes. */
static const struct bd_qr_problem *after(struct bd_call *call, struct problem *p, int64_t dm,
                                         int64_t dn)
{
    const int choice = bd_call_choice(call, 5);
    const struct bd_matrix *q = &p->factors.q, *r = &p->factors.r;
    if (choice == 0 || r->cols > call_n || q->rows > call_m || q->rows + dm < 0 || r->cols + dn < 0)
        return NULL;
    const int64_t m = q->data ? q->rows + dm : call_m, n = r->cols + dn;
    const int64_t more = bd_call_choice(call, 4) == 3;
    p->a = part(call, CALL_A, m < call_m ? m : call_m, n + more < call_n ? n + more : call_n);
    p->b = part(call, CALL_B, p->a.rows, call_rhs);
    p->after.a = choice > 2 ? NULL : &p->a;
    p->after.b = choice > 1 ? &p->b : NULL;
    if (choice == 4) {
        p->b.ld = 0;
        call->refused = true;
    }
    return &p->after;
}

static enum bd_status update_create(struct bd_call *call)
{
    struct bd_qr_update *made = NULL;
    struct bd_qr_update_shape shape;
    struct bd_qr_update **out = bd_call_pointer(call, &made);
    struct bd_backend *backend = bd_call_pointer(call, call->backend);
    shape.max_rows = bd_call_size(call, call_m);
    shape.max_cols = bd_call_size(call, call_n);
    shape.max_block = bd_call_size(call, call_p);
    shape.max_rhs = bd_call_size(call, call_rhs);
    shape.full_q = bd_call_choice(call, 2);
    const enum bd_status status = bd_qr_update_create(out, backend, bd_call_pointer(call, &shape));
    bd_qr_update_destroy(&made);
    return status;
}

static enum bd_status remove_columns(struct bd_call *call)
{
    struct problem p = { 0 };
    begin(call, &p);
    const int64_t k = bd_call_size(call, 0), count = bd_call_size(call, call_p);
    return bd_qr_remove_columns(p.update, p.given, k, count, after(call, &p, 0, -call_p));
}

static enum bd_status insert_columns(struct bd_call *call)
{
    struct problem p = { 0 };
    begin(call, &p);
    struct bd_matrix *u = bd_call_matrix(call, CALL_U);
    const int64_t k = bd_call_size(call, 1);
    return bd_qr_insert_columns(p.update, p.given, k, u, after(call, &p, 0, call_p));
}

static enum bd_status slide(struct bd_call *call)
{
    struct problem p = { 0 };
    begin(call, &p);
    struct bd_matrix *u = bd_call_matrix(call, CALL_U);
    return bd_qr_slide(p.update, p.given, u, after(call, &p, 0, 0));
}

static enum bd_status insert_rows(struct bd_call *call)
{
    struct problem p = { 0 };
    begin(call, &p);
    struct bd_matrix *u = bd_call_matrix(call, CALL_ROWS);
    if (p.factors.r.cols == 0 && !call->refused) {
        u->cols = 0;
        u->data = NULL;
    }
    struct bd_matrix *e = p.factors.d.data ? bd_call_matrix(call, CALL_E) : NULL;
    const int64_t k = bd_call_size(call, 1);
    call->huge = call->huge && p.factors.q.data; /* else any place will do */
    return bd_qr_insert_rows(p.update, p.given, k, u, e, after(call, &p, call_p, 0));
}

static enum bd_status remove_rows(struct bd_call *call)
{
    struct problem p = { 0 };
    begin(call, &p);
    const int64_t k = bd_call_size(call, 0), count = bd_call_size(call, call_p);
    return bd_qr_remove_rows(p.update, p.given, k, count, after(call, &p, -call_p, 0));
}

static enum bd_status append_gram(struct bd_call *call)
{
    struct problem p = { 0 };
    static const double products[call_n];
    begin(call, &p);
    struct bd_matrix *r = p.given ? &p.factors.r : NULL;
    const double *g = bd_call_optional(call, (void *)products);
    /* a spoiled q is not an argument of this call */
    call->refused = !p.update || !r || r->type != BD_F32 || r->rows < 0 || r->ld < r->rows ||
                    r->cols > call_m || r->ld > INT64_MAX / 64 || (!g && r->cols);
    return bd_qr_append_gram(p.update, r, g, bd_call_number(call, 1));
}

static enum bd_status update_cost(struct bd_call *call)
{
    struct bd_qr_cost cost;
    struct bd_qr_update *update = bd_call_pointer(call, call->handles->update);
    struct bd_qr_change change = { .with_q = !bd_call_choice(call, 2) };
    change.kind = (enum bd_qr_change_kind)bd_call_kind(call, BD_QR_INSERT_COLUMNS);
    change.m = bd_call_size(call, call_rows_now);
    change.n = bd_call_size(call, call_cols_now);
    change.k = bd_call_size(call, 0);
    change.p = bd_call_size(call, call_p);
    const struct bd_qr_change *given = bd_call_pointer(call, &change);
    return bd_qr_update_cost(update, given, bd_call_pointer(call, &cost));
}

static enum bd_status solve(struct bd_call *call)
{
    struct bd_qr_update *update = bd_call_pointer(call, call->handles->update);
    struct bd_qr_factors factors = { .r = call->handles->matrix[CALL_R] };
    factors.d = part(call, CALL_D, call_n, call_rhs);
    const struct bd_qr_factors *given = bd_call_pointer(call, &factors);
    if (bd_call_choice(call, 4) == 1)
        spoil(call, &factors, false);
    return bd_qr_solve(update, given, bd_call_matrix(call, CALL_X));
}

static enum bd_status least_squares(struct bd_call *call)
{
    struct bd_backend *backend = bd_call_pointer(call, call->backend);
    const struct bd_matrix *a = bd_call_matrix(call, CALL_A), *b = bd_call_matrix(call, CALL_B);
    return bd_least_squares(backend, a, b, bd_call_matrix(call, CALL_X));
}

bd_call_fn *const bd_update_calls[] = {
    update_create, remove_columns, insert_columns, slide,         insert_rows, remove_rows,
    append_gram,   update_cost,    solve,          least_squares, NULL
};
