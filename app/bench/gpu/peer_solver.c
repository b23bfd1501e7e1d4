/* Least squares by cuSOLVER and cuBLAS. */
#include <stdlib.h>

#include "app/bench/gpu/kernels.h"
#include "app/bench/gpu/peer_cuda.h"

struct bd_bench_peer_solver {
    struct bd_bench_gpu *gpu;
    int lwork;
    float *tau;  /* most_n */
    float *work; /* lwork: geqrf's, ormqr's and orgqr's */
    int *info;
};

void bd_bench_peer_solver_destroy(struct bd_bench_peer_solver **out)
{
    struct bd_bench_peer_solver *s = *out;
    if (!s)
        return;
    bd_cuda_free(s->tau);
    bd_cuda_free(s->work);
    bd_cuda_free(s->info);
    free(s);
    *out = NULL;
}

/* The most that any of the three asks for. */
static enum bd_status ask_sizes(struct bd_bench_peer_solver *s, int m, int n, bool full_q)
{
    const struct bd_bench_gpu *gpu = s->gpu;
    int sizes[3] = { 0 };
    enum bd_status status = bd_bench_library(
        gpu->lib.cusolverDnSgeqrf_bufferSize(gpu->solver, m, n, NULL, m, &sizes[0]),
        "cusolverDnSgeqrf_bufferSize");
    if (!status)
        status = bd_bench_library(gpu->lib.cusolverDnSormqr_bufferSize(gpu->solver, bd_blas_left,
                                                                       bd_blas_t, m, 1, n, NULL, m,
                                                                       NULL, NULL, m, &sizes[1]),
                                  "cusolverDnSormqr_bufferSize");
    if (!status && full_q)
        status = bd_bench_library(
            gpu->lib.cusolverDnSorgqr_bufferSize(gpu->solver, m, m, n, NULL, m, NULL, &sizes[2]),
            "cusolverDnSorgqr_bufferSize");
    for (int i = 0; i < 3; i++)
        s->lwork = sizes[i] > s->lwork ? sizes[i] : s->lwork;
    return status;
}

enum bd_status bd_bench_peer_solver_create(struct bd_bench_peer_solver **out,
                                           struct bd_bench_gpu *gpu, int64_t most_m, int64_t most_n,
                                           bool full_q)
{
    struct bd_bench_peer_solver *s = calloc(1, sizeof *s);
    *out = s;
    if (!s)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the bench");
    s->gpu = gpu;
    enum bd_status status = ask_sizes(s, (int)most_m, (int)most_n, full_q);
    const struct {
        void **data;
        size_t bytes;
    } arrays[] = {
        { (void **)&s->tau, (size_t)most_n * sizeof(float) },
        { (void **)&s->work, (size_t)s->lwork * sizeof(float) },
        { (void **)&s->info, sizeof(int) },
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays && !status; i++)
        status = bd_cuda_alloc(gpu->cuda, arrays[i].data, arrays[i].bytes, "the peers' workspace");
    if (status)
        bd_bench_peer_solver_destroy(out);
    return status;
}

enum bd_status bd_bench_peer_solver_run(struct bd_bench_peer_solver *s, struct bd_matrix *a,
                                        struct bd_matrix *r, struct bd_matrix *b, bool full_q)
{
    static const float one = 1;
    const struct bd_bench_gpu *gpu = s->gpu;
    int m = (int)a->rows, n = (int)a->cols, lda = (int)a->ld, ldb = (int)b->ld;
    enum bd_status status =
        bd_bench_library(gpu->lib.cusolverDnSgeqrf(gpu->solver, m, n, a->data, lda, s->tau, s->work,
                                                   s->lwork, s->info),
                         "cusolverDnSgeqrf");
    if (!status)
        status = bd_bench_library(gpu->lib.cusolverDnSormqr(gpu->solver, bd_blas_left, bd_blas_t, m,
                                                            1, n, a->data, lda, s->tau, b->data,
                                                            ldb, s->work, s->lwork, s->info),
                                  "cusolverDnSormqr");
    if (!status)
        status = bd_bench_library(gpu->lib.cublasStrsm_v2(gpu->blas, bd_blas_left, bd_blas_upper,
                                                          bd_blas_n, bd_blas_non_unit, n, 1, &one,
                                                          a->data, lda, b->data, ldb),
                                  "cublasStrsm");
    if (status || !full_q)
        return status;
    cudaError_t error = cudaMemcpy2DAsync(r->data, (size_t)r->ld * sizeof(float), a->data,
                                          (size_t)lda * sizeof(float), (size_t)n * sizeof(float),
                                          (size_t)n, cudaMemcpyDeviceToDevice, gpu->cuda->stream);
    status = bd_cuda_check(error, "keeping R");
    if (!status)
        status = bd_bench_library(gpu->lib.cusolverDnSorgqr(gpu->solver, m, m, n, a->data, lda,
                                                            s->tau, s->work, s->lwork, s->info),
                                  "cusolverDnSorgqr");
    return status;
}
