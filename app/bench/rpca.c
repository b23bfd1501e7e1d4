/* An iteration of the batch solver against the textbook form on LAPACK. */
#include <cblas.h>
#include <inttypes.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/bench/bench.h"
#include "app/bench/scene.h"
#include <backdrop/rpca.h>

struct rpca_case {
    int width, height;
    int64_t m, n;
    struct bd_backend *backend;
    uint8_t *pictures; /* M: m x n bytes */
    struct bd_matrix x;
    struct bd_rpca *rpca;
    struct bd_rpca_result result;
    /* the textbook's arrays, m x n and n x n */
    float *l, *s, *y, *t, *r, *u, *vt, *p;
    float *tau, *sigma;
    float mu;
};

static enum bd_status run_solve(void *user)
{
    struct rpca_case *c = user;
    return bd_rpca_solve(c->rpca, &c->x, &c->result);
}

static enum bd_status prepare_textbook(void *user)
{
    struct rpca_case *c = user;
    size_t bytes = (size_t)(c->m * c->n) * sizeof *c->l;
    memset(c->l, 0, bytes);
    memset(c->s, 0, bytes);
    memset(c->y, 0, bytes);
    return BD_OK;
}

/* L := SVT(M - S + Y/mu, 1/mu) by QR, SVD of R, and L = Q P with P = U shrink(sigma) V^T. */
static enum bd_status threshold_singular_values(struct rpca_case *c)
{
    lapack_int m = (lapack_int)c->m, n = (lapack_int)c->n;
    memset(c->r, 0, (size_t)(c->n * c->n) * sizeof *c->r);
    if (LAPACKE_sgeqrf(LAPACK_COL_MAJOR, m, n, c->t, m, c->tau))
        return bd_fail(BD_ERROR_NUMERIC, "LAPACKE_sgeqrf failed");
    for (int64_t j = 0; j < c->n; j++)
        memcpy(c->r + j * c->n, c->t + j * c->m, (size_t)(j + 1) * sizeof *c->r);
    if (LAPACKE_sorgqr(LAPACK_COL_MAJOR, m, n, n, c->t, m, c->tau) ||
        LAPACKE_sgesdd(LAPACK_COL_MAJOR, 'S', n, n, c->r, n, c->sigma, c->u, n, c->vt, n))
        return bd_fail(BD_ERROR_NUMERIC, "sorgqr or sgesdd failed");
    for (int64_t j = 0; j < c->n; j++)
        cblas_sscal(n, fmaxf(0, c->sigma[j] - 1 / c->mu), c->u + j * c->n, 1);
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, c->u, n, c->vt, n, 0, c->p,
                n);
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, n, n, 1, c->t, m, c->p, n, 0, c->l,
                m);
    return BD_OK;
}

/* One iteration with L, S and Y stored, as the papers have it. */
static enum bd_status run_textbook(void *user)
{
    struct rpca_case *c = user;
    size_t count = (size_t)(c->m * c->n);
    float step = 1 / (sqrtf((float)c->m) * c->mu);
    for (size_t i = 0; i < count; i++)
        c->t[i] = (float)c->pictures[i] - c->s[i] + c->y[i] / c->mu;
    enum bd_status status = threshold_singular_values(c);
    for (size_t i = 0; i < count; i++) {
        float rest = (float)c->pictures[i] - c->l[i] + c->y[i] / c->mu;
        c->s[i] = rest - fmaxf(-step, fminf(step, rest));
    }
    for (size_t i = 0; i < count; i++)
        c->y[i] += c->mu * ((float)c->pictures[i] - c->l[i] - c->s[i]);
    return status;
}

static void close_case(struct rpca_case *c)
{
    bd_rpca_destroy(&c->rpca);
    bd_matrix_destroy(c->backend, &c->x);
    free(c->pictures);
    free(c->l);
    free(c->s);
    free(c->y);
    free(c->t);
    free(c->r);
    free(c->u);
    free(c->vt);
    free(c->p);
    free(c->tau);
    free(c->sigma);
}

static enum bd_status open_case(struct rpca_case *c, struct bd_backend *backend, int width,
                                int height, int n)
{
    *c = (struct rpca_case){ .width = width, .height = height, .n = n, .backend = backend };
    c->m = (int64_t)width * height;
    size_t count = (size_t)(c->m * c->n), square = (size_t)(c->n * c->n);
    float **const tall[] = { &c->l, &c->s, &c->y, &c->t };
    float **const small[] = { &c->r, &c->u, &c->vt, &c->p, &c->tau, &c->sigma };
    bool good = true;
    for (size_t i = 0; i < sizeof tall / sizeof *tall; i++)
        good = (*tall[i] = malloc(count * sizeof(float))) && good;
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        good = (*small[i] = malloc(square * sizeof(float))) && good;
    if (!good)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for a window of %d frames", n);
    struct bd_bench_scene scene = {
        .width = width, .height = height, .channels = 1, .count = n, .threads = 1
    };
    enum bd_status status = bd_bench_render(&c->pictures, &scene);
    if (!status)
        status = bd_matrix_create(backend, &c->x, c->m, n, BD_U8);
    if (!status)
        status = bd_rpca_create(&c->rpca, backend, c->m, n, NULL);
    if (!status)
        status = bd_matrix_upload(backend, &c->x, c->pictures, c->m);
    /* what the iteration starts with: 1.25 / ||M||_2, and ||M||_2 is nearly ||M||_F here */
    double sum = 0;
    for (size_t i = 0; i < count && !status; i++)
        sum += (double)c->pictures[i] * c->pictures[i];
    c->mu = (float)(1.25 / sqrt(sum));
    return status;
}

enum bd_status bd_bench_rpca(struct bd_bench *bench)
{
    struct rpca_case c;
    bool quick = bench->options->quick;
    enum bd_status status =
        open_case(&c, bench->backend, quick ? 160 : 384, quick ? 120 : 288, quick ? 30 : 100);
    struct bd_bench_task tasks[] = { { NULL, run_solve, &c, 0 },
                                     { prepare_textbook, run_textbook, &c, 0 } };
    if (!status)
        status = bd_bench_time(bench, tasks, 2, quick ? 3 : 5);
    struct bd_bench_row row = bd_bench_row_begin("rpca", c.m, c.n);
    double elements = (double)(c.m * c.n);
    int iterations = c.result.iterations > 0 ? c.result.iterations : 1;
    snprintf(row.name, sizeof row.name, "iteration, %d to %.0e, rank %" PRId64, iterations,
             c.result.residual, c.result.rank);
    snprintf(row.method, sizeof row.method, "one array, CAQR");
    snprintf(row.peer, sizeof row.peer, "L, S, Y stored; LAPACK");
    row.ms = tasks[0].ms / iterations;
    row.peer_ms = tasks[1].ms;
    row.floor_ms = bd_bench_floor(bench, 14 * elements, 4 * elements * (double)c.n);
    row.residual = c.result.residual;
    if (!status)
        status = bd_bench_add(bench, &row);
    close_case(&c);
    return status;
}
