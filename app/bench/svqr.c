/* QR by the Gram matrix at the shapes of Yamazaki, Tomov, Dongarra (2016), figures 19 to 22, n =
 * 20, and longer ones: CholQR and SVQR, in float64 and in mixed precision, one pass and as many as
 * make Q orthogonal to 1e-12; on a GPU against the same in library calls. Each run
 * starts from the same V. */
#include "app/bench/platform.h"

#include <cblas.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <backdrop/gram_qr.h>

struct shape {
    int64_t m, n;
    bool quick;
    bool on_cpu;
};

static const struct shape shapes[] = {
    { 20000, 20, true, true },     { 32000, 20, false, true },   { 80000, 20, false, true },
    { 250000, 20, false, false },  { 500000, 20, false, true },  { 1000000, 20, false, false },
    { 2000000, 20, false, false }, { 500000, 40, false, false }, { 200000, 128, false, false },
    { 100000, 256, false, false }, { 50000, 512, false, false },
};

enum { most_svd = 256 }; /* columns that SVQR takes on every backend */

/* What V is: random columns, or ones that are all but the same, of condition about 1e10: there the
 * adaptive mixed precision takes float32. */
enum matrix_kind { RANDOM, COLLINEAR, kind_count };
static const char *const kind_names[] = { "random", "collinear" };

/* What is timed. */
static const struct {
    const char *name;
    enum matrix_kind kind;
    enum bd_gram_qr_method method;
    bool mixed;
    int max_passes;
    int way; /* of the peers: BD_PEER_..; -1: the library's own */
} ways[] = {
    { "CholQR, one pass", RANDOM, BD_GRAM_QR_CHOLESKY, false, 1, -1 },
    { "SVQR, one pass", RANDOM, BD_GRAM_QR_SVD, false, 1, -1 },
    { "CholQR2", RANDOM, BD_GRAM_QR_CHOLESKY2, false, 0, -1 },
    { "CholQR: dgemm, cuSOLVER, dtrsm", RANDOM, BD_GRAM_QR_CHOLESKY, false, 1, BD_PEER_CHOLQR },
    { "CholQR: dgemm, LAPACK, dtrsm", RANDOM, BD_GRAM_QR_CHOLESKY, false, 1, BD_PEER_CHOLQR_HOST },
    { "SVQR: dgemm, LAPACK, dtrsm", RANDOM, BD_GRAM_QR_SVD, false, 1, BD_PEER_SVQR },
    { "SVQR, one pass", COLLINEAR, BD_GRAM_QR_SVD, false, 1, -1 },
    { "mixed SVQR, one pass", COLLINEAR, BD_GRAM_QR_SVD, true, 1, -1 },
    { "SVQR, Q to 1e-12", COLLINEAR, BD_GRAM_QR_SVD, false, 0, -1 },
    { "mixed SVQR, Q to 1e-12", COLLINEAR, BD_GRAM_QR_SVD, true, 0, -1 },
    { "SVQR: dgemm, LAPACK, dtrsm", COLLINEAR, BD_GRAM_QR_SVD, false, 1, BD_PEER_SVQR },
};
enum { way_count = sizeof ways / sizeof *ways };

struct svqr_case {
    struct bd_bench *bench;
    int64_t m, n;
    double *host[kind_count]; /* V, m x n, tight */
    struct bd_matrix start[kind_count], v, r;
    void *peer;                      /* NULL: none */
    struct bd_gram_qr_report report; /* of the library's last run */
};

struct task {
    struct svqr_case *c;
    int way;
    struct bd_gram_qr *qr;
    double ms; /* -1: not timed */
};

static enum bd_status restore(void *user)
{
    const struct task *task = user;
    struct svqr_case *c = task->c;
    return c->bench->platform->copy(c->bench, c->v.data, c->start[ways[task->way].kind].data,
                                    (size_t)(c->v.ld * c->n) * sizeof(double));
}

static enum bd_status run(void *user)
{
    const struct task *task = user;
    struct svqr_case *c = task->c;
    if (ways[task->way].way >= 0)
        return c->bench->platform->svqr_run(c->peer, (enum bd_bench_svqr_way)ways[task->way].way,
                                            c->v.data);
    return bd_gram_qr_run(task->qr, &c->v, &c->r, &c->report);
}

