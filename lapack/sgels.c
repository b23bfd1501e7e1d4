/* SGELS: least squares and least norm by QR. An A with more columns than rows is solved by the QR
 * of its transpose, which is its LQ: Q^T = H_k ... H_1 and L = R^T, stored by rows. */
#include <cblas.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lapack/context.h"
#include "lapack/factor.h"
#include "lapack/fortran.h"

/* LAPACK's LQ, used where there is no memory for the transpose. */
void sgelqf_(const fortran_int *m, const fortran_int *n, float *a, const fortran_int *lda,
             float *tau, float *work, const fortran_int *lwork, fortran_int *info);
void sormlq_(const char *side, const char *trans, const fortran_int *m, const fortran_int *n,
             const fortran_int *k, const float *a, const fortran_int *lda, const float *tau,
             float *c, const fortran_int *ldc, float *work, const fortran_int *lwork,
             fortran_int *info, size_t side_length, size_t trans_length);

/* F (rows x cols, rows >= cols) is A or A^T; op(A) X = B is F X = B, or F^T X = B (underdetermined
 * = 1). */
struct problem {
    int underdetermined;
    int64_t rows, cols, nrhs;
    float *b;
    int64_t ldb;
};

/* The largest magnitude, NaN if there is one: LAPACK's slange('M'). The bits of magnitudes are in
 * the order of the magnitudes, and integer maxima vectorise. */
static float largest(int64_t m, int64_t n, const float *a, int64_t lda)
{
    int32_t most = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            int32_t bits;
            memcpy(&bits, a + i + j * lda, sizeof bits);
            bits &= 0x7fffffff;
            most = bits > most ? bits : most;
        }
    float magnitude;
    memcpy(&magnitude, &most, sizeof magnitude);
    return magnitude;
}

/* A := A to / from, without overflow of the factor. */
static void scale(int64_t m, int64_t n, float *a, int64_t lda, double from, double to)
{
    const double factor = to / from;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            a[i + j * lda] = (float)(a[i + j * lda] * factor);
}

static void clear(int64_t m, int64_t n, float *a, int64_t lda)
{
    for (int64_t j = 0; j < n && m > 0; j++)
        memset(a + j * lda, 0, (size_t)m * sizeof *a);
}

/* What a largest magnitude is scaled to: itself where nothing can overflow or underflow. */
static double target(float magnitude)
{
    const double small = (double)FLT_MIN / FLT_EPSILON;
    if (magnitude > 0 && magnitude < small)
        return small;
    if (magnitude > 1 / small)
        return 1 / small;
    return magnitude;
}

/* B := T^-1 B or T^-T B with a triangle of order k; the index of its first zero on the diagonal,
 * from 1, and then nothing is done. LAPACK's strtrs. */
static fortran_int solve_triangle(CBLAS_UPLO uplo, int transposed, int64_t k, const float *t,
                                  int64_t ldt, int64_t nrhs, float *b, int64_t ldb)
{
    for (int64_t i = 0; i < k; i++)
        if (t[i + i * ldt] == 0)
            return (fortran_int)(i + 1);
    cblas_strsm(CblasColMajor, CblasLeft, uplo, transposed ? CblasTrans : CblasNoTrans,
                CblasNonUnit, (blasint)k, (blasint)nrhs, 1, t, (blasint)ldt, b, (blasint)ldb);
    return 0;
}

/* Factors F, with tau, and solves; returns as solve_triangle does. */
static fortran_int solve(const struct problem *p, float *f, int64_t ldf, float *tau)
{
    struct bd_lapack_factors factors = {
        .t = malloc((size_t)bd_lapack_factors_floats(p->rows, p->cols) * sizeof(float)),
    };
    bd_lapack_factor(p->rows, p->cols, f, ldf, tau, factors.t ? &factors : NULL);
    if (!p->underdetermined)
        bd_lapack_apply(1, 1, p->rows, p->nrhs, p->cols, f, ldf, tau, &factors, p->b, p->ldb);
    const fortran_int zero =
        solve_triangle(CblasUpper, p->underdetermined, p->cols, f, ldf, p->nrhs, p->b, p->ldb);
    if (!zero && p->underdetermined) {
        clear(p->rows - p->cols, p->nrhs, p->b + p->cols, p->ldb);
        bd_lapack_apply(1, 0, p->rows, p->nrhs, p->cols, f, ldf, tau, &factors, p->b, p->ldb);
    }
    free(factors.t);
    return zero;
}

/* TO (n x m) := FROM^T (m x n), by tiles that stay in L1. */
static void transpose(int64_t m, int64_t n, const float *from, int64_t ldf, float *to, int64_t ldt)
{
    enum { TILE = 32 };
    for (int64_t j0 = 0; j0 < n; j0 += TILE)
        for (int64_t i0 = 0; i0 < m; i0 += TILE)
            for (int64_t j = j0; j < bd_least(j0 + TILE, n); j++)
                for (int64_t i = i0; i < bd_least(i0 + TILE, m); i++)
                    to[j + i * ldt] = from[i + j * ldf];
}

