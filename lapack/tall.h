/* Private to the drop-in: QR of a tall panel into LAPACK's reflectors by Householder
 * reconstruction.
 *
 * Ballard, Demmel, Grigori, Jacquelin, Nguyen, Solomonik: Reconstructing Householder Vectors from
 * Tall-Skinny QR (2014), section III: with A = Q R by any method, Q orthonormal, and S the diagonal
 * of signs that LAPACK would choose, Q - [S; 0] = V U without pivoting gives the reflectors V,
 * their T = -U S V_top^-T, whose diagonal is tau, and LAPACK's R, which is S R.
 *
 * R comes from TSQR in one reading of A. Where its scaled columns are well-conditioned, only the
 * top of Q is formed, and the rest of V is A (U R)^-1, one product in place. Where they are not, A
 * is first replaced by A R^-1, which is factored again. Where R is nearly singular, Q comes from
 * CAQR (bd_qr_thin). A GPU, if there is one, forms Q of any large A. */
#ifndef BD_LAPACK_TALL_H
#define BD_LAPACK_TALL_H

#include <stdint.h>

#include "lapack/context.h"

/* A (m x k, m >= 2 k) to R and k reflectors with their T (k x k, ldt) and tau. Returns 0, with A as
 * it was, if there is NaN or Inf in A or no memory. Borrows bd_tall_floats floats of the context
 * and what bd_rows_times borrows. */
int bd_tall_factor(struct bd_lapack *context, int64_t m, int64_t k, float *a, int64_t lda,
                   float *tau, float *t, int64_t ldt);
int64_t bd_tall_floats(int64_t k);

#endif
