/* SGEQRF and SGEQR2: QR into reflectors. */
#include "lapack/context.h"
#include "lapack/factor.h"
#include "lapack/fortran.h"

/* The index of the first bad argument of those the two have in common, negative; 0: none. */
static fortran_int check(int64_t m, int64_t n, int64_t lda)
{
    if (m < 0)
        return -1;
    if (n < 0)
        return -2;
    if (lda < bd_most(1, m))
        return -4;
    return 0;
}

BD_EXPORT void sgeqrf_(const fortran_int *m, const fortran_int *n, float *a, const fortran_int *lda,
                       float *tau, float *work, const fortran_int *lwork, fortran_int *info)
{
    const int64_t k = bd_least(*m, *n);
    bd_lapack_count(BD_SGEQRF);
    *info = check(*m, *n, *lda);
    if (*info == 0 && *lwork != -1 && (*lwork <= 0 || (*m > 0 && *lwork < bd_most(1, *n))))
        *info = -7;
    if (*info != 0) {
        bd_fortran_complain("SGEQRF", *info);
        return;
    }
    /* The size that LAPACK asks for, though our workspace comes from the context. */
    const int64_t best = k == 0 ? 1 : *n * bd_fortran_block("SGEQRF", " ", *m, *n, -1, -1);
    if (*lwork != -1)
        bd_lapack_factor(*m, *n, a, *lda, tau, NULL);
    work[0] = bd_fortran_size(best);
}

BD_EXPORT void sgeqr2_(const fortran_int *m, const fortran_int *n, float *a, const fortran_int *lda,
                       float *tau, float *work, fortran_int *info)
{
    (void)work;
    bd_lapack_count(BD_SGEQR2);
    *info = check(*m, *n, *lda);
    if (*info != 0)
        bd_fortran_complain("SGEQR2", *info);
    else
        bd_lapack_factor(*m, *n, a, *lda, tau, NULL);
}
