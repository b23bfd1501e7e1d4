/* Blocked Householder QR with all m x m elements of Q, on the sizes of Kerr, Campbell, Richards: QR
 * Decomposition on GPUs (2009), table 1, against LAPACK or cuSOLVER. */
#include <inttypes.h>
#include <lapacke.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench/bench.h"
#ifdef BD_HAVE_CUDA
#include "app/bench/gpu/gpu.h"
#endif
#include <backdrop/qr.h>

/* m = 2 n; the paper's count of operations, in 1e9: their blocked algorithm's, which forms W and
 * takes no notice of what of Q is still an identity. */
static const struct shape {
    int64_t m;
    double work;
    bool quick;
} shapes[] = {
    { 512, 0.275, true },  { 1024, 2.14, true },  { 1536, 7.14, true },  { 2048, 16.8, false },
    { 2560, 32.8, false }, { 3072, 56.5, false }, { 3584, 89.7, false }, { 4096, 134, false },
    { 4608, 190, false },  { 5120, 261, false },  { 6656, 572, false },  { 8192, 1090, false },
};

/* The fastest rate in the paper, of all of it: GeForce GTX 280. */
static const double published_gflops = 143;

struct lapack {
    float *tau, *work;
    lapack_int lwork;
};

struct wy_case {
    struct bd_bench *bench;
    int64_t m, n;
    struct bd_qr *qr;
    struct bd_matrix a, work; /* m x n: as it is; what the library overwrites */
    struct bd_matrix q;       /* m x m, the result; what the peers overwrite */
    struct bd_matrix r;       /* n x n, tight */
    struct lapack lapack;
#ifdef BD_HAVE_CUDA
    struct bd_bench_peer_qr *peer;
#endif
};

/* A to the first columns of `to`; all are tight, since m is a multiple of 512. */
static enum bd_status copy_a(struct wy_case *c, const struct bd_matrix *to)
{
    const size_t bytes = (size_t)(c->m * c->n) * sizeof(float);
#ifdef BD_HAVE_CUDA
    if (c->bench->gpu)
        return bd_bench_gpu_copy(c->bench->gpu, to->data, c->a.data, bytes);
#endif
    memcpy(to->data, c->a.data, bytes);
    return BD_OK;
}

static enum bd_status prepare_own(void *user)
{
    struct wy_case *c = user;
    return copy_a(c, &c->work);
}

static enum bd_status run_own_factor(void *user)
{
    struct wy_case *c = user;
    return bd_qr_factor(c->qr, &c->work);
}

static enum bd_status run_own(void *user)
{
    struct wy_case *c = user;
    enum bd_status status = bd_qr_factor(c->qr, &c->work);
    if (!status)
        status = bd_qr_get_r(c->qr, &c->r);
    if (!status)
        status = bd_qr_form_full_q(c->qr, &c->q);
    return status;
}

static enum bd_status prepare_peer(void *user)
{
    struct wy_case *c = user;
    return copy_a(c, &c->q);
}

static enum bd_status run_peer_factor(void *user)
{
    struct wy_case *c = user;
#ifdef BD_HAVE_CUDA
    if (c->bench->gpu)
        return bd_bench_peer_geqrf(c->peer, c->q.data);
#endif
    if (LAPACKE_sgeqrf_work(LAPACK_COL_MAJOR, (lapack_int)c->m, (lapack_int)c->n, c->q.data,
                            (lapack_int)c->m, c->lapack.tau, c->lapack.work, c->lapack.lwork))
        return bd_fail(BD_ERROR_NUMERIC, "sgeqrf failed");
    return BD_OK;
}

static enum bd_status form_lapack(struct wy_case *c)
{
    const lapack_int m = (lapack_int)c->m, n = (lapack_int)c->n;
    float *r = c->r.data;
    memset(r, 0, (size_t)(c->n * c->n) * sizeof *r);
    if (LAPACKE_slacpy_work(LAPACK_COL_MAJOR, 'U', n, n, c->q.data, m, r, n) ||
        LAPACKE_sorgqr_work(LAPACK_COL_MAJOR, m, m, n, c->q.data, m, c->lapack.tau, c->lapack.work,
                            c->lapack.lwork))
        return bd_fail(BD_ERROR_NUMERIC, "sorgqr failed");
    return BD_OK;
}

static enum bd_status run_peer(void *user)
{
    struct wy_case *c = user;
    enum bd_status status = run_peer_factor(c);
    if (status)
        return status;
#ifdef BD_HAVE_CUDA
    if (c->bench->gpu) {
        status = bd_bench_peer_take_r(c->peer, c->r.data, c->q.data);
        return status ? status : bd_bench_peer_orgqr(c->peer, c->q.data);
    }
#endif
    return form_lapack(c);
}

