/* SVD of the small R by LAPACK, in float64: dgesdd. On one Zen 4 core, n = 50, 100, 256: dgesdd
 * 0.4, 1.2, 11 ms; sgesdd 0.35, 0.9, 6 ms, but singular values near the threshold then carry
 * float32 errors of the largest one; dgesvd without U 0.5, 1.9, 104 ms; the eigenvalues of R^T R
 * (dsyevd) 0.3, 0.8, 7.5 ms, which loses the singular values below 1e-8 of the largest. */
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "linalg/shared/cpu.h"
#include "linalg/shared/svd_ops.h"

struct svd {
    struct bd_cpu_memory memory;
    int64_t n;
    double *a;                /* n x n: R, then scratch */
    double *u, *v;            /* n x n; v holds V^T of the last compute */
    double *sigma;            /* n */
    float *sigma_out, *v_out; /* n, and n x n: what svd_sigma and svd_v give */
    double *work;
    lapack_int work_size;
    lapack_int *iwork; /* 8 n */
};

static void svd_destroy(void *work)
{
    struct svd *svd = work;
    if (!svd)
        return;
    bd_cpu_free_memory(&svd->memory);
    free(svd);
}

static enum bd_status svd_create(struct bd_backend *backend, int64_t n, void **out)
{
    (void)backend;
    struct svd *svd = calloc(1, sizeof *svd);
    if (!svd)
        return bd_fail(BD_ERROR_MEMORY, "no memory for an SVD");
    svd->n = n;
    svd->a = bd_cpu_doubles(&svd->memory, n * n);
    svd->u = bd_cpu_doubles(&svd->memory, n * n);
    svd->v = bd_cpu_doubles(&svd->memory, n * n);
    svd->sigma = bd_cpu_doubles(&svd->memory, n);
    svd->sigma_out = bd_cpu_floats(&svd->memory, n);
    svd->v_out = bd_cpu_floats(&svd->memory, n * n);
    svd->iwork = bd_cpu_take(&svd->memory, (size_t)n * 8 * sizeof(lapack_int));
    lapack_int size = (lapack_int)n;
    double best = 0, fallback = 0;
    lapack_int fail =
        LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, 'A', size, size, svd->a, size, svd->sigma, svd->u,
                            size, svd->v, size, &best, -1, svd->iwork);
    fail |= LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'N', 'A', size, size, svd->a, size, svd->sigma,
                                svd->u, size, svd->v, size, &fallback, -1);
    svd->work_size = (lapack_int)fmax(best, fallback);
    svd->work = bd_cpu_doubles(&svd->memory, svd->work_size);
    if (fail || svd->memory.missing) {
        svd_destroy(svd);
        return bd_fail(BD_ERROR_MEMORY, "no memory for the SVD of %lld x %lld", (long long)n,
                       (long long)n);
    }
    *out = svd;
    return BD_OK;
}

/* a := the upper triangle of R; 0 if it holds NaN or Inf. */
static int load_r(struct svd *svd, const float *r, int64_t ldr)
{
    int64_t n = svd->n;
    int finite = 1;
    memset(svd->a, 0, (size_t)(n * n) * sizeof *svd->a);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j; i++) {
            svd->a[i + j * n] = (double)r[i + j * ldr];
            finite = finite && isfinite(r[i + j * ldr]);
        }
    return finite;
}

static enum bd_status svd_compute(void *work, const float *r, int64_t ldr, float *sigma, float *v,
                                  int64_t ldv)
{
    struct svd *svd = work;
    lapack_int n = (lapack_int)svd->n;
    if (!load_r(svd, r, ldr))
        return bd_fail(BD_ERROR_NUMERIC, "SVD: the matrix holds NaN or Inf");
    lapack_int info =
        LAPACKE_dgesdd_work(LAPACK_COL_MAJOR, 'A', n, n, svd->a, n, svd->sigma, svd->u, n, svd->v,
                            n, svd->work, svd->work_size, svd->iwork);
    if (info > 0) { /* divide and conquer did not converge; QR iteration may */
        load_r(svd, r, ldr);
        info = LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'N', 'A', n, n, svd->a, n, svd->sigma, svd->u,
                                   n, svd->v, n, svd->work, svd->work_size);
    }
    if (info)
        return bd_fail(BD_ERROR_NUMERIC, "SVD of %d x %d: no convergence (%d)", (int)n, (int)n,
                       (int)info);
    for (int64_t j = 0; j < n; j++) {
        svd->sigma_out[j] = (float)svd->sigma[j];
        for (int64_t i = 0; i < n; i++)
            svd->v_out[i + j * n] = (float)svd->v[j + i * n];
        if (v)
            memcpy(v + j * ldv, svd->v_out + j * n, (size_t)n * sizeof *v);
    }
    if (sigma)
        memcpy(sigma, svd->sigma_out, (size_t)n * sizeof *sigma);
    return BD_OK;
}

static const float *svd_sigma(void *work)
{
    return ((const struct svd *)work)->sigma_out;
}

static const float *svd_v(void *work, int64_t *ldv)
{
    const struct svd *svd = work;
    *ldv = svd->n;
    return svd->v_out;
}

/* Singular values above tau. */
static int64_t count_above(const struct svd *svd, double tau)
{
    int64_t rank = 0;
    while (rank < svd->n && svd->sigma[rank] > tau)
        rank++;
    return rank;
}

/* Element (i, j) of F^T, i below the rank: row i of V^T times the root of its weight. */
static double factor(const struct svd *svd, int64_t i, int64_t j, double tau)
{
    return svd->v[i + j * svd->n] * sqrt(1 - tau / svd->sigma[i]);
}

static enum bd_status svd_factor(void *work, float *f, int64_t ldf, float *ft, int64_t ldft,
                                 int64_t *rank, double tau)
{
    const struct svd *svd = work;
    *rank = count_above(svd, tau);
    for (int64_t j = 0; j < svd->n; j++)
        for (int64_t i = 0; i < *rank; i++)
            f[j + i * ldf] = ft[i + j * ldft] = (float)factor(svd, i, j, tau);
    return BD_OK;
}

static enum bd_status svd_weights(void *work, float *w, int64_t ldw, int64_t *rank, double tau)
{
    struct svd *svd = work;
    int64_t n = svd->n, r = count_above(svd, tau);
    *rank = r;
    /* W = F F^T */
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < r; i++)
            svd->u[i + j * n] = factor(svd, i, j, tau);
    cblas_dsyrk(CblasColMajor, CblasUpper, CblasTrans, (int)n, (int)r, 1, svd->u, (int)n, 0, svd->a,
                (int)n);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j; i++)
            w[i + j * ldw] = w[j + i * ldw] = (float)svd->a[i + j * n];
    return BD_OK;
}

const struct bd_svd_ops bd_cpu_svd_ops = {
    .create = svd_create,
    .destroy = svd_destroy,
    .compute = svd_compute,
    .sigma = svd_sigma,
    .v = svd_v,
    .weights = svd_weights,
    .factor = svd_factor,
};
