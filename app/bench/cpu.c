/* The host as a platform: its peers are LAPACK and BLAS. */
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "app/bench/platform.h"
#include "base/clock.h"
#include "base/pool.h"

enum { layout = LAPACK_COL_MAJOR };

/* TSQR of LAPACK 3.7 and later; not all versions of lapacke.h declare it. */
extern void slatsqr_(const lapack_int *m, const lapack_int *n, const lapack_int *mb,
                     const lapack_int *nb, float *a, const lapack_int *lda, float *t,
                     const lapack_int *ldt, float *work, const lapack_int *lwork, lapack_int *info);

/* The status of a LAPACK call. */
static enum bd_status lapack(lapack_int info, const char *call)
{
    return info ? bd_fail(BD_ERROR_NUMERIC, "%s failed", call) : BD_OK;
}

enum { most_repeats = 64, most_tasks = 12 };

/* One thread never waits: the processor's time is its time, whatever else the machine does. */
static double seconds_of(const struct bd_bench *bench)
{
    struct timespec now;
    if (bench->gpu || bench->threads > 1)
        return bd_clock_seconds();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static enum bd_status time_once(struct bd_bench *bench, const struct bd_bench_task *task,
                                double *ms)
{
    enum bd_status status = bd_bench_check_interrupt();
    if (task->prepare)
        BD_TRY(task->prepare(task->user));
    BD_TRY(bd_backend_sync(bench->backend));
    double begin = seconds_of(bench);
    BD_TRY(task->run(task->user));
    BD_TRY(bd_backend_sync(bench->backend));
    *ms = (seconds_of(bench) - begin) * 1e3;
    return status;
}

static enum bd_status time_tasks(struct bd_bench *bench, struct bd_bench_task *tasks, int count,
                                 int repeats)
{
    double times[most_tasks][most_repeats], warm_up;
    enum bd_status status = BD_OK;
    repeats = repeats > most_repeats ? most_repeats : repeats;
    for (int i = -1; i < repeats; i++)
        for (int t = 0; t < count && !status; t++)
            if (tasks[t].run)
                status = time_once(bench, &tasks[t], i < 0 ? &warm_up : &times[t][i]);
    for (int t = 0; t < count && !status; t++)
        tasks[t].ms = tasks[t].run ? bd_bench_median(times[t], repeats) : -1;
    return status;
}

/* A copy by a pool of threads, a part of `bytes` each. */
struct pool_copy {
    struct bd_pool *pool;
    uint8_t *to;
    const uint8_t *from;
    size_t bytes;
};

static void copy_part(void *user, int64_t part, int thread)
{
    const struct pool_copy *copy = user;
    const size_t at = (size_t)part * copy->bytes;
    (void)thread;
    memcpy(copy->to + at, copy->from + at, copy->bytes);
}

static enum bd_status run_pool_copy(void *user)
{
    struct pool_copy *copy = user;
    bd_pool_run(copy->pool, copy_part, copy, bd_pool_threads(copy->pool));
    return BD_OK;
}

struct square_gemm {
    int n;
    float *a, *b, *c;
};

static enum bd_status run_square_gemm(void *user)
{
    const struct square_gemm *gemm = user;
    int n = gemm->n;
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, gemm->a, n, gemm->b, n, 0,
                gemm->c, n);
    return BD_OK;
}

static enum bd_status open_cpu(struct bd_bench *bench)
{
    size_t bytes = (bench->options->quick ? (size_t)64 : (size_t)256) << 20;
    int n = bench->options->quick ? 1024 : 2048;
    const int64_t square = (int64_t)n * n;
    uint8_t *from = bd_bench_memory(bench, (int64_t)bytes, 1);
    uint8_t *to = bd_bench_memory(bench, (int64_t)bytes, 1);
    float *data = bd_bench_memory(bench, 3 * square, sizeof *data);
    struct pool_copy copy = { .to = to, .from = from, .bytes = bytes / (size_t)bench->threads };
    enum bd_status status = from && to && data ? BD_OK : bd_bench_out_of_memory();
    BD_TRY(bd_pool_create(&copy.pool, bench->threads));
    if (status) {
        bd_bench_release(bench, NULL);
        return status;
    }
    memset(from, 1, bytes);
    memset(to, 2, bytes);
    bd_bench_fill(data, 3 * square, 1);
    struct square_gemm gemm = { n, data, data + square, data + 2 * square };
    struct bd_bench_task tasks[2] = { { .run = run_pool_copy, .user = &copy },
                                      { .run = run_square_gemm, .user = &gemm } };
    status = time_tasks(bench, tasks, 2, 7);
    bench->copy_rate = 2 * (double)copy.bytes * bench->threads / (tasks[0].ms / 1e3);
    bench->sgemm_rate = 2.0 * n * n * n / (tasks[1].ms / 1e3);
    bench->has_peers = true;
    bd_pool_destroy(&copy.pool);
    bd_bench_release(bench, NULL);
    return status;
}

