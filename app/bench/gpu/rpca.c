/* An iteration of the batch solver on the GPU against the textbook form on cuSOLVER and cuBLAS. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "app/bench/gpu/gpu.h"
#include "app/bench/scene.h"
#include <backdrop/rpca.h>

struct rpca_case {
    int64_t m, n;
    struct bd_bench *bench;
    uint8_t *pictures; /* host, m x n */
    struct bd_matrix x;
    struct bd_rpca *rpca;
    struct bd_rpca_result result;
    struct bd_bench_textbook *textbook;
};

static enum bd_status run_solve(void *user)
{
    struct rpca_case *c = user;
    return bd_rpca_solve(c->rpca, &c->x, &c->result);
}

static enum bd_status start_textbook(void *user)
{
    struct rpca_case *c = user;
    return bd_bench_textbook_start(c->textbook);
}

static enum bd_status run_textbook(void *user)
{
    struct rpca_case *c = user;
    return bd_bench_textbook_iterate(c->textbook);
}

static void close_case(struct rpca_case *c)
{
    bd_rpca_destroy(&c->rpca);
    bd_bench_textbook_destroy(&c->textbook);
    bd_matrix_destroy(c->bench->backend, &c->x);
    free(c->pictures);
}

static enum bd_status open_case(struct rpca_case *c, struct bd_bench *bench, int width, int height,
                                int n)
{
    *c = (struct rpca_case){ .m = (int64_t)width * height, .n = n, .bench = bench };
    struct bd_bench_scene scene = {
        .width = width, .height = height, .channels = 1, .count = n, .threads = bench->threads
    };
    enum bd_status status = bd_bench_render(&c->pictures, &scene);
    if (!status)
        status = bd_matrix_create(bench->backend, &c->x, c->m, n, BD_U8);
    if (!status)
        status = bd_rpca_create(&c->rpca, bench->backend, c->m, n, NULL);
    if (!status)
        status = bd_matrix_upload(bench->backend, &c->x, c->pictures, c->m);
    if (!status && bd_bench_gpu_has_peers(bench->gpu))
        status = bd_bench_textbook_create(&c->textbook, bench->gpu, c->m, n, c->x.data, c->x.ld);
    return status;
}

/* The textbook's residual after as many iterations as the solver took. */
static enum bd_status check_textbook(struct rpca_case *c, int iterations, double *residual)
{
    enum bd_status status = bd_bench_textbook_start(c->textbook);
    for (int i = 0; i < iterations && !status; i++)
        status = bd_bench_textbook_iterate(c->textbook);
    return status ? status : bd_bench_textbook_residual(c->textbook, residual);
}

/* Two sweeps, which nothing can join: R of X needs all of M (a byte an element) and T (4); then M
 * and T are read again and T is written. */
static double floor_of(const struct bd_bench *bench, const struct rpca_case *c)
{
    double elements = (double)(c->m * c->n), products = elements * (double)c->n;
    return bd_bench_gpu_floor(bench->gpu, (struct bd_bench_work){ 5 * elements, products, 0 }) +
           bd_bench_gpu_floor(bench->gpu, (struct bd_bench_work){ 9 * elements, 0, 2 * products });
}

