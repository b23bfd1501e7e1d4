/* SVD of the small R, and singular-value thresholding by it. */
#ifndef BACKDROP_SMALL_SVD_H
#define BACKDROP_SMALL_SVD_H

#include <backdrop/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bd_small_svd; /* workspace */

/* Workspace for n x n matrices, n <= 4096. */
BD_API enum bd_status bd_small_svd_create(struct bd_small_svd **svd, struct bd_backend *backend,
                                          int64_t n);
BD_API void bd_small_svd_destroy(struct bd_small_svd **svd);

/* R (n x n, upper triangular, not changed) = U diag(sigma) V^T; sigma (n, descending, on the host)
 * and V (n x n) are computed, U is not. Either may be NULL. BD_ERROR_NUMERIC if R holds NaN or Inf;
 * without sigma a GPU does not wait, and V is then NaN instead. The GPU starts from the V of the
 * compute before: it is several times faster where R changes little from one to the next. */
BD_API enum bd_status bd_small_svd_compute(struct bd_small_svd *svd, float *sigma,
                                           struct bd_matrix *v, const struct bd_matrix *r);

/* W (n x n) = V diag(max(0, 1 - tau / sigma)) V^T of the last compute, so that X W is the
 * singular-value thresholding of X = Q R by tau. *rank (may be NULL) is the number of singular
 * values above tau. */
BD_API enum bd_status bd_small_svd_threshold(struct bd_small_svd *svd, struct bd_matrix *w,
                                             int64_t *rank, double tau);

/* The same W as F F^T: F (n x rank) and its transpose. f and ft have room for n x n; their rows and
 * cols are set. */
BD_API enum bd_status bd_small_svd_factor(struct bd_small_svd *svd, struct bd_matrix *f,
                                          struct bd_matrix *ft, double tau);

#ifdef __cplusplus
}
#endif
#endif
