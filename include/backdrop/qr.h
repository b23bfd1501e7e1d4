/* QR of tall matrices: A = Q R, A m x n with m >= n, Q m x n, R n x n upper triangular, float32, by
 * one of three methods, which BD_QR_AUTO chooses by shape and wanted accuracy.
 *
 * Communication-avoiding QR: Anderson, Ballard, Demmel, Keutzer: Communication-Avoiding QR
 * Decomposition for GPUs (2011), sections II and IV. The columns are taken in panels; a panel is
 * factored by TSQR over blocks of rows with a reduction tree (factor, factor_tree), and its Q^T is
 * applied to the columns on its right (apply_qt_h, apply_qt_tree). Blocked Householder QR:
 * Schreiber, Van Loan: A Storage-Efficient WY Representation for Products of Householder
 * Transformations (1989); Kerr, Campbell, Richards: QR Decomposition on GPUs (2009). Any matrix is
 * allowed: zero and repeated columns and rank deficiency give an R with small diagonal elements,
 * never a failure. The diagonal of R may have either sign.
 *
 * NaN and Inf in A: bd_qr_thin fails with BD_ERROR_NUMERIC. bd_qr_factor and bd_qr_reduce do not
 * wait for the device and report no error; the column of R that belongs to theirs is then not
 * finite. Columns may have any scale each; a GPU may lose what elements below 2^-114 have below
 * 2^-136. */
#ifndef BACKDROP_QR_H
#define BACKDROP_QR_H

#include <backdrop/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

enum bd_qr_method {
    /* Whatever is fastest for this shape at the wanted accuracy: on a GPU mostly Cholesky for
     * bd_qr_reduce, and for bd_qr_thin unless A is nearly square; for bd_qr_factor one of the two
     * kinds of reflectors. The cpu backend takes CAQR for all. */
    BD_QR_AUTO,
    BD_QR_CAQR, /* reflectors and a reduction tree */
    /* R from the Gram matrix A^T A in float64, in which products of float32 are exact; Q = A R^-1,
     * repeated if A is too ill-conditioned for the wanted accuracy. For n <= 1024 and GPUs: the cpu
     * backend refuses it. AUTO takes reflectors for a Q that this cannot make; when it is asked for
     * by name, bd_qr_thin fails then with BD_ERROR_NUMERIC. bd_qr_factor makes reflectors as with
     * AUTO. */
    BD_QR_CHOLESKY,
    /* Reflectors over all rows of a column, blocked for matrix products. bd_qr_reduce takes memory
     * for a copy of A. */
    BD_QR_HOUSEHOLDER
};

/* How to factor; all 0 means the defaults. */
struct bd_qr_options {
    /* Shape of a CAQR, 0: the tuned default of the backend for m and n. AUTO makes reflectors by
     * CAQR where either is given. */
    int64_t block_rows; /* rows of a leaf block, >= 2 * panel_cols */
    int panel_cols; /* columns of a panel; block_rows / panel_cols Rs are joined at a tree node */
    enum bd_qr_method method;
    /* The wanted ||Q^T Q - I||_F of bd_qr_thin, n * FLT_EPSILON to 0.25, 0: to float32 rounding.
     * Reflectors always give the latter, and the cpu backend has nothing else; Cholesky QR takes
     * one pass over A where that is enough, two where it is not. A = Q R holds to float32 rounding
     * in any case. */
    double orthogonality;
};

struct bd_qr; /* workspace and reduction tree for one shape of matrix */

enum bd_qr_op { BD_QR_Q, BD_QR_Q_TRANSPOSED };

/* Makes all workspace for m x n matrices; factoring then allocates nothing. `options` may be NULL.
 * BD_ERROR_ARGUMENT for m < n, n < 1, a block shape or an accuracy out of range;
 * BD_ERROR_UNSUPPORTED for a method that the backend does not have for n columns. */
BD_API enum bd_status bd_qr_create(struct bd_qr **qr, struct bd_backend *backend, int64_t m,
                                   int64_t n, const struct bd_qr_options *options);
BD_API void bd_qr_destroy(struct bd_qr **qr);

/* Factors A (m x n) in place: the reflectors replace its elements, and A must stay as it is until
 * bd_qr_form_q and bd_qr_apply have been called. */
BD_API enum bd_status bd_qr_factor(struct bd_qr *qr, struct bd_matrix *a);

/* R (n x n) of the last bd_qr_factor, zeros below the diagonal. */
BD_API enum bd_status bd_qr_get_r(struct bd_qr *qr, struct bd_matrix *r);

/* The thin Q (m x n) of the last bd_qr_factor. `q` may be A itself: the reflectors are then
 * replaced by Q and bd_qr_apply is no longer possible. */
BD_API enum bd_status bd_qr_form_q(struct bd_qr *qr, struct bd_matrix *q);

/* All of Q (m x m) of the last bd_qr_factor: its first n columns are the thin Q, the others an
 * orthonormal basis of what is orthogonal to the columns of A (Kerr, Campbell, Richards: QR
 * Decomposition on GPUs, 2009, algorithm 3). `q` shares no memory with A, whose reflectors stay.
 * The fast way is BD_QR_HOUSEHOLDER's, which knows which columns are still those of an identity. */
BD_API enum bd_status bd_qr_form_full_q(struct bd_qr *qr, struct bd_matrix *q);

/* C (m x k, any k) := Q C or Q^T C with the full m x m orthogonal Q of the last bd_qr_factor. The
 * first n rows of Q^T C are the coordinates in the columns of the thin Q. */
BD_API enum bd_status bd_qr_apply(struct bd_qr *qr, enum bd_qr_op op, struct bd_matrix *c);

/* R only, in one sweep over A (m x n), which is not changed. No Q. */
BD_API enum bd_status bd_qr_reduce(struct bd_qr *qr, const struct bd_matrix *a,
                                   struct bd_matrix *r);

/* R (n x n) and the thin Q (m x n) of A (m x n) in one call. `q` may be A itself, which Q then
 * replaces; otherwise A is not changed. Q is orthonormal to the wanted accuracy whatever A is,
 * columns that depend on others included. What bd_qr_factor left in the plan is gone afterwards.
 * May wait for the device. BD_ERROR_NUMERIC for NaN or Inf in A; Q and R are of no use then. */
BD_API enum bd_status bd_qr_thin(struct bd_qr *qr, const struct bd_matrix *a, struct bd_matrix *q,
                                 struct bd_matrix *r);

#ifdef __cplusplus
}
#endif
#endif