/* A has more columns than rows: its transpose is factored, and returned as an LQ. */
static fortran_int solve_wide(const struct problem *p, float *a, int64_t lda, float *work,
                              int64_t lwork)
{
    const int64_t m = p->cols, n = p->rows;
    float *f = malloc((size_t)(m * n) * sizeof *f);
    if (f) {
        transpose(m, n, a, lda, f, n);
        const fortran_int zero = solve(p, f, n, work);
        transpose(n, m, f, n, a, lda);
        free(f);
        return zero;
    }
    const fortran_int rows = (fortran_int)m, cols = (fortran_int)n, ld = (fortran_int)lda,
                      ldb = (fortran_int)p->ldb, nrhs = (fortran_int)p->nrhs,
                      left = (fortran_int)(lwork - m);
    fortran_int info = 0;
    sgelqf_(&rows, &cols, a, &ld, work, work + m, &left, &info);
    if (!p->underdetermined)
        sormlq_("L", "N", &cols, &nrhs, &rows, a, &ld, work, p->b, &ldb, work + m, &left, &info, 1,
                1);
    const fortran_int zero =
        solve_triangle(CblasLower, !p->underdetermined, m, a, lda, p->nrhs, p->b, p->ldb);
    if (zero || !p->underdetermined)
        return zero;
    clear(n - m, p->nrhs, p->b + m, p->ldb);
    sormlq_("L", "T", &cols, &nrhs, &rows, a, &ld, work, p->b, &ldb, work + m, &left, &info, 1, 1);
    return 0;
}

static fortran_int check(const char *trans, int64_t m, int64_t n, int64_t nrhs, int64_t lda,
                         int64_t ldb, int64_t lwork)
{
    const int64_t k = bd_least(m, n);
    if (!bd_fortran_is(trans, 'N') && !bd_fortran_is(trans, 'T'))
        return -1;
    if (m < 0)
        return -2;
    if (n < 0)
        return -3;
    if (nrhs < 0)
        return -4;
    if (lda < bd_most(1, m))
        return -6;
    if (ldb < bd_most(1, bd_most(m, n)))
        return -8;
    if (lwork < bd_most(1, k + bd_most(k, nrhs)) && lwork != -1)
        return -10;
    return 0;
}

/* The size of WORK that LAPACK asks for. */
static int64_t best_work(int transposed, int64_t m, int64_t n, int64_t nrhs)
{
    const int64_t k = bd_least(m, n);
    int64_t block;
    if (m >= n)
        block = bd_most(bd_fortran_block("SGEQRF", " ", m, n, -1, -1),
                        bd_fortran_block("SORMQR", transposed ? "LN" : "LT", m, nrhs, n, -1));
    else
        block = bd_most(bd_fortran_block("SGELQF", " ", m, n, -1, -1),
                        bd_fortran_block("SORMLQ", transposed ? "LT" : "LN", n, nrhs, m, -1));
    return bd_most(1, k + bd_most(k, nrhs) * block);
}

BD_EXPORT void sgels_(const char *trans, const fortran_int *m, const fortran_int *n,
                      const fortran_int *nrhs, float *a, const fortran_int *lda, float *b,
                      const fortran_int *ldb, float *work, const fortran_int *lwork,
                      fortran_int *info, size_t trans_length)
{
    const int64_t longest = bd_most(*m, *n);
    (void)trans_length;
    bd_lapack_count(BD_SGELS);
    *info = check(trans, *m, *n, *nrhs, *lda, *ldb, *lwork);
    const int transposed = bd_fortran_is(trans, 'T');
    float size = 0;
    if (*info == 0 || *info == -10)
        work[0] = size = bd_fortran_size(best_work(transposed, *m, *n, *nrhs));
    if (*info != 0)
        bd_fortran_complain("SGELS ", *info);
    if (*info != 0 || *lwork == -1)
        return;
    if (*m == 0 || *n == 0 || *nrhs == 0) {
        clear(longest, *nrhs, b, *ldb);
        return;
    }
    const float norm_a = largest(*m, *n, a, *lda);
    if (norm_a == 0) {
        clear(longest, *nrhs, b, *ldb);
        work[0] = size;
        return;
    }
    const int64_t given = transposed ? *n : *m, wanted = transposed ? *m : *n;
    const float norm_b = largest(given, *nrhs, b, *ldb);
    const double to_a = target(norm_a), to_b = target(norm_b);
    const int scale_a = !isnan(norm_a) && to_a != norm_a;
    const int scale_b = !isnan(norm_b) && to_b != norm_b;
    if (scale_a)
        scale(*m, *n, a, *lda, norm_a, to_a);
    if (scale_b)
        scale(given, *nrhs, b, *ldb, norm_b, to_b);
    const struct problem problem = { .underdetermined = (*m >= *n) == transposed,
                                     .rows = longest,
                                     .cols = bd_least(*m, *n),
                                     .nrhs = *nrhs,
                                     .b = b,
                                     .ldb = *ldb };
    const fortran_int zero =
        *m >= *n ? solve(&problem, a, *lda, work) : solve_wide(&problem, a, *lda, work, *lwork);
    if (zero) {
        *info = zero;
        return;
    }
    if (scale_a)
        scale(wanted, *nrhs, b, *ldb, norm_a, to_a);
    if (scale_b)
        scale(wanted, *nrhs, b, *ldb, to_b, norm_b);
    work[0] = size;
}
