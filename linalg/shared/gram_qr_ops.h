/* The table of QR by the Gram matrix (backdrop/gram_qr.h) and of products with triangles
 * (backdrop/triangular.h). */
#ifndef BD_LINALG_SHARED_GRAM_QR_OPS_H
#define BD_LINALG_SHARED_GRAM_QR_OPS_H

#include <limits.h>

#include <backdrop/gram_qr.h>

#include "linalg/shared/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How factor makes R of G. */
struct bd_gram_step {
    enum bd_gram_qr_method method; /* CHOLESKY (also for CHOLESKY2 and SHIFTED3) or SVD */
    enum bd_triangular_solve solve;
    int mixed;     /* float32 solves where the condition of the scaled G is >= 1 / DBL_EPSILON */
    double shift;  /* CHOLESKY: of the diagonal of G scaled to unit diagonal */
    double enough; /* skip a V this orthogonal; 0: never */
    int pass;      /* 0 .. bd_gram_qr_max_passes - 1; 0: R_total starts with this R */
};

enum { bd_gram_fill = INT_MIN };

/* QR by the Gram matrix (backdrop/gram_qr.h) of an m x n block of rows of V, m >= 0, and products
 * with triangles (backdrop/triangular.h). v is float or double by `type`. The workspace holds G and
 * what factor makes of it, all float64 and in the backend's memory. svd = 0: the SVD method will
 * not be asked for (a backend may then have more columns); 1: it will be; 2: with mixed steps too.
 * A pass is: form (or the solve before it, with form = 1), [get, put], factor, solve. Passes may be
 * enqueued without calling report in between. */
struct bd_gram_qr_ops {
    enum bd_status (*create)(struct bd_backend *backend, int64_t m, int64_t n, enum bd_type type,
                             int svd, void **work);
    void (*destroy)(void *work);
    /* May be NULL. The first passes of a block that is the whole of V, or all of them, in one call:
     * the same as the functions below would give one after the other from step->pass = 0
     * (step->shift belongs to that pass). Waits. *made: how many passes, at most `passes`; 0 where
     * the backend gains nothing by it. With an orthogonality step->enough no other pass follows
     * (bd_gram_good_enough); with step->enough = 0 one follows in any case. *more = 1: another pass
     * is to follow by the functions below, and its G is there; *more = 0: r (n x n, may be NULL) :=
     * R_total as by get_r. A last pass that was bad is as one of factor, and r is not written. */
    enum bd_status (*begin)(void *work, void *v, int64_t ldv, void *r, int64_t ldr,
                            const struct bd_gram_step *step, int passes, int *made, int *more);
    /* G := V^T V, both triangles or the upper alone as the backend likes. */
    enum bd_status (*form)(void *work, const void *v, int64_t ldv);
    /* The upper triangle of G (n x n, ld n, the rest may be anything) to and from the host. */
    enum bd_status (*get)(void *work, double *g);
    enum bd_status (*put)(void *work, const double *g);
    /* R from G, what the solve needs, and the record of pass step->pass; R_total := R R_total, or R
     * in pass 0. Where an element of G's diagonal is not in 2^-900 .. 2^1000 (0, NaN, Inf, squares
     * that left the range of double), or where the eigenvalues do not converge, the pass is *bad*:
     * R = I. Where ||G - I||_F < step->enough it is skipped: R = I as well. */
    enum bd_status (*factor)(void *work, const struct bd_gram_step *step);
    /* V := V R^-1 as the last factor decided, V as it is where R = I; with form = 1 also G := V^T V
     * of the new V, as by form. */
    enum bd_status (*solve)(void *work, void *v, int64_t ldv, int form);
    /* The record of a pass; waits for it. BD_ERROR_NUMERIC: the pass was bad. */
    enum bd_status (*report)(void *work, int pass, struct bd_gram_qr_pass *record);
    /* R_total, rounded to the type; zeros below the diagonal. */
    enum bd_status (*get_r)(void *work, void *r, int64_t ldr);
    /* For bad passes. largest (n, on the host) := the largest |v_ij| of each column, NaN or Inf
     * where there is one; waits. */
    enum bd_status (*magnitudes)(void *work, const void *v, int64_t ldv, double *largest);
    /* Column j of V := 2^exponent[j] V(:, j), every exponent that a double can have included, or
     * with bd_gram_fill pseudo-random numbers in -1 .. 1, a function of first_row + i and j alone;
     * the next factor that is not bad undoes that in R_total: column j of its R, I if it is
     * skipped, counts as 2^-exponent[j] times itself there, or as 0. */
    enum bd_status (*repair)(void *work, void *v, int64_t ldv, const int *exponent,
                             int64_t first_row);
    /* The public functions of backdrop/triangular.h, errors included; may wait. */
    enum bd_status (*triangular_solve)(void *work, const void *r, int64_t ldr, void *v, int64_t ldv,
                                       enum bd_triangular_solve solve, int mixed);
    enum bd_status (*triangular_multiply)(void *work, const void *r, int64_t ldr, void *v,
                                          int64_t ldv, int mixed);
};

/* The implementations; cuda in builds that have it. */
extern const struct bd_gram_qr_ops bd_cpu_gram_qr_ops, bd_cuda_gram_qr_ops;

#ifdef __cplusplus
}
#endif
#endif
