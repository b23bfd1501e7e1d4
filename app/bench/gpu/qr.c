/* QR on the GPU against cuSOLVER and cuBLAS: R only, and R with the thin Q. */
#include <inttypes.h>
#include <stdlib.h>

#include "app/bench/gpu/gpu.h"
#include <backdrop/qr.h>

struct shape {
    int64_t m, n;
    bool with_q;  /* R and thin Q too */
    bool quick;   /* part of --quick too */
    double noise; /* 0: random elements; else nearly collinear columns, as frames are */
    int methods;  /* of the library's, the first so many: Householder where it shows something */
};

static const struct shape shapes[] = {
    { 20000, 50, true, true, 0, 3 },       { 1024, 1024, true, false, 0, 3 },
    { 2048, 512, true, false, 0, 3 },      { 4000, 1000, true, false, 0, 3 },
    { 8192, 1024, true, false, 0, 3 },     { 110592, 100, true, false, 0, 3 },
    { 110592, 100, true, false, 1e-4, 3 }, { 500000, 192, false, false, 0, 2 },
    { 1000000, 20, false, false, 0, 2 },   { 1000000, 192, true, false, 0, 2 },
    { 2073600, 100, true, false, 0, 2 },
};

/* The library's ways, with the method it chooses by itself first. */
static const struct {
    enum bd_qr_method method;
    const char *name;
} methods[] = { { BD_QR_AUTO, "by policy" },
                { BD_QR_CAQR, "CAQR" },
                { BD_QR_HOUSEHOLDER, "Householder" } };
enum { method_count = sizeof methods / sizeof *methods, most_copies = 16 };

struct qr_case {
    int64_t m, n;
    struct bd_backend *backend;
    struct bd_bench_gpu *gpu;
    struct bd_matrix copies[most_copies]; /* of the same matrix, so that no run finds its input in
                                             the cache of the one before */
    int count, next;
    struct bd_matrix q, r;
    struct bd_bench_peer_qr *peer;
};

/* One of the library's methods on a case. */
struct own {
    struct qr_case *c;
    struct bd_qr *qr;
};

static const struct bd_matrix *next_copy(struct qr_case *c)
{
    c->next = (c->next + 1) % c->count;
    return &c->copies[c->next];
}

static enum bd_status run_reduce(void *user)
{
    struct own *own = user;
    return bd_qr_reduce(own->qr, next_copy(own->c), &own->c->r);
}

static enum bd_status run_thin(void *user)
{
    struct own *own = user;
    return bd_qr_thin(own->qr, next_copy(own->c), &own->c->q, &own->c->r);
}

/* What the peers overwrite. */
static enum bd_status restore(void *user)
{
    struct qr_case *c = user;
    return bd_bench_gpu_copy(c->gpu, c->q.data, next_copy(c)->data,
                             (size_t)(c->m * c->n) * sizeof(float));
}

static enum bd_status run_geqrf(void *user)
{
    struct qr_case *c = user;
    return bd_bench_peer_geqrf(c->peer, c->q.data);
}

static enum bd_status run_orgqr(void *user)
{
    struct qr_case *c = user;
    enum bd_status status = bd_bench_peer_geqrf(c->peer, c->q.data);
    if (!status)
        status = bd_bench_peer_take_r(c->peer, c->r.data, c->q.data);
    if (!status)
        status = bd_bench_peer_orgqr(c->peer, c->q.data);
    return status;
}

static enum bd_status run_cholesky(void *user)
{
    struct qr_case *c = user;
    return bd_bench_peer_cholqr(c->peer, NULL, c->r.data, next_copy(c)->data);
}

static enum bd_status run_cholqr(void *user)
{
    struct qr_case *c = user;
    return bd_bench_peer_cholqr(c->peer, c->q.data, c->r.data, next_copy(c)->data);
}

static void close_case(struct qr_case *c)
{
    for (int i = 0; i < c->count; i++)
        bd_matrix_destroy(c->backend, &c->copies[i]);
    bd_matrix_destroy(c->backend, &c->q);
    bd_matrix_destroy(c->backend, &c->r);
    bd_bench_peer_qr_destroy(&c->peer);
}

/* The arrays are tight: the shapes' m are multiples of 16. R is tight too, made so that its ld is n
 * for any n. */
