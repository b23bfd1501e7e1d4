/* QR by the Gram matrix in library calls (app/bench/svqr.h). */
#include "app/bench/svqr.h"

#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>

#include "app/bench/gpu/peer_cuda.h"

enum { blas_right = 1 };

struct bd_bench_peer_svqr {
    struct bd_bench_gpu *gpu;
    int m, n, ld;
    int lwork, host_lwork, host_liwork;
    double *gram; /* n x n, on the GPU: G, then R */
    double *work; /* lwork, on the GPU: dpotrf's */
    int *info;    /* on the GPU */
    /* On the host: n x n, n x n, n, n, n and the workspaces of LAPACK. */
    double *host_gram, *rows, *scale, *value, *tau, *host_work;
    lapack_int *host_iwork;
};

void bd_bench_peer_svqr_destroy(struct bd_bench_peer_svqr **out)
{
    struct bd_bench_peer_svqr *p = *out;
    if (!p)
        return;
    bd_cuda_free(p->gram);
    bd_cuda_free(p->work);
    bd_cuda_free(p->info);
    bd_cuda_free_host(p->host_gram);
    free(p->rows);
    free(p->scale);
    free(p->value);
    free(p->tau);
    free(p->host_work);
    free(p->host_iwork);
    free(p);
    *out = NULL;
}

static enum bd_status make_host(struct bd_bench_peer_svqr *p)
{
    const size_t n = (size_t)p->n;
    double most = 0, other = 0;
    lapack_int integers = 0;
    LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'U', p->n, NULL, p->n, NULL, &most, -1, &integers,
                        -1);
    LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, p->n, p->n, NULL, p->n, NULL, &other, -1);
    p->host_lwork = (int)fmax(most, other);
    p->host_liwork = (int)integers;
    p->rows = malloc(n * n * sizeof(double));
    p->scale = malloc(n * sizeof(double));
    p->value = malloc(n * sizeof(double));
    p->tau = malloc(n * sizeof(double));
    p->host_work = malloc((size_t)p->host_lwork * sizeof(double));
    p->host_iwork = malloc((size_t)p->host_liwork * sizeof *p->host_iwork);
    if (!p->rows || !p->scale || !p->value || !p->tau || !p->host_work || !p->host_iwork)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the bench");
    return BD_OK;
}

enum bd_status bd_bench_peer_svqr_create(struct bd_bench_peer_svqr **out, struct bd_bench_gpu *gpu,
                                         int64_t m, int64_t n, int64_t ld)
{
    struct bd_bench_peer_svqr *p = calloc(1, sizeof *p);
    const size_t square = (size_t)(n * n) * sizeof(double);
    void *memory = NULL;
    *out = p;
    if (!p)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the bench");
    p->gpu = gpu;
    p->m = (int)m;
    p->n = (int)n;
    p->ld = (int)ld;
    enum bd_status status = make_host(p);
    if (!status)
        status = bd_bench_library(gpu->lib.cusolverDnDpotrf_bufferSize(gpu->solver, bd_blas_upper,
                                                                       p->n, NULL, p->n, &p->lwork),
                                  "cusolverDnDpotrf_bufferSize");
    if (!status)
        status = bd_cuda_alloc(gpu->cuda, (void **)&p->gram, square, "the peers' workspace");
    if (!status)
        status = bd_cuda_alloc(gpu->cuda, (void **)&p->work, (size_t)p->lwork * sizeof(double),
                               "the peers' workspace");
    if (!status)
        status = bd_cuda_alloc(gpu->cuda, (void **)&p->info, sizeof(int), "the peers' workspace");
    if (!status)
        status = bd_cuda_alloc_host(&memory, square, "the peers' workspace");
    p->host_gram = memory;
    if (status)
        bd_bench_peer_svqr_destroy(out);
    return status;
}