static enum bd_status make_v(struct svqr_case *c, enum matrix_kind kind)
{
    uint64_t state = 42;
    const int64_t m = c->m, n = c->n;
    double *v = c->host[kind] = bd_bench_memory(c->bench, m * n, sizeof *v);
    if (!v)
        return bd_bench_out_of_memory();
    for (int64_t i = 0; i < m * n; i++)
        v[i] = (double)(int64_t)bd_bench_random(&state) * 0x1p-63;
    for (int64_t j = 1; j < n && kind == COLLINEAR; j++)
        for (int64_t i = 0; i < m; i++)
            v[i + j * m] = v[i] + 1e-10 * v[i + j * m];
    enum bd_status status = bd_bench_matrix(c->bench, &c->start[kind], m, n, BD_F64);
    BD_TRY(bd_matrix_upload(c->bench->backend, &c->start[kind], v, m));
    return status;
}

static enum bd_status open_case(struct svqr_case *c, struct bd_bench *bench,
                                const struct shape *shape)
{
    *c = (struct svqr_case){ .bench = bench, .m = shape->m, .n = shape->n };
    enum bd_status status = BD_OK;
    for (int kind = 0; kind < kind_count && !status; kind++)
        status = make_v(c, (enum matrix_kind)kind);
    BD_TRY(bd_bench_matrix(bench, &c->v, c->m, c->n, BD_F64));
    BD_TRY(bd_bench_matrix(bench, &c->r, c->n, c->n, BD_F64));
    if (bench->platform->svqr_create && bench->has_peers)
        BD_TRY(bench->platform->svqr_create(bench, c->m, c->n, c->v.ld, &c->peer));
    return status;
}

/* ||V - Q R||_F / ||V||_F and ||Q^T Q - I||_F of what a run has left, on the host. */
static enum bd_status check(struct task *task, struct bd_bench_row *row)
{
    struct svqr_case *c = task->c;
    const int64_t m = c->m, n = c->n;
    const double *v = c->host[ways[task->way].kind];
    struct bd_bench_held *held = c->bench->held;
    double *q = bd_bench_memory(c->bench, 2 * m * n, sizeof *q), *rest = q + m * n;
    double *r = bd_bench_memory(c->bench, 2 * n * n, sizeof *r), *gram = r + n * n;
    enum bd_status status = q && r ? BD_OK : bd_bench_out_of_memory();
    BD_TRY(bd_matrix_download(c->bench->backend, q, m, &c->v));
    if (ways[task->way].way >= 0)
        BD_TRY(c->bench->platform->svqr_get_r(c->peer, r));
    else
        BD_TRY(bd_matrix_download(c->bench->backend, r, n, &c->r));
    if (!status) {
        memcpy(rest, q, (size_t)(m * n) * sizeof *q);
        cblas_dtrmm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, (int)m,
                    (int)n, 1, r, (int)n, rest, (int)m);
        double sum = 0;
        for (int64_t i = 0; i < m * n; i++)
            sum += (v[i] - rest[i]) * (v[i] - rest[i]);
        row->residual = sqrt(sum) / cblas_dnrm2((int)(m * n), v, 1);
        cblas_dsyrk(CblasColMajor, CblasUpper, CblasTrans, (int)n, (int)m, 1, q, (int)m, 0, gram,
                    (int)n);
        row->orthogonality = bd_bench_gram_distance(gram, NULL, n);
    }
    bd_bench_release(c->bench, held);
    return status;
}

/* The time of a way; -1: it was not timed. */
static double time_of(const struct task *own, enum matrix_kind kind, bool mixed, int max_passes,
                      int peer)
{
    for (int t = 0; t < way_count; t++)
        if (ways[t].kind == kind && ways[t].mixed == mixed && ways[t].way == peer &&
            ways[t].max_passes == max_passes && (peer >= 0 || ways[t].method == BD_GRAM_QR_SVD))
            return own[t].ms;
    return -1;
}

/* A row for each way: the library's own against the fastest of the same kind in library calls, by
 * extra numbers the others. */
