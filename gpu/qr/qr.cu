/* The qr group of the CUDA backend (backdrop/qr.h): which algorithm serves which function.
 *
 * bd_qr_factor and the functions that follow it use reflectors: CAQR (gpu/qr/caqr/caqr.h) or
 * blocked Householder (gpu/qr/householder/householder.h). R alone, and R with the thin Q, may
 * come from the float64 Gram matrix: G = A^T A, R from G by Cholesky, Q = A R^-1
 * (gpu/qr/cholqr.h). In float64 the rounding of G shifts the singular values of A by about
 * kappa^2 2^-53 of themselves, kappa the condition number of A with its columns scaled to norm
 * 1. So Q departs from orthonormality by that much. One pass is enough while that is below
 * float32 rounding, or below what the caller asks for. Up to where it reaches 1, a second pass
 * over Q, whose columns are then nearly orthonormal, repairs it (CholeskyQR2: Yamamoto,
 * Nakatsukasa, Yanagisawa, Fukaya 2015). Beyond that only reflectors give a Q. R alone is always
 * backward stable (cholesky.h). */
#include <math.h>
#include <stdlib.h>

#include "gpu/core/columns.h"
#include "gpu/core/gram.cuh"
#include "gpu/qr/caqr/caqr.h"
#include "gpu/qr/cholesky.h"
#include "gpu/qr/cholqr.h"
#include "gpu/qr/householder/householder.h"
#include "linalg/shared/qr_ops.h"

/* The squared Frobenius norm of the inverse of the scaled R is between kappa^2 / n and kappa^2
 * n. G is rounded by about `rounding` (for the sums that gpu/core/gram.cuh makes; relative to
 * its diagonal), and cholesky.h adds a shift to it. */
static const double rounding = 4 * 0x1p-53;

enum passes { ONE_PASS, TWO_PASSES, REFLECTORS };

/* orthogonality: of bd_qr_options. */
static enum passes passes_wanted(double inverse_norm, double shift, double orthogonality)
{
    const double enough = orthogonality > 0x1p-24 ? orthogonality : 0x1p-24;
    if (inverse_norm * (rounding + shift) <= enough)
        return ONE_PASS;
    /* The second pass starts from singular values of 0.7 .. 1.3. If the shift has swamped the
     * smallest singular value of A, the norm says nothing. */
    if (inverse_norm * rounding <= 0.25 && inverse_norm * shift <= 0.5)
        return TWO_PASSES;
    return REFLECTORS; /* also for NaN */
}

/* Which method serves which request: reflectors, R with the thin Q, R alone. */
struct choice {
    enum bd_qr_method factor, thin, reduce;
};

struct qr {
    struct bd_cuda *cuda;
    int64_t m, n;
    enum bd_qr_method asked;
    struct choice by;
    double orthogonality;                    /* that the caller asks for; 0: float32 rounding */
    struct bd_cuda_caqr *caqr;               /* where a choice is CAQR */
    struct bd_cuda_householder *householder; /* likewise */
    /* For Cholesky: */
    /* Of bd_cuda_cholesky_size: Gram matrices, then R in their upper triangles. */
    double *g, *g2;
    double *w;         /* packed R^-1 */
    double *report;    /* of the Cholesky factorisation, 1 + n */
    double *condition; /* of the inversion, n */
    double *seen;      /* the same on the host; or R's last element, a float */
    void *workspace;   /* of the Gram matrix */
};

