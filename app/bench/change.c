#include "app/bench/change.h"

#include <inttypes.h>

#include "app/bench/platform.h"
#include <backdrop/least_squares.h>

/* Within the backend's memory. */
static enum bd_status copy(struct bd_bench *bench, void *to, const void *from, int64_t floats)
{
    return floats <= 0 ? BD_OK
                       : bench->platform->copy(bench, to, from, (size_t)floats * sizeof(float));
}

static float *at(const struct bd_matrix *a, int64_t i, int64_t j)
{
    return (float *)a->data + i + j * a->ld;
}

/* Columns first .. first + cols - 1 of `to` := those from column j of `from` on, from its row i
 * down; both have the same ld, so that it is one copy of what lies between as well. */
static enum bd_status copy_columns(struct bd_bench *bench, const struct bd_matrix *to,
                                   int64_t first, const struct bd_matrix *from, int64_t i,
                                   int64_t j, int64_t cols)
{
    return cols < 1 ? BD_OK : copy(bench, at(to, 0, first), at(from, i, j), cols * to->ld - i);
}

/* to := from, which have the same ld; `to` takes its sizes too. */
static enum bd_status copy_matrix(struct bd_bench *bench, struct bd_matrix *to,
                                  const struct bd_matrix *from)
{
    to->rows = from->rows;
    to->cols = from->cols;
    return copy_columns(bench, to, 0, from, 0, 0, from->cols);
}

static bool of_columns(enum bd_qr_change_kind kind)
{
    return kind == BD_QR_INSERT_COLUMNS || kind == BD_QR_REMOVE_COLUMNS;
}

/* Rows above A in the pool: they come first. */
static int64_t rows_above(const struct bd_bench_change *c)
{
    return c->shape.kind == BD_QR_INSERT_ROWS ? c->shape.most_p : 0;
}

static enum bd_status allocate(struct bd_bench_change *c)
{
    const struct bd_bench_change_shape *s = &c->shape;
    int64_t m = s->m + rows_above(c);
    int64_t n = s->n + (s->kind == BD_QR_INSERT_COLUMNS ? s->most_p : 0);
    int64_t q = s->with_q ? m : 0, d = s->with_q ? m : n;
    const struct {
        struct bd_matrix *matrix;
        int64_t rows, cols;
    } all[] = {
        { &c->pool, m, n + 1 }, { &c->after, m, n },   { &c->work, m, n }, { &c->after_b, m, 1 },
        { &c->work_b, m, 1 },   { &c->start_q, q, q }, { &c->q, q, q },    { &c->start_r, n, n },
        { &c->r, n, n },        { &c->start_d, d, 1 }, { &c->d, d, 1 },    { &c->x, n, 1 },
    };
    enum bd_status status = BD_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].rows)
            BD_TRY(bd_bench_matrix(c->bench, all[i].matrix, all[i].rows, all[i].cols, BD_F32));
    if (c->bench->has_peers)
        BD_TRY(bd_bench_peer_qr_create(&c->peer, c->bench, m, n, q));
    BD_TRY(bd_bench_fill_there(c->bench, c->pool.data, c->pool.ld * c->pool.cols, 7));
    if (status)
        return status;
    struct bd_qr_update_shape shape = { m, n, s->most_p, 1, s->with_q };
    status = bd_qr_update_create(&c->update, c->bench->backend, &shape);
    return status == BD_ERROR_UNSUPPORTED ? BD_OK : status;
}

/* By the library: reflectors in place of `work`, then R, Q^T b in place of work_b, and (with_q) the
 * full Q. */
static enum bd_status factor(struct bd_bench_change *c, bool with_q)
{
    enum bd_status status = BD_OK;
    if (!c->qr)
        status = bd_qr_create(&c->qr, c->bench->backend, c->work.rows, c->work.cols, NULL);
    BD_TRY(bd_qr_factor(c->qr, &c->work));
    BD_TRY(bd_qr_get_r(c->qr, &c->r));
    BD_TRY(bd_qr_apply(c->qr, BD_QR_Q_TRANSPOSED, &c->work_b));
    if (!status && with_q)
        status = bd_qr_form_full_q(c->qr, &c->q);
    return status;
}

enum bd_status bd_bench_change_load(void *user)
{
    struct bd_bench_change *c = user;
    enum bd_status status = copy_matrix(c->bench, &c->work, &c->after);
    c->r.rows = c->r.cols = c->x.rows = c->n;
    c->q.rows = c->q.cols = c->shape.with_q ? c->m : 0;
    return status ? status : copy_matrix(c->bench, &c->work_b, &c->after_b);
}

