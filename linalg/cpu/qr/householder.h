/* Private to the cpu backend: blocked Householder QR by LAPACK (sgeqrf, sorgqr, sormqr). Contracts
 * as in linalg/shared/ops.h, group qr. */
#ifndef BD_LINALG_CPU_QR_HOUSEHOLDER_H
#define BD_LINALG_CPU_QR_HOUSEHOLDER_H

#include <stdint.h>

#include <backdrop/qr.h>
#include <backdrop/status.h>

struct bd_householder;

/* A plan with all memory for m x n matrices. BD_ERROR_UNSUPPORTED for sizes that LAPACK's integers
 * do not hold, BD_ERROR_MEMORY. */
enum bd_status bd_householder_create(struct bd_householder **plan, int64_t m, int64_t n);
void bd_householder_destroy(struct bd_householder **plan); /* NULL afterwards */

/* A (m x n, ld = lda) = Q R in place. */
enum bd_status bd_householder_factor(struct bd_householder *plan, float *a, int64_t lda);

/* R (n x n, zeros below the diagonal) of the last factor. */
void bd_householder_get_r(const struct bd_householder *plan, float *r, int64_t ldr);

/* The first `cols` columns, n or m, of the last factor's Q; q may be the factored a with n. */
enum bd_status bd_householder_form_q(struct bd_householder *plan, float *q, int64_t ldq,
                                     int64_t cols);

/* C (m x k) := Q C or Q^T C with the full Q of the last factor. */
enum bd_status bd_householder_apply(struct bd_householder *plan, enum bd_qr_op op, float *c,
                                    int64_t ldc, int64_t k);

/* R only; A is not changed, and what the last factor left is not touched. */
enum bd_status bd_householder_reduce(struct bd_householder *plan, const float *a, int64_t lda,
                                     float *r, int64_t ldr);

#endif