static void print_machine(const struct bd_bench *bench)
{
    printf("# %d threads, the peers too; copy %.1f GB/s, sgemm %.1f GFLOP/s\n", bench->threads,
           bench->copy_rate / 1e9, bench->sgemm_rate / 1e9);
}

static enum bd_status copy(struct bd_bench *bench, void *to, const void *from, size_t bytes)
{
    (void)bench;
    memcpy(to, from, bytes);
    return BD_OK;
}

static enum bd_status check(struct bd_bench *bench, double *residual, double *orthogonality,
                            const float *a, const float *q, const float *r, int64_t m, int64_t n,
                            int64_t ld)
{
    (void)bench;
    return bd_bench_check(residual, orthogonality, a, q, r, m, n, ld);
}

static enum bd_status qr_work(struct bd_bench *bench, int64_t most_m, int64_t most_n,
                              int64_t q_cols, int *lwork)
{
    lapack_int m = (lapack_int)most_m, n = (lapack_int)most_n, k = (lapack_int)q_cols;
    float sizes[3] = { 0 };
    (void)bench;
    LAPACKE_sgeqrf_work(layout, m, n, NULL, m, NULL, &sizes[0], -1);
    LAPACKE_sormqr_work(layout, 'L', 'T', m, 1, n, NULL, m, NULL, NULL, m, &sizes[1], -1);
    if (k)
        LAPACKE_sorgqr_work(layout, m, k, n, NULL, m, NULL, &sizes[2], -1);
    *lwork = (int)fmaxf(1, fmaxf(sizes[0], fmaxf(sizes[1], sizes[2])));
    return BD_OK;
}

static enum bd_status geqrf(struct bd_bench_peer_qr *qr, int64_t m, int64_t n, float *a,
                            int64_t lda)
{
    return lapack(LAPACKE_sgeqrf_work(layout, (lapack_int)m, (lapack_int)n, a, (lapack_int)lda,
                                      qr->tau, qr->work, qr->lwork),
                  "sgeqrf");
}

static enum bd_status orgqr(struct bd_bench_peer_qr *qr, int64_t m, int64_t k, int64_t n, float *a,
                            int64_t lda)
{
    return lapack(LAPACKE_sorgqr_work(layout, (lapack_int)m, (lapack_int)k, (lapack_int)n, a,
                                      (lapack_int)lda, qr->tau, qr->work, qr->lwork),
                  "sorgqr");
}

static enum bd_status ormqr(struct bd_bench_peer_qr *qr, int64_t m, int64_t n, const float *a,
                            int64_t lda, float *b, int64_t ldb)
{
    return lapack(LAPACKE_sormqr_work(layout, 'L', 'T', (lapack_int)m, 1, (lapack_int)n, a,
                                      (lapack_int)lda, qr->tau, b, (lapack_int)ldb, qr->work,
                                      qr->lwork),
                  "sormqr");
}

static enum bd_status solve(struct bd_bench *bench, int64_t n, const float *a, int64_t lda,
                            float *b)
{
    (void)bench;
    return lapack(LAPACKE_strtrs_work(layout, 'U', 'N', 'N', (lapack_int)n, 1, a, (lapack_int)lda,
                                      b, (lapack_int)n),
                  "strtrs");
}

static enum bd_status take_r(struct bd_bench *bench, int64_t n, float *r, int64_t ldr,
                             const float *a, int64_t lda)
{
    (void)bench;
    for (int64_t j = 0; j < n; j++) {
        memcpy(r + j * ldr, a + j * lda, (size_t)(j + 1) * sizeof *r);
        memset(r + j * ldr + j + 1, 0, (size_t)(n - j - 1) * sizeof *r);
    }
    return BD_OK;
}

struct tsqr {
    lapack_int m, n, block_rows, block_cols;
    float *t, *work;
};

static enum bd_status tsqr_create(struct bd_bench *bench, int64_t m, int64_t n, void **out)
{
    /* The fastest at 110592 x 100 (OpenBLAS 0.3.21, 2 cores, medians of 9) of 256..32768 rows x
     * 4..100 columns: 6144 x 32 takes 43.6 ms, 8192 x 32 44.5, 4096 x 32 46.5, 8192 x 16 46.1,
     * 2048 x 32 54.1, 1024 x 8 52.0, 256 x 100 348. */
    const lapack_int block_rows = 6144, block_cols = n < 32 ? (lapack_int)n : 32;
    struct tsqr *c = *out = bd_bench_memory(bench, 1, sizeof *c);
    if (!c)
        return bd_bench_out_of_memory();
    *c = (struct tsqr){ (lapack_int)m, (lapack_int)n, block_rows, block_cols, NULL, NULL };
    c->t = bd_bench_memory(bench, block_cols * n * (m / (block_rows - n) + 2), sizeof *c->t);
    c->work = bd_bench_memory(bench, block_cols * n, sizeof *c->work);
    return c->t && c->work ? BD_OK : bd_bench_out_of_memory();
}

