/* Times shapes of the GPU's CAQR and prints the fastest of each class of matrices, for the table in
 * gpu/qr/caqr/tuning.c.
 *
 *     tune_caqr [M N]...     the classes of the table, or the matrices given
 *
 * A line a shape: panel columns, leaves a multiprocessor, arity, and medians in milliseconds of R
 * only (reduce), of the factorisation that keeps its reflectors, and of forming Q. */
#include <stdio.h>
#include <stdlib.h>

#include "app/bench/bench.h"
#include "gpu/qr/caqr/caqr.h"
#include "gpu/qr/caqr/tuning.h"

enum { repeats = 3 };

struct candidate {
    int panel_cols, leaves_per_sm, arity;
    double reduce, factor, form;
};

struct bench {
    struct bd_backend *backend;
    struct bd_cuda *cuda;
    struct bd_matrix a, work, r;
    cudaEvent_t start, stop;
};

/* Milliseconds since b->start was recorded, of what has been enqueued since. */
static double elapsed(const struct bench *b)
{
    float ms = 0;
    cudaEventRecord(b->stop, b->cuda->stream);
    cudaEventSynchronize(b->stop);
    cudaEventElapsedTime(&ms, b->start, b->stop);
    return (double)ms;
}

/* Medians of one shape; the first round warms up. */
static enum bd_status time_shape(struct bench *b, struct candidate *c)
{
    int64_t m = b->a.rows, n = b->a.cols;
    int64_t leaves = (int64_t)c->leaves_per_sm * b->cuda->sms, rows = (m + leaves - 1) / leaves;
    struct bd_cuda_caqr_shape shape = { c->panel_cols, (rows + 127) / 128 * 128, c->arity, 0 };
    struct bd_cuda_caqr *plan;
    double reduce[repeats] = { 0 }, factor[repeats] = { 0 }, form[repeats] = { 0 };
    enum bd_status status = bd_cuda_caqr_create_shaped(b->cuda, m, n, &shape, &plan);
    if (status)
        return status;
    for (int i = -1; i < repeats && !status; i++) {
        int at = i < 0 ? 0 : i;
        cudaMemcpyAsync(b->work.data, b->a.data, (size_t)(b->a.ld * n) * sizeof(float),
                        cudaMemcpyDeviceToDevice, b->cuda->stream);
        cudaEventRecord(b->start, b->cuda->stream);
        status = bd_cuda_caqr_reduce(plan, b->a.data, b->a.ld, b->r.data, b->r.ld);
        reduce[at] = elapsed(b);
        cudaEventRecord(b->start, b->cuda->stream);
        BD_TRY(bd_cuda_caqr_factor(plan, b->work.data, b->work.ld));
        factor[at] = elapsed(b);
        cudaEventRecord(b->start, b->cuda->stream);
        BD_TRY(bd_cuda_caqr_form_q(plan, b->work.data, b->work.ld));
        form[at] = elapsed(b);
    }
    BD_TRY(bd_backend_sync(b->backend));
    bd_cuda_caqr_destroy(plan);
    c->reduce = bd_bench_median(reduce, repeats);
    c->factor = bd_bench_median(factor, repeats);
    c->form = bd_bench_median(form, repeats);
    return status;
}

/* The shapes that make sense for n columns, all timed; the best by R and reflectors together. */
static enum bd_status tune(struct bench *b)
{
    static const int leaves[] = { 1, 2, 3, 6, 12 }, arities[] = { 2, 3, 5, 7, 9 };
    int64_t n = b->a.cols;
    struct candidate best = { .reduce = 1e30, .factor = 1e30 };
    for (int cols = 16; cols <= 128 && cols < n + 16; cols += 16)
        for (int l = 0; l < 5; l++)
            for (int q = 0; q < 5; q++) {
                struct candidate c = { .panel_cols = cols,
                                       .leaves_per_sm = leaves[l],
                                       .arity = arities[q] };
                /* Narrow panels of wide matrices, nodes that do not fill a sub-block or are long
                 * chains of them, and more leaves than multiprocessors hold, are far from the best.
                 */
                int folded = (c.arity - 1) * cols;
                if (cols * 6 < n || folded > 384 || (folded < 64 && c.arity < 9) ||
                    leaves[l] * cols > 192)
                    continue;
                enum bd_status status = time_shape(b, &c);
                if (status)
                    return status;
                printf("%9lld %4lld  %3d %d %d  %8.3f %8.3f %8.3f\n", (long long)b->a.rows,
                       (long long)n, c.panel_cols, c.leaves_per_sm, c.arity, c.reduce, c.factor,
                       c.form);
                fflush(stdout);
                if (c.reduce + c.factor < best.reduce + best.factor)
                    best = c;
            }
    printf(
        "best %lld x %lld: { %d, %lld, %lld, %d, %d, %d } reduce %.3f factor %.3f form %.3f ms\n",
        (long long)b->a.rows, (long long)n, b->cuda->capability, (long long)b->a.rows, (long long)n,
        best.panel_cols, best.leaves_per_sm, best.arity, best.reduce, best.factor, best.form);
    return BD_OK;
}

/* Uniform values. */
static enum bd_status fill(struct bench *b)
{
    int64_t m = b->a.rows, count = m * b->a.cols;
    float *host = malloc((size_t)count * sizeof *host);
    if (!host)
        return bd_bench_out_of_memory();
    bd_bench_fill(host, count, 1);
    enum bd_status status = bd_matrix_upload(b->backend, &b->a, host, m);
    free(host);
    return status;
}

static enum bd_status tune_matrix(struct bench *b, int64_t m, int64_t n)
{
    enum bd_status status = bd_matrix_create(b->backend, &b->a, m, n, BD_F32);
    BD_TRY(bd_matrix_create(b->backend, &b->work, m, n, BD_F32));
    BD_TRY(bd_matrix_create(b->backend, &b->r, n, n, BD_F32));
    BD_TRY(fill(b));
    BD_TRY(tune(b));
    bd_matrix_destroy(b->backend, &b->a);
    bd_matrix_destroy(b->backend, &b->work);
    bd_matrix_destroy(b->backend, &b->r);
    return status;
}

int main(int argc, char **argv)
{
    static const int64_t classes[][2] = {
        { 110592, 16 },   { 1000000, 16 }, { 1000000, 20 },  { 110592, 48 }, { 110592, 100 },
        { 2073600, 100 }, { 110592, 192 }, { 1000000, 192 }, { 20000, 512 },
    };
    struct bench b = { 0 };
    enum bd_status status = bd_backend_open(&b.backend, "cuda", 0);
    if (!status) {
        b.cuda = bd_cuda_of(b.backend);
        cudaEventCreate(&b.start);
        cudaEventCreate(&b.stop);
    }
    for (int i = 1; i + 1 < argc; i += 2)
        BD_TRY(tune_matrix(&b, atoll(argv[i]), atoll(argv[i + 1])));
    for (size_t i = 0; argc <= 2 && i < sizeof classes / sizeof *classes; i++)
        BD_TRY(tune_matrix(&b, classes[i][0], classes[i][1]));
    if (status)
        fprintf(stderr, "tune_caqr: %s\n", bd_error_detail());
    cudaEventDestroy(b.start);
    cudaEventDestroy(b.stop);
    bd_backend_close(&b.backend);
    return status ? 1 : 0;
}