static enum bd_status open_case(struct qr_case *c, struct bd_bench *bench,
                                const struct shape *shape)
{
    int64_t m = shape->m, n = shape->n, bytes = m * n * (int64_t)sizeof(float);
    int64_t wanted = 4 * bd_bench_gpu_cache(bench->gpu) / bytes + 1;
    *c = (struct qr_case){ .m = m, .n = n, .backend = bench->backend, .gpu = bench->gpu };
    wanted = wanted > most_copies ? most_copies : wanted;
    enum bd_status status = BD_OK;
    for (int i = 0; i < wanted && !status; i++) {
        status = bd_matrix_create(bench->backend, &c->copies[i], m, n, BD_F32);
        c->count += !status;
        if (!status && i > 0)
            status =
                bd_bench_gpu_copy(bench->gpu, c->copies[i].data, c->copies[0].data, (size_t)bytes);
        else if (!status)
            status = shape->noise > 0 ? bd_bench_gpu_fill_collinear(bench->gpu, c->copies[i].data,
                                                                    m, n, shape->noise, 2)
                                      : bd_bench_gpu_fill(bench->gpu, c->copies[i].data, m * n, 2);
    }
    if (!status)
        status = bd_matrix_create(bench->backend, &c->q, m, n, BD_F32);
    if (!status)
        status = bd_matrix_create(bench->backend, &c->r, n * n, 1, BD_F32);
    if (!status && bd_bench_gpu_has_peers(bench->gpu))
        status = bd_bench_peer_qr_create(&c->peer, bench->gpu, m, n, n);
    c->r.rows = c->r.cols = c->r.ld = n;
    return status;
}

/* Runs a task once more and measures what it left. */
static enum bd_status check(struct bd_bench *bench, struct qr_case *c,
                            const struct bd_bench_task *task, bool with_q, struct bd_bench_row *row)
{
    enum bd_status status = task->prepare ? task->prepare(task->user) : BD_OK;
    if (!status)
        status = task->run(task->user);
    if (!status && task->run == run_geqrf)
        status = bd_bench_peer_take_r(c->peer, c->r.data, c->q.data);
    if (!status)
        status = bd_bench_gpu_check(bench, &row->residual, &row->orthogonality, c->copies[0].data,
                                    with_q ? c->q.data : NULL, c->r.data, c->m, c->n, c->m);
    return status;
}

enum { peer_count = 2, task_count = method_count + peer_count };

/* R only, or R and Q: times all ways in turn and adds a row for each. */
static enum bd_status compare(struct bd_bench *bench, struct qr_case *c, struct own *own,
                              const struct shape *shape, bool with_q)
{
    const char *const peer_names[] = { with_q ? "cuSOLVER geqrf + orgqr" : "cuSOLVER geqrf",
                                       with_q ? "float64-Gram CholQR" : "float64-Gram Cholesky" };
    struct bd_bench_task tasks[task_count] = { 0 };
    double elements = (double)(c->m * c->n), products = elements * (double)c->n;
    const int count = shape->methods;
    for (int i = 0; i < count; i++)
        tasks[i] = (struct bd_bench_task){ .run = with_q ? run_thin : run_reduce, .user = &own[i] };
    tasks[count] = (struct bd_bench_task){ restore, with_q ? run_orgqr : run_geqrf, c, -1 };
    tasks[count + 1] = (struct bd_bench_task){ NULL, with_q ? run_cholqr : run_cholesky, c, -1 };
    const int all = c->peer ? count + peer_count : count;
    enum bd_status status = bd_bench_gpu_time(bench, tasks, all, 9);
    /* R alone is compared with what there is for it; R and Q with the faster. */
    int peer = count;
    if (with_q && c->peer && tasks[peer + 1].ms < tasks[peer].ms)
        peer++;
    for (int t = 0; t < all && !status; t++) {
        struct bd_bench_row row = bd_bench_row_begin("qr", c->m, c->n);
        snprintf(row.name, sizeof row.name, "%s %" PRId64 "x%" PRId64 "%s",
                 with_q ? "R, thin Q" : "R only", c->m, c->n, shape->noise > 0 ? " collinear" : "");
        snprintf(row.method, sizeof row.method, "%s",
                 t < count ? methods[t].name : peer_names[t - count]);
        row.ms = tasks[t].ms;
        row.floor_ms = bd_bench_gpu_floor(
            bench->gpu,
            (struct bd_bench_work){ (with_q ? 8 : 4) * elements, products, with_q ? products : 0 });
        if (t < count) {
            snprintf(row.peer, sizeof row.peer, "%s",
                     c->peer ? peer_names[peer - count] : "peer not found");
            row.peer_ms = c->peer ? tasks[peer].ms : -1;
        }
        status = check(bench, c, &tasks[t], with_q, &row);
        if (!status)
            status = bd_bench_add(bench, &row);
    }
    return status;
}

enum bd_status bd_bench_gpu_qr(struct bd_bench *bench)
{
    enum bd_status status = BD_OK;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes && !status; i++) {
        struct qr_case c;
        struct own own[method_count] = { 0 };
        if (shapes[i].quick != bench->options->quick)
            continue;
        status = open_case(&c, bench, &shapes[i]);
        for (int k = 0; k < shapes[i].methods && !status; k++) {
            struct bd_qr_options options = { .method = methods[k].method };
            own[k].c = &c;
            status = bd_qr_create(&own[k].qr, bench->backend, c.m, c.n, &options);
        }
        if (!status)
            status = compare(bench, &c, own, &shapes[i], false);
        if (!status && shapes[i].with_q)
            status = compare(bench, &c, own, &shapes[i], true);
        for (int k = 0; k < method_count; k++)
            bd_qr_destroy(&own[k].qr);
        close_case(&c);
    }
    return status;
}