static enum bd_status compare(struct bd_bench *bench, struct rpca_case *c)
{
    bool peers = c->textbook != NULL;
    struct bd_bench_task tasks[] = { { NULL, run_solve, c, -1 },
                                     { start_textbook, peers ? run_textbook : NULL, c, -1 } };
    struct bd_bench_row row = bd_bench_row_begin("rpca", c->m, c->n);
    static const char textbook[] = "L, S, Y stored; cuSOLVER";
    enum bd_status status = bd_bench_gpu_time(bench, tasks, 2, 7);
    int iterations = c->result.iterations > 0 ? c->result.iterations : 1;
    snprintf(row.name, sizeof row.name, "iteration, %d to %.0e, rank %" PRId64, iterations,
             c->result.residual, c->result.rank);
    snprintf(row.method, sizeof row.method, "one array, two sweeps");
    snprintf(row.peer, sizeof row.peer, "%s", peers ? textbook : "peer not found");
    row.ms = tasks[0].ms / iterations;
    row.peer_ms = tasks[1].ms;
    row.floor_ms = floor_of(bench, c);
    row.residual = c->result.residual;
    if (!status)
        status = bd_bench_add(bench, &row);
    if (status || !peers)
        return status;
    snprintf(row.method, sizeof row.method, "%s", textbook);
    row.peer[0] = 0;
    row.ms = tasks[1].ms;
    row.peer_ms = -1;
    status = check_textbook(c, iterations, &row.residual);
    return status ? status : bd_bench_add(bench, &row);
}

/* L (m x n, tight, host) of a backend for the case's frames. */
static enum bd_status solve_on(struct bd_backend *backend, const struct rpca_case *c, float *l)
{
    struct bd_matrix x = { 0 }, low = { 0 };
    struct bd_rpca *rpca = NULL;
    enum bd_status status = bd_matrix_create(backend, &x, c->m, c->n, BD_U8);
    if (!status)
        status = bd_matrix_create(backend, &low, c->m, c->n, BD_F32);
    if (!status)
        status = bd_matrix_upload(backend, &x, c->pictures, c->m);
    if (!status)
        status = bd_rpca_create(&rpca, backend, c->m, c->n, NULL);
    if (!status)
        status = bd_rpca_solve(rpca, &x, NULL);
    if (!status)
        status = bd_rpca_get(rpca, &low, NULL);
    if (!status)
        status = bd_matrix_download(backend, l, c->m, &low);
    bd_rpca_destroy(&rpca);
    bd_matrix_destroy(backend, &x);
    bd_matrix_destroy(backend, &low);
    return status;
}

/* How far L is from the cpu backend's, on a small window. */
static enum bd_status agree(struct bd_bench *bench)
{
    struct rpca_case c;
    struct bd_backend *cpu = NULL;
    enum bd_status status = open_case(&c, bench, 160, 120, 30);
    int64_t count = c.m * c.n;
    float *here = malloc((size_t)count * sizeof *here),
          *there = malloc((size_t)count * sizeof *there);
    if (!status && (!here || !there))
        status = bd_fail(BD_ERROR_MEMORY, "out of memory for comparing backends");
    if (!status)
        status = bd_backend_open(&cpu, "cpu", bench->threads);
    if (!status)
        status = solve_on(bench->backend, &c, here);
    if (!status)
        status = solve_on(cpu, &c, there);
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < count && !status; i++) {
        double d = (double)here[i] - (double)there[i];
        difference += d * d;
        norm += (double)there[i] * (double)there[i];
    }
    struct bd_bench_row row = bd_bench_row_begin("rpca", c.m, c.n);
    struct bd_bench_task task = { NULL, run_solve, &c, -1 };
    if (!status)
        status = bd_bench_gpu_time(bench, &task, 1, 5);
    snprintf(row.name, sizeof row.name, "solve; residual: L against the cpu's");
    snprintf(row.method, sizeof row.method, "one array, two sweeps");
    row.ms = task.ms;
    row.residual = sqrt(difference / norm);
    if (!status)
        status = bd_bench_add(bench, &row);
    free(here);
    free(there);
    bd_backend_close(&cpu);
    close_case(&c);
    return status;
}

enum bd_status bd_bench_gpu_rpca(struct bd_bench *bench)
{
    struct rpca_case c;
    bool quick = bench->options->quick;
    enum bd_status status =
        open_case(&c, bench, quick ? 160 : 384, quick ? 120 : 288, quick ? 30 : 100);
    if (!status)
        status = compare(bench, &c);
    close_case(&c);
    return status ? status : agree(bench);
}
