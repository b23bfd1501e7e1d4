#include "lapack/tall.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "lapack/block_reflector.h"
#include <backdrop/qr.h>

/* Bounds on ||(R D)^-1||_F / sqrt(k), where D scales the columns of R to norm 1; for orthogonal
 * columns it is 1. A R^-1 is orthonormal to about that many roundings: up to WELL that is within
 * the error allowed for k columns. Up to FAIR, A R^-1 is far from singular, and a second pass is
 * enough. */
static const double WELL = 4, FAIR = 4096;

/* Norms of columns between which no intermediate result overflows. */
static const double LEAST_NORM = 0x1p-60, MOST_NORM = 0x1p60;

/* k x k, column-major, upper triangular ones with zeros below. */
struct tall {
    int64_t m, k;
    float *a;
    int64_t lda;
    float *r; /* R of A */
    float *x; /* with two passes R of the first one; then the factor that A is multiplied by */
    double *inverse; /* R^-1 */
    double *top;     /* Q's top, then V_top and U */
    double *sum;     /* T, then U^-1, then R^-1 U^-1 */
    double *sign;    /* k */
};

int64_t bd_tall_floats(int64_t k)
{
    return 2 * bd_lapack_floats(k * k) + 3 * bd_lapack_floats(2 * k * k) + bd_lapack_floats(2 * k);
}

/* ---- R by TSQR ------------------------------------------------------------------------------- */

/* R of A by several accumulators. Each costs as much as k more rows; more of them than threads
 * even out the other load of the machine. */
static int reduce(struct bd_lapack *context, struct tall *tall)
{
    int64_t streams = 4 * (int64_t)bd_pool_threads(context->pool);
    streams = bd_least(streams, bd_most(1, tall->m / (8 * tall->k)));
    struct bd_tsqr *tsqr = bd_lapack_tsqr(context, tall->k, (int)streams);
    if (tsqr)
        bd_tsqr_run_matrix(tsqr, context->pool, tall->m, tall->a, tall->lda, tall->r, tall->k);
    return tsqr != NULL;
}

/* ---- small triangular matrices in float64 ---------------------------------------------------- */

/* X := U^-1; only the upper triangle of u is read. */
static void invert(int64_t k, const double *u, double *x)
{
    memset(x, 0, (size_t)(k * k) * sizeof *x);
    for (int64_t j = 0; j < k; j++)
        x[j + j * k] = 1;
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, (blasint)k,
                (blasint)k, 1, u, (blasint)k, x, (blasint)k);
}

/* ---- how far R is from singular -------------------------------------------------------------- */

static int is_finite(const struct tall *tall)
{
    for (int64_t j = 0; j < tall->k; j++)
        for (int64_t i = 0; i <= j; i++)
            if (!isfinite(tall->r[i + j * tall->k]))
                return 0;
    return 1;
}

/* Forms R^-1 and returns ||(R D)^-1||_F / sqrt(k), infinite where R^-1 must not be used. */
static double examine(struct tall *tall)
{
    const int64_t k = tall->k;
    double sum = 0;
    for (int64_t j = 0; j < k; j++) {
        double square = 0;
        for (int64_t i = 0; i < k; i++) {
            tall->top[i + j * k] = tall->r[i + j * k];
            square += (double)tall->r[i + j * k] * tall->r[i + j * k];
        }
        tall->sign[j] = sqrt(square); /* here the norm */
        if (!(tall->sign[j] > LEAST_NORM && tall->sign[j] < MOST_NORM) || tall->r[j + j * k] == 0)
            return INFINITY;
    }
    invert(k, tall->top, tall->inverse);
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i <= j; i++) {
            const double x = tall->sign[i] * tall->inverse[i + j * k];
            sum += x * x;
        }
    return sqrt(sum / (double)k);
}

/* ---- reconstruction -------------------------------------------------------------------------- */