/* What BD_QR_AUTO takes, R and Q by Cholesky unless A is too ill-conditioned for it: the first row
 * in which m and n fit. Measured on an H100 in milliseconds, with the waiting of a single call, R
 * alone:
 *                  20 x 20   1000000 x 20   110592 x 100   1000000 x 192   400 x 400   1024 x 1024
 *     Cholesky     0.026     0.054          0.074          0.88            0.28        1.2
 *     CAQR         0.032     0.26           0.64           4.5             0.89        2.7
 * R and Q: 110592 x 100 takes 0.15 in one pass, 0.30 in two, 1.1 by CAQR; 1000000 x 192 1.8, 3.7
 * and 8.7. By reflectors, one call after the other: the factorisation and then the thin Q,
 *                     Householder     CAQR            cuSOLVER
 *     20 x 20         0.031 + 0.022   0.022 + 0.019
 *     256 x 256       0.29 + 0.092    0.24 + 0.17     0.61 + 0.24
 *     3000 x 100      0.19 + 0.060    0.31 + 0.19
 *     1024 x 1024     1.44 + 0.34     2.07 + 1.50     3.79 + 1.02
 *     8192 x 1024     3.06 + 0.69     5.47 + 3.89     9.31 + 1.31
 *     110592 x 100    0.53 + 0.28     0.64 + 0.40     3.36 + 0.48
 *     1000000 x 192   21.8 + 4.03     4.00 + 3.21
 * Householder's panels are fast while 16 columns fit in the registers of all multiprocessors, 1024
 * rows in each: above that, 500000 x 64, 1.97 + 0.47 and 0.51 + 0.34 by CAQR. Random square
 * matrices are so ill-conditioned that Cholesky takes two passes, if it can: 1024 x 1024 4.2, by
 * Householder 1.81. */
static const struct {
    int64_t most_rows_per_sm, most_cols, below_ratio; /* m < below_ratio * n, 0: any */
    struct choice by;
} policy[] = {
    { 8, 64, 2, { BD_QR_CAQR, BD_QR_CAQR, BD_QR_CAQR } },
    { 8, 64, 0, { BD_QR_CAQR, BD_QR_CHOLESKY, BD_QR_CHOLESKY } },
    { 1024, bd_gram_most, 2, { BD_QR_HOUSEHOLDER, BD_QR_HOUSEHOLDER, BD_QR_CHOLESKY } },
    { 1024, bd_gram_most, 0, { BD_QR_HOUSEHOLDER, BD_QR_CHOLESKY, BD_QR_CHOLESKY } },
    { 1024, INT64_MAX, 0, { BD_QR_HOUSEHOLDER, BD_QR_HOUSEHOLDER, BD_QR_HOUSEHOLDER } },
    { INT64_MAX, bd_gram_most, 0, { BD_QR_CAQR, BD_QR_CHOLESKY, BD_QR_CHOLESKY } },
    { INT64_MAX, INT64_MAX, 0, { BD_QR_CAQR, BD_QR_CAQR, BD_QR_CAQR } },
};

static struct choice choose(int sms, int64_t m, int64_t n, const struct bd_qr_options *options)
{
    size_t i = 0;
    while ((m + sms - 1) / sms > policy[i].most_rows_per_sm || n > policy[i].most_cols ||
           (policy[i].below_ratio && m >= policy[i].below_ratio * n))
        i++;
    struct choice by = policy[i].by;
    switch (options ? options->method : BD_QR_AUTO) {
    case BD_QR_CAQR:
    case BD_QR_HOUSEHOLDER:
        by.factor = by.thin = by.reduce = options->method;
        break;
    case BD_QR_CHOLESKY:
        by.thin = by.reduce = BD_QR_CHOLESKY;
        break;
    default: /* a block shape is an option of CAQR */
        if (options && (options->block_rows || options->panel_cols)) {
            by.factor = BD_QR_CAQR;
            if (by.reduce == BD_QR_HOUSEHOLDER)
                by.reduce = BD_QR_CAQR;
        }
    }
    if (by.thin != BD_QR_CHOLESKY)
        by.thin = by.factor;
    return by;
}

static void qr_destroy(void *data)
{
    struct qr *plan = static_cast<struct qr *>(data);
    if (!plan)
        return;
    bd_cuda_caqr_destroy(plan->caqr);
    bd_cuda_householder_destroy(plan->householder);
    bd_cuda_free(plan->g);
    bd_cuda_free(plan->g2);
    bd_cuda_free(plan->w);
    bd_cuda_free(plan->report);
    bd_cuda_free(plan->workspace);
    bd_cuda_free_host(plan->seen);
    free(plan);
}

