/* Private to the drop-in: inner products with an orthonormal Q (m x k), and a further column for
 * it. */
#ifndef BD_LAPACK_ORTHOGONAL_H
#define BD_LAPACK_ORTHOGONAL_H

#include <stdint.h>

/* w (k) := Q^T x. */
void bd_orthogonal_dots(int64_t m, int64_t k, const float *q, int64_t ldq, const float *x,
                        float *w);

/* Column k of Q, for which there is room, := x less its part in the span of Q, of norm 1, and w :=
 * Q^T x; returns the norm rho that it had: x = Q w + rho q_k. Where x is in the span, rho is 0 and
 * q_k anything that is orthogonal to Q (k < m). Daniel, Gragg, Kaufman, Stewart:
 * Reorthogonalization and Stable Algorithms for Updating the Gram-Schmidt QR Factorization (1976).
 */
float bd_orthogonal_append(int64_t m, int64_t k, float *q, int64_t ldq, const float *x, float *w);

#endif