/* The factors of the problem before the change, which is in `after` for as long as this takes. */
static enum bd_status start(struct bd_bench_change *c)
{
    const struct bd_bench_change_shape *s = &c->shape;
    struct bd_bench *bench = c->bench;
    struct bd_matrix *const tall[] = { &c->after, &c->after_b };
    for (int i = 0; i < 2; i++)
        tall[i]->rows = s->m;
    c->m = s->m;
    c->n = c->after.cols = s->n;
    enum bd_status status = copy_columns(bench, &c->after, 0, &c->pool, rows_above(c), 0, s->n);
    BD_TRY(copy_columns(bench, &c->after_b, 0, &c->pool, rows_above(c), c->pool.cols - 1, 1));
    BD_TRY(bd_bench_change_load(c));
    BD_TRY(factor(c, s->with_q));
    BD_TRY(copy_matrix(bench, &c->start_r, &c->r));
    if (!status && s->with_q)
        status = copy_matrix(bench, &c->start_q, &c->q);
    c->start_d.rows = s->with_q ? s->m : s->n;
    BD_TRY(copy(bench, c->start_d.data, c->work_b.data, c->start_d.rows));
    bd_qr_destroy(&c->qr);
    return status;
}

enum bd_status bd_bench_change_open(struct bd_bench_change *c, struct bd_bench *bench,
                                    const struct bd_bench_change_shape *shape)
{
    *c = (struct bd_bench_change){ .bench = bench, .shape = *shape };
    enum bd_status status = allocate(c);
    return status ? status : start(c);
}

void bd_bench_change_close(struct bd_bench_change *c)
{
    bd_qr_update_destroy(&c->update);
    bd_qr_destroy(&c->qr);
    bd_bench_release(c->bench, NULL);
}

enum bd_status bd_bench_change_set(struct bd_bench_change *c, int64_t k, int64_t p)
{
    const struct bd_bench_change_shape *s = &c->shape;
    struct bd_bench *bench = c->bench;
    int sign = s->kind == BD_QR_INSERT_COLUMNS || s->kind == BD_QR_INSERT_ROWS ? 1 : -1;
    int64_t rows = of_columns(s->kind) ? 0 : sign * p, cols = of_columns(s->kind) ? sign * p : 0;
    if (p > s->most_p || k < 0 || (!of_columns(s->kind) && k))
        return bd_fail(BD_ERROR_ARGUMENT, "no change of %" PRId64 " at %" PRId64, p, k);
    if (c->m != s->m + rows || c->n != s->n + cols)
        bd_qr_destroy(&c->qr);
    c->k = k;
    c->p = p;
    c->m = c->after.rows = c->after_b.rows = s->m + rows;
    c->n = c->after.cols = s->n + cols;
    int64_t first = rows_above(c) - rows, last = c->pool.cols - 1;
    enum bd_status status = copy_columns(bench, &c->after_b, 0, &c->pool, first, last, 1);
    /* The columns that stay left, those that come, and those that stay right. */
    int64_t come = cols > 0 ? p : 0, right = cols < 0 ? k + p : k;
    if (!of_columns(s->kind))
        k = right = s->n;
    BD_TRY(copy_columns(bench, &c->after, 0, &c->pool, first, 0, k));
    BD_TRY(copy_columns(bench, &c->after, k, &c->pool, 0, s->n, come));
    return status ? status
                  : copy_columns(bench, &c->after, k + come, &c->pool, 0, right, s->n - right);
}

enum bd_status bd_bench_change_choice(struct bd_bench_change *c, bool *refactor)
{
    const struct bd_bench_change_shape *s = &c->shape;
    const struct bd_qr_change change = { s->kind, s->m, s->n, c->k, c->p, s->with_q };
    struct bd_qr_cost cost = { 0 };
    *refactor = false;
    enum bd_status status = bd_qr_update_cost(c->update, &change, &cost);
    if (status == BD_ERROR_UNSUPPORTED)
        return BD_OK;
    *refactor = cost.factor_seconds < cost.update_seconds;
    return status;
}

enum bd_status bd_bench_change_restore(void *user)
{
    struct bd_bench_change *c = user;
    enum bd_status status = copy_matrix(c->bench, &c->r, &c->start_r);
    c->x.rows = c->n;
    BD_TRY(copy_matrix(c->bench, &c->d, &c->start_d));
    if (!status && c->shape.with_q)
        status = copy_matrix(c->bench, &c->q, &c->start_q);
    return status;
}

static enum bd_status change_factors(struct bd_bench_change *c, const struct bd_qr_problem *after)
{
    struct bd_qr_factors f = { c->q, c->r, c->d };
    struct bd_matrix u = c->pool, e = c->pool;
    u.data = at(&c->pool, 0, c->shape.n);
    u.cols = c->p;
    enum bd_status status = BD_OK;
    switch (c->shape.kind) {
    case BD_QR_INSERT_COLUMNS:
        status = bd_qr_insert_columns(c->update, &f, c->k, &u, after);
        break;
    case BD_QR_REMOVE_COLUMNS:
        status = bd_qr_remove_columns(c->update, &f, c->k, c->p, after);
        break;
    case BD_QR_INSERT_ROWS:
        u.data = at(&c->pool, rows_above(c) - c->p, 0);
        u.cols = c->n;
        e.data = at(&c->pool, rows_above(c) - c->p, c->pool.cols - 1);
        e.cols = 1;
        u.rows = e.rows = c->p;
        status = bd_qr_insert_rows(c->update, &f, 0, &u, &e, after);
        break;
    case BD_QR_REMOVE_ROWS:
        status = bd_qr_remove_rows(c->update, &f, 0, c->p, after);
        break;
    }
    c->q = f.q;
    c->r = f.r;
    c->d = f.d;
    return status ? status : bd_qr_solve(c->update, &f, &c->x);
}

