/* The table of QR factorisation (backdrop/qr.h). */
#ifndef BD_LINALG_SHARED_QR_OPS_H
#define BD_LINALG_SHARED_QR_OPS_H

#include <backdrop/qr.h>

#include "linalg/shared/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* QR by the methods of backdrop/qr.h. options: 0 fields mean the tuned default. */
struct bd_qr_ops {
    enum bd_status (*create)(struct bd_backend *backend, int64_t m, int64_t n,
                             const struct bd_qr_options *options, void **plan);
    void (*destroy)(void *plan);
    enum bd_status (*factor)(void *plan, float *a, int64_t lda);
    enum bd_status (*get_r)(void *plan, float *r, int64_t ldr);
    enum bd_status (*form_q)(void *plan, float *q, int64_t ldq);      /* q may be the factored a */
    enum bd_status (*form_full_q)(void *plan, float *q, int64_t ldq); /* m x m, not in a */
    enum bd_status (*apply)(void *plan, enum bd_qr_op op, float *c, int64_t ldc, int64_t k);
    enum bd_status (*reduce)(void *plan, const float *a, int64_t lda, float *r, int64_t ldr);
    /* q may be a (ldq = lda then); may wait for the device. BD_ERROR_NUMERIC for NaN or Inf. */
    enum bd_status (*thin)(void *plan, const float *a, int64_t lda, float *q, int64_t ldq, float *r,
                           int64_t ldr);
};

/* The implementations; cuda in builds that have it. */
extern const struct bd_qr_ops bd_cpu_qr_ops, bd_cuda_qr_ops;

#ifdef __cplusplus
}
#endif
#endif
