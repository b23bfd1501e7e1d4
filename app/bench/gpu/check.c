/* Residuals of any QR by float64 products of cuBLAS, which are not the library's. */
#include "app/bench/gpu/gpu.h"

#include <math.h>

/* Rows that the check widens at a time; elements up to which the host checks, with no library of
 * the GPU's in it. */
enum { check_rows = 1 << 18, host_elements = 2000000 };

struct check {
    void *a, *q;              /* GPU: check_rows x n */
    struct bd_matrix gram, r; /* n x n */
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
        status = BD_CALL(gpu, cublasDnrm2_v2, gpu->blas, rows * k, c->a, 1, &length);
        *norm += length * length;
        BD_TRY(BD_CALL(gpu, cublasDsyrk_v2, gpu->blas, bd_blas_upper, bd_blas_t, k, rows, &one,
                       q ? c->q : c->a, rows, &one, c->gram.data, k));
        if (!q)
            continue;
        BD_TRY(BD_CALL(gpu, cublasDgemm_v2, gpu->blas, bd_blas_n, bd_blas_n, rows, k, k, &minus,
                       c->q, rows, c->r.data, k, &one, c->a, rows));
        BD_TRY(BD_CALL(gpu, cublasDnrm2_v2, gpu->blas, rows * k, c->a, 1, &length));
        *rest += length * length;
    }
    return status;
}

/* A view of columns on the GPU. */
static struct bd_matrix view(const float *data, int64_t m, int64_t n, int64_t ld)
{
    return (struct bd_matrix){ m, n, ld, BD_F32, (void *)data };
}

static enum bd_status check_here(struct bd_bench *bench, double *residual, double *orthogonality,
                                 const float *a, const float *q, const float *r, int64_t m,
                                 int64_t n, int64_t ld)
{
    const int64_t square = n * n;
    struct bd_bench_gpu *gpu = bench->gpu;
    struct check c = { 0 };
    double norm = 0, rest = 0, *host = bd_bench_memory(bench, 2 * square, sizeof *host);
    enum bd_status status = host ? BD_OK : bd_bench_out_of_memory();
    BD_TRY(bd_bench_elements(bench, &c.a, n * check_rows, BD_F64));
    BD_TRY(bd_bench_elements(bench, &c.q, n * check_rows, BD_F64));
    BD_TRY(bd_bench_tight(bench, &c.gram, n, n, BD_F64));
    BD_TRY(bd_bench_tight(bench, &c.r, n, n, BD_F64));
    if (status)
        return status;
    bd_bench_kernel_widen(c.r.data, r, n, n, n, gpu->cuda->stream);
    status = sweep(gpu, &c, a, q, m, n, ld, &norm, &rest);
    BD_TRY(bd_matrix_download(bench->backend, host, n, &c.gram));
    BD_TRY(bd_matrix_download(bench->backend, host + square, n, &c.r));
    if (status)
        return status;
    double distance = bd_bench_gram_distance(host, q ? NULL : host + square, n);
    *residual = q ? sqrt(rest / norm) : distance / norm;
    *orthogonality = q ? distance : -1;
    return BD_OK;
}

static enum bd_status check_on_host(struct bd_bench *bench, double *residual, double *orthogonality,
                                    const float *a, const float *q, const float *r, int64_t m,
                                    int64_t n, int64_t ld)
{
    const struct bd_matrix views[] = { view(a, m, n, ld), view(r, n, n, n), view(q, m, n, ld) };
    float *host[3] = { NULL };
    enum bd_status status = BD_OK;
    for (int i = 0; i < (q ? 3 : 2) && !status; i++) {
        host[i] = bd_bench_memory(bench, views[i].rows * n, sizeof *host[i]);
        status = host[i] ? BD_OK : bd_bench_out_of_memory();
        BD_TRY(bd_matrix_download(bench->backend, host[i], views[i].rows, &views[i]));
    }
    BD_TRY(bd_bench_check(residual, orthogonality, host[0], host[2], host[1], m, n, m));
    return status;
}

enum bd_status bd_bench_gpu_check(struct bd_bench *bench, double *residual, double *orthogonality,
                                  const float *a, const float *q, const float *r, int64_t m,
                                  int64_t n, int64_t ld)
{
    struct bd_bench_held *held = bench->held;
    enum bd_status status = (!bench->gpu->blas || m * n <= host_elements
                                 ? check_on_host
                                 : check_here)(bench, residual, orthogonality, a, q, r, m, n, ld);
    bd_bench_release(bench, held);
    return status;
}
