/* The SVD of a small matrix by cuSOLVER. */
#include "app/bench/gpu/peer_cuda.h"

#include <stdlib.h>

struct bd_bench_peer_svd {
    struct bd_bench_gpu *gpu;
    int n;
    int lwork_j, lwork_a;
    void *params;
    float *sigma; /* n */
    float *u, *v; /* n x n */
    float *work;  /* the larger of both */
    int *info;
    double residual; /* gesvda's own estimate */
};

void bd_bench_peer_svd_destroy(struct bd_bench_peer_svd **out)
{
    struct bd_bench_peer_svd *p = *out;
    if (!p)
        return;
    if (p->params)
        p->gpu->lib.cusolverDnDestroyGesvdjInfo(p->params);
    bd_cuda_free(p->sigma);
    bd_cuda_free(p->u);
    bd_cuda_free(p->v);
    bd_cuda_free(p->work);
    bd_cuda_free(p->info);
    free(p);
    *out = NULL;
}

static enum bd_status ask_sizes(struct bd_bench_peer_svd *p)
{
    const struct bd_libraries *lib = &p->gpu->lib;
    int n = p->n;
    long long square = (long long)n * n;
    enum bd_status status =
        bd_bench_library(lib->cusolverDnCreateGesvdjInfo(&p->params), "cusolverDnCreateGesvdjInfo");
    if (!status)
        status = bd_bench_library(
            lib->cusolverDnSgesvdj_bufferSize(p->gpu->solver, bd_solver_vectors, 0, n, n, p->u, n,
                                              p->sigma, p->u, n, p->v, n, &p->lwork_j, p->params),
            "cusolverDnSgesvdj_bufferSize");
    if (!status)
        status =
            bd_bench_library(lib->cusolverDnSgesvdaStridedBatched_bufferSize(
                                 p->gpu->solver, bd_solver_vectors, n, n, n, p->u, n, square,
                                 p->sigma, n, p->u, n, square, p->v, n, square, &p->lwork_a, 1),
                             "cusolverDnSgesvdaStridedBatched_bufferSize");
    return status;
}

enum bd_status bd_bench_peer_svd_create(struct bd_bench_peer_svd **out, struct bd_bench_gpu *gpu,
                                        int64_t n)
{
    struct bd_bench_peer_svd *p = calloc(1, sizeof *p);
    size_t square = (size_t)(n * n) * sizeof(float);
    *out = p;
    if (!p)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the bench");
    p->gpu = gpu;
    p->n = (int)n;
    enum bd_status status =
        bd_cuda_alloc(gpu->cuda, (void **)&p->sigma, (size_t)n * sizeof(float), "a peer");
    if (!status)
        status = bd_cuda_alloc(gpu->cuda, (void **)&p->u, square, "a peer");
    if (!status)
        status = bd_cuda_alloc(gpu->cuda, (void **)&p->v, square, "a peer");
    if (!status)
        status = bd_cuda_alloc(gpu->cuda, (void **)&p->info, sizeof(int), "a peer");
    if (!status)
        status = ask_sizes(p);
    size_t lwork = (size_t)(p->lwork_j > p->lwork_a ? p->lwork_j : p->lwork_a);
    if (!status)
        status = bd_cuda_alloc(gpu->cuda, (void **)&p->work, lwork * sizeof(float), "a peer");
    if (status)
        bd_bench_peer_svd_destroy(out);
    return status;
}

enum bd_status bd_bench_peer_gesvdj(struct bd_bench_peer_svd *p, float *r)
{
    int n = p->n;
    return bd_bench_library(p->gpu->lib.cusolverDnSgesvdj(p->gpu->solver, bd_solver_vectors, 0, n,
                                                          n, r, n, p->sigma, p->u, n, p->v, n,
                                                          p->work, p->lwork_j, p->info, p->params),
                            "cusolverDnSgesvdj");
}

enum bd_status bd_bench_peer_gesvda(struct bd_bench_peer_svd *p, const float *r)
{
    int n = p->n;
    long long square = (long long)n * n;
    return bd_bench_library(p->gpu->lib.cusolverDnSgesvdaStridedBatched(
                                p->gpu->solver, bd_solver_vectors, n, n, n, r, n, square, p->sigma,
                                n, p->u, n, square, p->v, n, square, p->work, p->lwork_a, p->info,
                                &p->residual, 1),
                            "cusolverDnSgesvdaStridedBatched");
}

void bd_bench_peer_svd_results(const struct bd_bench_peer_svd *p, const float **sigma,
                               const float **u, const float **v)
{
    *sigma = p->sigma;
    *u = p->u;
    *v = p->v;
}

enum bd_status bd_bench_peer_svd_get(struct bd_bench_peer_svd *p, float *sigma, float *v, int *info)
{
    size_t n = (size_t)p->n;
    enum bd_status status = bd_bench_library_info(p->gpu, p->info, info);
    if (!status)
        status =
            bd_cuda_check(cudaMemcpy(sigma, p->sigma, n * sizeof *sigma, cudaMemcpyDeviceToHost),
                          "fetching singular values");
    if (!status)
        status = bd_cuda_check(cudaMemcpy(v, p->v, n * n * sizeof *v, cudaMemcpyDeviceToHost),
                               "fetching V");
    return status;
}