/* Q_top - S = V_top U in place of Q_top. */
static void factor_top(struct tall *tall)
{
    const int64_t k = tall->k;
    double *q = tall->top;
    for (int64_t j = 0; j < k; j++) {
        tall->sign[j] = q[j + j * k] < 0 ? 1 : -1;
        q[j + j * k] -= tall->sign[j];
        for (int64_t i = j + 1; i < k; i++)
            q[i + j * k] /= q[j + j * k];
        for (int64_t p = j + 1; p < k; p++) {
            const double weight = q[j + p * k];
            for (int64_t i = j + 1; i < k; i++)
                q[i + p * k] -= q[i + j * k] * weight;
        }
    }
}

/* T = -U S V_top^-T, upper triangular as V_top is unit lower triangular; spare: T in float64. */
static void make_t(const struct tall *tall, double *spare, float *tau, float *t, int64_t ldt)
{
    const int64_t k = tall->k;
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < k; i++)
            spare[i + j * k] = i <= j ? -tall->top[i + j * k] * tall->sign[j] : 0;
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasUnit, (blasint)k,
                (blasint)k, 1, tall->top, (blasint)k, spare, (blasint)k);
    for (int64_t j = 0; j < k; j++) {
        for (int64_t i = 0; i < k; i++)
            t[i + j * ldt] = (float)spare[i + j * k];
        tau[j] = t[j + j * ldt];
    }
}

/* From Q's top in tall->top to R, V, T and tau. The rest of V is the rows of A below the top times
 * R^-1 U^-1, or times U^-1 where A is Q already. */
static void finish(struct bd_lapack *context, struct tall *tall, int is_q, float *tau, float *t,
                   int64_t ldt)
{
    const int64_t k = tall->k, lda = tall->lda;
    const blasint order = (blasint)k;
    factor_top(tall);
    make_t(tall, tall->sum, tau, t, ldt);
    invert(k, tall->top, tall->sum);
    if (!is_q)
        cblas_dtrmm(CblasColMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, order, order,
                    1, tall->inverse, order, tall->sum, order);
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < k; i++) {
            tall->x[i + j * k] = (float)tall->sum[i + j * k];
            tall->a[i + j * lda] =
                i <= j ? (float)tall->sign[i] * tall->r[i + j * k] : (float)tall->top[i + j * k];
        }
    bd_rows_times(context, tall->m - k, k, tall->a + k, lda, tall->x, k);
}

/* R of a second pass over A R^-1, times the R of the first, in place. */
static void join_r(struct tall *tall)
{
    const blasint k = (blasint)tall->k;
    cblas_strmm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, k, k, 1, tall->x,
                k, tall->r, k);
}

/* tall->top := the top k rows of A. */
static void load_top(struct tall *tall)
{
    for (int64_t j = 0; j < tall->k; j++)
        for (int64_t i = 0; i < tall->k; i++)
            tall->top[i + j * tall->k] = tall->a[i + j * tall->lda];
}

/* Q_top := the top of A times R^-1. */
static void take_top(struct tall *tall)
{
    const blasint k = (blasint)tall->k;
    load_top(tall);
    cblas_dtrmm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, k, k, 1,
                tall->inverse, k, tall->top, k);
}

/* ---- Q formed -------------------------------------------------------------------------------- */

