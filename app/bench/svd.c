/* The SVD of the small R against LAPACK's divide and conquer, and cuSOLVER on a GPU. */
#include <inttypes.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "app/bench/platform.h"
#include <backdrop/small_svd.h>

/* Rs that a run goes through in turn on a GPU, where the SVD may start from the last one: of one R
 * each element is changed by up to 0.1 % or 1 %, or each is another. The CPU has one R of a set. */
enum set { near, warm, cold, set_count };
enum { gesvdj = set_count, gesvda, lapack, task_count };
enum { versions = 8 };

struct svd_case;
struct own {
    struct svd_case *c;
    enum set set;
};

struct svd_case {
    struct own own[set_count]; /* what the library's runs get */
    int64_t n;
    struct bd_bench *bench;
    struct bd_small_svd *svd;
    struct bd_matrix r[set_count][versions];
    struct bd_matrix v, work;
    int next, version_count;
    void *peer;
    float *host, *u, *vt, *sigma, *fetched;
};

static enum bd_status run_own(void *user)
{
    const struct own *own = user;
    struct svd_case *c = own->c;
    c->next = (c->next + 1) % c->version_count;
    return bd_small_svd_compute(c->svd, c->bench->gpu ? NULL : c->sigma, &c->v,
                                &c->r[own->set][c->next]);
}

static enum bd_status prepare_gesvdj(void *user)
{
    struct svd_case *c = user;
    return c->bench->platform->copy(c->bench, c->work.data, c->r[warm][0].data,
                                    (size_t)(c->n * c->n) * sizeof(float));
}

static enum bd_status run_gesvdj(void *user)
{
    struct svd_case *c = user;
    return c->bench->platform->svd_run(c->bench, c->peer, BD_PEER_SVD_JACOBI, c->work.data);
}

static enum bd_status run_gesvda(void *user)
{
    struct svd_case *c = user;
    c->next = (c->next + 1) % c->version_count;
    return c->bench->platform->svd_run(c->bench, c->peer, BD_PEER_SVD_TALL,
                                       c->r[warm][c->next].data);
}

static enum bd_status download(void *user)
{
    struct svd_case *c = user;
    return bd_matrix_download(c->bench->backend, c->host, c->n, &c->r[warm][0]);
}

static enum bd_status run_lapack(void *user)
{
    struct svd_case *c = user;
    lapack_int n = (lapack_int)c->n;
    if (LAPACKE_sgesdd(LAPACK_COL_MAJOR, 'S', n, n, c->host, n, c->sigma, c->u, n, c->vt, n))
        return bd_fail(BD_ERROR_NUMERIC, "LAPACKE_sgesdd failed");
    return BD_OK;
}

/* R down, V up: what a program that keeps its data on the GPU has to do. */
static enum bd_status run_lapack_copies(void *user)
{
    struct svd_case *c = user;
    enum bd_status status = download(c);
    BD_TRY(run_lapack(c));
    BD_TRY(bd_matrix_upload(c->bench->backend, &c->v, c->vt, c->n));
    return status;
}

static void close_case(struct svd_case *c)
{
    bd_small_svd_destroy(&c->svd);
    bd_bench_release(c->bench, NULL);
}

/* Upper triangles whose rows shrink, as R of a window does: sigma spans three decades. */
static enum bd_status fill(struct svd_case *c, enum set set, int version)
{
    const int64_t n = c->n;
    const uint64_t k = (uint64_t)set * versions + (uint64_t)version;
    float change = !c->bench->gpu || set == cold ? 0 : set == near ? 0.001F : 0.01F;
    bd_bench_fill(c->host, n * n, set == cold ? 4 + k : 4);
    bd_bench_fill(c->u, n * n, 100 + k);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            c->host[i + j * n] *=
                i > j ? 0 : powf(10, -3.0F * (float)i / (float)n) * (1 + change * c->u[i + j * n]);
    enum bd_status status = bd_bench_tight(c->bench, &c->r[set][version], n, n, BD_F32);
    BD_TRY(bd_matrix_upload(c->bench->backend, &c->r[set][version], c->host, n));
    return status;
}

static enum bd_status open_case(struct svd_case *c, struct bd_bench *bench, int64_t n)
{
    *c = (struct svd_case){ .n = n, .bench = bench, .version_count = bench->gpu ? versions : 1 };
    for (int set = 0; set < set_count; set++)
        c->own[set] = (struct own){ c, (enum set)set };
    float **const squares[] = { &c->host, &c->u, &c->vt, &c->fetched, &c->sigma };
    enum bd_status status = BD_OK;
    for (int i = 0; i < 5 && !status; i++)
        if (!(*squares[i] = bd_bench_memory(bench, n * n, sizeof(float))))
            status = bd_bench_out_of_memory();
    BD_TRY(bd_small_svd_create(&c->svd, bench->backend, n));
    for (int set = bench->gpu ? near : warm; set < (bench->gpu ? set_count : cold); set++)
        for (int i = 0; i < c->version_count && !status; i++)
            status = fill(c, (enum set)set, i);
    BD_TRY(bd_bench_tight(bench, &c->v, n, n, BD_F32));
    BD_TRY(bd_bench_tight(bench, &c->work, n, n, BD_F32));
    if (bench->gpu && bench->has_peers)
        BD_TRY(bench->platform->svd_create(bench, n, &c->peer));
    return status;
}