static enum bd_status add_rows(struct svqr_case *c, struct task *own)
{
    const double elements = (double)(c->m * c->n);
    enum bd_status status = BD_OK;
    for (int t = 0; t < way_count && !status; t++) {
        struct bd_bench_row row = bd_bench_row_begin("svqr", c->m, c->n, ways[t].name, NULL);
        const enum matrix_kind kind = ways[t].kind;
        int passes = ways[t].way < 0 ? 0 : 1;
        if (own[t].ms < 0)
            continue;
        status = restore(&own[t]);
        BD_TRY(run(&own[t]));
        BD_TRY(check(&own[t], &row));
        if (ways[t].way < 0)
            for (int p = 0; p < c->report.passes; p++)
                passes += !c->report.pass[p].skipped;
        snprintf(row.name, sizeof row.name, "%" PRId64 "x%" PRId64 " %s", c->m, c->n,
                 kind_names[kind]);
        row.ms = own[t].ms;
        row.floor_ms = bd_bench_floor(c->bench, 2 * 8 * elements, 0); /* V is read, Q written */
        const double cholqr = time_of(own, RANDOM, false, 1, BD_PEER_CHOLQR);
        const double other = time_of(own, RANDOM, false, 1, BD_PEER_CHOLQR_HOST);
        const double least = other >= 0 && other < cholqr ? other : cholqr;
        const double svqr = time_of(own, kind, false, 1, BD_PEER_SVQR);
        if (ways[t].way < 0 && c->peer) {
            const bool by_svd = ways[t].method == BD_GRAM_QR_SVD;
            snprintf(row.peer, sizeof row.peer, "%s in library calls, %d pass%s",
                     by_svd ? "SVQR" : "CholQR", passes, passes == 1 ? "" : "es");
            row.peer_ms = passes * (by_svd ? svqr : least);
            bd_bench_extra(&row, "library_cholqr_ms", passes * least);
        }
        if (ways[t].mixed)
            bd_bench_extra(&row, "float64_ms", time_of(own, kind, false, ways[t].max_passes, -1));
        if (ways[t].way < 0)
            bd_bench_extra(&row, "passes", passes);
        BD_TRY(bd_bench_add(c->bench, &row));
    }
    return status;
}

static enum bd_status run_case(struct bd_bench *bench, const struct shape *shape)
{
    struct svqr_case c;
    struct task own[way_count] = { 0 };
    struct bd_bench_task tasks[way_count];
    int count = 0;
    enum bd_status status = open_case(&c, bench, shape);
    for (int t = 0; t < way_count && !status; t++) {
        own[t] = (struct task){ .c = &c, .way = t, .ms = -1 };
        if (ways[t].way >= 0 && !c.peer)
            continue;
        if (ways[t].method == BD_GRAM_QR_SVD && c.n > most_svd)
            continue;
        tasks[count++] = (struct bd_bench_task){ restore, run, &own[t], -1 };
        if (ways[t].way >= 0)
            continue;
        const struct bd_gram_qr_options options = { .method = ways[t].method,
                                                    .mixed = ways[t].mixed,
                                                    .orthogonality = ways[t].max_passes ? 0 : 1e-12,
                                                    .max_passes = ways[t].max_passes };
        status = bd_gram_qr_create(&own[t].qr, &bench->backend, &c.m, 1, c.n, BD_F64, &options);
    }
    BD_TRY(bench->platform->time(bench, tasks, count, 5));
    for (int i = 0; i < count && !status; i++)
        ((struct task *)tasks[i].user)->ms = tasks[i].ms;
    BD_TRY(add_rows(&c, own));
    for (int t = 0; t < way_count; t++)
        bd_gram_qr_destroy(&own[t].qr);
    if (c.peer)
        bench->platform->svqr_destroy(c.peer);
    bd_bench_release(bench, NULL);
    return status;
}

/* Whether `list` ("32000,80000") names a number of rows. */
static bool is_listed(const char *list, int64_t m)
{
    while (*list) {
        char *end;
        if (strtoll(list, &end, 10) == m && (*end == ',' || !*end))
            return true;
        list = strchr(list, ',');
        if (!list)
            return false;
        list++;
    }
    return false;
}

/* svqr:M,M.. : shapes of these many rows alone. */
enum bd_status bd_bench_svqr(struct bd_bench *bench)
{
    enum bd_status status = BD_OK;
    int count = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes && !status; i++) {
        const bool wanted = bench->part ? is_listed(bench->part, shapes[i].m)
                                        : shapes[i].quick == bench->options->quick &&
                                              (bench->gpu || shapes[i].on_cpu);
        count += wanted;
        if (wanted)
            status = run_case(bench, &shapes[i]);
    }
    if (!count)
        return bd_fail(BD_ERROR_ARGUMENT, "svqr:%s: no shape has so many rows", bench->part);
    return status;
}
