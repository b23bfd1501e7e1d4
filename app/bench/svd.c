/* The SVD of the small R against LAPACK's divide and conquer. */
#include <inttypes.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench/bench.h"
#include <backdrop/small_svd.h>

struct svd_case {
    int64_t n;
    struct bd_backend *backend;
    struct bd_small_svd *svd;
    struct bd_matrix r, v;
    float *host, *work, *u, *vt, *sigma;
};

static enum bd_status run_own(void *user)
{
    struct svd_case *c = user;
    return bd_small_svd_compute(c->svd, c->sigma, &c->v, &c->r);
}

static enum bd_status prepare_sgesdd(void *user)
{
    struct svd_case *c = user;
    memcpy(c->work, c->host, (size_t)(c->n * c->n) * sizeof *c->work);
    return BD_OK;
}

static enum bd_status run_sgesdd(void *user)
{
    struct svd_case *c = user;
    lapack_int n = (lapack_int)c->n;
    if (LAPACKE_sgesdd(LAPACK_COL_MAJOR, 'S', n, n, c->work, n, c->sigma, c->u, n, c->vt, n))
        return bd_fail(BD_ERROR_NUMERIC, "LAPACKE_sgesdd failed");
    return BD_OK;
}

static void close_case(struct svd_case *c)
{
    bd_small_svd_destroy(&c->svd);
    bd_matrix_destroy(c->backend, &c->r);
    bd_matrix_destroy(c->backend, &c->v);
    free(c->host);
    free(c->work);
    free(c->u);
    free(c->vt);
    free(c->sigma);
}

static enum bd_status open_case(struct svd_case *c, struct bd_backend *backend, int64_t n)
{
    size_t square = (size_t)(n * n);
    *c = (struct svd_case){ .n = n, .backend = backend };
    c->host = malloc(square * sizeof *c->host);
    c->work = malloc(square * sizeof *c->work);
    c->u = malloc(square * sizeof *c->u);
    c->vt = malloc(square * sizeof *c->vt);
    c->sigma = malloc((size_t)n * sizeof *c->sigma);
    if (!c->host || !c->work || !c->u || !c->vt || !c->sigma)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for R of %" PRId64 " columns", n);
    bd_bench_fill(c->host, n * n, 4);
    /* an upper triangle whose rows shrink, as R of a window does: sigma spans three decades */
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            c->host[i + j * n] *= i > j ? 0 : powf(10, -3.0F * (float)i / (float)n);
    enum bd_status status = bd_matrix_create(backend, &c->r, n, n, BD_F32);
    if (!status)
        status = bd_matrix_create(backend, &c->v, n, n, BD_F32);
    if (!status)
        status = bd_small_svd_create(&c->svd, backend, n);
    if (!status)
        status = bd_matrix_upload(backend, &c->r, c->host, n);
    return status;
}

static enum bd_status check(struct svd_case *c, struct bd_bench_row *row)
{
    float *v = malloc((size_t)(c->n * c->n) * sizeof *v);
    if (!v)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for V");
    enum bd_status status = bd_matrix_download(c->backend, v, c->n, &c->v);
    if (!status)
        bd_bench_check_svd(&row->residual, &row->orthogonality, c->host, c->sigma, v, c->n);
    free(v);
    return status;
}

enum bd_status bd_bench_svd(struct bd_bench *bench)
{
    static const int64_t sizes[] = { 50, 100, 192 };
    enum bd_status status = BD_OK;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !status; i++) {
        struct svd_case c;
        double n = (double)sizes[i];
        if (bench->options->quick && i > 0)
            break;
        status = open_case(&c, bench->backend, sizes[i]);
        struct bd_bench_task tasks[] = { { NULL, run_own, &c, 0 },
                                         { prepare_sgesdd, run_sgesdd, &c, 0 } };
        if (!status)
            status = bd_bench_time(bench, tasks, 2, 25);
        struct bd_bench_row row = bd_bench_row_begin("svd", sizes[i], sizes[i]);
        snprintf(row.name, sizeof row.name, "R of %" PRId64 " columns", sizes[i]);
        snprintf(row.method, sizeof row.method, "small SVD, sigma and V");
        snprintf(row.peer, sizeof row.peer, "LAPACKE_sgesdd");
        row.ms = tasks[0].ms;
        row.peer_ms = tasks[1].ms;
        /* 12 n^3 for sigma and V: Golub and Van Loan, 4th edition, figure 8.6.1 */
        row.floor_ms = bd_bench_floor(bench, 12 * n * n, 12 * n * n * n);
        if (!status)
            status = run_own(&c); /* sigma is LAPACK's now */
        if (!status)
            status = check(&c, &row);
        if (!status)
            status = bd_bench_add(bench, &row);
        close_case(&c);
    }
    return status;
}
