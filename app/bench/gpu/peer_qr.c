/* QR by cuSOLVER and cuBLAS, and the check of any QR by float64 products. */
#include "app/bench/gpu/peer_cuda.h"

#include <math.h>
#include <stdlib.h>

#include "app/bench/gpu/kernels.h"

struct bd_bench_peer_qr {
    struct bd_bench_gpu *gpu;
    int m, n, q_cols;
    int lwork, lwork64;
    float *tau;  /* n */
    float *work; /* lwork: geqrf's and orgqr's */
    int *info;
    /* Of Cholesky QR, where q_cols = n: */
    double *work64;
    double *wide; /* m x n */
    double *gram; /* n x n */
    double *inverse64;
    float *inverse; /* n x n, of R */
};

void bd_bench_peer_qr_destroy(struct bd_bench_peer_qr **out)
{
    struct bd_bench_peer_qr *p = *out;
    if (!p)
        return;
    bd_cuda_free(p->tau);
    bd_cuda_free(p->work);
    bd_cuda_free(p->work64);
    bd_cuda_free(p->wide);
    bd_cuda_free(p->gram);
    bd_cuda_free(p->inverse64);
    bd_cuda_free(p->inverse);
    bd_cuda_free(p->info);
    free(p);
    *out = NULL;
}

static enum bd_status ask_sizes(struct bd_bench_peer_qr *p)
{
    const struct bd_bench_gpu *gpu = p->gpu;
    int other = 0;
    enum bd_status status = bd_bench_library(
        gpu->lib.cusolverDnSgeqrf_bufferSize(gpu->solver, p->m, p->n, NULL, p->m, &p->lwork),
        "cusolverDnSgeqrf_bufferSize");
    if (!status)
        status = bd_bench_library(gpu->lib.cusolverDnSorgqr_bufferSize(
                                      gpu->solver, p->m, p->q_cols, p->n, NULL, p->m, NULL, &other),
                                  "cusolverDnSorgqr_bufferSize");
    p->lwork = other > p->lwork ? other : p->lwork;
    if (!status)
        status = bd_bench_library(gpu->lib.cusolverDnDpotrf_bufferSize(
                                      gpu->solver, bd_blas_upper, p->n, NULL, p->n, &p->lwork64),
                                  "cusolverDnDpotrf_bufferSize");
    return status;
}

enum bd_status bd_bench_peer_qr_create(struct bd_bench_peer_qr **out, struct bd_bench_gpu *gpu,
                                       int64_t m, int64_t n, int64_t q_cols)
{
    struct bd_bench_peer_qr *p = calloc(1, sizeof *p);
    *out = p;
    if (!p)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the bench");
    p->gpu = gpu;
    p->m = (int)m;
    p->n = (int)n;
    p->q_cols = (int)q_cols;
    enum bd_status status = ask_sizes(p);
    const struct {
        void **data;
        size_t bytes;
    } arrays[] = {
        { (void **)&p->tau, (size_t)n * sizeof(float) },
        { (void **)&p->work, (size_t)p->lwork * sizeof(float) },
        { (void **)&p->info, sizeof(int) },
        { (void **)&p->work64, (size_t)p->lwork64 * sizeof(double) },
        { (void **)&p->wide, (size_t)(m * n) * sizeof(double) },
        { (void **)&p->gram, (size_t)(n * n) * sizeof(double) },
        { (void **)&p->inverse64, (size_t)(n * n) * sizeof(double) },
        { (void **)&p->inverse, (size_t)(n * n) * sizeof(float) },
    };
    const size_t count = q_cols == n ? sizeof arrays / sizeof *arrays : 3;
    for (size_t i = 0; i < count && !status; i++)
        status = bd_cuda_alloc(gpu->cuda, arrays[i].data, arrays[i].bytes, "the peers' workspace");
    if (status)
        bd_bench_peer_qr_destroy(out);
    return status;
}

enum bd_status bd_bench_peer_geqrf(struct bd_bench_peer_qr *p, float *a)
{
    return bd_bench_library(p->gpu->lib.cusolverDnSgeqrf(p->gpu->solver, p->m, p->n, a, p->m,
                                                         p->tau, p->work, p->lwork, p->info),
                            "cusolverDnSgeqrf");
}

enum bd_status bd_bench_peer_orgqr(struct bd_bench_peer_qr *p, float *a)
{
    return bd_bench_library(p->gpu->lib.cusolverDnSorgqr(p->gpu->solver, p->m, p->q_cols, p->n, a,
                                                         p->m, p->tau, p->work, p->lwork, p->info),
                            "cusolverDnSorgqr");
}