static enum bd_status alloc_cholesky(struct qr *plan)
{
    struct bd_cuda *cuda = plan->cuda;
    const size_t n = (size_t)plan->n;
    const struct {
        void **data;
        size_t bytes;
    } parts[] = {
        { (void **)&plan->g, bd_cuda_cholesky_size(plan->n) * sizeof(double) },
        { (void **)&plan->g2, bd_cuda_cholesky_size(plan->n) * sizeof(double) },
        { (void **)&plan->w, bd_cuda_cholqr_packed((int)n) * sizeof(double) },
        { (void **)&plan->report, (1 + 2 * n) * sizeof(double) },
        { &plan->workspace, bd_gram_workspace(cuda, plan->m, (int)n) },
    };
    enum bd_status status = BD_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == BD_OK; i++)
        status = bd_cuda_alloc(cuda, parts[i].data, parts[i].bytes, "a QR by Cholesky");
    if (status == BD_OK)
        status = bd_cuda_alloc_host((void **)&plan->seen, (1 + 2 * n) * sizeof(double),
                                    "a QR by Cholesky");
    plan->condition = plan->report ? plan->report + 1 + n : NULL;
    return status;
}

static enum bd_status qr_create(struct bd_backend *backend, int64_t m, int64_t n,
                                const struct bd_qr_options *options, void **out)
{
    struct bd_cuda *cuda = bd_cuda_of(backend);
    enum bd_qr_method method = options ? options->method : BD_QR_AUTO;
    enum bd_status status = BD_OK;
    *out = NULL;
    if (method == BD_QR_CHOLESKY && n > bd_gram_most)
        return bd_fail(BD_ERROR_UNSUPPORTED,
                       "Cholesky QR of %lld columns: at most %d on the cuda backend; use "
                       "BD_QR_AUTO, BD_QR_CAQR or BD_QR_HOUSEHOLDER",
                       (long long)n, (int)bd_gram_most);
    struct qr *plan = static_cast<struct qr *>(calloc(1, sizeof *plan));
    if (!plan)
        return bd_fail(BD_ERROR_MEMORY, "no memory for a QR plan");
    plan->cuda = cuda;
    plan->m = m;
    plan->n = n;
    plan->asked = method;
    plan->orthogonality = options ? options->orthogonality : 0;
    plan->by = choose(cuda->sms, m, n, options);
    const struct choice by = plan->by;
    if (by.factor == BD_QR_CAQR || by.reduce == BD_QR_CAQR)
        status = bd_cuda_caqr_create(cuda, m, n, options, by.reduce == BD_QR_CAQR, &plan->caqr);
    if (status == BD_OK && (by.factor == BD_QR_HOUSEHOLDER || by.reduce == BD_QR_HOUSEHOLDER))
        status = bd_cuda_householder_create(cuda, m, n, by.reduce == BD_QR_HOUSEHOLDER,
                                            &plan->householder);
    if (status == BD_OK && (by.thin == BD_QR_CHOLESKY || by.reduce == BD_QR_CHOLESKY))
        status = alloc_cholesky(plan);
    if (status == BD_OK && !plan->seen)
        status = bd_cuda_alloc_host((void **)&plan->seen, sizeof *plan->seen, "a QR");
    if (status != BD_OK) {
        qr_destroy(plan);
        return status;
    }
    *out = plan;
    return BD_OK;
}

static enum bd_status qr_factor(void *data, float *a, int64_t lda)
{
    struct qr *plan = static_cast<struct qr *>(data);
    if (plan->by.factor == BD_QR_HOUSEHOLDER)
        return bd_cuda_householder_factor(plan->householder, a, lda);
    return bd_cuda_caqr_factor(plan->caqr, a, lda);
}

static enum bd_status qr_get_r(void *data, float *r, int64_t ldr)
{
    struct qr *plan = static_cast<struct qr *>(data);
    if (plan->by.factor == BD_QR_HOUSEHOLDER)
        return bd_cuda_householder_get_r(plan->householder, r, ldr);
    return bd_cuda_caqr_get_r(plan->caqr, r, ldr);
}