/* Runs a way once more, of the first R of its set, and measures what it left. cuSOLVER's info is
 * added to the method's name where it is not 0: a result that did not converge. */
static enum bd_status check(struct svd_case *c, int task, struct bd_bench_row *row)
{
    const int64_t n = c->n;
    int info = 0;
    struct bd_matrix *r = &c->r[task < set_count ? task : warm][0];
    enum bd_status status = BD_OK;
    if (task == lapack) {
        status = run_lapack_copies(c);
        for (int64_t i = 0; i < n * n; i++)
            c->fetched[i] = c->vt[i / n + i % n * n];
    } else if (task == gesvdj || task == gesvda) {
        c->next = c->version_count - 1;
        status = task == gesvdj ? prepare_gesvdj(c) : BD_OK;
        BD_TRY((task == gesvdj ? run_gesvdj : run_gesvda)(c));
        BD_TRY(c->bench->platform->svd_fetch(c->bench, c->peer, c->sigma, c->fetched, &info));
    } else {
        status = bd_small_svd_compute(c->svd, c->sigma, &c->v, r);
        BD_TRY(bd_matrix_download(c->bench->backend, c->fetched, n, &c->v));
    }
    BD_TRY(bd_matrix_download(c->bench->backend, c->host, n, r));
    if (!status && info) {
        size_t used = strlen(row->method);
        snprintf(row->method + used, sizeof row->method - used, ", info %d", info);
    }
    if (!status)
        bd_bench_check_svd(&row->residual, &row->orthogonality, c->host, c->sigma, c->fetched, n);
    return status;
}

static enum bd_status compare(struct svd_case *c)
{
    static const char *const cases[] = {
        [near] = ", 0.1 % changed", [warm] = ", 1 % changed", [cold] = ", another R"
    };
    static const char *const gpu_names[] = {
        [near] = "small SVD, warm",   [warm] = "small SVD, warm",
        [cold] = "small SVD, cold",   [gesvdj] = "cuSOLVER gesvdj",
        [gesvda] = "cuSOLVER gesvda", [lapack] = "LAPACKE_sgesdd, copies"
    };
    static const char *const cpu_names[] = {
        [warm] = "small SVD, sigma and V", [lapack] = "LAPACKE_sgesdd"
    };
    struct bd_bench *bench = c->bench;
    const bool gpu = bench->gpu, cusolver = c->peer;
    const char *const *names = gpu ? gpu_names : cpu_names;
    const double n = (double)c->n;
    struct bd_bench_task tasks[task_count] = {
        [near] = { NULL, gpu ? run_own : NULL, &c->own[near], -1 },
        [warm] = { NULL, run_own, &c->own[warm], -1 },
        [cold] = { NULL, gpu ? run_own : NULL, &c->own[cold], -1 },
        [gesvdj] = { prepare_gesvdj, cusolver ? run_gesvdj : NULL, c, -1 },
        [gesvda] = { NULL, cusolver ? run_gesvda : NULL, c, -1 },
        [lapack] = { gpu ? NULL : download, gpu ? run_lapack_copies : run_lapack, c, -1 },
    };
    enum bd_status status = bench->platform->time(bench, tasks, task_count, gpu ? 9 : 25);
    int best = lapack;
    for (int t = gesvdj; t < task_count; t++)
        if (tasks[t].ms >= 0 && tasks[t].ms < tasks[best].ms)
            best = t;
    for (int t = 0; t < (gpu ? task_count : set_count) && !status; t++) {
        if (!tasks[t].run)
            continue;
        struct bd_bench_row row =
            bd_bench_row_begin("svd", c->n, c->n, names[t], t < set_count ? names[best] : NULL);
        snprintf(row.name, sizeof row.name, "R of %" PRId64 " columns%s", c->n,
                 gpu && t < set_count ? cases[t] : "");
        row.ms = tasks[t].ms;
        if (t < set_count)
            row.peer_ms = tasks[best].ms;
        /* 12 n^3 for sigma and V: Golub and Van Loan, 4th edition, figure 8.6.1 */
        row.floor_ms = bd_bench_floor(bench, 12 * n * n, 12 * n * n * n);
        status = check(c, t, &row);
        BD_TRY(bd_bench_add(bench, &row));
    }
    return status;
}

enum bd_status bd_bench_svd(struct bd_bench *bench)
{
    static const int64_t sizes[] = { 50, 100, 192, 256 };
    const int count = bench->options->quick ? 1 : bench->gpu ? 4 : 3;
    enum bd_status status = BD_OK;
    for (int i = 0; i < count && !status; i++) {
        struct svd_case c;
        status = open_case(&c, bench, sizes[i]);
        BD_TRY(compare(&c));
        close_case(&c);
    }
    return status;
}