enum bd_status bd_bench_peer_take_r(struct bd_bench_peer_qr *p, float *r, const float *a)
{
    bd_bench_kernel_take_r(r, a, p->m, p->n, p->gpu->cuda->stream);
    return bd_cuda_launched("taking R");
}

/* dgemm is twice as fast as dsyrk for such shapes, and the product with the inverse of R three
 * times as fast as strsm (cuBLAS 13.1, H100, 1000000 x 192: 13.1 ms with those). */
enum bd_status bd_bench_peer_cholqr(struct bd_bench_peer_qr *p, float *q, float *r, const float *a)
{
    static const double one64 = 1, zero64 = 0;
    static const float one = 1, zero = 0;
    const struct bd_bench_gpu *gpu = p->gpu;
    cudaStream_t stream = gpu->cuda->stream;
    int m = p->m, n = p->n;
    bd_bench_kernel_widen(p->wide, a, m, m, n, stream);
    enum bd_status status =
        bd_bench_library(gpu->lib.cublasDgemm_v2(gpu->blas, bd_blas_t, bd_blas_n, n, n, m, &one64,
                                                 p->wide, m, p->wide, m, &zero64, p->gram, n),
                         "cublasDgemm");
    if (!status)
        status = bd_bench_library(gpu->lib.cusolverDnDpotrf(gpu->solver, bd_blas_upper, n, p->gram,
                                                            n, p->work64, p->lwork64, p->info),
                                  "cusolverDnDpotrf");
    if (status)
        return status;
    bd_bench_kernel_narrow_r(r, p->gram, n, stream);
    if (!q)
        return bd_cuda_launched("Cholesky");
    bd_bench_kernel_identity(p->inverse64, n, stream);
    status = bd_bench_library(gpu->lib.cublasDtrsm_v2(gpu->blas, bd_blas_left, bd_blas_upper,
                                                      bd_blas_n, bd_blas_non_unit, n, n, &one64,
                                                      p->gram, n, p->inverse64, n),
                              "cublasDtrsm");
    bd_bench_kernel_narrow_r(p->inverse, p->inverse64, n, stream);
    if (!status)
        status = bd_bench_library(gpu->lib.cublasSgemm_v2(gpu->blas, bd_blas_n, bd_blas_n, m, n, n,
                                                          &one, a, m, p->inverse, n, &zero, q, m),
                                  "cublasSgemm");
    return status ? status : bd_cuda_launched("Cholesky QR");
}

/* Rows that the check widens at a time. */
enum { check_rows = 1 << 18 };

struct check {
    double *a, *q, *gram, *r; /* GPU: check_rows x n twice, n x n twice */
    double *host;             /* n x n */
    float *host_r;            /* n x n */
};

/* Adds up the Gram matrix of Q (or A), ||A||_F^2 and ||A - Q R||_F^2, block by block. */
static enum bd_status sweep(struct bd_bench_gpu *gpu, const struct check *c, const float *a,
                            const float *q, int64_t m, int64_t n, int64_t ld, double *norm,
                            double *rest)
{
    static const double one = 1, minus = -1;
    enum bd_status status = BD_OK;
    int k = (int)n;
    *norm = *rest = 0;
    for (int64_t first = 0; first < m && !status; first += check_rows) {
        int rows = (int)(m - first < check_rows ? m - first : check_rows);
        double length = 0;
        bd_bench_kernel_widen(c->a, a + first, ld, rows, n, gpu->cuda->stream);
        if (q)
            bd_bench_kernel_widen(c->q, q + first, ld, rows, n, gpu->cuda->stream);
        status = bd_bench_library(gpu->lib.cublasDnrm2_v2(gpu->blas, rows * k, c->a, 1, &length),
                                  "cublasDnrm2");
        *norm += length * length;
        if (!status)
            status = bd_bench_library(gpu->lib.cublasDsyrk_v2(gpu->blas, bd_blas_upper, bd_blas_t,
                                                              k, rows, &one, q ? c->q : c->a, rows,
                                                              &one, c->gram, k),
                                      "cublasDsyrk");
        if (!status && q)
            status = bd_bench_library(gpu->lib.cublasDgemm_v2(gpu->blas, bd_blas_n, bd_blas_n, rows,
                                                              k, k, &minus, c->q, rows, c->r, k,
                                                              &one, c->a, rows),
                                      "cublasDgemm");
        if (!status && q)
            status = bd_bench_library(
                gpu->lib.cublasDnrm2_v2(gpu->blas, rows * k, c->a, 1, &length), "cublasDnrm2");
        *rest += length * length;
    }
    return status;
}

