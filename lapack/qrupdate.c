/* SQRINC, SQRDEC, SQRINR, SQRDER: a QR factorisation A = Q R after a column or a row of A was
 * inserted or deleted, with the interfaces of the qrupdate library (J. Hajek): Q m x k and R k x n,
 * k = m (full), or for columns k = n < m (economical). R's elements below the diagonal are not
 * read; they are zeros in the new R.
 *
 * Golub, Van Loan: Matrix Computations, section 12.5; Hammarling, Lucas: Updating the QR
 * Factorization and the Least Squares Problem (2008). Faults of arguments go to XERBLA as there,
 * under the name of the routine that would have found them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lapack/context.h"
#include "lapack/fortran.h"
#include "lapack/orthogonal.h"
#include "lapack/rotations.h"

/* What a call works with; there is room for its longest sequence of rotations. */
struct update {
    struct bd_lapack *context;
    struct bd_rotation *rotations;
    float *own; /* where there is no context */
};

/* 0: there is no memory at all. Routines with this interface have no way to report that. */
static int begin(struct update *update, int64_t count)
{
    const int64_t floats = 2 * bd_most(count, 1);
    *update = (struct update){ .context = bd_lapack_take(bd_lapack_floats(floats), 0) };
    if (!update->context)
        update->own = malloc((size_t)floats * sizeof(float));
    update->rotations =
        (struct bd_rotation *)(update->context ? bd_lapack_borrow(update->context, floats)
                                               : update->own);
    return update->rotations != NULL;
}

static void end(struct update *update)
{
    bd_lapack_give(update->context);
    free(update->own);
}

/* R (k rows), whose columns `first` .. n - 1 have one element below the diagonal, to upper
 * trapezoidal form; the rotations are applied to Q (m rows) too. */
static void retriangularise(struct update *update, int64_t m, int64_t n, int64_t k, int64_t first,
                            float *q, int64_t ldq, float *r, int64_t ldr)
{
    int64_t count = 0;
    for (int64_t group = first; group < n; group += bd_rotations_group) {
        const int64_t end = bd_least(group + bd_rotations_group, n), before = count;
        bd_rotations_rise(update->rotations, before, r + first + group * ldr, ldr, end - group);
        /* Then the rotations that come from the columns of the group itself. */
        for (int64_t j = group; j < end; j++) {
            float *column = r + j * ldr;
            bd_rotations_rise(update->rotations + before, count - before, column + first + before,
                              ldr, 1);
            if (j + 1 < k)
                update->rotations[count++] = bd_rotation_make(column + j, column + j + 1);
        }
    }
    bd_rotations_rise_columns(update->context, update->rotations, count, m, q + first * ldq, ldq);
}

/* Rotations that reduce w (k) to its first `kept` elements, of which the last is then not 0. They
 * are applied to Q and to R's columns `first` .. n - 1: column j has elements down to row j -
 * shift, and one more afterwards. */
static void reduce(struct update *update, float *w, int64_t k, int64_t kept, int64_t m, int64_t n,
                   int64_t first, int64_t shift, float *q, int64_t ldq, float *r, int64_t ldr)
{
    const int64_t top = kept - 1, count = k - kept;
    for (int64_t i = count - 1; i >= 0; i--)
        update->rotations[i] = bd_rotation_make(w + top + i, w + top + i + 1);
    for (int64_t group = first; group < n; group += bd_rotations_group) {
        const int64_t end = bd_least(group + bd_rotations_group, n);
        /* Column j needs the rotations from its last element up; all need those of the first one.
         */
        const int64_t all = bd_most(0, bd_least(count, group - shift - top + 1));
        for (int64_t j = group; j < end; j++) {
            const int64_t last = j - shift, own = bd_least(count, last - top + 1) - all;
            if (last + 1 < k)
                r[last + 1 + j * ldr] = 0;
            bd_rotations_fall(update->rotations + all, own, r + top + all + j * ldr, ldr, 1);
        }
        bd_rotations_fall(update->rotations, all, r + top + group * ldr, ldr, end - group);
    }
    bd_rotations_fall_columns(update->context, update->rotations, count, m, q + top * ldq, ldq);
}

static fortran_int check_columns(int64_t m, int64_t n, int64_t k, int64_t ldq, int64_t ldr,
                                 int64_t least_ldr, int64_t j)
{
    if (m < 0)
        return -1;
    if (n < 0)
        return -2;
    if (k != m && (k != n || n >= m))
        return -3;
    if (ldq < m)
        return -5;
    if (ldr < least_ldr)
        return -7;
    if (j < 1 || j > n + 1)
        return -8;
    return 0;
}

BD_EXPORT void sqrinc_(const fortran_int *m, const fortran_int *n, const fortran_int *k, float *q,
                       const fortran_int *ldq, float *r, const fortran_int *ldr,
                       const fortran_int *j, const float *x, float *w)
{
    bd_lapack_count(BD_SQRINC);
    if (*m == 0)
        return;
    const fortran_int info =
        check_columns(*m, *n, *k, *ldq, *ldr, bd_least(*m, (int64_t)*k + 1), *j);
    if (info != 0) {
        bd_fortran_complain("SQRINC", info);
        return;
    }
    const int64_t rows = *m, cols = *n, at = *j - 1, ld = *ldr;
    const int economical = *k < rows;
    const int64_t rank = economical ? *k + 1 : *k;
    struct update update;
    if (!begin(&update, rank))
        return;
    for (int64_t p = cols; p > at; p--)
        memmove(r + p * ld, r + (p - 1) * ld, (size_t)*k * sizeof *r);
    for (int64_t p = 0; p <= cols && economical; p++)
        r[*k + p * ld] = 0;
    float *column = r + at * ld;
    if (economical)
        column[*k] = bd_orthogonal_append(rows, *k, q, *ldq, x, column);
    else
        bd_orthogonal_dots(rows, rows, q, *ldq, x, column);
    /* Below the diagonal the new column is reduced to zeros. */
    const int64_t kept = bd_least(at + 1, rank);
    reduce(&update, column, rank, kept, rows, cols + 1, at + 1, 1, q, *ldq, r, ld);
    for (int64_t i = 0; i < *k; i++)
        w[i] = 0;
    end(&update);
}

