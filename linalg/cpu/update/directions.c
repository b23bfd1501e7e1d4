/* New directions for Q on the CPU, a block at a time: the part of new columns (or of the unit
 * vectors of rows that go) that lies in the span of Q, and an orthonormal basis of the rest.
 *
 * Thin Q: block Gram-Schmidt done twice, V -= Q (Q^T V) and V := V R^-1 with R of V by TSQR
 * (Barlow, Smoktunowicz: Reorthogonalized block classical Gram-Schmidt, 2013). The second R shows
 * whether that was enough. Where it was not (columns that depend on others or on Q), the block is
 * done again column by column (Daniel, Gragg, Kaufman, Stewart 1976). Full Q: reflectors on the
 * columns of Q beyond n. */
#include <cblas.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "linalg/cpu/update/update.h"

/* C := alpha op(A) B + beta C; nothing where there are no columns of Q. */
static void product(enum CBLAS_TRANSPOSE transpose, int64_t m, int64_t n, int64_t k, float alpha,
                    const float *a, int64_t lda, const float *b, int64_t ldb, float beta, float *c,
                    int64_t ldc)
{
    if (m && n && k)
        cblas_sgemm(CblasColMajor, transpose, CblasNoTrans, (int)m, (int)n, (int)k, alpha, a,
                    (int)lda, b, (int)ldb, beta, c, (int)ldc);
}

/* V := U, or the unit vectors of rows unit .. unit+p-1. */
static void load(const struct bd_directions *d, int64_t column, int64_t cols)
{
    for (int64_t j = column; j < column + cols; j++)
        if (d->u) {
            memcpy(d->v + j * d->ldv, d->u + j * d->ldu, (size_t)d->m * sizeof *d->v);
        } else {
            memset(d->v + j * d->ldv, 0, (size_t)d->m * sizeof *d->v);
            d->v[d->unit + j + j * d->ldv] = 1;
        }
}

/* D := Q^T U, or the rows of Q themselves. */
static void first_inner(const struct bd_directions *d)
{
    if (d->u) {
        product(CblasTrans, d->q_cols, d->p, d->m, 1, d->q, d->ldq, d->u, d->ldu, 0, d->d, d->ldd);
        return;
    }
    for (int64_t j = 0; j < d->p; j++)
        for (int64_t i = 0; i < d->q_cols; i++)
            d->d[i + j * d->ldd] = d->q[d->unit + j + i * d->ldq];
}

struct reduction {
    int64_t width; /* its columns, at least p */
    const struct bd_directions *d;
};

static void fill_rows(const void *source, int64_t row, int64_t rows, float *block, int64_t ld)
{
    const struct reduction *reduction = source;
    const struct bd_directions *d = reduction->d;
    bd_cpu_copy(block, ld, d->v + row, d->ldv, rows, d->p);
    for (int64_t j = d->p; j < reduction->width; j++)
        memset(block + j * ld, 0, (size_t)rows * sizeof *block);
}

/* R (p x p, ld bd_givens_ld) of V. The parts do not depend on the number of threads. */
static void reduce(struct bd_cpu_update *work, const struct bd_directions *d, float *r)
{
    int kind = 0;
    while (d->p > bd_direction_width(kind))
        kind++;
    const struct reduction reduction = { bd_direction_width(kind), d };
    const int64_t share = (d->m + bd_direction_parts - 1) / bd_direction_parts;
    bd_tsqr_run(work->tsqr[kind], work->pool, d->m, share, fill_rows, &reduction, r, bd_givens_ld);
}

/* V := V R^-1 */
static void divide(const struct bd_directions *d, const float *r)
{
    cblas_strsm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, (int)d->m,
                (int)d->p, 1, r, bd_givens_ld, d->v, (int)d->ldv);
}

static double norm_of(int64_t count, const float *x)
{
    double square = 0;
    for (int64_t i = 0; i < count; i++)
        square += (double)x[i] * (double)x[i];
    return sqrt(square);
}

/* Whether the columns are clearly independent of Q and of each other, by R of what the projection
 * left of them and D of what it took away. The limit only saves work: the second R decides. */
static int independent(const struct bd_directions *d, const float *r)
{
    for (int64_t j = 0; j < d->p; j++) {
        double left = norm_of(j + 1, r + j * bd_givens_ld);
        double whole = hypot(left, norm_of(d->q_cols, d->d + j * d->ldd));
        if (!(fabsf(r[j + j * bd_givens_ld]) > 1e-5 * whole))
            return 0;
    }
    return 1;
}

static int near_identity(int64_t p, const float *r)
{
    for (int64_t j = 0; j < p; j++)
        for (int64_t i = 0; i <= j; i++)
            if (!(fabsf(fabsf(r[i + j * bd_givens_ld]) - (i == j ? 1.0F : 0.0F)) < 0.3F))
                return 0;
    return 1;
}

/* Two rounds by blocks; 0 if that is not enough. */
static int by_blocks(struct bd_cpu_update *work, const struct bd_directions *d)
{
    float *again = work->again, *second = work->triangle;
    int64_t n = d->q_cols, p = d->p;
    load(d, 0, p);
    first_inner(d);
    product(CblasNoTrans, d->m, p, n, -1, d->q, d->ldq, d->d, d->ldd, 1, d->v, d->ldv);
    reduce(work, d, d->s);
    if (!independent(d, d->s))
        return 0;
    divide(d, d->s);
    product(CblasTrans, n, p, d->m, 1, d->q, d->ldq, d->v, d->ldv, 0, again, work->max_cols);
    product(CblasNoTrans, d->m, p, n, -1, d->q, d->ldq, again, work->max_cols, 1, d->v, d->ldv);
    reduce(work, d, second);
    if (!near_identity(p, second))
        return 0;
    divide(d, second);
    /* D += (Q^T V) S, then S := R S */
    product(CblasNoTrans, n, p, p, 1, again, work->max_cols, d->s, bd_givens_ld, 1, d->d, d->ldd);
    cblas_strmm(CblasColMajor, CblasLeft, CblasUpper, CblasNoTrans, CblasNonUnit, (int)p, (int)p, 1,
                second, bd_givens_ld, d->s, bd_givens_ld);
    return 1;
}

