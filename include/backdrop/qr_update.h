/* Updating a QR factorisation when columns or rows are inserted into A or removed.
 *
 * A = Q R, A m x n with m >= n, Q m x n (thin), m x m (full) or not kept at all, R n x n; and
 * d = Q^T B for the right-hand sides B (m x rhs) of a least-squares problem, if they are kept.
 * Andrew, Dingle: Implementing QR factorization updating algorithms on GPUs (2014); Hammarling,
 * Lucas: Updating the QR factorization and the least squares problem (2008); Daniel, Gragg,
 * Kaufman, Stewart: Reorthogonalization and stable algorithms for updating the Gram-Schmidt QR
 * factorization (1976). An update costs O(m n p) where factoring again costs O(m n^2). All float32.
 *
 * On the cuda backend numbers near the end of float32's range lose digits: the tensor cores' format
 * knows each to 2^-136 (1e-41) at best, so that columns (with their R) of numbers below about 1e-34
 * are less accurate, by 1e-41 over their size: 1e-5 at 1e-36, 1e-2 at 1e-39. Q stays orthogonal.
 */
#ifndef BACKDROP_QR_UPDATE_H
#define BACKDROP_QR_UPDATE_H

#include <stdbool.h>

#include <backdrop/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bd_qr_update; /* workspace */

/* What a workspace is made for. */
struct bd_qr_update_shape {
    int64_t max_rows, max_cols; /* of A at any time, max_rows >= max_cols >= 1 */
    int64_t max_block; /* columns or rows that come or go at a time, 1 to max_rows; an insertion or
                        * removal of columns is at most max_cols anyway */
    int64_t max_rhs;   /* right-hand sides; 0: none */
    bool full_q;       /* Q, where there is one, is m x m, else m x n */
};

/* A factorisation. A call that changes it updates the sizes of the views; data and ld stay, and
 * have to have room for what comes in. Whoever has no Q (or no d) leaves that matrix all zero. */
struct bd_qr_factors {
    struct bd_matrix q; /* m x n, or m x m; or no data: R and d alone */
    struct bd_matrix r; /* n x n, upper triangular, zeros below */
    struct bd_matrix d; /* n x rhs, with full Q m x rhs; or no data */
};

/* The problem as it is after a change, as far as the caller has it; either may be NULL.
 *
 * a: the whole of A. A call then factors it again, instead of updating, where bd_qr_update_cost
 * expects that to be faster. This is the one path that may allocate: the plan of QR is
 * made when it is first taken for that m and n, and kept.
 *
 * b: the whole of B, m x rhs. It is wanted where d is kept, Q is thin and a change brings in
 * directions that Q has not had (columns that come, rows that go, slides): d = Q^T B is then formed
 * from it. Without it the call is refused. Factoring again needs it wherever d is kept:
 * without it the factors are updated. */
struct bd_qr_problem {
    const struct bd_matrix *a, *b;
};

/* Makes a workspace; the calls below then allocate nothing, but for bd_qr_problem.a. They return
 * BD_ERROR_ARGUMENT for matrices that do not fit it, or each other; BD_ERROR_NUMERIC for NaN or Inf
 * in what comes in (U, E, after->a, after->b), with the factors as before; BD_ERROR_UNSUPPORTED for
 * what the backend cannot do. The cuda backend returns before the work is done
 * (bd_backend_sync waits for it), but after what comes in is known to be finite. */
BD_API enum bd_status bd_qr_update_create(struct bd_qr_update **update, struct bd_backend *backend,
                                          const struct bd_qr_update_shape *shape);
BD_API void bd_qr_update_destroy(struct bd_qr_update **update);

/* `after` may be NULL in all of them. */

/* Removes columns k .. k+p-1 of A (0 <= k, k + p <= n): R loses them and is made triangular again
 * by orthogonal transformations, which Q and d follow. */
BD_API enum bd_status bd_qr_remove_columns(struct bd_qr_update *update,
                                           struct bd_qr_factors *factors, int64_t k, int64_t p,
                                           const struct bd_qr_problem *after);

/* Inserts the p columns of U (m x p, not changed) before column k (k = n appends); n + p <= m.
 * Needs Q (R alone: bd_qr_append_gram). q (thin) must have room for n + p columns, r for n + p
 * columns with r.ld >= n + p, d (thin) for n + p rows. New columns that lie in the span of Q to
 * working accuracy get a zero on the diagonal of R and a Q column orthogonal to the others all the
 * same. */
BD_API enum bd_status bd_qr_insert_columns(struct bd_qr_update *update,
                                           struct bd_qr_factors *factors, int64_t k,
                                           const struct bd_matrix *u,
                                           const struct bd_qr_problem *after);

/* Inserts the p rows of U (p x n, not changed) before row k of A (k = m appends), and those of E
 * (p x rhs) into B; E is NULL without d. q must have room for m + p rows (q.ld), full Q for as many
 * columns too, and d, with full Q, for m + p rows. Without Q any k >= 0 will do. */
BD_API enum bd_status bd_qr_insert_rows(struct bd_qr_update *update, struct bd_qr_factors *factors,
                                        int64_t k, const struct bd_matrix *u,
                                        const struct bd_matrix *e,
                                        const struct bd_qr_problem *after);

/* Removes rows k .. k+p-1 of A (0 <= k, k + p <= m), and of B; m - p >= n. Needs Q. */
BD_API enum bd_status bd_qr_remove_rows(struct bd_qr_update *update, struct bd_qr_factors *factors,
                                        int64_t k, int64_t p, const struct bd_qr_problem *after);

/* Slides a window: removes the first u->cols columns and appends those of U (m x p), with the
 * passes over a thin Q of both joined: Q is read two or three times and written once. Needs Q; it
 * may hold any number of columns from p on. */
BD_API enum bd_status bd_qr_slide(struct bd_qr_update *update, struct bd_qr_factors *factors,
                                  const struct bd_matrix *u, const struct bd_qr_problem *after);

/* Appends a column u to R alone, from its inner products with the columns of A:
 * g = A^T u (float64, n values on the host) and uu = u^T u. Solves R^T z = g and takes the new
 * diagonal element sqrt(uu - z^T z), in float64 (Bjorck's seminormal equations); an element that
 * rounding makes imaginary is taken as 0. Room as for bd_qr_insert_columns. */
BD_API enum bd_status bd_qr_append_gram(struct bd_qr_update *update, struct bd_matrix *r,
                                        const double *g, double uu);

enum bd_qr_change_kind {
    BD_QR_INSERT_COLUMNS,
    BD_QR_REMOVE_COLUMNS,
    BD_QR_INSERT_ROWS,
    BD_QR_REMOVE_ROWS
};

/* A change that may be made. */
struct bd_qr_change {
    enum bd_qr_change_kind kind;
    int64_t m, n; /* of A before the change; without Q, m matters to factoring alone */
    int64_t k, p; /* where, how many columns or rows */
    bool with_q;  /* Q is kept, thin or full as the workspace has it, with the right-hand sides
                     that it was made for */
};

/* Expected times on this backend. */
struct bd_qr_cost {
    double update_seconds, factor_seconds; /* updating; factoring the A after the change */
};

/* What a change is expected to cost: bytes, operations and steps that wait for each other, times
 * rates of one machine of the backend's kind. The times are good for choosing between the two, not
 * for planning. BD_ERROR_ARGUMENT for a change that is not possible. */
BD_API enum bd_status bd_qr_update_cost(const struct bd_qr_update *update,
                                        const struct bd_qr_change *change, struct bd_qr_cost *cost);

#ifdef __cplusplus
}
#endif
#endif
