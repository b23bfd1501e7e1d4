/* Private to the drop-in: elementary reflectors H = I - tau v v^T one after the other, in plain C
 * that allocates nothing: for small matrices, and where there is no memory for the faster code.
 *
 * Conventions are LAPACK's: column j of V, m x k, has zeros above row j, one there (not stored),
 * and the rest below the diagonal of the matrix; Q = H_1 H_2 ... H_k. tau is 0 (H = I) or 1 to 2.
 * Sums are in float64, which holds the square of every float32: nothing overflows or underflows
 * where LAPACK's scaled norms would not. NaN and Inf spread as there. */
#ifndef BD_LAPACK_REFLECTORS_H
#define BD_LAPACK_REFLECTORS_H

#include <stdint.h>

/* The reflector with H [alpha; x] = [beta; 0], x of n - 1 elements: v replaces x, beta alpha.
 * Returns tau. LAPACK's slarfg. */
float bd_reflector_make(int64_t n, float *alpha, float *x);

/* C (m x n) := H C; v (m, its first element, taken as 1, not read). */
void bd_reflector_apply_left(int64_t m, int64_t n, const float *v, float tau, float *c,
                             int64_t ldc);
/* C (m x n) := C H; v (n). */
void bd_reflector_apply_right(int64_t m, int64_t n, const float *v, float tau, float *c,
                              int64_t ldc);

/* A (m x n) to R and min(m, n) reflectors. */
void bd_reflectors_factor(int64_t m, int64_t n, float *a, int64_t lda, float *tau);
/* A (m x n), with k reflectors in its first columns, to the first n columns of Q. */
void bd_reflectors_form(int64_t m, int64_t n, int64_t k, float *a, int64_t lda, const float *tau);
/* C (m x n) := Q C, Q^T C (left), C Q or C Q^T with k reflectors. */
void bd_reflectors_apply(int left, int transposed, int64_t m, int64_t n, int64_t k, const float *v,
                         int64_t ldv, const float *tau, float *c, int64_t ldc);

#endif