enum bd_status bd_bench_change_update(void *user)
{
    return change_factors(user, NULL);
}

enum bd_status bd_bench_change_choose(void *user)
{
    struct bd_bench_change *c = user;
    const struct bd_qr_problem after = { &c->after, &c->after_b };
    return change_factors(c, &after);
}

/* Of min ||A x - b|| by the peer: x in the first n rows of b, R and reflectors in place of A. */
static enum bd_status solve_peer(struct bd_bench_change *c, struct bd_matrix *a)
{
    const struct bd_bench_platform *p = c->bench->platform;
    struct bd_matrix *b = &c->work_b;
    const int64_t m = a->rows, n = a->cols;
    enum bd_status status = p->geqrf(&c->peer, m, n, a->data, a->ld);
    BD_TRY(p->ormqr(&c->peer, m, n, a->data, a->ld, b->data, b->ld));
    BD_TRY(p->solve(c->bench, n, a->data, a->ld, b->data));
    return status;
}

enum bd_status bd_bench_change_solver(void *user)
{
    struct bd_bench_change *c = user;
    enum bd_status status = solve_peer(c, &c->work);
    BD_TRY(copy(c->bench, c->x.data, c->work_b.data, c->n));
    return status;
}

enum bd_status bd_bench_change_load_q(void *user)
{
    struct bd_bench_change *c = user;
    enum bd_status status = bd_bench_change_load(c);
    BD_TRY(copy_matrix(c->bench, &c->q, &c->after));
    return status;
}

enum bd_status bd_bench_change_solver_q(void *user)
{
    struct bd_bench_change *c = user;
    const struct bd_bench_platform *p = c->bench->platform;
    const int64_t m = c->q.rows, n = c->q.cols;
    enum bd_status status = solve_peer(c, &c->q);
    BD_TRY(p->take_r(c->bench, n, c->r.data, c->r.ld, c->q.data, c->q.ld));
    BD_TRY(p->orgqr(&c->peer, m, m, n, c->q.data, c->q.ld));
    c->q.cols = c->m;
    BD_TRY(copy(c->bench, c->x.data, c->work_b.data, c->n));
    return status;
}

const char *bd_bench_solver_name(const struct bd_bench *bench, bool full_q)
{
    if (!bench->has_peers)
        return NULL;
    if (bench->gpu)
        return full_q ? "cuSOLVER geqrf+ormqr+trsm+orgqr" : "cuSOLVER geqrf+ormqr+trsm";
    return full_q ? "LAPACK sgeqrf+sormqr+strtrs+sorgqr" : "LAPACK sgeqrf+sormqr+strtrs";
}

/* d is Q^T b, of which the solution takes the first n rows. */
static enum bd_status solve_own(struct bd_bench_change *c, bool with_q)
{
    enum bd_status status = factor(c, with_q);
    struct bd_qr_factors f = { .r = c->r, .d = c->work_b };
    f.d.rows = c->n;
    BD_TRY(bd_qr_solve(c->update, &f, &c->x));
    return status;
}

enum bd_status bd_bench_change_own(void *user)
{
    return solve_own(user, false);
}

enum bd_status bd_bench_change_own_q(void *user)
{
    return solve_own(user, true);
}

enum bd_status bd_bench_change_check(const struct bd_bench_change *c, struct bd_bench_row *row)
{
    struct bd_bench *bench = c->bench;
    const int64_t m = c->m, n = c->n;
    const bool with_q = c->shape.with_q;
    struct bd_bench_held *held = bench->held;
    float *a = bd_bench_memory(bench, m * n, sizeof *a);
    float *r = bd_bench_memory(bench, n * n, sizeof *r);
    float *q = with_q ? bd_bench_memory(bench, m * m, sizeof *q) : NULL;
    enum bd_status status = a && r && (q || !with_q) ? BD_OK : bd_bench_out_of_memory();
    BD_TRY(bd_matrix_download(bench->backend, a, m, &c->after));
    BD_TRY(bd_matrix_download(bench->backend, r, n, &c->r));
    if (with_q) {
        BD_TRY(bd_matrix_download(bench->backend, q, m, &c->q));
        BD_TRY(bd_bench_norm_orthogonality(&row->orthogonality, q, m, m));
        BD_TRY(bd_bench_norm_backward(&row->residual, a, q, r, m, n));
    } else {
        BD_TRY(bd_bench_check(&row->residual, &row->orthogonality, a, NULL, r, m, n, m));
    }
    bd_bench_release(bench, held);
    return status;
}