BD_EXPORT void sqrdec_(const fortran_int *m, const fortran_int *n, const fortran_int *k, float *q,
                       const fortran_int *ldq, float *r, const fortran_int *ldr,
                       const fortran_int *j, float *w)
{
    (void)w;
    bd_lapack_count(BD_SQRDEC);
    if (*m == 0 || *n == 0 || *j == *n)
        return;
    const fortran_int info = check_columns(*m, *n, *k, *ldq, *ldr, *k, *j);
    if (info != 0) {
        bd_fortran_complain("SQRDEC", info);
        return;
    }
    if (*j > *n) { /* qrupdate's check allows this, and the routine that it calls does not */
        if (*k > *j)
            bd_fortran_complain("SQHQR", -2);
        return;
    }
    struct update update;
    if (!begin(&update, *k))
        return;
    const int64_t at = *j - 1, ld = *ldr;
    for (int64_t p = at; p < *n - 1; p++)
        memmove(r + p * ld, r + (p + 1) * ld, (size_t)*k * sizeof *r);
    retriangularise(&update, *m, *n - 1, *k, at, q, *ldq, r, ld);
    end(&update);
}

BD_EXPORT void sqrinr_(const fortran_int *m, const fortran_int *n, float *q, const fortran_int *ldq,
                       float *r, const fortran_int *ldr, const fortran_int *j, float *x, float *w)
{
    (void)w;
    bd_lapack_count(BD_SQRINR);
    if (*n < 0 || *j < 1 || *j > (int64_t)*m + 1) {
        bd_fortran_complain("SQRINR", *n < 0 ? -2 : -7);
        return;
    }
    const int64_t rows = *m, cols = *n, at = *j - 1;
    const int bad_r = cols > 0 && *ldr < rows + 1, bad_q = *ldq < rows + 1;
    if (rows > 0 && cols > 0 && bad_r)
        bd_fortran_complain("SQHQR", -4);
    if (rows > 0 && cols > 0 && bad_q)
        bd_fortran_complain("SQROT", -5);
    struct update update;
    if (bad_r || bad_q || !begin(&update, rows))
        return;
    /* Q becomes [e_j, Q with a row of zeros at j], from the right and from below. */
    for (int64_t p = rows; p >= 0; p--) {
        float *to = q + p * *ldq;
        if (p == 0) {
            memset(to, 0, (size_t)(rows + 1) * sizeof *q);
            to[at] = 1;
            break;
        }
        memmove(to + at + 1, to - *ldq + at, (size_t)(rows - at) * sizeof *q);
        memmove(to, to - *ldq, (size_t)at * sizeof *q);
        to[at] = 0;
    }
    for (int64_t p = 0; p < cols; p++) {
        float *column = r + p * *ldr;
        const int64_t filled = bd_least(p + 1, rows);
        memmove(column + 1, column, (size_t)filled * sizeof *r);
        memset(column + 1 + filled, 0, (size_t)(rows - filled) * sizeof *r);
        column[0] = x[p];
    }
    retriangularise(&update, rows + 1, cols, rows + 1, 0, q, *ldq, r, *ldr);
    end(&update);
}

BD_EXPORT void sqrder_(const fortran_int *m, const fortran_int *n, float *q, const fortran_int *ldq,
                       float *r, const fortran_int *ldr, const fortran_int *j, float *w)
{
    bd_lapack_count(BD_SQRDER);
    if (*m == 1)
        return;
    if (*m < 1 || *j < 1 || *j > *m) {
        bd_fortran_complain("SQRDER", *m < 1 ? -1 : -7);
        return;
    }
    const int64_t rows = *m, cols = *n, at = *j - 1;
    const int bad_r = cols < 0 || (cols > 0 && *ldr < rows);
    if (*ldq < rows)
        bd_fortran_complain("SQROT", -5);
    if (bad_r)
        bd_fortran_complain("SQRQH", cols < 0 ? -2 : -4);
    struct update update;
    if (*ldq < rows || bad_r || !begin(&update, rows))
        return;
    for (int64_t p = 0; p < rows; p++)
        w[p] = q[at + p * *ldq];
    /* Q's row j becomes a multiple of e_1: then its first column is one of e_j. */
    reduce(&update, w, rows, 1, rows, cols, 0, 0, q, *ldq, r, *ldr);
    for (int64_t p = 0; p + 1 < rows; p++) {
        const float *from = q + (p + 1) * *ldq;
        float *to = q + p * *ldq;
        memmove(to, from, (size_t)at * sizeof *q);
        memmove(to + at, from + at + 1, (size_t)(rows - at - 1) * sizeof *q);
    }
    for (int64_t p = 0; p < cols; p++)
        memmove(r + p * *ldr, r + p * *ldr + 1, (size_t)(rows - 1) * sizeof *r);
    end(&update);
}