/* A := Q, and its R, by the backend's QR. 0: that failed, and A is unchanged. */
static int thin(struct bd_backend *backend, struct tall *tall)
{
    const int64_t m = tall->m, k = tall->k;
    const int on_host = !strcmp(bd_backend_name(backend), "cpu");
    struct bd_qr *qr = NULL;
    struct bd_matrix r = bd_matrix_host_view(tall->r, k, k, k), q = r;
    /* CAQR makes an orthonormal Q of any matrix; on a GPU the library chooses the method. */
    const struct bd_qr_options options = { .method = on_host ? BD_QR_CAQR : BD_QR_AUTO };
    enum bd_status status = bd_qr_create(&qr, backend, m, k, &options);
    if (on_host) {
        q = bd_matrix_host_view(tall->a, m, k, tall->lda);
        if (status == BD_OK)
            status = bd_qr_thin(qr, &q, &q, &r);
        bd_qr_destroy(&qr);
        return status == BD_OK;
    }
    memset(&q, 0, sizeof q);
    memset(&r, 0, sizeof r);
    if (status == BD_OK)
        status = bd_matrix_create(backend, &q, m, k, BD_F32);
    if (status == BD_OK)
        status = bd_matrix_create(backend, &r, k, k, BD_F32);
    if (status == BD_OK)
        status = bd_matrix_upload(backend, &q, tall->a, tall->lda);
    if (status == BD_OK)
        status = bd_qr_thin(qr, &q, &q, &r);
    if (status == BD_OK)
        status = bd_matrix_download(backend, tall->r, k, &r);
    if (status == BD_OK && is_finite(tall))
        status = bd_matrix_download(backend, tall->a, tall->lda, &q);
    else
        status = BD_ERROR_NUMERIC;
    bd_matrix_destroy(backend, &r);
    bd_matrix_destroy(backend, &q);
    bd_qr_destroy(&qr);
    return status == BD_OK;
}

static void finish_q(struct bd_lapack *context, struct tall *tall, float *tau, float *t,
                     int64_t ldt)
{
    load_top(tall);
    finish(context, tall, 1, tau, t, ldt);
}

/* ---- the factorisation ----------------------------------------------------------------------- */

/* Elements of A from which on a GPU is faster, copies included. */
enum { GPU_ELEMENTS = 1 << 20 };

/* A := A R^-1, and R of the new A; the old R is kept in x. */
static int first_pass(struct bd_lapack *context, struct tall *tall)
{
    const blasint k = (blasint)tall->k;
    cblas_strsm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, (blasint)tall->m,
                k, 1, tall->r, k, tall->a, (blasint)tall->lda);
    memcpy(tall->x, tall->r, (size_t)(tall->k * tall->k) * sizeof *tall->x);
    return reduce(context, tall);
}

static int factor(struct bd_lapack *context, struct tall *tall, float *tau, float *t, int64_t ldt)
{
    struct bd_backend *gpu = tall->m * tall->k >= GPU_ELEMENTS ? bd_lapack_gpu(context) : NULL;
    if (gpu && thin(gpu, tall)) {
        finish_q(context, tall, tau, t, ldt);
        return 1;
    }
    if (!reduce(context, tall) || !is_finite(tall))
        return 0;
    double far = examine(tall);
    int passes = 1;
    if (far > WELL && far <= FAIR && first_pass(context, tall)) {
        far = examine(tall);
        passes = 2;
    }
    const int well = far <= WELL;
    if (well)
        take_top(tall);
    else if (!thin(context->cpu, tall))
        return 0;
    if (passes == 2)
        join_r(tall);
    if (well)
        finish(context, tall, 0, tau, t, ldt);
    else
        finish_q(context, tall, tau, t, ldt);
    return 1;
}

int bd_tall_factor(struct bd_lapack *context, int64_t m, int64_t k, float *a, int64_t lda,
                   float *tau, float *t, int64_t ldt)
{
    const int64_t mark = context->used;
    struct tall tall = { .m = m, .k = k, .a = a, .lda = lda };
    tall.r = bd_lapack_borrow(context, k * k);
    tall.x = bd_lapack_borrow(context, k * k);
    tall.inverse = (double *)(void *)bd_lapack_borrow(context, 2 * k * k);
    tall.top = (double *)(void *)bd_lapack_borrow(context, 2 * k * k);
    tall.sum = (double *)(void *)bd_lapack_borrow(context, 2 * k * k);
    tall.sign = (double *)(void *)bd_lapack_borrow(context, 2 * k);
    const int done = factor(context, &tall, tau, t, ldt);
    bd_lapack_release(context, mark);
    return done;
}