static enum bd_status copy(const struct bd_bench_peer_svqr *p, double *to, const double *from,
                           enum cudaMemcpyKind kind)
{
    const size_t bytes = (size_t)p->n * (size_t)p->n * sizeof *to;
    return bd_cuda_check(cudaMemcpyAsync(to, from, bytes, kind, p->gpu->cuda->stream),
                         "copying a Gram matrix");
}

/* R in the upper triangle of host_gram, from G there. */
static enum bd_status factor_svd(const struct bd_bench_peer_svqr *p)
{
    const int n = p->n;
    double *g = p->host_gram, *r = p->rows;
    for (int j = 0; j < n; j++) {
        p->scale[j] = sqrt(g[j + j * n]);
        for (int i = 0; i <= j; i++)
            g[i + j * n] /= p->scale[i] * p->scale[j];
    }
    if (LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'U', n, g, n, p->value, p->host_work,
                            p->host_lwork, p->host_iwork, p->host_liwork))
        return bd_fail(BD_ERROR_NUMERIC, "dsyevd of the bench did not converge");
    const double least = n * DBL_EPSILON * p->value[n - 1];
    for (int k = 0; k < n; k++) {
        const double root = sqrt(fmax(p->value[k], least));
        for (int j = 0; j < n; j++)
            r[n - 1 - k + j * n] = root * g[j + k * n];
    }
    LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, n, n, r, n, p->tau, p->host_work, p->host_lwork);
    for (int j = 0; j < n; j++)
        for (int i = 0; i <= j; i++)
            g[i + j * n] = r[i + j * n] * p->scale[j];
    return BD_OK;
}

static enum bd_status factor_on_host(const struct bd_bench_peer_svqr *p, enum bd_bench_svqr_way way)
{
    enum bd_status status = copy(p, p->host_gram, p->gram, cudaMemcpyDeviceToHost);
    if (!status)
        status = bd_cuda_check(cudaStreamSynchronize(p->gpu->cuda->stream), "the Gram matrix");
    if (status)
        return status;
    if (way == BD_PEER_SVQR)
        status = factor_svd(p);
    else if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', p->n, p->host_gram, p->n))
        status = bd_fail(BD_ERROR_NUMERIC, "dpotrf of the bench failed");
    return status ? status : copy(p, p->gram, p->host_gram, cudaMemcpyHostToDevice);
}

enum bd_status bd_bench_peer_svqr_run(struct bd_bench_peer_svqr *p, enum bd_bench_svqr_way way,
                                      double *v)
{
    static const double one = 1, zero = 0;
    const struct bd_bench_gpu *gpu = p->gpu;
    const int n = p->n;
    /* dgemm is faster than dsyrk for such shapes, twice its operations or not. */
    enum bd_status status =
        bd_bench_library(gpu->lib.cublasDgemm_v2(gpu->blas, bd_blas_t, bd_blas_n, n, n, p->m, &one,
                                                 v, p->ld, v, p->ld, &zero, p->gram, n),
                         "cublasDgemm");
    if (!status && way == BD_PEER_CHOLQR)
        status = bd_bench_library(gpu->lib.cusolverDnDpotrf(gpu->solver, bd_blas_upper, n, p->gram,
                                                            n, p->work, p->lwork, p->info),
                                  "cusolverDnDpotrf");
    else if (!status)
        status = factor_on_host(p, way);
    if (!status)
        status = bd_bench_library(gpu->lib.cublasDtrsm_v2(gpu->blas, blas_right, bd_blas_upper,
                                                          bd_blas_n, bd_blas_non_unit, p->m, n,
                                                          &one, p->gram, n, v, p->ld),
                                  "cublasDtrsm");
    return status;
}

enum bd_status bd_bench_peer_svqr_get_r(struct bd_bench_peer_svqr *p, double *r)
{
    const enum bd_status status = copy(p, r, p->gram, cudaMemcpyDeviceToHost);
    return status ? status
                  : bd_cuda_check(cudaStreamSynchronize(p->gpu->cuda->stream), "R of the bench");
}