static void close_case(struct wy_case *c)
{
    bd_qr_destroy(&c->qr);
    bd_matrix_destroy(c->bench->backend, &c->a);
    bd_matrix_destroy(c->bench->backend, &c->work);
    bd_matrix_destroy(c->bench->backend, &c->q);
    bd_matrix_destroy(c->bench->backend, &c->r);
    free(c->lapack.tau);
    free(c->lapack.work);
#ifdef BD_HAVE_CUDA
    bd_bench_peer_qr_destroy(&c->peer);
#endif
}

static enum bd_status open_lapack(struct wy_case *c)
{
    const lapack_int m = (lapack_int)c->m, n = (lapack_int)c->n;
    float sizes[2] = { 0 };
    LAPACKE_sgeqrf_work(LAPACK_COL_MAJOR, m, n, NULL, m, NULL, &sizes[0], -1);
    LAPACKE_sorgqr_work(LAPACK_COL_MAJOR, m, m, n, NULL, m, NULL, &sizes[1], -1);
    c->lapack.lwork = (lapack_int)(sizes[0] > sizes[1] ? sizes[0] : sizes[1]);
    c->lapack.tau = malloc((size_t)n * sizeof(float));
    c->lapack.work = malloc((size_t)c->lapack.lwork * sizeof(float));
    if (c->lapack.tau && c->lapack.work)
        return BD_OK;
    return bd_fail(BD_ERROR_MEMORY, "out of memory for LAPACK's workspace");
}

/* Whether the peer is there. */
static bool has_peer(const struct bd_bench *bench)
{
#ifdef BD_HAVE_CUDA
    if (bench->gpu)
        return bd_bench_gpu_has_peers(bench->gpu);
#endif
    (void)bench;
    return true;
}

static enum bd_status fill(struct wy_case *c)
{
    struct bd_bench *bench = c->bench;
#ifdef BD_HAVE_CUDA
    if (bench->gpu)
        return bd_bench_gpu_fill(bench->gpu, c->a.data, c->m * c->n, 3);
#endif
    (void)bench;
    bd_bench_fill(c->a.data, c->m * c->n, 3);
    return BD_OK;
}

static enum bd_status open_case(struct wy_case *c, struct bd_bench *bench, int64_t m, int64_t n)
{
    *c = (struct wy_case){ .bench = bench, .m = m, .n = n };
    enum bd_status status = bd_matrix_create(bench->backend, &c->a, m, n, BD_F32);
    if (!status)
        status = bd_matrix_create(bench->backend, &c->work, m, n, BD_F32);
    if (!status)
        status = bd_matrix_create(bench->backend, &c->q, m, m, BD_F32);
    if (!status)
        status = bd_matrix_create(bench->backend, &c->r, n * n, 1, BD_F32);
    c->r.rows = c->r.cols = c->r.ld = n;
    if (!status)
        status = fill(c);
    if (!bench->gpu && !status)
        status = open_lapack(c);
#ifdef BD_HAVE_CUDA
    if (bench->gpu && has_peer(bench) && !status)
        status = bd_bench_peer_qr_create(&c->peer, bench->gpu, m, n, m);
#endif
    return status;
}

enum { OWN, OWN_FACTOR, PEER, PEER_FACTOR, task_count };

static enum bd_status time_case(struct wy_case *c, struct bd_bench_task *tasks)
{
    const bool peer = has_peer(c->bench);
    const int count = peer ? task_count : PEER;
    tasks[OWN] = (struct bd_bench_task){ prepare_own, run_own, c, -1 };
    tasks[OWN_FACTOR] = (struct bd_bench_task){ prepare_own, run_own_factor, c, -1 };
    tasks[PEER] = (struct bd_bench_task){ prepare_peer, run_peer, c, -1 };
    tasks[PEER_FACTOR] = (struct bd_bench_task){ prepare_peer, run_peer_factor, c, -1 };
#ifdef BD_HAVE_CUDA
    if (c->bench->gpu)
        return bd_bench_gpu_time(c->bench, tasks, count, c->m > 4096 ? 3 : 7);
#endif
    return bd_bench_time(c->bench, tasks, count, c->m > 2048 ? 1 : 3);
}

/* Of the m x n matrix a, with k columns of Q and R: as bd_bench_check. */
static enum bd_status check(struct wy_case *c, double *residual, double *orthogonality,
                            const float *a, const float *r, int64_t k)
{
#ifdef BD_HAVE_CUDA
    if (c->bench->gpu)
        return bd_bench_gpu_check(c->bench, residual, orthogonality, a, c->q.data, r, c->m, k,
                                  c->m);
#endif
    bd_bench_set_blas_threads(c->bench);
    return bd_bench_check(residual, orthogonality, a, c->q.data, r, c->m, k);
}

