/* SGEQR and SGEMQR: QR in a format of the implementation's own.
 *
 * Ours is that of SGEQRF, with tau in T from its sixth element on; the least T that LAPACK asks for
 * has room for that. LAPACK's own SGEMQR reads it as a factorisation in one block of rows (T(2))
 * with one column in a block of reflectors (T(3)), so that programs linked statically with LAPACK
 * can read it. SGEMQR here passes other formats on to LAPACK's. Argument checks and the sizes that
 * queries return are LAPACK's. */
#include <dlfcn.h>

#include "lapack/context.h"
#include "lapack/factor.h"
#include "lapack/fortran.h"

enum { HEADER = 5 }; /* elements of T before tau */

static int is_query(int64_t size)
{
    return size == -1 || size == -2;
}

/* What LAPACK's SGEQR needs. */
struct sizes {
    int64_t rows, cols; /* of a block */
    int64_t t, work;    /* floats, for best speed */
    int64_t least_t;
};

/* Blocks of `rows` rows that overlap in n. */
static int64_t count_blocks(int64_t m, int64_t n, int64_t rows)
{
    return rows > n && m > n ? (m - n + rows - n - 1) / (rows - n) : 1;
}

static struct sizes sizes_of(int64_t m, int64_t n)
{
    struct sizes sizes = { .rows = m, .cols = 1, .least_t = n + HEADER };
    if (bd_least(m, n) > 0) {
        sizes.rows = bd_fortran_block("SGEQR ", " ", m, n, 1, -1);
        sizes.cols = bd_fortran_block("SGEQR ", " ", m, n, 2, -1);
    }
    if (sizes.rows > m || sizes.rows <= n)
        sizes.rows = m;
    if (sizes.cols > bd_least(m, n) || sizes.cols < 1)
        sizes.cols = 1;
    sizes.work = sizes.cols * n;
    sizes.t = sizes.work * count_blocks(m, n, sizes.rows) + HEADER;
    return sizes;
}

/* Sizes between the least and the best are allowed only where both are at least the least. */
static fortran_int check(int64_t m, int64_t n, int64_t lda, int64_t tsize, int64_t lwork,
                         const struct sizes *sizes)
{
    if (m < 0)
        return -1;
    if (n < 0)
        return -2;
    if (lda < bd_most(1, m))
        return -4;
    if (is_query(tsize) || is_query(lwork) ||
        (lwork >= bd_most(1, n) && tsize >= bd_most(1, sizes->least_t)))
        return 0;
    if (tsize < bd_most(1, sizes->t))
        return -6;
    return -8;
}

BD_EXPORT void sgeqr_(const fortran_int *m, const fortran_int *n, float *a, const fortran_int *lda,
                      float *t, const fortran_int *tsize, float *work, const fortran_int *lwork,
                      fortran_int *info)
{
    bd_lapack_count(BD_SGEQR);
    const struct sizes sizes = sizes_of(*m, *n);
    *info = check(*m, *n, *lda, *tsize, *lwork, &sizes);
    if (*info != 0) {
        bd_fortran_complain("SGEQR", *info);
        return;
    }
    const int query = is_query(*tsize) || is_query(*lwork);
    const int least = *tsize == -2 || *lwork == -2;
    t[0] = bd_fortran_size(least && *tsize != -1 ? sizes.least_t : sizes.t);
    t[1] = bd_fortran_size(query ? sizes.rows : *m);
    t[2] = query ? (float)sizes.cols : 1;
    work[0] = bd_fortran_size(bd_most(1, least && *lwork != -1 ? *n : sizes.work));
    if (!query && *m > 0 && *n > 0)
        bd_lapack_factor(*m, *n, a, *lda, t + HEADER, NULL);
}

typedef void gemqr_fn(const char *, const char *, const fortran_int *, const fortran_int *,
                      const fortran_int *, const float *, const fortran_int *, const float *,
                      const fortran_int *, float *, const fortran_int *, float *,
                      const fortran_int *, fortran_int *, size_t, size_t);

/* The LAPACK library's own SGEMQR; NULL where there is none. */
static gemqr_fn *next_gemqr(void)
{
    gemqr_fn *function;
    *(void **)&function = dlsym(RTLD_NEXT, "sgemqr_");
    return function;
}

/* A size in T's header, 0 for what cannot be one. */
static int64_t header_size(float value)
{
    return value >= 0 && value < 0x1p31F ? (int64_t)value : 0;
}

/* One block of rows and one column a block of reflectors: what sgeqr_ makes. How many rows C has
 * where Q is on its right does not matter. LAPACK's SGEMQR looks at them, takes more of them than
 * Q's order for blocks of rows, and then writes behind the WORK that it asked for. */
static int is_ours(const float *t, int64_t k, int64_t order)
{
    const int64_t rows = header_size(t[1]);
    return t[2] == 1 && (order <= k || rows <= k || rows >= order);
}

BD_EXPORT void sgemqr_(const char *side, const char *trans, const fortran_int *m,
                       const fortran_int *n, const fortran_int *k, const float *a,
                       const fortran_int *lda, const float *t, const fortran_int *tsize, float *c,
                       const fortran_int *ldc, float *work, const fortran_int *lwork,
                       fortran_int *info, size_t side_length, size_t trans_length)
{
    bd_lapack_count(BD_SGEMQR);
    const int left = bd_fortran_is(side, 'L'), plain = bd_fortran_is(trans, 'N');
    const int64_t order = left ? *m : *n;
    /* The work that LAPACK asks for; T(2) is the order of Q in our format. */
    const int64_t need = header_size(t[2]) * (left ? *n : header_size(t[1]));
    *info = 0;
    if (!left && !bd_fortran_is(side, 'R'))
        *info = -1;
    else if (!plain && !bd_fortran_is(trans, 'T'))
        *info = -2;
    else if (*m < 0)
        *info = -3;
    else if (*n < 0)
        *info = -4;
    else if (*k < 0 || *k > order)
        *info = -5;
    else if (*lda < bd_most(1, order))
        *info = -7;
    else if (*tsize < HEADER)
        *info = -9;
    else if (*ldc < bd_most(1, *m))
        *info = -11;
    else if (*lwork < bd_most(1, need) && *lwork != -1)
        *info = -13;
    if (*info != 0) {
        bd_fortran_complain("SGEMQR", *info);
        return;
    }
    work[0] = bd_fortran_size(need);
    if (*lwork == -1 || *m == 0 || *n == 0 || *k == 0)
        return;
    gemqr_fn *next = is_ours(t, *k, order) ? NULL : next_gemqr();
    if (next)
        next(side, trans, m, n, k, a, lda, t, tsize, c, ldc, work, lwork, info, side_length,
             trans_length);
    else
        bd_lapack_apply(left, !plain, *m, *n, *k, a, *lda, t + HEADER, NULL, c, *ldc);
}
