/* The SVD of the small R on the GPU against cuSOLVER and LAPACK. */
#include <inttypes.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench/gpu/gpu.h"
#include <backdrop/small_svd.h>

/* Rs that a run goes through in turn: of one R each element is changed by up to 0.1 % or 1 %, or
 * each is another. */
enum set { near, warm, cold, set_count };
enum { versions = 8 };

struct svd_case {
    int64_t n;
    struct bd_bench *bench;
    struct bd_small_svd *svd;
    struct bd_matrix r[set_count][versions];
    struct bd_matrix v, work;
    int next;
    struct bd_bench_peer_svd *peer;
    float *host, *u, *vt, *sigma;
};

static int next_version(struct svd_case *c)
{
    return c->next = (c->next + 1) % versions;
}

static enum bd_status run_set(struct svd_case *c, enum set set)
{
    return bd_small_svd_compute(c->svd, NULL, &c->v, &c->r[set][next_version(c)]);
}

static enum bd_status run_near(void *user)
{
    return run_set(user, near);
}

static enum bd_status run_warm(void *user)
{
    return run_set(user, warm);
}

static enum bd_status run_cold(void *user)
{
    return run_set(user, cold);
}

static enum bd_status prepare_gesvdj(void *user)
{
    struct svd_case *c = user;
    return bd_bench_gpu_copy(c->bench->gpu, c->work.data, c->r[warm][0].data,
                             (size_t)(c->n * c->n) * sizeof(float));
}

static enum bd_status run_gesvdj(void *user)
{
    struct svd_case *c = user;
    return bd_bench_peer_gesvdj(c->peer, c->work.data);
}

static enum bd_status run_gesvda(void *user)
{
    struct svd_case *c = user;
    return bd_bench_peer_gesvda(c->peer, c->r[warm][next_version(c)].data);
}

/* R down, V up: what a program that keeps its data on the GPU has to do. */
static enum bd_status run_lapack(void *user)
{
    struct svd_case *c = user;
    lapack_int n = (lapack_int)c->n;
    enum bd_status status = bd_matrix_download(c->bench->backend, c->host, c->n, &c->r[warm][0]);
    if (!status &&
        LAPACKE_sgesdd(LAPACK_COL_MAJOR, 'S', n, n, c->host, n, c->sigma, c->u, n, c->vt, n))
        status = bd_fail(BD_ERROR_NUMERIC, "LAPACKE_sgesdd failed");
    if (!status)
        status = bd_matrix_upload(c->bench->backend, &c->v, c->vt, c->n);
    return status;
}

static void close_case(struct svd_case *c)
{
    struct bd_backend *backend = c->bench->backend;
    bd_small_svd_destroy(&c->svd);
    for (int i = 0; i < set_count * versions; i++)
        bd_matrix_destroy(backend, &c->r[i / versions][i % versions]);
    bd_matrix_destroy(backend, &c->v);
    bd_matrix_destroy(backend, &c->work);
    bd_bench_peer_svd_destroy(&c->peer);
    free(c->host);
    free(c->u);
    free(c->vt);
    free(c->sigma);
}

/* An n x n matrix with ld = n, whatever the backend rounds to. */
static enum bd_status create_tight(struct bd_backend *backend, struct bd_matrix *matrix, int64_t n)
{
    enum bd_status status = bd_matrix_create(backend, matrix, n * n, 1, BD_F32);
    if (!status)
        matrix->rows = matrix->cols = matrix->ld = n;
    return status;
}

/* Upper triangles whose rows shrink, as R of a window does: sigma spans three decades. */
static enum bd_status fill_versions(struct svd_case *c)
{
    int64_t n = c->n;
    enum bd_status status = BD_OK;
    for (int k = 0; k < set_count * versions && !status; k++) {
        enum set set = (enum set)(k / versions);
        float change = set == near ? 0.001F : set == warm ? 0.01F : 0;
        bd_bench_fill(c->host, n * n, set == cold ? 4 + (uint64_t)k : 4);
        bd_bench_fill(c->u, n * n, 100 + (uint64_t)k);
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < n; i++)
                c->host[i + j * n] *=
                    i > j ? 0
                          : powf(10, -3.0F * (float)i / (float)n) * (1 + change * c->u[i + j * n]);
        status = bd_matrix_upload(c->bench->backend, &c->r[set][k % versions], c->host, n);
    }
    return status;
}

static enum bd_status open_case(struct svd_case *c, struct bd_bench *bench, int64_t n)
{
    size_t square = (size_t)(n * n) * sizeof(float);
    *c = (struct svd_case){ .n = n, .bench = bench };
    c->host = malloc(square);
    c->u = malloc(square);
    c->vt = malloc(square);
    c->sigma = malloc((size_t)n * sizeof *c->sigma);
    if (!c->host || !c->u || !c->vt || !c->sigma)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for R of %" PRId64 " columns", n);
    enum bd_status status = bd_small_svd_create(&c->svd, bench->backend, n);
    for (int i = 0; i < set_count * versions && !status; i++)
        status = create_tight(bench->backend, &c->r[i / versions][i % versions], n);
    if (!status)
        status = create_tight(bench->backend, &c->v, n);
    if (!status)
        status = create_tight(bench->backend, &c->work, n);
    if (!status && bd_bench_gpu_has_peers(bench->gpu))
        status = bd_bench_peer_svd_create(&c->peer, bench->gpu, n);
    return status ? status : fill_versions(c);
}

