/* Private to qr.cu: what thin Q = A R^-1 by Cholesky needs beside bd_cuda_triangular_product. */
#ifndef BD_GPU_QR_CHOLQR_H
#define BD_GPU_QR_CHOLQR_H

#include "gpu/gram_qr/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* W := R^-1 of the float64 R in the upper triangle of g (n x n, ld n), as the T of a product
 * (bd_cuda_triangular_product): to t->packed, ones to t->inverse, and one block of columns to
 * t->decision, which must be zeroed at first. `norms` (n, the column norms of R) weigh the rows of
 * W: condition[j] := sum over i of (norms[i] W(i, j))^2, whose sum over j is the squared Frobenius
 * norm of the inverse of R with columns scaled to norm 1. */
enum bd_status bd_cuda_cholqr_invert(struct bd_cuda *cuda, const struct gram_data *t,
                                     double *condition, const double *g, const double *norms);

/* R (n x n, float32, zeros below the diagonal) := R2 R1, both float64 in upper triangles, ld n. */
enum bd_status bd_cuda_cholqr_join(struct bd_cuda *cuda, float *r, int64_t ldr, const double *r2,
                                   const double *r1, int n);

#ifdef __cplusplus
}
#endif
#endif
