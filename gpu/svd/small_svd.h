/* SVD of the small R on the GPU: what other parts of the backend enqueue without the host waiting.
 * `work` is what bd_cuda_svd_ops.create made. All pointers but work are device memory. */
#ifndef BD_GPU_SVD_SMALL_SVD_H
#define BD_GPU_SVD_SMALL_SVD_H

#include <stdint.h>

#include <backdrop/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Up to this n all is done on the GPU; above it the enqueue functions wait, for LAPACK on the host.
 */
enum { bd_cuda_svd_most = 256 };

/* R (n x n, upper triangle read, columns ldr apart) = U diag(sigma) V^T: sigma (descending) and V
 * are then where the table's sigma and v point to. Starts from the V of the compute before.
 * NaN or Inf in R: sigma and V become NaN, and the next compute starts cold. `stop` (may be NULL):
 * where *stop != 0 the kernels return at once, and sigma and V stay as they are. */
enum bd_status bd_cuda_svd_enqueue(void *work, const float *r, int64_t ldr, const int *stop);

/* The same from G = R^T R (n x n, both triangles, columns n apart, 16-byte aligned) in float64, for
 * n up to bd_cuda_svd_most: as accurate, and there need be no R. */
enum bd_status bd_cuda_svd_enqueue_gram(void *work, const double *gram, const int *stop);

/* W (n x n, columns ldw apart) := V diag(max(0, 1 - tau / sigma)) V^T of the last compute; products
 * are summed in float64. ranks (2, may be NULL): how many sigma are above tau + FLT_EPSILON *
 * sigma[0], and how many are above tau. */
enum bd_status bd_cuda_svd_weights_enqueue(void *work, float *w, int64_t ldw, double tau,
                                           int *ranks, const int *stop);

/* The next compute starts cold, from V = I. */
void bd_cuda_svd_forget(void *work);

/* Functions of bd_cuda_svd_ops (linalg/shared/svd_ops.h) outside small_svd.cu. */
enum bd_status bd_cuda_svd_weights(void *work, float *w, int64_t ldw, int64_t *rank, double tau);
enum bd_status bd_cuda_svd_factor(void *work, float *f, int64_t ldf, float *ft, int64_t ldft,
                                  int64_t *rank, double tau);

#ifdef __cplusplus
}
#endif
#endif
