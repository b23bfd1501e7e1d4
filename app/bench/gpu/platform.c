/* A GPU as a platform: its peers are cuSOLVER and cuBLAS. */
#include "app/bench/gpu/gpu.h"

static void print_machine(const struct bd_bench *b)
{
    printf("# copy %.0f GB/s, upload %.1f, download %.1f; products of 8192: fp32 %.1f TFLOP/s, "
           "tf32 %.0f, fp64 %.1f\n",
           b->copy_rate / 1e9, b->upload_rate / 1e9, b->download_rate / 1e9, b->sgemm_rate / 1e12,
           b->tf32_rate / 1e12, b->fp64_rate / 1e12);
    printf("# peers: %s\n", b->gpu->description);
}

static enum bd_status copy(struct bd_bench *bench, void *to, const void *from, size_t bytes)
{
    return bd_cuda_check(
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, bench->gpu->cuda->stream),
        "a copy");
}

static enum bd_status qr_work(struct bd_bench *bench, int64_t most_m, int64_t most_n,
                              int64_t q_cols, int *lwork)
{
    const struct bd_bench_gpu *gpu = bench->gpu;
    int m = (int)most_m, n = (int)most_n, sizes[3] = { 1 };
    enum bd_status status =
        BD_CALL(gpu, cusolverDnSgeqrf_bufferSize, gpu->solver, m, n, NULL, m, &sizes[0]);
    BD_TRY(BD_CALL(gpu, cusolverDnSormqr_bufferSize, gpu->solver, bd_blas_left, bd_blas_t, m, 1, n,
                   NULL, m, NULL, NULL, m, &sizes[1]));
    if (q_cols)
        BD_TRY(BD_CALL(gpu, cusolverDnSorgqr_bufferSize, gpu->solver, m, (int)q_cols, n, NULL, m,
                       NULL, &sizes[2]));
    *lwork = sizes[0];
    for (int i = 1; i < 3; i++)
        *lwork = sizes[i] > *lwork ? sizes[i] : *lwork;
    return status;
}

static enum bd_status geqrf(struct bd_bench_peer_qr *qr, int64_t m, int64_t n, float *a,
                            int64_t lda)
{
    const struct bd_bench_gpu *gpu = qr->bench->gpu;
    return BD_CALL(gpu, cusolverDnSgeqrf, gpu->solver, (int)m, (int)n, a, (int)lda, qr->tau,
                   qr->work, qr->lwork, qr->info);
}

static enum bd_status orgqr(struct bd_bench_peer_qr *qr, int64_t m, int64_t k, int64_t n, float *a,
                            int64_t lda)
{
    const struct bd_bench_gpu *gpu = qr->bench->gpu;
    return BD_CALL(gpu, cusolverDnSorgqr, gpu->solver, (int)m, (int)k, (int)n, a, (int)lda, qr->tau,
                   qr->work, qr->lwork, qr->info);
}

static enum bd_status ormqr(struct bd_bench_peer_qr *qr, int64_t m, int64_t n, const float *a,
                            int64_t lda, float *b, int64_t ldb)
{
    const struct bd_bench_gpu *gpu = qr->bench->gpu;
    return BD_CALL(gpu, cusolverDnSormqr, gpu->solver, bd_blas_left, bd_blas_t, (int)m, 1, (int)n,
                   a, (int)lda, qr->tau, b, (int)ldb, qr->work, qr->lwork, qr->info);
}

static enum bd_status solve(struct bd_bench *bench, int64_t n, const float *a, int64_t lda,
                            float *b)
{
    static const float one = 1;
    const struct bd_bench_gpu *gpu = bench->gpu;
    return BD_CALL(gpu, cublasStrsm_v2, gpu->blas, bd_blas_left, bd_blas_upper, bd_blas_n,
                   bd_blas_non_unit, (int)n, 1, &one, a, (int)lda, b, (int)n);
}

static enum bd_status take_r(struct bd_bench *bench, int64_t n, float *r, int64_t ldr,
                             const float *a, int64_t lda)
{
    bd_bench_kernel_take_r(r, ldr, a, lda, n, bench->gpu->cuda->stream);
    return bd_cuda_launched("taking R");
}

static enum bd_status gemm(struct bd_bench *bench, int64_t m, int64_t n, int64_t k, const float *a,
                           const float *b, float *c)
{
    static const float one = 1, zero_ = 0;
    const struct bd_bench_gpu *gpu = bench->gpu;
    return BD_CALL(gpu, cublasSgemm_v2, gpu->blas, bd_blas_n, bd_blas_n, (int)m, (int)n, (int)k,
                   &one, a, (int)m, b, (int)k, &zero_, c, (int)m);
}

static enum bd_status formula(struct bd_bench *bench, enum bd_bench_formula which, float *out,
                              const float *a, const float *b, const float *y, float mu,
                              float threshold, int64_t count)
{
    bd_bench_kernel_formula(which, out, a, b, y, mu, threshold, count, bench->gpu->cuda->stream);
    return bd_cuda_launched("an elementwise step");
}

const struct bd_bench_platform bd_bench_cuda = {
    .open = bd_bench_gpu_open,
    .close = bd_bench_gpu_close,
    .print_machine = print_machine,
    .copy = copy,
    .time = bd_bench_gpu_time,
    .time_once = bd_bench_gpu_time_once,
    .check = bd_bench_gpu_check,
    .qr_work = qr_work,
    .geqrf = geqrf,
    .orgqr = orgqr,
    .ormqr = ormqr,
    .solve = solve,
    .take_r = take_r,
    .second_create = bd_bench_cholqr_create,
    .second_run = bd_bench_cholqr_run,
    .svd_create = bd_bench_gpu_svd_create,
    .svd_run = bd_bench_gpu_svd_run,
    .svd_fetch = bd_bench_gpu_svd_fetch,
    .svd_shrink = bd_bench_gpu_svd_shrink,
    .gemm = gemm,
    .formula = formula,
    .svqr_create = bd_bench_svqr_create,
    .svqr_destroy = bd_bench_svqr_destroy,
    .svqr_run = bd_bench_svqr_run,
    .svqr_get_r = bd_bench_svqr_get_r,
};
