/* Private to the drop-in: blocks of reflectors as I - V T V^T, so that matrix products apply them.
 *
 * Schreiber, Van Loan: A Storage-Efficient WY Representation for Products of Householder
 * Transformations (1989). V (m x k, k <= m) is unit lower trapezoidal: its upper triangle and
 * diagonal, where R is stored, are not read. T (k x k) is upper triangular, zeros below. */
#ifndef BD_LAPACK_BLOCK_REFLECTOR_H
#define BD_LAPACK_BLOCK_REFLECTOR_H

#include <stdint.h>

#include "lapack/context.h"

/* T of H_1 ... H_k = I - V T V^T; ldt >= k. Needs bd_block_reflector_work(k, 0) floats, and borrows
 * bd_block_reflector_floats floats a thread. */
void bd_block_reflector_t(struct bd_lapack *context, int64_t m, int64_t k, const float *v,
                          int64_t ldv, const float *tau, float *t, int64_t ldt, float *work);
int64_t bd_block_reflector_floats(int64_t k);

/* C (m x n) := H C, or H^T C (transposed = 1). Needs bd_block_reflector_work(k, n) floats. */
void bd_block_reflector_left(int transposed, int64_t m, int64_t n, int64_t k, const float *v,
                             int64_t ldv, const float *t, int64_t ldt, float *c, int64_t ldc,
                             float *work);

/* C (m x n) := C H or C H^T; V is n x k. Needs bd_block_reflector_work(k, m) floats. */
void bd_block_reflector_right(int transposed, int64_t m, int64_t n, int64_t k, const float *v,
                              int64_t ldv, const float *t, int64_t ldt, float *c, int64_t ldc,
                              float *work);

/* V (m x k) := the first k columns of H, in place. Needs bd_block_reflector_work(k, 0) floats of
 * `work`, and what bd_rows_times needs of the context. */
void bd_block_reflector_form(struct bd_lapack *context, int64_t m, int64_t k, float *v, int64_t ldv,
                             const float *t, int64_t ldt, float *work);

int64_t bd_block_reflector_work(int64_t k, int64_t n);

/* A (m x k) := A X with X (k x k, ldx, upper triangular, zeros below), by the pool. Borrows
 * bd_rows_times_floats floats a thread while it works. */
void bd_rows_times(struct bd_lapack *context, int64_t m, int64_t k, float *a, int64_t lda,
                   const float *x, int64_t ldx);
int64_t bd_rows_times_floats(int64_t k);

#endif