static enum bd_status qr_form_q(void *data, float *q, int64_t ldq)
{
    struct qr *plan = static_cast<struct qr *>(data);
    if (plan->by.factor == BD_QR_HOUSEHOLDER)
        return bd_cuda_householder_form_q(plan->householder, q, ldq);
    return bd_cuda_caqr_form_q(plan->caqr, q, ldq);
}

/* q := an identity. */
static __global__ void set_identity(float *q, int64_t ldq, int64_t m)
{
    for (int64_t j = blockIdx.y; j < m; j += gridDim.y)
        for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < m;
             i += (int64_t)gridDim.x * blockDim.x)
            q[i + j * ldq] = i == j;
}

static enum bd_status qr_apply(void *data, enum bd_qr_op op, float *c, int64_t ldc, int64_t k)
{
    struct qr *plan = static_cast<struct qr *>(data);
    if (plan->by.factor == BD_QR_HOUSEHOLDER)
        return bd_cuda_householder_apply(plan->householder, op, c, ldc, k);
    return bd_cuda_caqr_apply(plan->caqr, op, c, ldc, k);
}

static enum bd_status qr_form_full_q(void *data, float *q, int64_t ldq)
{
    struct qr *plan = static_cast<struct qr *>(data);
    if (plan->by.factor == BD_QR_HOUSEHOLDER && bd_cuda_householder_is_wide(plan->householder))
        return bd_cuda_householder_form_wide_q(plan->householder, q, ldq, plan->m);
    const int64_t blocks = (plan->m + 255) / 256;
    set_identity<<<dim3((unsigned)(blocks < 64 ? blocks : 64),
                        (unsigned)(plan->m < 65535 ? plan->m : 65535)),
                   256, 0, plan->cuda->stream>>>(q, ldq, plan->m);
    enum bd_status status = bd_cuda_launched("an identity");
    return status == BD_OK ? qr_apply(plan, BD_QR_Q, q, ldq, plan->m) : status;
}

/* g := A^T A */
static enum bd_status gram(struct qr *plan, double *g, const float *a, int64_t lda)
{
    struct bd_gram_matrix x = { a, lda, plan->m };
    return bd_gram(plan->cuda, g, x, plan->m, (int)plan->n, plan->workspace, NULL);
}

static enum bd_status qr_reduce(void *data, const float *a, int64_t lda, float *r, int64_t ldr)
{
    struct qr *plan = static_cast<struct qr *>(data);
    if (plan->by.reduce == BD_QR_HOUSEHOLDER)
        return bd_cuda_householder_reduce(plan->householder, a, lda, r, ldr);
    if (plan->by.reduce == BD_QR_CAQR)
        return bd_cuda_caqr_reduce(plan->caqr, a, lda, r, ldr);
    enum bd_status status = gram(plan, plan->g, a, lda);
    if (status == BD_OK)
        status = bd_cuda_cholesky(plan->cuda, r, ldr, plan->g, (int)plan->n, NULL);
    return status;
}

/* R (float32 to r, float64 to g) and W = R^-1 of A. */
static enum bd_status find_r(struct qr *plan, double *g, const float *a, int64_t lda, float *r,
                             int64_t ldr)
{
    const int n = (int)plan->n;
    enum bd_status status = gram(plan, g, a, lda);
    if (status == BD_OK)
        status = bd_cuda_cholesky(plan->cuda, r, ldr, g, n, NULL, plan->report);
    if (status == BD_OK)
        status =
            bd_cuda_cholqr_invert(plan->cuda, plan->w, plan->condition, g, plan->report + 1, n);
    return status;
}

