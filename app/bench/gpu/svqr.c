/* QR by the Gram matrix in library calls: cuBLAS, with cuSOLVER or LAPACK for the n x n part. */
#include "app/bench/gpu/gpu.h"

#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>

struct svqr {
    struct bd_bench_gpu *gpu;
    int m, n, ld;
    int lwork, host_lwork, host_liwork;
    void *gram, *work, *info; /* on the GPU: n x n, G, then R; dpotrf's workspace */
    /* On the host: n x n (page-locked), n x n, n, n, n and the workspaces of LAPACK. */
    double *host_gram, *rows, *scale, *value, *tau, *host_work;
    lapack_int *host_iwork;
};

void bd_bench_svqr_destroy(void *svqr)
{
    if (svqr)
        bd_cuda_free_host(((struct svqr *)svqr)->host_gram);
}

static enum bd_status make_host(struct bd_bench *bench, struct svqr *p)
{
    const int64_t n = p->n;
    double most = 0, other = 0;
    lapack_int integers = 0;
    LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'U', p->n, NULL, p->n, NULL, &most, -1, &integers,
                        -1);
    LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, p->n, p->n, NULL, p->n, NULL, &other, -1);
    p->host_lwork = (int)fmax(most, other);
    p->host_liwork = (int)integers;
    p->rows = bd_bench_memory(bench, n * n, sizeof(double));
    p->scale = bd_bench_memory(bench, n, sizeof(double));
    p->value = bd_bench_memory(bench, n, sizeof(double));
    p->tau = bd_bench_memory(bench, n, sizeof(double));
    p->host_work = bd_bench_memory(bench, p->host_lwork, sizeof(double));
    p->host_iwork = bd_bench_memory(bench, p->host_liwork, sizeof *p->host_iwork);
    return p->rows && p->scale && p->value && p->tau && p->host_work && p->host_iwork
               ? BD_OK
               : bd_bench_out_of_memory();
}

enum bd_status bd_bench_svqr_create(struct bd_bench *bench, int64_t m, int64_t n, int64_t ld,
                                    void **out)
{
    struct bd_bench_gpu *gpu = bench->gpu;
    struct svqr *p = *out = bd_bench_memory(bench, 1, sizeof *p);
    void *memory = NULL;
    if (!p)
        return bd_bench_out_of_memory();
    *p = (struct svqr){ .gpu = gpu, .m = (int)m, .n = (int)n, .ld = (int)ld };
    enum bd_status status = make_host(bench, p);
    BD_TRY(BD_CALL(gpu, cusolverDnDpotrf_bufferSize, gpu->solver, bd_blas_upper, p->n, NULL, p->n,
                   &p->lwork));
    BD_TRY(bd_bench_elements(bench, &p->gram, n * n, BD_F64));
    BD_TRY(bd_bench_elements(bench, &p->work, p->lwork, BD_F64));
    BD_TRY(bd_bench_elements(bench, &p->info, 1, BD_F32)); /* as large as an int */
    BD_TRY(bd_cuda_alloc_host(&memory, (size_t)(n * n) * sizeof(double), "the peers' workspace"));
    p->host_gram = memory;
    return status;
}

static enum bd_status copy(const struct svqr *p, double *to, const double *from,
                           enum cudaMemcpyKind kind)
{
    const size_t bytes = (size_t)p->n * (size_t)p->n * sizeof *to;
    return bd_cuda_check(cudaMemcpyAsync(to, from, bytes, kind, p->gpu->cuda->stream),
                         "copying a Gram matrix");
}

/* R in the upper triangle of host_gram, from G there. */
static enum bd_status factor_svd(const struct svqr *p)
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

static enum bd_status factor_on_host(const struct svqr *p, enum bd_bench_svqr_way way)
{
    enum bd_status status = copy(p, p->host_gram, p->gram, cudaMemcpyDeviceToHost);
    BD_TRY(bd_cuda_check(cudaStreamSynchronize(p->gpu->cuda->stream), "the Gram matrix"));
    if (status)
        return status;
    if (way == BD_PEER_SVQR)
        status = factor_svd(p);
    else if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', p->n, p->host_gram, p->n))
        status = bd_fail(BD_ERROR_NUMERIC, "dpotrf of the bench failed");
    return status ? status : copy(p, p->gram, p->host_gram, cudaMemcpyHostToDevice);
}

enum bd_status bd_bench_svqr_run(void *svqr, enum bd_bench_svqr_way way, double *v)
{
    static const double one = 1, zero = 0;
    const struct svqr *p = svqr;
    const struct bd_bench_gpu *gpu = p->gpu;
    const int n = p->n;
    /* dgemm is faster than dsyrk for such shapes, twice its operations or not. */
    enum bd_status status = BD_CALL(gpu, cublasDgemm_v2, gpu->blas, bd_blas_t, bd_blas_n, n, n,
                                    p->m, &one, v, p->ld, v, p->ld, &zero, p->gram, n);
    if (way == BD_PEER_CHOLQR)
        BD_TRY(BD_CALL(gpu, cusolverDnDpotrf, gpu->solver, bd_blas_upper, n, p->gram, n, p->work,
                       p->lwork, p->info));
    else
        BD_TRY(factor_on_host(p, way));
    BD_TRY(BD_CALL(gpu, cublasDtrsm_v2, gpu->blas, bd_blas_right, bd_blas_upper, bd_blas_n,
                   bd_blas_non_unit, p->m, n, &one, p->gram, n, v, p->ld));
    return status;
}

enum bd_status bd_bench_svqr_get_r(void *svqr, double *r)
{
    const struct svqr *p = svqr;
    enum bd_status status = copy(p, r, p->gram, cudaMemcpyDeviceToHost);
    BD_TRY(bd_cuda_check(cudaStreamSynchronize(p->gpu->cuda->stream), "R of the bench"));
    return status;
}
