/* Private to the drop-in: blocked Householder QR in LAPACK's format, forming Q and applying it. All
 * sizes may be 0; arguments were checked. Without memory the plain code of reflectors.h is used. */
#ifndef BD_LAPACK_FACTOR_H
#define BD_LAPACK_FACTOR_H

#include <stdint.h>

/* The triangular factors T (block_reflector.h) of blocks of reflectors, side by side: width x k,
 * for a Q that is applied once it is made. The caller's memory holds bd_lapack_factors_floats(m, n)
 * floats; width is 0 while there are none in it. */
struct bd_lapack_factors {
    float *t;
    int64_t width;
};
int64_t bd_lapack_factors_floats(int64_t m, int64_t n);

/* A (m x n) to R, on and above the diagonal, and min(m, n) reflectors with scale factors tau.
 * factors may be NULL. */
void bd_lapack_factor(int64_t m, int64_t n, float *a, int64_t lda, float *tau,
                      struct bd_lapack_factors *factors);

/* A (m x n, n <= m), with k <= n reflectors in its first columns, to the first n columns of Q. */
void bd_lapack_form(int64_t m, int64_t n, int64_t k, float *a, int64_t lda, const float *tau);

/* C (m x n) := Q C or Q^T C (left), C Q or C Q^T, with k reflectors in V. factors, those of V, may
 * be NULL. */
void bd_lapack_apply(int left, int transposed, int64_t m, int64_t n, int64_t k, const float *v,
                     int64_t ldv, const float *tau, const struct bd_lapack_factors *factors,
                     float *c, int64_t ldc);

#endif
