/* An iteration of the batch solver against the textbook form, as the papers have it, in calls of
 * LAPACK, or of cuSOLVER and cuBLAS. */
#include <inttypes.h>
#include <math.h>

#include "app/bench/platform.h"
#include <backdrop/rpca.h>

struct rpca_case {
    int64_t m, n;
    struct bd_bench *bench;
    uint8_t *pictures; /* host: M, m x n */
    struct bd_matrix x;
    struct bd_rpca *rpca;
    struct bd_rpca_result result;
    /* The textbook's arrays: M, L, S, Y, T and zeros, m x n, and R and W, n x n. */
    struct bd_matrix frames, l, s, y, t, zeros, r, w;
    struct bd_bench_peer_qr qr;
    void *svd;
    float mu;
    double norm; /* ||M||_F */
};

/* mu of the textbook, by which it is compared an iteration: both end before the optimum. */
static const struct bd_rpca_options textbook_schedule = { .rho = 1.5 };

static enum bd_status run_solve(void *user)
{
    struct rpca_case *c = user;
    enum bd_status status = bd_rpca_solve(c->rpca, &c->x, &c->result);
    return status == BD_ERROR_CONVERGENCE ? BD_OK : status;
}

/* mu starts at 1.25 / ||M||_2, and ||M||_2 is nearly ||M||_F for frames. */
static enum bd_status start_textbook(void *user)
{
    struct rpca_case *c = user;
    const size_t bytes = (size_t)(c->m * c->n) * sizeof(float);
    c->mu = (float)(1.25 / c->norm);
    enum bd_status status = c->bench->platform->copy(c->bench, c->s.data, c->zeros.data, bytes);
    BD_TRY(c->bench->platform->copy(c->bench, c->y.data, c->zeros.data, bytes));
    return status;
}

/* L := SVT(M - S + Y / mu, 1 / mu) by QR, SVD of R, and L = Q W with W = U shrink(sigma) V^T; then
 * S and Y. */
static enum bd_status run_textbook(void *user)
{
    struct rpca_case *c = user;
    struct bd_bench *bench = c->bench;
    const struct bd_bench_platform *p = bench->platform;
    const int64_t m = c->m, n = c->n, count = m * n;
    const float mu = c->mu, step = 1 / (sqrtf((float)m) * mu);
    const float *frames = c->frames.data;
    float *l = c->l.data, *s = c->s.data, *y = c->y.data, *t = c->t.data;
    enum bd_status status = p->formula(bench, BD_BENCH_FORM, t, frames, s, y, mu, 0, count);
    BD_TRY(p->geqrf(&c->qr, m, n, t, m));
    BD_TRY(p->take_r(bench, n, c->r.data, n, t, m));
    BD_TRY(p->orgqr(&c->qr, m, n, n, t, m));
    BD_TRY(p->svd_run(bench, c->svd, BD_PEER_SVD_TALL, c->r.data));
    BD_TRY(p->svd_shrink(bench, c->svd, 1 / mu, c->w.data));
    BD_TRY(p->gemm(bench, m, n, n, t, c->w.data, l));
    BD_TRY(p->formula(bench, BD_BENCH_SHRINK, s, frames, l, y, mu, step, count));
    BD_TRY(p->formula(bench, BD_BENCH_DUAL, y, frames, l, s, mu, 0, count));
    c->mu *= (float)textbook_schedule.rho;
    return status;
}

static void close_case(struct rpca_case *c)
{
    bd_rpca_destroy(&c->rpca);
    bd_bench_release(c->bench, NULL);
}

