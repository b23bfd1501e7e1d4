/* Cholesky QR with its Gram matrix in float64, in calls of cuBLAS and cuSOLVER. */
#include "app/bench/gpu/gpu.h"

struct cholqr {
    int m, n, lwork;
    void *work, *info;           /* dpotrf's */
    double *wide;                /* m x n */
    double *gram, *inverse_wide; /* n x n */
    float *inverse;              /* n x n, of R */
};

enum bd_status bd_bench_cholqr_create(struct bd_bench *bench, int64_t m, int64_t n, void **out)
{
    struct cholqr *c = *out = bd_bench_memory(bench, 1, sizeof *c);
    if (!c)
        return bd_bench_out_of_memory();
    c->m = (int)m;
    c->n = (int)n;
    enum bd_status status = BD_CALL(bench->gpu, cusolverDnDpotrf_bufferSize, bench->gpu->solver,
                                    bd_blas_upper, c->n, NULL, c->n, &c->lwork);
    BD_TRY(bd_bench_elements(bench, &c->work, c->lwork, BD_F64));
    BD_TRY(bd_bench_elements(bench, &c->info, 1, BD_F32)); /* as large as an int */
    BD_TRY(bd_bench_elements(bench, (void **)&c->wide, m * n, BD_F64));
    BD_TRY(bd_bench_elements(bench, (void **)&c->gram, n * n, BD_F64));
    BD_TRY(bd_bench_elements(bench, (void **)&c->inverse_wide, n * n, BD_F64));
    BD_TRY(bd_bench_elements(bench, (void **)&c->inverse, n * n, BD_F32));
    return status;
}

/* The widened copy, dgemm, dpotrf; where q is not NULL the inverse of R by dtrsm, and q := a R^-1
 * by sgemm. dgemm is twice as fast as dsyrk for such shapes, and the product with the inverse of R
 * three times as fast as strsm (cuBLAS 13.1, H100, 1000000 x 192: 13.1 ms with those). */
enum bd_status bd_bench_cholqr_run(struct bd_bench *bench, void *cholqr, float *q, float *r,
                                   float *a)
{
    static const double one64 = 1, zero64 = 0;
    static const float one = 1, zero = 0;
    const struct bd_bench_gpu *gpu = bench->gpu;
    struct cholqr *c = cholqr;
    cudaStream_t stream = gpu->cuda->stream;
    int m = c->m, n = c->n;
    bd_bench_kernel_widen(c->wide, a, m, m, n, stream);
    enum bd_status status = BD_CALL(gpu, cublasDgemm_v2, gpu->blas, bd_blas_t, bd_blas_n, n, n, m,
                                    &one64, c->wide, m, c->wide, m, &zero64, c->gram, n);
    BD_TRY(BD_CALL(gpu, cusolverDnDpotrf, gpu->solver, bd_blas_upper, n, c->gram, n, c->work,
                   c->lwork, c->info));
    if (status)
        return status;
    bd_bench_kernel_narrow_r(r, c->gram, n, stream);
    if (!q)
        return bd_cuda_launched("Cholesky");
    bd_bench_kernel_identity(c->inverse_wide, n, stream);
    status = BD_CALL(gpu, cublasDtrsm_v2, gpu->blas, bd_blas_left, bd_blas_upper, bd_blas_n,
                     bd_blas_non_unit, n, n, &one64, c->gram, n, c->inverse_wide, n);
    bd_bench_kernel_narrow_r(c->inverse, c->inverse_wide, n, stream);
    BD_TRY(BD_CALL(gpu, cublasSgemm_v2, gpu->blas, bd_blas_n, bd_blas_n, m, n, n, &one, a, m,
                   c->inverse, n, &zero, q, m));
    BD_TRY(bd_cuda_launched("Cholesky QR"));
    return status;
}
