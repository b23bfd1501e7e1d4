/* Linear least squares by QR: min ||A x - b||, A m x n with m >= n, for any number of right-hand
 * sides. Golub: Numerical methods for solving linear least squares problems (1965); for problems
 * that change, Hammarling, Lucas: Updating the QR factorization and the least squares problem
 * (2008). */
#ifndef BACKDROP_LEAST_SQUARES_H
#define BACKDROP_LEAST_SQUARES_H

#include <backdrop/qr_update.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Solves R x = d(1:n) for the factors of a problem whose d is kept: x (n x rhs) minimises
 * ||A x - b||. x may be f->d itself (thin Q or none). Waits for the diagonal of R: a zero there
 * (columns of A that depend on others) is BD_ERROR_NUMERIC, and x is then as before. */
BD_API enum bd_status bd_qr_solve(struct bd_qr_update *update, const struct bd_qr_factors *f,
                                  struct bd_matrix *x);

/* x (n x rhs) := the solution of min ||A x - b||, in one call; A (m x n, m >= n) and b (m x rhs)
 * are not changed. Allocates room for Q and the plan of its QR. BD_ERROR_NUMERIC for NaN or Inf in
 * A or b, and for a zero on the diagonal of R. */
BD_API enum bd_status bd_least_squares(struct bd_backend *backend, const struct bd_matrix *a,
                                       const struct bd_matrix *b, struct bd_matrix *x);

#ifdef __cplusplus
}
#endif
#endif
