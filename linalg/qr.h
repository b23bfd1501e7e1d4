/* Communication-avoiding QR of tall matrices: A = Q R, A m x n with m >= n, Q m x n, R n x n upper
 * triangular, float32.
 *
 * Anderson, Ballard, Demmel, Keutzer: Communication-Avoiding QR Decomposition for GPUs (2011),
 * sections II and IV. The columns are taken in panels; a panel is factored by TSQR over blocks of
 * rows with a reduction tree (factor, factor_tree), and its Q^T is applied to the columns on its
 * right (apply_qt_h, apply_qt_tree). Any matrix is allowed: zero and repeated columns and rank
 * deficiency give an R with small diagonal elements, never a failure. The diagonal of R may have
 * either sign. */
#ifndef BD_LINALG_QR_H
#define BD_LINALG_QR_H

#include "linalg/matrix.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How bd_qr_reduce and bd_qr_thin find R and Q; bd_qr_factor always makes reflectors. */
enum bd_qr_method {
    BD_QR_AUTO, /* whatever is fastest for this shape at the accuracy of Householder reflectors */
    BD_QR_CAQR, /* reflectors and a reduction tree */
    /* R from the Gram matrix A^T A in float64, in which products of float32 are exact; Q = A R^-1,
     * repeated if A is ill-conditioned. For n <= 1024 and GPUs: the cpu backend refuses it. AUTO
     * takes CAQR for a Q that this cannot make; when it is asked for by name, bd_qr_thin fails then
     * with BD_ERROR_NUMERIC. */
    BD_QR_CHOLESKY
};

/* Shape of the factorisation; 0 takes the tuned default of the backend for m and n. */
struct bd_qr_options {
    int64_t block_rows; /* rows of a leaf block, >= 2 * panel_cols */
    int panel_cols; /* columns of a panel; block_rows / panel_cols Rs are joined at a tree node */
    enum bd_qr_method method;
};

struct bd_qr; /* workspace and reduction tree for one shape of matrix */

enum bd_qr_op { BD_QR_Q, BD_QR_Q_TRANSPOSED };

/* Makes all workspace for m x n matrices; factoring then allocates nothing. `options` may be NULL.
 * BD_ERROR_ARGUMENT for m < n, n < 1 or a block shape out of range; BD_ERROR_UNSUPPORTED for a
 * method that the backend does not have for n columns. */
enum bd_status bd_qr_create(struct bd_qr **qr, struct bd_backend *backend, int64_t m, int64_t n,
                            const struct bd_qr_options *options);
void bd_qr_destroy(struct bd_qr **qr);

/* Factors A (m x n) in place: the reflectors replace its elements, and A must stay as it is until
 * bd_qr_form_q and bd_qr_apply have been called. */
enum bd_status bd_qr_factor(struct bd_qr *qr, struct bd_matrix *a);

/* R (n x n) of the last bd_qr_factor, zeros below the diagonal. */
enum bd_status bd_qr_get_r(struct bd_qr *qr, struct bd_matrix *r);

/* The thin Q (m x n) of the last bd_qr_factor. `q` may be A itself: the reflectors are then
 * replaced by Q and bd_qr_apply is no longer possible. */
enum bd_status bd_qr_form_q(struct bd_qr *qr, struct bd_matrix *q);

/* C (m x k, any k) := Q C or Q^T C with the full m x m orthogonal Q of the last bd_qr_factor. The
 * first n rows of Q^T C are the coordinates in the columns of the thin Q. */
enum bd_status bd_qr_apply(struct bd_qr *qr, enum bd_qr_op op, struct bd_matrix *c);

/* R only, in one sweep over A (m x n), which is not changed. No Q. */
enum bd_status bd_qr_reduce(struct bd_qr *qr, const struct bd_matrix *a, struct bd_matrix *r);

/* R (n x n) and the thin Q (m x n) of A (m x n) in one call. `q` may be A itself, which Q then
 * replaces; otherwise A is not changed. Q is orthonormal to float32 rounding whatever A is, columns
 * that depend on others included. What bd_qr_factor left in the plan is gone afterwards. May wait
 * for the device once. */
enum bd_status bd_qr_thin(struct bd_qr *qr, const struct bd_matrix *a, struct bd_matrix *q,
                          struct bd_matrix *r);

#ifdef __cplusplus
}
#endif
#endif