static enum bd_status check_here(struct bd_bench_gpu *gpu, struct check *c, double *residual,
                                 double *orthogonality, const float *a, const float *q,
                                 const float *r, int64_t m, int64_t n, int64_t ld)
{
    size_t square = (size_t)(n * n), tall = (size_t)(n * check_rows) * sizeof(double);
    double norm = 0, rest = 0;
    c->host = malloc(square * sizeof *c->host);
    c->host_r = malloc(square * sizeof *c->host_r);
    if (!c->host || !c->host_r)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for checking a factorisation");
    enum bd_status status = bd_cuda_alloc(gpu->cuda, (void **)&c->a, tall, "a check");
    if (!status)
        status = bd_cuda_alloc(gpu->cuda, (void **)&c->q, tall, "a check");
    if (!status)
        status = bd_cuda_alloc(gpu->cuda, (void **)&c->gram, square * sizeof(double), "a check");
    if (!status)
        status = bd_cuda_alloc(gpu->cuda, (void **)&c->r, square * sizeof(double), "a check");
    if (status)
        return status;
    bd_bench_kernel_widen(c->r, r, n, n, n, gpu->cuda->stream);
    status = sweep(gpu, c, a, q, m, n, ld, &norm, &rest);
    if (!status)
        status = bd_cuda_check(cudaMemcpyAsync(c->host, c->gram, square * sizeof(double),
                                               cudaMemcpyDeviceToHost, gpu->cuda->stream),
                               "a check");
    if (!status)
        status = bd_cuda_check(cudaMemcpyAsync(c->host_r, r, square * sizeof(float),
                                               cudaMemcpyDeviceToHost, gpu->cuda->stream),
                               "a check");
    if (!status)
        status = bd_cuda_check(cudaStreamSynchronize(gpu->cuda->stream), "a check");
    if (status)
        return status;
    double distance = bd_bench_gram_distance(c->host, q ? NULL : c->host_r, n);
    *residual = q ? sqrt(rest / norm) : distance / norm;
    *orthogonality = q ? distance : -1;
    return BD_OK;
}

/* Tight columns of a GPU matrix on the host; NULL when there is no memory or the copy fails. */
static float *fetch(struct bd_bench_gpu *gpu, const float *a, int64_t m, int64_t n, int64_t ld)
{
    size_t width = (size_t)m * sizeof *a;
    float *host = malloc(width * (size_t)n);
    cudaStreamSynchronize(gpu->cuda->stream);
    if (host && cudaMemcpy2D(host, width, a, (size_t)ld * sizeof *a, width, (size_t)n,
                             cudaMemcpyDeviceToHost) != cudaSuccess) {
        free(host);
        host = NULL;
    }
    return host;
}

static enum bd_status check_on_host(struct bd_bench_gpu *gpu, double *residual,
                                    double *orthogonality, const float *a, const float *q,
                                    const float *r, int64_t m, int64_t n, int64_t ld)
{
    float *host_a = fetch(gpu, a, m, n, ld), *host_r = fetch(gpu, r, n, n, n);
    float *host_q = q ? fetch(gpu, q, m, n, ld) : NULL;
    enum bd_status status = BD_OK;
    if (!host_a || !host_r || (q && !host_q))
        status = bd_fail(BD_ERROR_MEMORY, "cannot fetch a factorisation from the GPU to check it");
    if (!status)
        status = bd_bench_check(residual, orthogonality, host_a, host_q, host_r, m, n);
    free(host_a);
    free(host_r);
    free(host_q);
    return status;
}

/* Small ones on the host, with no library of the GPU's in it. */
enum { host_elements = 2000000 };

enum bd_status bd_bench_gpu_check(struct bd_bench *bench, double *residual, double *orthogonality,
                                  const float *a, const float *q, const float *r, int64_t m,
                                  int64_t n, int64_t ld)
{
    struct bd_bench_gpu *gpu = bench->gpu;
    struct check c = { 0 };
    bd_bench_set_blas_threads(bench);
    if (!gpu->blas || m * n <= host_elements)
        return check_on_host(gpu, residual, orthogonality, a, q, r, m, n, ld);
    enum bd_status status = check_here(gpu, &c, residual, orthogonality, a, q, r, m, n, ld);
    bd_cuda_free(c.a);
    bd_cuda_free(c.q);
    bd_cuda_free(c.gram);
    bd_cuda_free(c.r);
    free(c.host);
    free(c.host_r);
    return status;
}
