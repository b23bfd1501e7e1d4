/* Robust PCA as the papers have it, on cuSOLVER and cuBLAS. */
#include "app/bench/gpu/peer_cuda.h"

#include <math.h>
#include <stdlib.h>

#include "app/bench/gpu/kernels.h"

struct bd_bench_textbook {
    struct bd_bench_gpu *gpu;
    int64_t m, n;
    struct bd_bench_peer_qr *qr;
    struct bd_bench_peer_svd *svd;
    float *x, *l, *s, *y, *t; /* m x n: the frames and the method's arrays */
    float *r, *p, *w;         /* n x n */
    float mu, mu_start, norm; /* norm: ||M||_F */
};

enum { tall_count = 5, small_count = 3 };

static void arrays_of(struct bd_bench_textbook *c, void **tall[tall_count],
                      void **small[small_count])
{
    float **const all[] = { &c->x, &c->l, &c->s, &c->y, &c->t, &c->r, &c->p, &c->w };
    for (int i = 0; i < tall_count; i++)
        tall[i] = (void **)all[i];
    for (int i = 0; i < small_count; i++)
        small[i] = (void **)all[tall_count + i];
}

void bd_bench_textbook_destroy(struct bd_bench_textbook **out)
{
    struct bd_bench_textbook *c = *out;
    void **tall[tall_count], **small[small_count];
    if (!c)
        return;
    arrays_of(c, tall, small);
    for (int i = 0; i < tall_count; i++)
        bd_cuda_free(*tall[i]);
    for (int i = 0; i < small_count; i++)
        bd_cuda_free(*small[i]);
    bd_bench_peer_qr_destroy(&c->qr);
    bd_bench_peer_svd_destroy(&c->svd);
    free(c);
    *out = NULL;
}

enum bd_status bd_bench_textbook_create(struct bd_bench_textbook **out, struct bd_bench_gpu *gpu,
                                        int64_t m, int64_t n, const uint8_t *pictures, int64_t ld)
{
    struct bd_bench_textbook *c = calloc(1, sizeof *c);
    void **tall[tall_count], **small[small_count];
    *out = c;
    if (!c)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the bench");
    c->gpu = gpu;
    c->m = m;
    c->n = n;
    arrays_of(c, tall, small);
    enum bd_status status = bd_bench_peer_qr_create(&c->qr, gpu, m, n, n);
    if (!status)
        status = bd_bench_peer_svd_create(&c->svd, gpu, n);
    for (int i = 0; i < tall_count && !status; i++)
        status = bd_cuda_alloc(gpu->cuda, tall[i], (size_t)(m * n) * sizeof(float), "a peer");
    for (int i = 0; i < small_count && !status; i++)
        status = bd_cuda_alloc(gpu->cuda, small[i], (size_t)(n * n) * sizeof(float), "a peer");
    if (!status) {
        bd_bench_kernel_from_bytes(c->x, pictures, ld, m, n, gpu->cuda->stream);
        status = bd_bench_library(
            gpu->lib.cublasSnrm2_v2(gpu->blas, (int)(m * n), c->x, 1, &c->norm), "cublasSnrm2");
    }
    /* mu starts at 1.25 / ||M||_2, and ||M||_2 is nearly ||M||_F for frames */
    c->mu_start = 1.25F / c->norm;
    if (status)
        bd_bench_textbook_destroy(out);
    return status;
}

enum bd_status bd_bench_textbook_start(struct bd_bench_textbook *c)
{
    size_t bytes = (size_t)(c->m * c->n) * sizeof(float);
    c->mu = c->mu_start;
    enum bd_status status =
        bd_cuda_check(cudaMemsetAsync(c->s, 0, bytes, c->gpu->cuda->stream), "S := 0");
    if (!status)
        status = bd_cuda_check(cudaMemsetAsync(c->y, 0, bytes, c->gpu->cuda->stream), "Y := 0");
    return status;
}

/* L := SVT(T, 1 / mu) by QR, SVD of R, and L = Q U shrink(sigma) V^T; T is overwritten. */
static enum bd_status threshold(struct bd_bench_textbook *c)
{
    static const float one = 1, zero = 0;
    const struct bd_bench_gpu *gpu = c->gpu;
    const float *sigma, *u, *v;
    int m = (int)c->m, n = (int)c->n;
    enum bd_status status = bd_bench_peer_geqrf(c->qr, c->t);
    if (!status)
        status = bd_bench_peer_take_r(c->qr, c->r, c->t);
    if (!status)
        status = bd_bench_peer_orgqr(c->qr, c->t);
    if (!status)
        status = bd_bench_peer_gesvda(c->svd, c->r);
    if (status)
        return status;
    bd_bench_peer_svd_results(c->svd, &sigma, &u, &v);
    bd_bench_kernel_scale_columns(c->p, u, sigma, 1 / c->mu, n, gpu->cuda->stream);
    status = bd_bench_library(gpu->lib.cublasSgemm_v2(gpu->blas, bd_blas_n, bd_blas_t, n, n, n,
                                                      &one, c->p, n, v, n, &zero, c->w, n),
                              "cublasSgemm");
    if (!status)
        status = bd_bench_library(gpu->lib.cublasSgemm_v2(gpu->blas, bd_blas_n, bd_blas_n, m, n, n,
                                                          &one, c->t, m, c->w, n, &zero, c->l, m),
                                  "cublasSgemm");
    return status;
}

enum bd_status bd_bench_textbook_iterate(struct bd_bench_textbook *c)
{
    int64_t count = c->m * c->n;
    cudaStream_t stream = c->gpu->cuda->stream;
    float step = 1 / (sqrtf((float)c->m) * c->mu);
    bd_bench_kernel_form(c->t, c->x, c->s, c->y, c->mu, count, stream);
    enum bd_status status = threshold(c);
    bd_bench_kernel_shrink(c->s, c->x, c->l, c->y, c->mu, step, count, stream);
    bd_bench_kernel_dual(c->y, c->x, c->l, c->s, c->mu, count, stream);
    c->mu *= 1.5F;
    return status ? status : bd_cuda_launched("an iteration of the textbook's Robust PCA");
}

enum bd_status bd_bench_textbook_residual(struct bd_bench_textbook *c, double *residual)
{
    int64_t count = c->m * c->n;
    float norm = 0;
    bd_bench_kernel_rest(c->t, c->x, c->l, c->s, count, c->gpu->cuda->stream);
    enum bd_status status = bd_bench_library(
        c->gpu->lib.cublasSnrm2_v2(c->gpu->blas, (int)count, c->t, 1, &norm), "cublasSnrm2");
    *residual = (double)(norm / c->norm);
    return status;
}
