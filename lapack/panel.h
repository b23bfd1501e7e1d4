/* Private to the drop-in: QR of a panel into LAPACK's reflectors by the block kernels, 8 columns at
 * a time, in one thread: for panels that are not tall enough for several threads.
 *
 * The kernels choose the signs of R's diagonal for accuracy in long sequences of folds (their
 * reflectors may be huge, with tiny scale factors); LAPACK takes minus the sign of the element that
 * was there. So the orthogonal factor of 8 columns is turned into LAPACK's reflectors by
 * Householder reconstruction (tall.h). Both sets of reflectors span the same space, so that all but
 * an 8 x 8 part of that is one product. */
#ifndef BD_LAPACK_PANEL_H
#define BD_LAPACK_PANEL_H

#include <stdint.h>

#include "lapack/context.h"

/* A (m x n) to R and min(m, n) reflectors with scale factors tau. Needs bd_panel_work floats,
 * 64-byte aligned. */
void bd_panel_factor(const struct bd_lapack *context, int64_t m, int64_t n, float *a, int64_t lda,
                     float *tau, float *work);
int64_t bd_panel_work(int64_t m, int64_t n);

#endif
