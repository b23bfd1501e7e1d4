/* Private to the CUDA backend: blocked Householder QR on the GPU, right for every matrix, with
 * reflectors in LAPACK's layout: v below the diagonal of A, R on and above it.
 *
 * Schreiber, Van Loan: A Storage-Efficient WY Representation for Products of Householder
 * Transformations (1989): 16 reflectors are I - V T V^T. Kerr, Campbell, Richards: QR Decomposition
 * on GPUs (2009): a panel, then matrix products for what is on its right. A panel's columns stay in
 * the registers of as many thread blocks as they need, which exchange 16 sums a column; the
 * products are those of CAQR (gpu/qr/caqr/block.cuh), split over rows. All pointers to matrices are
 * in device memory, leading dimensions in elements; all calls but create and destroy only enqueue
 * on the backend's stream. Contracts as in linalg/shared/ops.h, group qr. */
#ifndef BD_GPU_QR_HOUSEHOLDER_HOUSEHOLDER_H
#define BD_GPU_QR_HOUSEHOLDER_HOUSEHOLDER_H

#include "gpu/cuda.h"
#include <backdrop/qr.h>

struct bd_cuda_householder;

/* A plan with all memory for m x n matrices, m >= n >= 1. `reduces`: bd_cuda_householder_reduce
 * will be called, for which memory for one more matrix is taken. BD_ERROR_MEMORY. */
enum bd_status bd_cuda_householder_create(struct bd_cuda *cuda, int64_t m, int64_t n, int reduces,
                                          struct bd_cuda_householder **plan);
void bd_cuda_householder_destroy(struct bd_cuda_householder *plan); /* accepts NULL */

/* A = Q R in place. */
enum bd_status bd_cuda_householder_factor(struct bd_cuda_householder *plan, float *a, int64_t lda);

/* R (n x n, zeros below the diagonal) of the last factor. */
enum bd_status bd_cuda_householder_get_r(struct bd_cuda_householder *plan, float *r, int64_t ldr);

/* The thin Q (m x n) of the last factor; q may be the factored a. */
enum bd_status bd_cuda_householder_form_q(struct bd_cuda_householder *plan, float *q, int64_t ldq);

/* Whether the plan takes many reflectors at once (q.cu): for Q's first k columns, n
 * <= k <= m; q may be the factored a if k = n. Otherwise identities are there to apply Q to. */
int bd_cuda_householder_is_wide(const struct bd_cuda_householder *plan);
enum bd_status bd_cuda_householder_form_wide_q(struct bd_cuda_householder *plan, float *q,
                                               int64_t ldq, int64_t k);

/* C (m x k) := Q C or Q^T C with the full Q of the last factor. */
enum bd_status bd_cuda_householder_apply(struct bd_cuda_householder *plan, enum bd_qr_op op,
                                         float *c, int64_t ldc, int64_t k);

/* R only; A is not changed, and what the last factor left is not touched. */
enum bd_status bd_cuda_householder_reduce(struct bd_cuda_householder *plan, const float *a,
                                          int64_t lda, float *r, int64_t ldr);

#endif
