/* Private to the CUDA backend: communication-avoiding Householder QR on the GPU, right for every
 * matrix and with reflectors.
 *
 * Anderson, Ballard, Demmel, Keutzer: Communication-Avoiding QR Decomposition for GPUs (2011),
 * sections II.C and IV. A (m x n, m >= n >= 1, column-major, float32) is taken in panels of
 * columns; a panel's rows are cut into leaves, factored each by one thread block (factor); the
 * leaves' Rs are joined level by level (factor_tree); the same is done to the columns on the right
 * (apply_qt_h, apply_qt_tree). All pointers to matrices are in device memory, leading dimensions in
 * elements; all calls but create and destroy only enqueue on the backend's stream. Contracts as in
 * linalg/shared/ops.h, group qr. */
#ifndef BD_GPU_QR_CAQR_CAQR_H
#define BD_GPU_QR_CAQR_CAQR_H

#include "gpu/cuda.h"
#include <backdrop/qr.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bd_cuda_caqr;

/* A plan with all memory for m x n matrices. `options` may be NULL; its panel_cols is rounded up to
 * a multiple of 16 and is at most 128, its block_rows (rows of a leaf) is rounded up to a multiple
 * of 16. `reduces`: bd_cuda_caqr_reduce will be called, for which more memory is taken.
 * BD_ERROR_MEMORY. */
enum bd_status bd_cuda_caqr_create(struct bd_cuda *cuda, int64_t m, int64_t n,
                                   const struct bd_qr_options *options, int reduces,
                                   struct bd_cuda_caqr **plan);
/* The same with a shape of one's own (tuning.h), for the tuning command; it reduces. */
struct bd_cuda_caqr_shape;
enum bd_status bd_cuda_caqr_create_shaped(struct bd_cuda *cuda, int64_t m, int64_t n,
                                          const struct bd_cuda_caqr_shape *shape,
                                          struct bd_cuda_caqr **plan);

void bd_cuda_caqr_destroy(struct bd_cuda_caqr *plan); /* accepts NULL */

/* A = Q R in place: the reflectors replace A's elements. */
enum bd_status bd_cuda_caqr_factor(struct bd_cuda_caqr *plan, float *a, int64_t lda);

/* R (n x n, zeros below the diagonal) of the last factor. */
enum bd_status bd_cuda_caqr_get_r(struct bd_cuda_caqr *plan, float *r, int64_t ldr);

/* The thin Q (m x n) of the last factor; q may be the factored a. */
enum bd_status bd_cuda_caqr_form_q(struct bd_cuda_caqr *plan, float *q, int64_t ldq);

/* C (m x k) := Q C or Q^T C with the full Q of the last factor. */
enum bd_status bd_cuda_caqr_apply(struct bd_cuda_caqr *plan, enum bd_qr_op op, float *c,
                                  int64_t ldc, int64_t k);

/* R only; A is not changed, and what the last factor left is not touched. */
enum bd_status bd_cuda_caqr_reduce(struct bd_cuda_caqr *plan, const float *a, int64_t lda, float *r,
                                   int64_t ldr);

#ifdef __cplusplus
}
#endif
#endif