static enum bd_status tsqr_run(struct bd_bench *bench, void *tsqr, float *q, float *r, float *a)
{
    struct tsqr *c = tsqr;
    lapack_int lwork = c->block_cols * c->n, info = 0;
    (void)bench;
    (void)q;
    (void)r;
    slatsqr_(&c->m, &c->n, &c->block_rows, &c->block_cols, a, &c->m, c->t, &c->block_cols, c->work,
             &lwork, &info);
    return lapack(info, "slatsqr");
}

struct svd {
    lapack_int n;
    float *sigma, *u, *vt;
};

static enum bd_status svd_create(struct bd_bench *bench, int64_t n, void **out)
{
    struct svd *c = *out = bd_bench_memory(bench, 1, sizeof *c);
    if (!c)
        return bd_bench_out_of_memory();
    c->n = (lapack_int)n;
    c->sigma = bd_bench_memory(bench, n, sizeof *c->sigma);
    c->u = bd_bench_memory(bench, n * n, sizeof *c->u);
    c->vt = bd_bench_memory(bench, n * n, sizeof *c->vt);
    return c->sigma && c->u && c->vt ? BD_OK : bd_bench_out_of_memory();
}

static enum bd_status svd_run(struct bd_bench *bench, void *svd, enum bd_bench_svd_way way,
                              float *r)
{
    struct svd *c = svd;
    (void)bench;
    (void)way;
    return lapack(
        LAPACKE_sgesdd(layout, 'S', c->n, c->n, r, c->n, c->sigma, c->u, c->n, c->vt, c->n),
        "sgesdd");
}

static enum bd_status svd_fetch(struct bd_bench *bench, void *svd, float *sigma, float *v,
                                int *info)
{
    const struct svd *c = svd;
    const int64_t n = c->n;
    (void)bench;
    memcpy(sigma, c->sigma, (size_t)n * sizeof *sigma);
    for (int64_t i = 0; i < n * n; i++)
        v[i] = c->vt[i / n + i % n * n];
    *info = 0;
    return BD_OK;
}

static enum bd_status svd_shrink(struct bd_bench *bench, void *svd, float threshold, float *w)
{
    struct svd *c = svd;
    const int n = c->n;
    (void)bench;
    for (int64_t j = 0; j < n; j++)
        cblas_sscal(n, fmaxf(0, c->sigma[j] - threshold), c->u + j * n, 1);
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, c->u, n, c->vt, n, 0, w, n);
    return BD_OK;
}

static enum bd_status gemm(struct bd_bench *bench, int64_t m, int64_t n, int64_t k, const float *a,
                           const float *b, float *c)
{
    (void)bench;
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)n, (int)k, 1, a, (int)m, b,
                (int)k, 0, c, (int)m);
    return BD_OK;
}

/* A loop a formula: the formula is a constant in each. */
#define LOOP(formula)                   \
    for (int64_t i = 0; i < count; i++) \
    out[i] = BD_BENCH_FORMULA(formula, out[i], a[i], b[i], y[i], mu, threshold)

static enum bd_status formula(struct bd_bench *bench, enum bd_bench_formula which, float *out,
                              const float *a, const float *b, const float *y, float mu,
                              float threshold, int64_t count)
{
    (void)bench;
    if (which == BD_BENCH_FORM)
        LOOP(BD_BENCH_FORM);
    else if (which == BD_BENCH_SHRINK)
        LOOP(BD_BENCH_SHRINK);
    else
        LOOP(BD_BENCH_DUAL);
    return BD_OK;
}

const struct bd_bench_platform bd_bench_cpu = {
    .open = open_cpu,
    .print_machine = print_machine,
    .copy = copy,
    .time = time_tasks,
    .time_once = time_once,
    .check = check,
    .qr_work = qr_work,
    .geqrf = geqrf,
    .orgqr = orgqr,
    .ormqr = ormqr,
    .solve = solve,
    .take_r = take_r,
    .second_overwrites = true,
    .second_create = tsqr_create,
    .second_run = tsqr_run,
    .svd_create = svd_create,
    .svd_run = svd_run,
    .svd_fetch = svd_fetch,
    .svd_shrink = svd_shrink,
    .gemm = gemm,
    .formula = formula,
};