/* A = Q R with the first columns of Q, and ||Q^T Q - I||_F of all. */
static enum bd_status measure(struct wy_case *c, struct bd_bench_row *row)
{
    double none;
    enum bd_status status = check(c, &row->residual, &none, c->a.data, c->r.data, c->n);
    if (!status) /* any matrices will do for A and R */
        status = check(c, &none, &row->orthogonality, c->q.data, c->q.data, c->m);
    return status;
}

/* The least time: A read, R and Q written; reflectors of n columns, applied to what they change of
 * A and of an identity. */
static double floor_of(const struct bd_bench *bench, double m, double n)
{
    const double kept = m - n;
    const double factor = 2 * n * n * (m - n / 3);
    const double form = 4.0 / 3 * (m * m * m - kept * kept * kept);
    const double bytes = sizeof(float) * (m * n + n * n + m * m);
#ifdef BD_HAVE_CUDA
    if (bench->gpu)
        return bd_bench_gpu_floor(
            bench->gpu, (struct bd_bench_work){ .bytes = bytes, .product = factor + form });
#endif
    return bd_bench_floor(bench, bytes, factor + form);
}

static struct bd_bench_row begin_row(const struct wy_case *c, const struct shape *shape, double ms,
                                     double factor_ms)
{
    struct bd_bench_row row = bd_bench_row_begin("wy", c->m, c->n);
    snprintf(row.name, sizeof row.name, "R and full Q %" PRId64 " x %" PRId64, c->m, c->n);
    row.ms = ms;
    row.floor_ms = floor_of(c->bench, (double)c->m, (double)c->n);
    if (ms > 0)
        bd_bench_extra(&row, "gflops", shape->work / ms * 1e3);
    if (factor_ms > 0)
        bd_bench_extra(&row, "factor_ms", factor_ms);
    bd_bench_extra(&row, "published_gflops", published_gflops);
    bd_bench_extra(&row, "criterion", (double)c->m * 0x1p-23);
    return row;
}

/* The library's method, with what the peer takes. */
static enum bd_status add_own(struct wy_case *c, const struct shape *shape,
                              const struct bd_bench_task *tasks, const char *name, const char *peer)
{
    struct bd_bench_row row = begin_row(c, shape, tasks[OWN].ms, tasks[OWN_FACTOR].ms);
    snprintf(row.method, sizeof row.method, "%s", name);
    if (has_peer(c->bench)) {
        snprintf(row.peer, sizeof row.peer, "%s", peer);
        row.peer_ms = tasks[PEER].ms;
        bd_bench_extra(&row, "peer_factor_ms", tasks[PEER_FACTOR].ms);
    }
    enum bd_status status = prepare_own(c);
    if (!status)
        status = run_own(c);
    if (!status)
        status = measure(c, &row);
    return status ? status : bd_bench_add(c->bench, &row);
}

static enum bd_status add_peer(struct wy_case *c, const struct shape *shape,
                               const struct bd_bench_task *tasks, const char *peer)
{
    struct bd_bench_row row = begin_row(c, shape, tasks[PEER].ms, tasks[PEER_FACTOR].ms);
    snprintf(row.method, sizeof row.method, "%s", peer);
    enum bd_status status = prepare_peer(c);
    if (!status)
        status = run_peer(c);
    if (!status)
        status = measure(c, &row);
    return status ? status : bd_bench_add(c->bench, &row);
}

/* The library's methods: on the CPU blocked Householder is LAPACK's, and its own is CAQR. */
static enum bd_status run_shape(struct bd_bench *bench, const struct shape *shape)
{
    const char *peer = bench->gpu ? "cuSOLVER geqrf+orgqr" : "LAPACK sgeqrf+sorgqr";
    const struct bd_qr_options options = { .method = bench->gpu ? BD_QR_HOUSEHOLDER : BD_QR_CAQR };
    struct bd_bench_task tasks[task_count];
    struct wy_case c;
    enum bd_status status = open_case(&c, bench, shape->m, shape->m / 2);
    if (!status)
        status = bd_qr_create(&c.qr, bench->backend, c.m, c.n, &options);
    if (!status)
        status = time_case(&c, tasks);
    if (!status)
        status = add_own(&c, shape, tasks, bench->gpu ? "Householder" : "CAQR", peer);
    if (!status && has_peer(bench))
        status = add_peer(&c, shape, tasks, peer);
    close_case(&c);
    return status;
}

enum bd_status bd_bench_wy(struct bd_bench *bench)
{
    enum bd_status status = BD_OK;
    bool found = false;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes && !status; i++) {
        char name[BD_BENCH_NAME];
        snprintf(name, sizeof name, "%" PRId64, shapes[i].m);
        if (bench->part ? strcmp(bench->part, name) != 0
                        : bench->options->quick && !shapes[i].quick)
            continue;
        found = true;
        status = run_shape(bench, &shapes[i]);
    }
    if (!found)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "wy:%s: a part is a number of rows of the table, 512 to 8192",
                       bench->part ? bench->part : "");
    return status;
}
