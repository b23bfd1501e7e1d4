/* Blocked Householder QR with all m x m elements of Q, on the sizes of Kerr, Campbell, Richards: QR
 * Decomposition on GPUs (2009), table 1, against LAPACK or cuSOLVER. */
#include <inttypes.h>
#include <string.h>

#include "app/bench/platform.h"
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

struct wy_case {
    struct bd_bench *bench;
    int64_t m, n;
    struct bd_qr *qr;
    struct bd_matrix a, work; /* m x n: as it is; what the library overwrites */
    struct bd_matrix q;       /* m x m, the result; what the peers overwrite */
    struct bd_matrix r;       /* n x n */
    struct bd_bench_peer_qr peer;
};

/* A to the first columns of `to`; all are tight. */
static enum bd_status copy_a(struct wy_case *c, const struct bd_matrix *to)
{
    return c->bench->platform->copy(c->bench, to->data, c->a.data,
                                    (size_t)(c->m * c->n) * sizeof(float));
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
    BD_TRY(bd_qr_get_r(c->qr, &c->r));
    BD_TRY(bd_qr_form_full_q(c->qr, &c->q));
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
    return c->bench->platform->geqrf(&c->peer, c->m, c->n, c->q.data, c->m);
}

static enum bd_status run_peer(void *user)
{
    struct wy_case *c = user;
    const struct bd_bench_platform *p = c->bench->platform;
    enum bd_status status = run_peer_factor(c);
    BD_TRY(p->take_r(c->bench, c->n, c->r.data, c->n, c->q.data, c->m));
    BD_TRY(p->orgqr(&c->peer, c->m, c->m, c->n, c->q.data, c->m));
    return status;
}

static void close_case(struct wy_case *c)
{
    bd_qr_destroy(&c->qr);
    bd_bench_release(c->bench, NULL);
}

static enum bd_status open_case(struct wy_case *c, struct bd_bench *bench, int64_t m, int64_t n)
{
    *c = (struct wy_case){ .bench = bench, .m = m, .n = n };
    enum bd_status status = bd_bench_tight(bench, &c->a, m, n, BD_F32);
    BD_TRY(bd_bench_tight(bench, &c->work, m, n, BD_F32));
    BD_TRY(bd_bench_tight(bench, &c->q, m, m, BD_F32));
    BD_TRY(bd_bench_tight(bench, &c->r, n, n, BD_F32));
    BD_TRY(bd_bench_fill_there(bench, c->a.data, m * n, 3));
    if (bench->has_peers)
        BD_TRY(bd_bench_peer_qr_create(&c->peer, bench, m, n, m));
    return status;
}

enum { OWN, OWN_FACTOR, PEER, PEER_FACTOR, task_count };

static enum bd_status time_case(struct wy_case *c, struct bd_bench_task *tasks)
{
    const int count = c->bench->has_peers ? task_count : PEER;
    const int repeats = c->bench->gpu ? c->m > 4096 ? 3 : 7 : c->m > 2048 ? 1 : 3;
    tasks[OWN] = (struct bd_bench_task){ prepare_own, run_own, c, -1 };
    tasks[OWN_FACTOR] = (struct bd_bench_task){ prepare_own, run_own_factor, c, -1 };
    tasks[PEER] = (struct bd_bench_task){ prepare_peer, run_peer, c, -1 };
    tasks[PEER_FACTOR] = (struct bd_bench_task){ prepare_peer, run_peer_factor, c, -1 };
    return c->bench->platform->time(c->bench, tasks, count, repeats);
}

/* A = Q R with the first columns of Q, and ||Q^T Q - I||_F of all. */
static enum bd_status measure(struct wy_case *c, struct bd_bench_row *row)
{
    const struct bd_bench_platform *p = c->bench->platform;
    const float *q = c->q.data;
    double none;
    enum bd_status status =
        p->check(c->bench, &row->residual, &none, c->a.data, q, c->r.data, c->m, c->n, c->m);
    /* any matrices will do for A and R */
    BD_TRY(p->check(c->bench, &none, &row->orthogonality, q, q, q, c->m, c->m, c->m));
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
    return bd_bench_work_floor(bench, (struct bd_bench_work){ bytes, 0, 0, factor + form });
}

/* Runs a way once more and adds its row: the library's with what the peer takes. */
static enum bd_status add_row(struct wy_case *c, const struct shape *shape,
                              const struct bd_bench_task *tasks, int way, const char *name,
                              const char *peer)
{
    const double ms = tasks[way].ms, factor_ms = tasks[way + 1].ms;
    struct bd_bench_row row = bd_bench_row_begin("wy", c->m, c->n, name, peer);
    snprintf(row.name, sizeof row.name, "R and full Q %" PRId64 " x %" PRId64, c->m, c->n);
    row.ms = ms;
    row.floor_ms = floor_of(c->bench, (double)c->m, (double)c->n);
    if (ms > 0)
        bd_bench_extra(&row, "gflops", shape->work / ms * 1e3);
    if (factor_ms > 0)
        bd_bench_extra(&row, "factor_ms", factor_ms);
    bd_bench_extra(&row, "published_gflops", published_gflops);
    bd_bench_extra(&row, "criterion", (double)c->m * 0x1p-23);
    if (peer) {
        row.peer_ms = tasks[PEER].ms;
        bd_bench_extra(&row, "peer_factor_ms", tasks[PEER_FACTOR].ms);
    }
    enum bd_status status = tasks[way].prepare(c);
    BD_TRY(tasks[way].run(c));
    BD_TRY(measure(c, &row));
    BD_TRY(bd_bench_add(c->bench, &row));
    return status;
}

/* The library's methods: on the CPU blocked Householder is LAPACK's, and its own is CAQR. */
static enum bd_status run_shape(struct bd_bench *bench, const struct shape *shape)
{
    const char *peer = bench->gpu ? "cuSOLVER geqrf+orgqr" : "LAPACK sgeqrf+sorgqr";
    const char *own = bench->gpu ? "Householder" : "CAQR";
    const struct bd_qr_options options = { .method = bench->gpu ? BD_QR_HOUSEHOLDER : BD_QR_CAQR };
    struct bd_bench_task tasks[task_count];
    struct wy_case c;
    enum bd_status status = open_case(&c, bench, shape->m, shape->m / 2);
    BD_TRY(bd_qr_create(&c.qr, bench->backend, c.m, c.n, &options));
    BD_TRY(time_case(&c, tasks));
    BD_TRY(add_row(&c, shape, tasks, OWN, own, bench->has_peers ? peer : NULL));
    if (bench->has_peers)
        BD_TRY(add_row(&c, shape, tasks, PEER, peer, NULL));
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
