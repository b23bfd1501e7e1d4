/* R from the Gram matrix, in float64. */
#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "linalg/cpu/gram_qr/plan.h"

/* r := the upper triangle of G, 0 below. */
static void load_g(struct bd_cpu_gram *gram)
{
    int64_t n = gram->n;
    for (int64_t j = 0; j < n; j++) {
        memcpy(gram->r + j * n, gram->g + j * n, (size_t)(j + 1) * sizeof *gram->r);
        memset(gram->r + j + 1 + j * n, 0, (size_t)(n - 1 - j) * sizeof *gram->r);
    }
}

/* G is not scaled: its diagonal is in range, and the rounding errors of a Cholesky factorisation do
 * not depend on the scale of rows and columns. */
enum bd_status bd_cpu_gram_cholesky(struct bd_cpu_gram *gram, double shift,
                                    struct bd_gram_qr_pass *record)
{
    lapack_int n = (lapack_int)gram->n, rank = n, info;
    double *r = gram->r;
    /* The leading part that can be factored. LAPACK does not specify R when it breaks off, so the
     * leading part is factored again, and may break off earlier. */
    do {
        load_g(gram);
        for (int64_t j = 0; j < n; j++)
            r[j + j * n] += shift * r[j + j * n];
        info = rank ? LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', rank, r, n) : 0;
        rank = info > 0 ? info - 1 : rank;
    } while (info > 0);
    record->failed = rank < n;
    if (rank < n && rank > 0)
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasUpper, CblasTrans, CblasNonUnit, rank, n - rank,
                    1, r, n, r + (int64_t)rank * n, n);
    for (int64_t j = rank; j < n; j++) {
        memset(r + rank + j * n, 0, (size_t)(n - rank) * sizeof *r);
        r[j + j * n] = 1;
    }
    record->condition = HUGE_VAL;
    if (!record->failed) {
        double condition = bd_cpu_triangle_condition(gram);
        record->condition = condition * condition;
    }
    return BD_OK;
}

/* u := G scaled to unit diagonal, its upper triangle. */
static void load_scaled(struct bd_cpu_gram *gram)
{
    int64_t n = gram->n;
    for (int64_t j = 0; j < n; j++) {
        gram->diagonal[j] = sqrt(gram->g[j + j * n]);
        for (int64_t i = 0; i < j; i++)
            gram->u[i + j * n] = gram->g[i + j * n] / gram->diagonal[i] / gram->diagonal[j];
        gram->u[j + j * n] = 1;
    }
}

/* r := W^T S^1/2 U^T, upper triangular. The eigenvalues come in rising order; rows of S^1/2 U^T in
 * falling order make the QR factorisation of rows that differ much in size more accurate. */
static enum bd_status triangle_of_svd(struct bd_cpu_gram *gram, double floor)
{
    lapack_int n = (lapack_int)gram->n;
    double *r = gram->r;
    for (int64_t k = 0; k < n; k++) {
        double root = sqrt(fmax(gram->eigenvalue[k], floor));
        for (int64_t j = 0; j < n; j++)
            r[n - 1 - k + j * n] = root * gram->u[j + k * n];
    }
    return LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, n, n, r, n, gram->tau, gram->work, gram->work_size)
               ? BD_ERROR_NUMERIC
               : BD_OK;
}

/* Where no singular value is clamped, R is the Cholesky factor up to signs. dpotrf then gives it
 * with a quarter of the rounding errors of the way by singular vectors. */
enum bd_status bd_cpu_gram_svd(struct bd_cpu_gram *gram, struct bd_gram_qr_pass *record)
{
    lapack_int n = (lapack_int)gram->n;
    double *w = gram->eigenvalue, *r = gram->r;
    load_scaled(gram);
    memcpy(r, gram->u, (size_t)n * (size_t)n * sizeof *r);
    if (LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'U', n, gram->u, n, w, gram->work,
                            gram->work_size, gram->iwork, gram->iwork_size))
        return BD_ERROR_NUMERIC;
    double largest = w[n - 1], floor = DBL_EPSILON * largest;
    double least = largest;
    for (int64_t k = 0; k < n; k++) {
        least = fmin(least, fabs(w[k]));
        record->truncated += w[k] < floor;
    }
    if (record->truncated) /* these may be negative and larger in magnitude */
        least = fmin(least, floor);
    record->condition = least == 0 ? HUGE_VAL : largest / least;
    if ((record->truncated || LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', n, r, n)) &&
        triangle_of_svd(gram, floor) != BD_OK)
        return BD_ERROR_NUMERIC;
    for (int64_t i = 0; i < n; i++)
        gram->norm[i] = copysign(1, r[i + i * n]);
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i <= j; i++)
            r[i + j * n] *= gram->norm[i] * gram->diagonal[j];
        memset(r + j + 1 + j * n, 0, (size_t)(n - 1 - j) * sizeof *r);
    }
    return BD_OK;
}
