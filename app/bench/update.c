/* Updating a window's QR factorisation against factoring it again. */
#include <inttypes.h>
#include <lapacke.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench/bench.h"
#include <backdrop/qr.h>
#include <backdrop/qr_update.h>

struct update_case {
    int64_t m, n;
    struct bd_backend *backend;
    float *a;      /* host, m x n: the window, kept in step with Q and R */
    float *column; /* host, m: the next column */
    float *work, *tau;
    uint64_t seed;
    struct bd_qr_update *update;
    struct bd_qr_factors f, f2; /* for slides; for removing and appending */
    struct bd_matrix u, u2;
};

static enum bd_status prepare_slide(void *user)
{
    struct update_case *c = user;
    bd_bench_fill(c->column, c->m, ++c->seed);
    return bd_matrix_upload(c->backend, &c->u, c->column, c->m);
}

static enum bd_status run_slide(void *user)
{
    struct update_case *c = user;
    enum bd_status status = bd_qr_slide(c->update, &c->f, &c->u, NULL);
    return status;
}

/* The host's copy of the window follows, outside the timing: before the peer runs. */
static enum bd_status prepare_factor(void *user)
{
    struct update_case *c = user;
    memmove(c->a, c->a + c->m, (size_t)(c->m * (c->n - 1)) * sizeof *c->a);
    memcpy(c->a + c->m * (c->n - 1), c->column, (size_t)c->m * sizeof *c->a);
    memcpy(c->work, c->a, (size_t)(c->m * c->n) * sizeof *c->a);
    return BD_OK;
}

static enum bd_status run_factor(void *user)
{
    struct update_case *c = user;
    lapack_int m = (lapack_int)c->m, n = (lapack_int)c->n;
    if (LAPACKE_sgeqrf(LAPACK_COL_MAJOR, m, n, c->work, m, c->tau) ||
        LAPACKE_sorgqr(LAPACK_COL_MAJOR, m, n, n, c->work, m, c->tau))
        return bd_fail(BD_ERROR_NUMERIC, "sgeqrf + sorgqr failed");
    return BD_OK;
}

static enum bd_status run_remove(void *user)
{
    struct update_case *c = user;
    return bd_qr_remove_columns(c->update, &c->f2, 0, 1, NULL);
}

static enum bd_status run_append(void *user)
{
    struct update_case *c = user;
    return bd_qr_insert_columns(c->update, &c->f2, c->n - 1, &c->u2, NULL);
}

static void close_case(struct update_case *c)
{
    bd_qr_update_destroy(&c->update);
    bd_matrix_destroy(c->backend, &c->f.q);
    bd_matrix_destroy(c->backend, &c->f.r);
    bd_matrix_destroy(c->backend, &c->u);
    bd_matrix_destroy(c->backend, &c->f2.q);
    bd_matrix_destroy(c->backend, &c->f2.r);
    bd_matrix_destroy(c->backend, &c->u2);
    free(c->a);
    free(c->column);
    free(c->work);
    free(c->tau);
}

static enum bd_status factor_window(struct update_case *c, struct bd_matrix *q, struct bd_matrix *r)
{
    struct bd_qr *qr = NULL;
    enum bd_status status = bd_matrix_upload(c->backend, q, c->a, c->m);
    if (!status)
        status = bd_qr_create(&qr, c->backend, c->m, c->n, NULL);
    if (!status)
        status = bd_qr_factor(qr, q);
    if (!status)
        status = bd_qr_get_r(qr, r);
    if (!status)
        status = bd_qr_form_q(qr, q);
    bd_qr_destroy(&qr);
    return status;
}

static enum bd_status open_case(struct update_case *c, struct bd_backend *backend, int64_t m,
                                int64_t n)
{
    *c = (struct update_case){ .m = m, .n = n, .backend = backend, .seed = 100 };
    c->a = malloc((size_t)(m * n) * sizeof *c->a);
    c->work = malloc((size_t)(m * n) * sizeof *c->work);
    c->column = malloc((size_t)m * sizeof *c->column);
    c->tau = calloc((size_t)n, sizeof *c->tau);
    if (!c->a || !c->work || !c->column || !c->tau)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for a %" PRId64 " x %" PRId64 " window", m,
                       n);
    bd_bench_fill(c->a, m * n, 3);
    bd_bench_fill(c->column, m, 99);
    const struct bd_qr_update_shape shape = { .max_rows = m, .max_cols = n, .max_block = 1 };
    enum bd_status status = bd_qr_update_create(&c->update, backend, &shape);
    struct bd_matrix *const tall[] = { &c->f.q, &c->f2.q }, *const small[] = { &c->f.r, &c->f2.r };
    struct bd_matrix *const columns[] = { &c->u, &c->u2 };
    for (int i = 0; i < 2 && !status; i++) {
        status = bd_matrix_create(backend, tall[i], m, n, BD_F32);
        if (!status)
            status = bd_matrix_create(backend, small[i], n, n, BD_F32);
        if (!status)
            status = bd_matrix_create(backend, columns[i], m, 1, BD_F32);
        if (!status)
            status = factor_window(c, tall[i], small[i]);
    }
    if (!status)
        status = bd_matrix_upload(backend, &c->u2, c->column, m);
    return status;
}

/* After all slides: is Q R still the window? */
static enum bd_status check(struct update_case *c, struct bd_bench_row *row)
{
    float *r = malloc((size_t)(c->n * c->n) * sizeof *r);
    if (!r)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for R");
    enum bd_status status = bd_matrix_download(c->backend, r, c->n, &c->f.r);
    if (!status)
        status = bd_matrix_download(c->backend, c->work, c->m, &c->f.q);
    if (!status)
        status = bd_bench_check(&row->residual, &row->orthogonality, c->a, c->work, r, c->m, c->n);
    free(r);
    return status;
}

enum { slide, removal, append, peer, task_count };

enum bd_status bd_bench_update(struct bd_bench *bench)
{
    static const char *const names[] = { "slide by one column", "remove the first column",
                                         "append a column" };
    static const char *const methods[] = { "QR slide", "QR remove", "QR insert" };
    struct update_case c;
    bool quick = bench->options->quick;
    enum bd_status status = open_case(&c, bench->backend, quick ? 20000 : 110592, quick ? 50 : 100);
    struct bd_bench_task tasks[task_count] = {
        [slide] = { prepare_slide, run_slide, &c, 0 },
        [removal] = { NULL, run_remove, &c, 0 },
        [append] = { NULL, run_append, &c, 0 },
        [peer] = { prepare_factor, run_factor, &c, 0 },
    };
    if (!status)
        status = bd_bench_time(bench, tasks, task_count, 15);
    for (int t = 0; t < peer && !status; t++) {
        struct bd_bench_row row = bd_bench_row_begin("update", c.m, c.n);
        double elements = (double)(c.m * c.n);
        snprintf(row.name, sizeof row.name, "%s", names[t]);
        snprintf(row.method, sizeof row.method, "%s", methods[t]);
        snprintf(row.peer, sizeof row.peer, "sgeqrf + sorgqr");
        row.ms = tasks[t].ms;
        row.peer_ms = tasks[peer].ms;
        /* Q read and written once by removing; read, to make the new column orthogonal, by
         * appending. A slide does both in one pass. */
        row.floor_ms = bd_bench_floor(bench, (t == append ? 4 : 8) * elements, 4 * elements);
        if (t == slide)
            status = check(&c, &row);
        if (!status)
            status = bd_bench_add(bench, &row);
    }
    close_case(&c);
    return status;
}