static enum bd_status open_textbook(struct rpca_case *c)
{
    struct bd_bench *bench = c->bench;
    struct bd_matrix *const tall[] = { &c->frames, &c->l, &c->s, &c->y, &c->t, &c->zeros };
    float *frames = bd_bench_memory(bench, c->m * c->n, sizeof *frames);
    double sum = 0;
    if (!frames)
        return bd_bench_out_of_memory();
    for (int64_t i = 0; i < c->m * c->n; i++) {
        frames[i] = c->pictures[i];
        sum += (double)frames[i] * (double)frames[i];
    }
    c->norm = sqrt(sum);
    enum bd_status status = bd_bench_peer_qr_create(&c->qr, bench, c->m, c->n, c->n);
    BD_TRY(bench->platform->svd_create(bench, c->n, &c->svd));
    for (int i = 0; i < 6; i++)
        BD_TRY(bd_bench_tight(bench, tall[i], c->m, c->n, BD_F32));
    BD_TRY(bd_bench_tight(bench, &c->r, c->n, c->n, BD_F32));
    BD_TRY(bd_bench_tight(bench, &c->w, c->n, c->n, BD_F32));
    BD_TRY(bd_matrix_upload(bench->backend, &c->frames, frames, c->m));
    return status;
}

static enum bd_status open_case(struct rpca_case *c, struct bd_bench *bench, int width, int height,
                                int n, const struct bd_rpca_options *options)
{
    *c = (struct rpca_case){ .m = (int64_t)width * height, .n = n, .bench = bench };
    struct bd_bench_scene scene = { .width = width, .height = height, .channels = 1, .count = n };
    enum bd_status status = bd_bench_render(bench, &c->pictures, &scene);
    BD_TRY(bd_bench_matrix(bench, &c->x, c->m, n, BD_U8));
    BD_TRY(bd_rpca_create(&c->rpca, bench->backend, c->m, n, options));
    BD_TRY(bd_matrix_upload(bench->backend, &c->x, c->pictures, c->m));
    if (bench->has_peers)
        BD_TRY(open_textbook(c));
    return status;
}

/* The textbook's residual, ||M - L - S||_F / ||M||_F, after as many iterations as the solver took.
 */
static enum bd_status check_textbook(struct rpca_case *c, int iterations, double *residual)
{
    const int64_t count = c->m * c->n;
    float *l = bd_bench_memory(c->bench, 2 * count, sizeof *l), *s = l + count;
    double sum = 0;
    enum bd_status status = l ? start_textbook(c) : bd_bench_out_of_memory();
    for (int i = 0; i < iterations && !status; i++)
        status = run_textbook(c);
    BD_TRY(bd_matrix_download(c->bench->backend, l, c->m, &c->l));
    BD_TRY(bd_matrix_download(c->bench->backend, s, c->m, &c->s));
    for (int64_t i = 0; i < count && !status; i++) {
        double rest = c->pictures[i] - (double)l[i] - (double)s[i];
        sum += rest * rest;
    }
    *residual = sqrt(sum) / c->norm;
    return status;
}

/* Two sweeps, which nothing can join: R of X needs all of M (a byte an element) and T (4); then M
 * and T are read again and T is written. */
static double floor_of(const struct bd_bench *bench, const struct rpca_case *c)
{
    double elements = (double)(c->m * c->n), products = elements * (double)c->n;
    return bd_bench_work_floor(bench, (struct bd_bench_work){ 5 * elements, products, 0, 0 }) +
           bd_bench_work_floor(bench, (struct bd_bench_work){ 9 * elements, 0, 0, 2 * products });
}

