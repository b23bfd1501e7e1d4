/* QR with all of Q by cuSOLVER. */
#include "app/bench_wy.h"

#include <stdlib.h>

#include "app/bench_kernels.h"
#include "app/bench_peer_cuda.h"

struct bd_bench_peer_wy {
    struct bd_bench_gpu *gpu;
    int m, n, lwork;
    float *tau;  /* n */
    float *work; /* lwork */
    int *info;
};

void bd_bench_peer_wy_destroy(struct bd_bench_peer_wy **out)
{
    struct bd_bench_peer_wy *p = *out;
    if (!p)
        return;
    bd_cuda_free(p->tau);
    bd_cuda_free(p->work);
    bd_cuda_free(p->info);
    free(p);
    *out = NULL;
}

enum bd_status bd_bench_peer_wy_create(struct bd_bench_peer_wy **out, struct bd_bench_gpu *gpu,
                                       int64_t m, int64_t n)
{
    struct bd_bench_peer_wy *p = calloc(1, sizeof *p);
    int form = 0;
    *out = p;
    if (!p)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the bench");
    p->gpu = gpu;
    p->m = (int)m;
    p->n = (int)n;
    enum bd_status status = bd_bench_library(
        gpu->lib.cusolverDnSgeqrf_bufferSize(gpu->solver, p->m, p->n, NULL, p->m, &p->lwork),
        "cusolverDnSgeqrf_bufferSize");
    if (!status)
        status = bd_bench_library(gpu->lib.cusolverDnSorgqr_bufferSize(
                                      gpu->solver, p->m, p->m, p->n, NULL, p->m, NULL, &form),
                                  "cusolverDnSorgqr_bufferSize");
    p->lwork = form > p->lwork ? form : p->lwork;
    const struct {
        void **data;
        size_t bytes;
    } arrays[] = {
        { (void **)&p->tau, (size_t)n * sizeof(float) },
        { (void **)&p->work, (size_t)p->lwork * sizeof(float) },
        { (void **)&p->info, sizeof(int) },
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays && !status; i++)
        status = bd_cuda_alloc(gpu->cuda, arrays[i].data, arrays[i].bytes, "the peers' workspace");
    if (status)
        bd_bench_peer_wy_destroy(out);
    return status;
}

enum bd_status bd_bench_peer_wy_factor(struct bd_bench_peer_wy *p, float *q)
{
    return bd_bench_library(p->gpu->lib.cusolverDnSgeqrf(p->gpu->solver, p->m, p->n, q, p->m,
                                                         p->tau, p->work, p->lwork, p->info),
                            "cusolverDnSgeqrf");
}

enum bd_status bd_bench_peer_wy_form(struct bd_bench_peer_wy *p, float *q, float *r)
{
    bd_bench_kernel_take_r(r, q, p->m, p->n, p->gpu->cuda->stream);
    enum bd_status status = bd_cuda_launched("taking R");
    if (status)
        return status;
    return bd_bench_library(p->gpu->lib.cusolverDnSorgqr(p->gpu->solver, p->m, p->m, p->n, q, p->m,
                                                         p->tau, p->work, p->lwork, p->info),
                            "cusolverDnSorgqr");
}