/* Waits for the device, and decides how many passes A needs. */
static enum bd_status see_condition(struct qr *plan, enum passes *wanted)
{
    cudaStream_t stream = plan->cuda->stream;
    size_t count = 1 + 2 * (size_t)plan->n; /* report and condition are adjacent */
    cudaError_t error = cudaMemcpyAsync(plan->seen, plan->report, count * sizeof(double),
                                        cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(stream);
    double inverse_norm = 0;
    for (int64_t j = 0; j < plan->n; j++)
        inverse_norm += plan->seen[1 + plan->n + j];
    *wanted = passes_wanted(inverse_norm, plan->seen[0], plan->orthogonality);
    return bd_cuda_check(error, "waiting for the condition of a matrix");
}

/* Fetches the last element of R, while Q is formed. NaN and Inf in a column of A spread over its
 * column of R and all that follow, so that the last element shows them. */
static enum bd_status look_at_r(struct qr *plan, const float *r, int64_t ldr)
{
    return bd_cuda_check(cudaMemcpyAsync(plan->seen, r + (plan->n - 1) * (ldr + 1), sizeof *r,
                                         cudaMemcpyDeviceToHost, plan->cuda->stream),
                         "looking at R");
}

static enum bd_status check_finite(const struct qr *plan)
{
    enum bd_status status =
        bd_cuda_check(cudaStreamSynchronize(plan->cuda->stream), "waiting for a QR");
    if (status == BD_OK && !isfinite(*(const float *)plan->seen))
        status = bd_fail(BD_ERROR_NUMERIC, "QR: the matrix is not finite");
    return status;
}

static enum bd_status thin_by_reflectors(struct qr *plan, const float *a, int64_t lda, float *q,
                                         int64_t ldq, float *r, int64_t ldr)
{
    enum bd_status status = BD_OK;
    if (q != a)
        status = bd_cuda_check(bd_cuda_copy_columns(q, (size_t)ldq * sizeof *q, a,
                                                    (size_t)lda * sizeof *a,
                                                    (size_t)plan->m * sizeof *a, (size_t)plan->n,
                                                    cudaMemcpyDeviceToDevice, plan->cuda->stream),
                               "copying a matrix");
    if (status == BD_OK)
        status = qr_factor(plan, q, ldq);
    if (status == BD_OK)
        status = qr_get_r(plan, r, ldr);
    if (status == BD_OK)
        status = look_at_r(plan, r, ldr);
    if (status == BD_OK)
        status = qr_form_q(plan, q, ldq);
    return status == BD_OK ? check_finite(plan) : status;
}

static enum bd_status qr_thin(void *data, const float *a, int64_t lda, float *q, int64_t ldq,
                              float *r, int64_t ldr)
{
    struct qr *plan = static_cast<struct qr *>(data);
    const int n = (int)plan->n;
    enum passes wanted;
    if (plan->by.thin != BD_QR_CHOLESKY)
        return thin_by_reflectors(plan, a, lda, q, ldq, r, ldr);
    enum bd_status status = find_r(plan, plan->g, a, lda, r, ldr);
    if (status == BD_OK)
        status = see_condition(plan, &wanted);
    if (status != BD_OK)
        return status;
    if (wanted == REFLECTORS) {
        if (plan->asked == BD_QR_AUTO)
            return thin_by_reflectors(plan, a, lda, q, ldq, r, ldr);
        return bd_fail(BD_ERROR_NUMERIC,
                       "Cholesky QR: the columns are dependent, or nearly, or not finite; use "
                       "BD_QR_AUTO, BD_QR_CAQR or BD_QR_HOUSEHOLDER");
    }
    status = bd_cuda_cholqr_multiply(plan->cuda, q, ldq, a, lda, plan->w, plan->m, n);
    if (status != BD_OK || wanted == ONE_PASS)
        return status;
    status = find_r(plan, plan->g2, q, ldq, r, ldr);
    if (status == BD_OK)
        status = bd_cuda_cholqr_multiply(plan->cuda, q, ldq, q, ldq, plan->w, plan->m, n);
    if (status == BD_OK)
        status = bd_cuda_cholqr_join(plan->cuda, r, ldr, plan->g2, plan->g, n);
    return status;
}

const struct bd_qr_ops bd_cuda_qr_ops = {
    .create = qr_create,
    .destroy = qr_destroy,
    .factor = qr_factor,
    .get_r = qr_get_r,
    .form_q = qr_form_q,
    .form_full_q = qr_form_full_q,
    .apply = qr_apply,
    .reduce = qr_reduce,
    .thin = qr_thin,
};