static enum bd_status compare(struct rpca_case *c)
{
    struct bd_bench *bench = c->bench;
    const bool peers = bench->has_peers;
    const int repeats = bench->gpu ? 7 : bench->options->quick ? 3 : 5;
    const char *textbook = bench->gpu ? "L, S, Y stored; cuSOLVER" : "L, S, Y stored; LAPACK";
    struct bd_bench_task tasks[] = { { NULL, run_solve, c, -1 },
                                     { start_textbook, peers ? run_textbook : NULL, c, -1 } };
    struct bd_bench_row row = bd_bench_row_begin(
        "rpca", c->m, c->n, bench->gpu ? "one array, two sweeps" : "one array, CAQR",
        peers ? textbook : "peer not found");
    enum bd_status status = bench->platform->time(bench, tasks, 2, repeats);
    int iterations = c->result.iterations > 0 ? c->result.iterations : 1;
    snprintf(row.name, sizeof row.name, "iteration, %d to %.0e, rank %" PRId64, iterations,
             c->result.residual, c->result.rank);
    row.ms = tasks[0].ms / iterations;
    row.peer_ms = tasks[1].ms;
    row.floor_ms = floor_of(bench, c);
    row.residual = c->result.residual;
    BD_TRY(bd_bench_add(bench, &row));
    if (status || !peers || !bench->gpu)
        return status;
    snprintf(row.method, sizeof row.method, "%s", textbook);
    row.peer[0] = 0;
    row.ms = tasks[1].ms;
    row.peer_ms = -1;
    status = check_textbook(c, iterations, &row.residual);
    BD_TRY(bd_bench_add(bench, &row));
    return status;
}

/* L (m x n, tight, host) of the cpu backend for the case's frames. */
static enum bd_status solve_on_cpu(const struct rpca_case *c, float *l)
{
    const struct bd_matrix x = { c->m, c->n, c->m, BD_U8, c->pictures };
    struct bd_matrix low = bd_matrix_host_view(l, c->m, c->n, c->m);
    struct bd_backend *cpu = NULL;
    struct bd_rpca *rpca = NULL;
    enum bd_status status = bd_backend_open(&cpu, "cpu", c->bench->threads);
    BD_TRY(bd_rpca_create(&rpca, cpu, c->m, c->n, NULL));
    if (!status)
        status = bd_rpca_solve(rpca, &x, NULL);
    if (status == BD_ERROR_CONVERGENCE)
        status = BD_OK;
    BD_TRY(bd_rpca_get(rpca, &low, NULL));
    bd_rpca_destroy(&rpca);
    bd_backend_close(&cpu);
    return status;
}

/* How far L is from the cpu backend's, on a small window, with default options. */
static enum bd_status agree(struct bd_bench *bench)
{
    struct rpca_case c;
    struct bd_matrix low = { 0 };
    enum bd_status status = open_case(&c, bench, 160, 120, 30, NULL);
    const int64_t count = c.m * c.n;
    float *here = bd_bench_memory(bench, count, sizeof *here);
    float *there = bd_bench_memory(bench, count, sizeof *there);
    BD_TRY(here && there ? BD_OK : bd_bench_out_of_memory());
    BD_TRY(bd_bench_matrix(bench, &low, c.m, c.n, BD_F32));
    BD_TRY(run_solve(&c));
    BD_TRY(bd_rpca_get(c.rpca, &low, NULL));
    BD_TRY(bd_matrix_download(bench->backend, here, c.m, &low));
    BD_TRY(solve_on_cpu(&c, there));
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < count && !status; i++) {
        double d = (double)here[i] - (double)there[i];
        difference += d * d;
        norm += (double)there[i] * (double)there[i];
    }
    struct bd_bench_row row = bd_bench_row_begin("rpca", c.m, c.n, "one array, two sweeps", NULL);
    struct bd_bench_task task = { NULL, run_solve, &c, -1 };
    BD_TRY(bench->platform->time(bench, &task, 1, 5));
    snprintf(row.name, sizeof row.name, "solve, %d iterations; residual: L against the cpu's",
             c.result.iterations);
    row.ms = task.ms;
    row.residual = sqrt(difference / norm);
    BD_TRY(bd_bench_add(bench, &row));
    close_case(&c);
    return status;
}

enum bd_status bd_bench_rpca(struct bd_bench *bench)
{
    struct rpca_case c;
    bool quick = bench->options->quick;
    enum bd_status status = open_case(&c, bench, quick ? 160 : 384, quick ? 120 : 288,
                                      quick ? 30 : 100, &textbook_schedule);
    BD_TRY(compare(&c));
    close_case(&c);
    if (bench->gpu)
        BD_TRY(agree(bench));
    return status;
}
