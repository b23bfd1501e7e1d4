/* QR against LAPACK, or cuSOLVER and cuBLAS: R only, and R with the thin Q. */
#include <inttypes.h>

#include "app/bench/platform.h"
#include <backdrop/qr.h>

struct shape {
    int64_t m, n;
    bool gpu;
    bool with_q;  /* R and thin Q too */
    bool quick;   /* part of --quick */
    double noise; /* 0: random elements; else nearly collinear columns, as frames are */
    int methods;  /* of the library's, the first so many: Householder where it shows something */
    int repeats;
};

static const struct shape shapes[] = {
    { 20000, 50, false, true, true, 0, 1, 7 },      { 110592, 100, false, true, false, 0, 1, 11 },
    { 500000, 192, false, true, false, 0, 1, 3 },   { 1000000, 20, false, true, false, 0, 1, 7 },
    { 20000, 50, true, true, true, 0, 3, 9 },       { 1024, 1024, true, true, false, 0, 3, 9 },
    { 2048, 512, true, true, false, 0, 3, 9 },      { 4000, 1000, true, true, false, 0, 3, 9 },
    { 8192, 1024, true, true, false, 0, 3, 9 },     { 110592, 100, true, true, false, 0, 3, 9 },
    { 110592, 100, true, true, false, 1e-4, 3, 9 }, { 500000, 192, true, false, false, 0, 2, 9 },
    { 1000000, 20, true, false, false, 0, 2, 9 },   { 1000000, 192, true, true, false, 0, 2, 9 },
    { 2073600, 100, true, true, false, 0, 2, 9 },
};

/* The library's ways: on a GPU the method that it chooses by itself comes first; the CPU has one.
 */
enum { method_count = 3, most_copies = 16 };
static const enum bd_qr_method methods[] = { BD_QR_AUTO, BD_QR_CAQR, BD_QR_HOUSEHOLDER };
static const char *const own_names[2][method_count] = { { "CAQR" },
                                                        { "by policy", "CAQR", "Householder" } };

/* The peers: reflectors, and the platform's second way, which the CPU has for R only. */
enum { reflectors, second, peer_count };
static const char *const peer_names[2][2][peer_count] = {
    { { "LAPACKE_sgeqrf", "slatsqr" }, { "sgeqrf + sorgqr", NULL } },
    { { "cuSOLVER geqrf", "float64-Gram Cholesky" },
      { "cuSOLVER geqrf + orgqr", "float64-Gram CholQR" } },
};

