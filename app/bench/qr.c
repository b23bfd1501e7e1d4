/* CAQR against LAPACK: R only, and R with the thin Q. */
#include <inttypes.h>
#include <lapacke.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench/bench.h"
#include <backdrop/qr.h>

/* TSQR of LAPACK 3.7 and later; not all versions of lapacke.h declare it. */
extern void slatsqr_(const lapack_int *m, const lapack_int *n, const lapack_int *mb,
                     const lapack_int *nb, float *a, const lapack_int *lda, float *t,
                     const lapack_int *ldt, float *work, const lapack_int *lwork, lapack_int *info);

struct shape {
    int64_t m, n;
    int repeats;
    bool quick; /* part of --quick too */
};

static const struct shape shapes[] = {
    { 20000, 50, 7, true },
    { 110592, 100, 11, false },
    { 500000, 192, 3, false },
    { 1000000, 20, 7, false },
};

struct qr_case {
    int64_t m, n;
    float *a, *work; /* host, m x n: the matrix, and what LAPACK overwrites */
    float *tau, *t, *slatsqr_work;
    lapack_int block_rows, block_cols;
    struct bd_backend *backend;
    struct bd_matrix source, factored, r;
    struct bd_qr *qr;
};

static enum bd_status restore_work(void *user)
{
    struct qr_case *c = user;
    memcpy(c->work, c->a, (size_t)(c->m * c->n) * sizeof *c->work);
    return BD_OK;
}

static enum bd_status run_sgeqrf(void *user)
{
    struct qr_case *c = user;
    if (LAPACKE_sgeqrf(LAPACK_COL_MAJOR, (lapack_int)c->m, (lapack_int)c->n, c->work,
                       (lapack_int)c->m, c->tau))
        return bd_fail(BD_ERROR_NUMERIC, "LAPACKE_sgeqrf failed");
    return BD_OK;
}

static enum bd_status run_sorgqr(void *user)
{
    struct qr_case *c = user;
    enum bd_status status = run_sgeqrf(c);
    if (!status && LAPACKE_sorgqr(LAPACK_COL_MAJOR, (lapack_int)c->m, (lapack_int)c->n,
                                  (lapack_int)c->n, c->work, (lapack_int)c->m, c->tau))
        return bd_fail(BD_ERROR_NUMERIC, "LAPACKE_sorgqr failed");
    return status;
}

static enum bd_status run_slatsqr(void *user)
{
    struct qr_case *c = user;
    lapack_int m = (lapack_int)c->m, n = (lapack_int)c->n, info = 0;
    lapack_int lwork = c->block_cols * n;
    slatsqr_(&m, &n, &c->block_rows, &c->block_cols, c->work, &m, c->t, &c->block_cols,
             c->slatsqr_work, &lwork, &info);
    return info ? bd_fail(BD_ERROR_NUMERIC, "slatsqr failed") : BD_OK;
}

static enum bd_status run_reduce(void *user)
{
    struct qr_case *c = user;
    return bd_qr_reduce(c->qr, &c->source, &c->r);
}

static enum bd_status restore_factored(void *user)
{
    struct qr_case *c = user;
    return bd_matrix_upload(c->backend, &c->factored, c->a, c->m);
}

static enum bd_status run_thin(void *user)
{
    struct qr_case *c = user;
    enum bd_status status = bd_qr_factor(c->qr, &c->factored);
    if (!status)
        status = bd_qr_get_r(c->qr, &c->r);
    if (!status)
        status = bd_qr_form_q(c->qr, &c->factored);
    return status;
}

static void close_case(struct qr_case *c)
{
    bd_qr_destroy(&c->qr);
    bd_matrix_destroy(c->backend, &c->source);
    bd_matrix_destroy(c->backend, &c->factored);
    bd_matrix_destroy(c->backend, &c->r);
    free(c->a);
    free(c->work);
    free(c->tau);
    free(c->t);
    free(c->slatsqr_work);
}

static enum bd_status open_case(struct qr_case *c, struct bd_backend *backend, int64_t m, int64_t n)
{
    size_t count = (size_t)(m * n);
    /* Blocks of slatsqr: the fastest at 110592 x 100 (OpenBLAS 0.3.21, 2 cores, medians of 9) of
     * 256..32768 rows x 4..100 columns: 6144 x 32 takes 43.6 ms, 8192 x 32 44.5, 4096 x 32 46.5,
     * 8192 x 16 46.1, 2048 x 32 54.1, 1024 x 8 52.0, 256 x 100 348. */
    *c = (struct qr_case){ .m = m, .n = n, .backend = backend, .block_rows = 6144 };
    c->block_cols = n < 32 ? (lapack_int)n : 32;
    size_t blocks = (size_t)(m / (c->block_rows - n) + 2);
    c->a = malloc(count * sizeof *c->a);
    c->work = malloc(count * sizeof *c->work);
    c->tau = calloc((size_t)n, sizeof *c->tau);
    c->t = calloc((size_t)(c->block_cols * n) * blocks, sizeof *c->t);
    c->slatsqr_work = calloc((size_t)(c->block_cols * n), sizeof *c->slatsqr_work);
    if (!c->a || !c->work || !c->tau || !c->t || !c->slatsqr_work)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for a %" PRId64 " x %" PRId64 " matrix", m,
                       n);
    bd_bench_fill(c->a, m * n, 2);
    enum bd_status status = bd_matrix_create(backend, &c->source, m, n, BD_F32);
    if (!status)
        status = bd_matrix_create(backend, &c->factored, m, n, BD_F32);
    if (!status)
        status = bd_matrix_create(backend, &c->r, n, n, BD_F32);
    if (!status)
        status = bd_qr_create(&c->qr, backend, m, n, NULL);
    if (!status)
        status = bd_matrix_upload(backend, &c->source, c->a, m);
    return status;
}

