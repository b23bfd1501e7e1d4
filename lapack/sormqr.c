/* SORMQR and SORM2R: Q applied. */
#include "lapack/context.h"
#include "lapack/factor.h"
#include "lapack/fortran.h"

struct call {
    int left, plain; /* SIDE = 'L', TRANS = 'N' */
    int64_t m, n, k, lda, ldc;
    int64_t order; /* of Q */
};

static fortran_int check(const char *side, const char *trans, const struct call *call)
{
    if (!call->left && !bd_fortran_is(side, 'R'))
        return -1;
    if (!call->plain && !bd_fortran_is(trans, 'T'))
        return -2;
    if (call->m < 0)
        return -3;
    if (call->n < 0)
        return -4;
    if (call->k < 0 || call->k > call->order)
        return -5;
    if (call->lda < bd_most(1, call->order))
        return -7;
    if (call->ldc < bd_most(1, call->m))
        return -10;
    return 0;
}

static struct call call_of(const char *side, const char *trans, const fortran_int *m,
                           const fortran_int *n, const fortran_int *k, const fortran_int *lda,
                           const fortran_int *ldc)
{
    struct call call = { .left = bd_fortran_is(side, 'L'), .plain = bd_fortran_is(trans, 'N') };
    call.m = *m;
    call.n = *n;
    call.k = *k;
    call.lda = *lda;
    call.ldc = *ldc;
    call.order = call.left ? *m : *n;
    return call;
}

static void apply(const struct call *call, const float *a, const float *tau, float *c)
{
    bd_lapack_apply(call->left, !call->plain, call->m, call->n, call->k, a, call->lda, tau, NULL, c,
                    call->ldc);
}

BD_EXPORT void sormqr_(const char *side, const char *trans, const fortran_int *m,
                       const fortran_int *n, const fortran_int *k, const float *a,
                       const fortran_int *lda, const float *tau, float *c, const fortran_int *ldc,
                       float *work, const fortran_int *lwork, fortran_int *info, size_t side_length,
                       size_t trans_length)
{
    enum { BLOCK_MOST = 64, T_SIZE = 65 * 64 }; /* LAPACK's, for the size that it asks for */
    (void)side_length;
    (void)trans_length;
    bd_lapack_count(BD_SORMQR);
    const struct call call = call_of(side, trans, m, n, k, lda, ldc);
    const int64_t others = bd_most(1, call.left ? *n : *m);
    *info = check(side, trans, &call);
    if (*info == 0 && *lwork != -1 && *lwork < others)
        *info = -12;
    if (*info != 0) {
        bd_fortran_complain("SORMQR", *info);
        return;
    }
    const char options[] = { *side, *trans, 0 };
    const int64_t block = bd_fortran_block("SORMQR", options, *m, *n, *k, -1);
    work[0] = bd_fortran_size(others * bd_least(BLOCK_MOST, block) + T_SIZE);
    if (*lwork == -1)
        return;
    if (*m == 0 || *n == 0 || *k == 0)
        work[0] = 1;
    else
        apply(&call, a, tau, c);
}

BD_EXPORT void sorm2r_(const char *side, const char *trans, const fortran_int *m,
                       const fortran_int *n, const fortran_int *k, const float *a,
                       const fortran_int *lda, const float *tau, float *c, const fortran_int *ldc,
                       float *work, fortran_int *info, size_t side_length, size_t trans_length)
{
    (void)side_length;
    (void)trans_length;
    (void)work;
    bd_lapack_count(BD_SORM2R);
    const struct call call = call_of(side, trans, m, n, k, lda, ldc);
    *info = check(side, trans, &call);
    if (*info != 0)
        bd_fortran_complain("SORM2R", *info);
    else if (*m > 0 && *n > 0 && *k > 0)
        apply(&call, a, tau, c);
}
