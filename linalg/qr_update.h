/* Updating a thin QR factorisation A = Q R (Q m x n, R n x n) when columns of A come and go.
 *
 * Andrew, Dingle: Implementing QR factorization updating algorithms on GPUs (2014); Hammarling,
 * Lucas: Updating the QR factorization and the least squares problem (2008). An update costs
 * O(m n) where factoring again costs O(m n^2). All float32. */
#ifndef BD_LINALG_QR_UPDATE_H
#define BD_LINALG_QR_UPDATE_H

#include "linalg/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bd_qr_update; /* workspace */

/* Workspace for factorisations of m rows, at most `max_cols` columns, and at most `max_block`
 * columns added or removed at a time: 1 <= max_block <= max_cols <= m. The calls below then
 * allocate nothing. They return BD_ERROR_ARGUMENT for matrices that do not fit it or each other.
 * BD_ERROR_UNSUPPORTED: the cuda backend takes at most 1024 columns. On it, calls return before
 * their work is done (bd_backend_sync waits for it), but insert and slide after U is known to be
 * finite. */
enum bd_status bd_qr_update_create(struct bd_qr_update **update, struct bd_backend *backend,
                                   int64_t m, int64_t max_cols, int64_t max_block);
void bd_qr_update_destroy(struct bd_qr_update **update);

/* Removes columns k .. k+p-1 of A (0 <= k, k + p <= n): R loses them and is made triangular again
 * by orthogonal transformations, which are applied to Q. On exit q->cols = r->rows = r->cols = n -
 * p; the arrays and their ld stay. q may be NULL: R alone. */
enum bd_status bd_qr_remove_columns(struct bd_qr_update *update, struct bd_matrix *q,
                                    struct bd_matrix *r, int64_t k, int64_t p);

/* Inserts the p columns of U (m x p, not changed) before column k (k = n appends). q and r must
 * have room: q->data for n + p columns of q->ld, r->data for n + p columns with r->ld >= n + p. On
 * exit q->cols = r->rows = r->cols = n + p. New columns that lie in the span of Q to working
 * accuracy get a zero on the diagonal of R and a Q column orthogonal to the others all the same.
 * BD_ERROR_NUMERIC when U holds NaN or Inf; q and r are then as before. */
enum bd_status bd_qr_insert_columns(struct bd_qr_update *update, struct bd_matrix *q,
                                    struct bd_matrix *r, int64_t k, const struct bd_matrix *u);

/* Slides a window: removes the first u->cols columns and appends those of U (m x p), with the
 * passes over Q of both joined: Q is read two or three times and written once. q may hold any
 * number of columns from p on. BD_ERROR_NUMERIC as above. */
enum bd_status bd_qr_slide(struct bd_qr_update *update, struct bd_matrix *q, struct bd_matrix *r,
                           const struct bd_matrix *u);

/* Appends a column u to R alone, from its inner products with the columns of A:
 * g = A^T u (float64, n values on the host) and uu = u^T u. Solves R^T z = g and takes the new
 * diagonal element sqrt(uu - z^T z), in float64 (Bjorck's seminormal equations); an element that
 * rounding makes imaginary is taken as 0. Room as for bd_qr_insert_columns. */
enum bd_status bd_qr_append_gram(struct bd_qr_update *update, struct bd_matrix *r, const double *g,
                                 double uu);

#ifdef __cplusplus
}
#endif
#endif