/* Residuals of what the last runs left: R of the backend against the Gram matrix, Q R, and the same
 * of LAPACK, whose R lies in the upper half of `work`. */
static enum bd_status check_own(struct qr_case *c, bool with_q, struct bd_bench_row *row)
{
    float *r = malloc((size_t)(c->n * c->n) * sizeof *r);
    if (!r)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for R");
    enum bd_status status = with_q ? restore_factored(c) : BD_OK;
    if (!status)
        status = with_q ? run_thin(c) : run_reduce(c);
    if (!status)
        status = bd_matrix_download(c->backend, r, c->n, &c->r);
    if (!status && with_q)
        status = bd_matrix_download(c->backend, c->work, c->m, &c->factored);
    if (!status)
        status = bd_bench_check(&row->residual, &row->orthogonality, c->a, with_q ? c->work : NULL,
                                r, c->m, c->n);
    free(r);
    return status;
}

static enum bd_status check_lapack(struct qr_case *c, enum bd_status (*factor)(void *), bool with_q,
                                   struct bd_bench_row *row)
{
    float *r = calloc((size_t)(c->n * c->n), sizeof *r);
    if (!r)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for R");
    restore_work(c);
    enum bd_status status = factor(c);
    for (int64_t j = 0; j < c->n && !status; j++)
        memcpy(r + j * c->n, c->work + j * c->m, (size_t)(j + 1) * sizeof *r);
    if (!status && with_q &&
        LAPACKE_sorgqr(LAPACK_COL_MAJOR, (lapack_int)c->m, (lapack_int)c->n, (lapack_int)c->n,
                       c->work, (lapack_int)c->m, c->tau))
        status = bd_fail(BD_ERROR_NUMERIC, "LAPACKE_sorgqr failed");
    if (!status)
        status = bd_bench_check(&row->residual, &row->orthogonality, c->a, with_q ? c->work : NULL,
                                r, c->m, c->n);
    free(r);
    return status;
}

enum { own_r, own_q, sgeqrf, slatsqr, sorgqr, task_count };

static enum bd_status add_rows(struct bd_bench *bench, struct qr_case *c,
                               const struct bd_bench_task *tasks)
{
    static const char *const names[task_count] = { "CAQR", "CAQR", "LAPACKE_sgeqrf", "slatsqr",
                                                   "sgeqrf + sorgqr" };
    double elements = (double)(c->m * c->n), products = 2 * elements * (double)c->n;
    int faster = tasks[slatsqr].ms < tasks[sgeqrf].ms ? slatsqr : sgeqrf;
    enum bd_status status = BD_OK;
    for (int t = 0; t < task_count && !status; t++) {
        bool with_q = t == own_q || t == sorgqr;
        struct bd_bench_row row = bd_bench_row_begin("qr", c->m, c->n);
        snprintf(row.name, sizeof row.name, "%s %" PRId64 "x%" PRId64,
                 with_q ? "R and thin Q" : "R only", c->m, c->n);
        snprintf(row.method, sizeof row.method, "%s", names[t]);
        row.ms = tasks[t].ms;
        row.floor_ms =
            bd_bench_floor(bench, (with_q ? 8 : 4) * elements, (with_q ? 2 : 1) * products);
        int peer = t == own_r ? faster : t == own_q ? sorgqr : -1;
        if (peer >= 0) {
            snprintf(row.peer, sizeof row.peer, "%s", names[peer]);
            row.peer_ms = tasks[peer].ms;
            status = check_own(c, with_q, &row);
        } else {
            status = check_lapack(c, t == slatsqr ? run_slatsqr : run_sgeqrf, with_q, &row);
        }
        if (!status)
            status = bd_bench_add(bench, &row);
    }
    return status;
}

enum bd_status bd_bench_qr(struct bd_bench *bench)
{
    enum bd_status status = BD_OK;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes && !status; i++) {
        struct qr_case c;
        if (shapes[i].quick != bench->options->quick)
            continue;
        status = open_case(&c, bench->backend, shapes[i].m, shapes[i].n);
        struct bd_bench_task tasks[task_count] = {
            [own_r] = { NULL, run_reduce, &c, 0 },
            [own_q] = { restore_factored, run_thin, &c, 0 },
            [sgeqrf] = { restore_work, run_sgeqrf, &c, 0 },
            [slatsqr] = { restore_work, run_slatsqr, &c, 0 },
            [sorgqr] = { restore_work, run_sorgqr, &c, 0 },
        };
        if (!status)
            status = bd_bench_time(bench, tasks, task_count, shapes[i].repeats);
        if (!status)
            status = add_rows(bench, &c, tasks);
        close_case(&c);
    }
    return status;
}
