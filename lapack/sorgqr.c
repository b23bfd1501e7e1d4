/* SORGQR and SORG2R: Q from reflectors. */
#include "lapack/context.h"
#include "lapack/factor.h"
#include "lapack/fortran.h"

static fortran_int check(int64_t m, int64_t n, int64_t k, int64_t lda)
{
    if (m < 0)
        return -1;
    if (n < 0 || n > m)
        return -2;
    if (k < 0 || k > n)
        return -3;
    if (lda < bd_most(1, m))
        return -5;
    return 0;
}

BD_EXPORT void sorgqr_(const fortran_int *m, const fortran_int *n, const fortran_int *k, float *a,
                       const fortran_int *lda, const float *tau, float *work,
                       const fortran_int *lwork, fortran_int *info)
{
    bd_lapack_count(BD_SORGQR);
    const int64_t best = bd_most(1, *n) * bd_fortran_block("SORGQR", " ", *m, *n, *k, -1);
    work[0] = bd_fortran_size(best);
    *info = check(*m, *n, *k, *lda);
    if (*info == 0 && *lwork != -1 && *lwork < bd_most(1, *n))
        *info = -8;
    if (*info != 0) {
        bd_fortran_complain("SORGQR", *info);
        return;
    }
    if (*lwork == -1)
        return;
    if (*n > 0)
        bd_lapack_form(*m, *n, *k, a, *lda, tau);
    else
        work[0] = 1;
}

BD_EXPORT void sorg2r_(const fortran_int *m, const fortran_int *n, const fortran_int *k, float *a,
                       const fortran_int *lda, const float *tau, float *work, fortran_int *info)
{
    (void)work;
    bd_lapack_count(BD_SORG2R);
    *info = check(*m, *n, *k, *lda);
    if (*info != 0)
        bd_fortran_complain("SORG2R", *info);
    else if (*n > 0)
        bd_lapack_form(*m, *n, *k, a, *lda, tau);
}