/* One projection of column j of V away from Q and the columns of V before it; the coefficients
 * (q_cols + j of them) grow. Returns what is left of its norm. */
static double project(struct bd_cpu_update *work, const struct bd_directions *d, int64_t j,
                      double *coef)
{
    float *v = d->v + j * d->ldv;
    double norm = bd_update_project_column(work, d->q, d->ldq, d->q_cols, v, coef);
    if (j)
        norm = bd_update_project_column(work, d->v, d->ldv, j, v, coef ? coef + d->q_cols : NULL);
    return norm;
}

void bd_update_scale_column(struct bd_cpu_update *work, float *v, double factor)
{
    struct bd_update_pass scale = { .v = v, .ldv = work->m, .b = 1, .scale = factor };
    bd_update_run(work, &scale);
}

enum bd_status bd_update_fresh_column(struct bd_cpu_update *work, const struct bd_directions *d,
                                      int64_t j)
{
    float *v = d->v + j * d->ldv;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        bd_update_noise(work, v, seed);
        double norm = sqrt((double)d->m / 3);
        for (int round = 0; round < 5; round++) {
            double before = norm;
            norm = project(work, d, j, NULL);
            if (!(norm > 0))
                break;
            bd_update_scale_column(work, v, 1 / norm);
            if (norm > 0.5 * before)
                return BD_OK;
            norm = 1;
        }
    }
    return bd_fail(BD_ERROR_NUMERIC, "QR update: found no direction orthogonal to %lld columns",
                   (long long)(d->q_cols + j));
}

static enum bd_status make_column(struct bd_cpu_update *work, const struct bd_directions *d,
                                  int64_t j)
{
    double *coef = work->column, most = bd_update_negligible(d->q_cols + j);
    float *v = d->v + j * d->ldv, *s = d->s + j * bd_givens_ld;
    load(d, j, 1);
    memset(coef, 0, (size_t)(d->q_cols + j) * sizeof *coef);
    double whole = norm_of(d->m, v), norm = whole, before;
    /* at least twice: else new columns inherit what an old Q lacks in orthogonality */
    for (int round = 0; round < 5; round++) {
        before = norm;
        norm = project(work, d, j, coef);
        if (!(norm > most * whole) || (round && norm > 0.5 * before))
            break;
    }
    int found = norm > most * whole;
    for (int64_t i = 0; i < d->q_cols; i++)
        d->d[i + j * d->ldd] = (float)coef[i];
    for (int64_t i = 0; i < d->p; i++)
        s[i] = i < j ? (float)coef[d->q_cols + i] : i == j && found ? (float)norm : 0;
    if (!found)
        return bd_update_fresh_column(work, d, j);
    bd_update_scale_column(work, v, 1 / norm);
    return BD_OK;
}

enum bd_status bd_update_directions(struct bd_cpu_update *work, const struct bd_directions *d)
{
    bd_update_set_rows(work, d->m);
    for (int64_t j = 0; j < bd_givens_ld; j++)
        memset(d->s + j * bd_givens_ld, 0, bd_givens_ld * sizeof *d->s);
    enum bd_status status = BD_OK;
    /* TSQR of one or two columns takes longer than projecting them by passes */
    if (d->p < 3 || !by_blocks(work, d))
        for (int64_t j = 0; j < d->p && status == BD_OK; j++)
            status = make_column(work, d, j);
    return status;
}

enum bd_status bd_update_full_directions(struct bd_cpu_update *work, const struct bd_qr_parts *f,
                                         const struct bd_directions *d)
{
    /* D (m x p) := Q^T U, the lower part of it to a triangle by reflectors on columns of Q */
    first_inner(d);
    lapack_int p = (lapack_int)d->p, rows = (lapack_int)(f->m - f->n), ldd = (lapack_int)d->ldd;
    float *lower = d->d + f->n;
    lapack_int fail = LAPACKE_sgeqrf_work(LAPACK_COL_MAJOR, rows, p, lower, ldd, work->tau,
                                          work->lapack, (lapack_int)work->lapack_size);
    fail |= LAPACKE_sormqr_work(LAPACK_COL_MAJOR, 'R', 'N', (lapack_int)f->m, rows, p, lower, ldd,
                                work->tau, f->q + f->n * f->ldq, (lapack_int)f->ldq, work->lapack,
                                (lapack_int)work->lapack_size);
    if (f->rhs)
        fail |= LAPACKE_sormqr_work(LAPACK_COL_MAJOR, 'L', 'T', rows, (lapack_int)f->rhs, p, lower,
                                    ldd, work->tau, f->d + f->n, (lapack_int)f->ldd, work->lapack,
                                    (lapack_int)work->lapack_size);
    if (fail)
        return bd_fail(BD_ERROR_NUMERIC, "QR update: LAPACK refused the reflectors of Q");
    for (int64_t j = 0; j < bd_givens_ld; j++) {
        float *s = d->s + j * bd_givens_ld;
        memset(s, 0, bd_givens_ld * sizeof *s);
        if (j < d->p)
            memcpy(s, lower + j * d->ldd, (size_t)(j + 1) * sizeof *s);
    }
    return BD_OK;
}
