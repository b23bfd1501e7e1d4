/* The SVD of a small matrix by cuSOLVER. */
#include "app/bench/gpu/gpu.h"

struct svd {
    int n, lwork_j, lwork_a;
    struct bd_matrix sigma, v; /* n, n x n */
    float *u, *p;              /* n x n; p: u with its columns scaled */
    void *work, *info;
    double residual; /* gesvda's own estimate */
};

enum bd_status bd_bench_gpu_svd_create(struct bd_bench *bench, int64_t size, void **out)
{
    const struct bd_bench_gpu *gpu = bench->gpu;
    struct svd *c = *out = bd_bench_memory(bench, 1, sizeof *c);
    if (!c)
        return bd_bench_out_of_memory();
    const int n = c->n = (int)size;
    const long long square = (long long)n * n;
    enum bd_status status = bd_bench_tight(bench, &c->sigma, n, 1, BD_F32);
    BD_TRY(bd_bench_elements(bench, (void **)&c->u, square, BD_F32));
    BD_TRY(bd_bench_elements(bench, (void **)&c->p, square, BD_F32));
    BD_TRY(bd_bench_tight(bench, &c->v, n, n, BD_F32));
    BD_TRY(bd_bench_elements(bench, &c->info, 1, BD_F32)); /* as large as an int */
    BD_TRY(BD_CALL(gpu, cusolverDnSgesvdj_bufferSize, gpu->solver, bd_solver_vectors, 0, n, n, c->u,
                   n, c->sigma.data, c->u, n, c->v.data, n, &c->lwork_j, gpu->jacobi));
    BD_TRY(BD_CALL(gpu, cusolverDnSgesvdaStridedBatched_bufferSize, gpu->solver, bd_solver_vectors,
                   n, n, n, c->u, n, square, c->sigma.data, n, c->u, n, square, c->v.data, n,
                   square, &c->lwork_a, 1));
    BD_TRY(bd_bench_elements(bench, &c->work, c->lwork_j > c->lwork_a ? c->lwork_j : c->lwork_a,
                             BD_F32));
    return status;
}

/* Jacobi: two-sided, with its default tolerance, in place of r. Tall: the approximate SVD for tall
 * matrices, a batch of one. */
enum bd_status bd_bench_gpu_svd_run(struct bd_bench *bench, void *svd, enum bd_bench_svd_way way,
                                    float *r)
{
    const struct bd_bench_gpu *gpu = bench->gpu;
    struct svd *c = svd;
    const int n = c->n;
    const long long square = (long long)n * n;
    if (way == BD_PEER_SVD_JACOBI)
        return BD_CALL(gpu, cusolverDnSgesvdj, gpu->solver, bd_solver_vectors, 0, n, n, r, n,
                       c->sigma.data, c->u, n, c->v.data, n, c->work, c->lwork_j, c->info,
                       gpu->jacobi);
    return BD_CALL(gpu, cusolverDnSgesvdaStridedBatched, gpu->solver, bd_solver_vectors, n, n, n, r,
                   n, square, c->sigma.data, n, c->u, n, square, c->v.data, n, square, c->work,
                   c->lwork_a, c->info, &c->residual, 1);
}

enum bd_status bd_bench_gpu_svd_fetch(struct bd_bench *bench, void *svd, float *sigma, float *v,
                                      int *info)
{
    const struct svd *c = svd;
    cudaStream_t stream = bench->gpu->cuda->stream;
    enum bd_status status =
        bd_cuda_check(cudaMemcpyAsync(info, c->info, sizeof *info, cudaMemcpyDeviceToHost, stream),
                      "fetching cuSOLVER's info");
    BD_TRY(bd_matrix_download(bench->backend, sigma, c->n, &c->sigma));
    BD_TRY(bd_matrix_download(bench->backend, v, c->n, &c->v));
    return status;
}

enum bd_status bd_bench_gpu_svd_shrink(struct bd_bench *bench, void *svd, float threshold, float *w)
{
    static const float one = 1, zero = 0;
    const struct bd_bench_gpu *gpu = bench->gpu;
    struct svd *c = svd;
    const int n = c->n;
    bd_bench_kernel_scale_columns(c->p, c->u, c->sigma.data, threshold, n, gpu->cuda->stream);
    return BD_CALL(gpu, cublasSgemm_v2, gpu->blas, bd_blas_n, bd_blas_t, n, n, n, &one, c->p, n,
                   c->v.data, n, &zero, w, n);
}
