/* The table of the SVD of a small R (backdrop/small_svd.h). */
#ifndef BD_LINALG_SHARED_SVD_OPS_H
#define BD_LINALG_SHARED_SVD_OPS_H

#include <backdrop/small_svd.h>

#include "linalg/shared/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* SVD of R (backdrop/small_svd.h). compute: sigma (n, on the host) and v (n x n) may be NULL.
 * Without sigma a backend need not wait; NaN or Inf in R then gives NaN in sigma and V instead of
 * an error. sigma, v: those of the last compute in the backend's memory (n, and n x n), overwritten
 * by the next; columns of v are *ldv apart. weights and factor use them. */
struct bd_svd_ops {
    enum bd_status (*create)(struct bd_backend *backend, int64_t n, void **work);
    void (*destroy)(void *work);
    enum bd_status (*compute)(void *work, const float *r, int64_t ldr, float *sigma, float *v,
                              int64_t ldv);
    const float *(*sigma)(void *work);
    const float *(*v)(void *work, int64_t *ldv);
    /* May be NULL, where a compute does not depend on the one before. The next compute starts as
     * the first one did. */
    void (*forget)(void *work);
    enum bd_status (*weights)(void *work, float *w, int64_t ldw, int64_t *rank, double tau);
    /* W as F F^T: f is n x rank, ft its transpose; both have room for n x n. */
    enum bd_status (*factor)(void *work, float *f, int64_t ldf, float *ft, int64_t ldft,
                             int64_t *rank, double tau);
};

/* The implementations; cuda in builds that have it. */
extern const struct bd_svd_ops bd_cpu_svd_ops, bd_cuda_svd_ops;

#ifdef __cplusplus
}
#endif
#endif
