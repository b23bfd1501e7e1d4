/* Private to qr.cu: the thin Q of a tall matrix from its R, Q = A R^-1, in float64 on the FP64
 * tensor cores. */
#ifndef BD_GPU_QR_CHOLQR_H
#define BD_GPU_QR_CHOLQR_H

#include "gpu/cuda.h"

/* Doubles in the packed form of an n x n upper triangular matrix, n <= 1024 (cholqr.cu). */
size_t bd_cuda_cholqr_packed(int n);

/* W := R^-1, packed, of the float64 R in the upper triangle of g (n x n, ld n). `norms` (n, the
 * column norms of R) weigh the rows of W: condition[j] := sum over i of (norms[i] W(i, j))^2, whose
 * sum over j is the squared Frobenius norm of the inverse of R with columns scaled to norm 1. */
enum bd_status bd_cuda_cholqr_invert(struct bd_cuda *cuda, double *w, double *condition,
                                     const double *g, const double *norms, int n);

/* Q (m x n, float32) := A W, for a packed W; q may be a. */
enum bd_status bd_cuda_cholqr_multiply(struct bd_cuda *cuda, float *q, int64_t ldq, const float *a,
                                       int64_t lda, const double *w, int64_t m, int n);

/* R (n x n, float32, zeros below the diagonal) := R2 R1, both float64 in upper triangles, ld n. */
enum bd_status bd_cuda_cholqr_join(struct bd_cuda *cuda, float *r, int64_t ldr, const double *r2,
                                   const double *r1, int n);

#endif