/* The sets are the first tasks. */
enum { gesvdj = set_count, gesvda, lapack, task_count };

/* Of one more run, on the first of its Rs. */
static enum bd_status check(struct svd_case *c, int task, struct bd_bench_row *row)
{
    int64_t n = c->n;
    int info = 0;
    float *v = malloc((size_t)(n * n) * sizeof *v);
    struct bd_matrix *r = &c->r[task < set_count ? task : warm][0];
    enum bd_status status = v ? BD_OK : bd_fail(BD_ERROR_MEMORY, "out of memory for V");
    if (!status && task == lapack) {
        status = run_lapack(c);
        for (int64_t i = 0; i < n * n; i++)
            v[i] = c->vt[i / n + i % n * n];
    } else if (!status && (task == gesvdj || task == gesvda)) {
        c->next = versions - 1;
        status = task == gesvdj ? prepare_gesvdj(c) : BD_OK;
        if (!status)
            status = task == gesvdj ? run_gesvdj(c) : run_gesvda(c);
        if (!status)
            status = bd_bench_peer_svd_get(c->peer, c->sigma, v, &info);
    } else if (!status) {
        status = bd_small_svd_compute(c->svd, c->sigma, &c->v, r);
        if (!status)
            status = bd_matrix_download(c->bench->backend, v, n, &c->v);
    }
    if (!status)
        status = bd_matrix_download(c->bench->backend, c->host, n, r);
    if (!status && info) {
        size_t used = strlen(row->method);
        snprintf(row->method + used, sizeof row->method - used, ", info %d", info);
    }
    if (!status)
        bd_bench_check_svd(&row->residual, &row->orthogonality, c->host, c->sigma, v, n);
    free(v);
    return status;
}

static enum bd_status compare(struct bd_bench *bench, struct svd_case *c)
{
    static const char *const cases[] = {
        [near] = ", 0.1 % changed", [warm] = ", 1 % changed", [cold] = ", another R"
    };
    static const char *const names[] = {
        [near] = "small SVD, warm",   [warm] = "small SVD, warm",
        [cold] = "small SVD, cold",   [gesvdj] = "cuSOLVER gesvdj",
        [gesvda] = "cuSOLVER gesvda", [lapack] = "LAPACKE_sgesdd, copies"
    };
    double n = (double)c->n;
    bool peers = bd_bench_gpu_has_peers(bench->gpu);
    struct bd_bench_task tasks[task_count] = {
        [near] = { NULL, run_near, c, -1 },
        [warm] = { NULL, run_warm, c, -1 },
        [cold] = { NULL, run_cold, c, -1 },
        [gesvdj] = { prepare_gesvdj, peers ? run_gesvdj : NULL, c, -1 },
        [gesvda] = { NULL, peers ? run_gesvda : NULL, c, -1 },
        [lapack] = { NULL, run_lapack, c, -1 },
    };
    enum bd_status status = bd_bench_gpu_time(bench, tasks, task_count, 9);
    int best = lapack;
    for (int t = gesvdj; t < task_count; t++)
        if (tasks[t].ms >= 0 && tasks[t].ms < tasks[best].ms)
            best = t;
    for (int t = 0; t < task_count && !status; t++) {
        struct bd_bench_row row = bd_bench_row_begin("svd", c->n, c->n);
        if (!tasks[t].run)
            continue;
        snprintf(row.name, sizeof row.name, "R of %" PRId64 " columns%s", c->n,
                 t < set_count ? cases[t] : "");
        snprintf(row.method, sizeof row.method, "%s", names[t]);
        row.ms = tasks[t].ms;
        if (t < set_count) {
            snprintf(row.peer, sizeof row.peer, "%s", names[best]);
            row.peer_ms = tasks[best].ms;
        }
        /* 12 n^3 for sigma and V: Golub and Van Loan, 4th edition, figure 8.6.1 */
        row.floor_ms = bd_bench_floor(bench, 12 * n * n, 12 * n * n * n);
        status = check(c, t, &row);
        if (!status)
            status = bd_bench_add(bench, &row);
    }
    return status;
}

enum bd_status bd_bench_gpu_svd(struct bd_bench *bench)
{
    static const int64_t sizes[] = { 50, 100, 192, 256 };
    enum bd_status status = BD_OK;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !status; i++) {
        struct svd_case c;
        if (bench->options->quick && i > 0)
            break;
        status = open_case(&c, bench, sizes[i]);
        if (!status)
            status = compare(bench, &c);
        close_case(&c);
    }
    return status;
}