struct qr_case {
    int64_t m, n;
    struct bd_bench *bench;
    struct bd_matrix copies[most_copies]; /* of the same matrix, so that no run finds its input in
                                             the cache of the one before */
    int count, next;
    struct bd_matrix q, r;
    struct bd_bench_peer_qr peer;
    void *second;
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

/* What is overwritten. */
static enum bd_status restore(void *user)
{
    struct qr_case *c = user;
    return c->bench->platform->copy(c->bench, c->q.data, next_copy(c)->data,
                                    (size_t)(c->m * c->n) * sizeof(float));
}

static enum bd_status restore_own(void *user)
{
    return restore(((struct own *)user)->c);
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

/* In place, as the CPU is timed. */
static enum bd_status run_in_place(void *user)
{
    struct own *own = user;
    enum bd_status status = bd_qr_factor(own->qr, &own->c->q);
    BD_TRY(bd_qr_get_r(own->qr, &own->c->r));
    BD_TRY(bd_qr_form_q(own->qr, &own->c->q));
    return status;
}

static enum bd_status run_geqrf(void *user)
{
    struct qr_case *c = user;
    return c->bench->platform->geqrf(&c->peer, c->m, c->n, c->q.data, c->m);
}

static enum bd_status take_r(struct qr_case *c)
{
    return c->bench->platform->take_r(c->bench, c->n, c->r.data, c->n, c->q.data, c->m);
}

static enum bd_status run_orgqr(void *user)
{
    struct qr_case *c = user;
    enum bd_status status = run_geqrf(c);
    BD_TRY(take_r(c));
    BD_TRY(c->bench->platform->orgqr(&c->peer, c->m, c->n, c->n, c->q.data, c->m));
    return status;
}

static enum bd_status run_second_r(void *user)
{
    struct qr_case *c = user;
    const struct bd_bench_platform *p = c->bench->platform;
    return p->second_run(c->bench, c->second, NULL, c->r.data,
                         p->second_overwrites ? c->q.data : next_copy(c)->data);
}

static enum bd_status run_second_q(void *user)
{
    struct qr_case *c = user;
    return c->bench->platform->second_run(c->bench, c->second, c->q.data, c->r.data,
                                          next_copy(c)->data);
}

/* The first copy := random elements, or columns that are one picture but for noise of relative size
 * `noise`: condition about 1 / noise. */
static enum bd_status fill(struct qr_case *c, double noise)
{
    const int64_t m = c->m, count = m * c->n;
    struct bd_bench_held *held = c->bench->held;
    float *host = bd_bench_memory(c->bench, count, sizeof *host);
    float *picture = bd_bench_memory(c->bench, m, sizeof *picture);
    if (!host || !picture)
        return bd_bench_out_of_memory();
    bd_bench_fill(picture, m, 2);
    bd_bench_fill(host, count, noise > 0 ? 3 : 2);
    for (int64_t i = 0; i < count && noise > 0; i++)
        host[i] = picture[i % m] + (float)noise * host[i];
    enum bd_status status = bd_matrix_upload(c->bench->backend, &c->copies[0], host, m);
    bd_bench_release(c->bench, held);
    return status;
}

static enum bd_status open_case(struct qr_case *c, struct bd_bench *bench,
                                const struct shape *shape)
{
    const struct bd_bench_platform *platform = bench->platform;
    int64_t m = shape->m, n = shape->n, bytes = m * n * (int64_t)sizeof(float);
    int64_t wanted = 4 * bench->cache / bytes + 1;
    *c = (struct qr_case){ .m = m, .n = n, .bench = bench };
    c->count = (int)(wanted > most_copies ? most_copies : wanted);
    enum bd_status status = BD_OK;
    for (int i = 0; i < c->count && !status; i++) {
        status = bd_bench_tight(bench, &c->copies[i], m, n, BD_F32);
        if (i > 0)
            BD_TRY(platform->copy(bench, c->copies[i].data, c->copies[0].data, (size_t)bytes));
        else
            BD_TRY(fill(c, shape->noise));
    }
    BD_TRY(bd_bench_tight(bench, &c->q, m, n, BD_F32));
    BD_TRY(bd_bench_tight(bench, &c->r, n, n, BD_F32));
    if (bench->has_peers) {
        BD_TRY(bd_bench_peer_qr_create(&c->peer, bench, m, n, n));
        BD_TRY(platform->second_create(bench, m, n, &c->second));
    }
    return status;
}

/* Runs a task once more and measures what it left. */
static enum bd_status check(struct qr_case *c, const struct bd_bench_task *task, bool with_q,
                            struct bd_bench_row *row)
{
    const struct bd_bench_platform *p = c->bench->platform;
    enum bd_status status = task->prepare ? task->prepare(task->user) : BD_OK;
    BD_TRY(task->run(task->user));
    if (task->run == run_geqrf || (task->run == run_second_r && p->second_overwrites))
        BD_TRY(take_r(c));
    BD_TRY(p->check(c->bench, &row->residual, &row->orthogonality, c->copies[0].data,
                    with_q ? c->q.data : NULL, c->r.data, c->m, c->n, c->m));
    return status;
}

/* R only, or R and Q: times all ways in turn and adds a row for each. */
static enum bd_status compare(struct qr_case *c, struct own *own, const struct shape *shape,
                              bool with_q)
{
    struct bd_bench *bench = c->bench;
    const bool gpu = bench->gpu, in_place = with_q && !gpu;
    const bool second_prepares = bench->platform->second_overwrites;
    const char *const *names = peer_names[gpu][with_q];
    struct bd_bench_task tasks[method_count + peer_count] = { 0 };
    double elements = (double)(c->m * c->n), products = elements * (double)c->n;
    const int count = shape->methods;
    int all = bench->has_peers ? count + (names[second] ? 2 : 1) : count;
    for (int i = 0; i < count; i++)
        tasks[i] = (struct bd_bench_task){ in_place ? restore_own : NULL,
                                           in_place ? run_in_place
                                           : with_q ? run_thin
                                                    : run_reduce,
                                           &own[i], -1 };
    tasks[count] = (struct bd_bench_task){ restore, with_q ? run_orgqr : run_geqrf, c, -1 };
    tasks[count + 1] = (struct bd_bench_task){ second_prepares ? restore : NULL,
                                               with_q ? run_second_q : run_second_r, c, -1 };
    enum bd_status status = bench->platform->time(bench, tasks, all, shape->repeats);
    /* The faster one; but R alone on a GPU is compared with what cuSOLVER has for it. */
    const bool may_be_second = all > count + 1 && (with_q || !gpu);
    const int peer = count + (may_be_second && tasks[count + 1].ms < tasks[count].ms);
    for (int t = 0; t < all && !status; t++) {
        const char *method = t < count ? own_names[gpu][t] : names[t - count];
        const char *compared = bench->has_peers ? names[peer - count] : "peer not found";
        struct bd_bench_row row =
            bd_bench_row_begin("qr", c->m, c->n, method, t < count ? compared : NULL);
        snprintf(row.name, sizeof row.name, "%s %" PRId64 "x%" PRId64 "%s",
                 !with_q ? "R only"
                 : gpu   ? "R, thin Q"
                         : "R and thin Q",
                 c->m, c->n, shape->noise > 0 ? " collinear" : "");
        row.ms = tasks[t].ms;
        row.floor_ms = bd_bench_work_floor(
            bench, (struct bd_bench_work){ (with_q ? 8 : 4) * elements, products,
                                           with_q ? products : 0, 0 });
        if (t < count && bench->has_peers)
            row.peer_ms = tasks[peer].ms;
        status = check(c, &tasks[t], with_q, &row);
        BD_TRY(bd_bench_add(bench, &row));
    }
    return status;
}

enum bd_status bd_bench_qr(struct bd_bench *bench)
{
    enum bd_status status = BD_OK;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes && !status; i++) {
        const struct shape *shape = &shapes[i];
        struct qr_case c;
        struct own own[method_count] = { 0 };
        if (shape->quick != bench->options->quick || shape->gpu != (bench->gpu != NULL))
            continue;
        status = open_case(&c, bench, shape);
        for (int k = 0; k < shape->methods && !status; k++) {
            struct bd_qr_options options = { .method = methods[k] };
            own[k].c = &c;
            status = bd_qr_create(&own[k].qr, bench->backend, c.m, c.n, &options);
        }
        BD_TRY(compare(&c, own, shape, false));
        if (shape->with_q)
            BD_TRY(compare(&c, own, shape, true));
        for (int k = 0; k < method_count; k++)
            bd_qr_destroy(&own[k].qr);
        bd_bench_release(bench, NULL);
    }
    return status;
}
