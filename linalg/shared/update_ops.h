/* The table of QR updating (backdrop/qr_update.h). */
#ifndef BD_LINALG_SHARED_UPDATE_OPS_H
#define BD_LINALG_SHARED_UPDATE_OPS_H

#include <backdrop/qr_update.h>

#include "linalg/shared/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bd_qr_update_costs; /* linalg/shared/update_cost.h */

/* The factors of an update (backdrop/qr_update.h), in the backend's memory. */
struct bd_qr_parts {
    float *q;               /* m x q_cols; NULL: R and d alone */
    int64_t ldq, m, q_cols; /* q_cols: n, or m for the full Q; all 0 without Q */
    float *r;               /* n x n, zeros below the diagonal */
    int64_t ldr, n;
    float *d;         /* q_cols x rhs, without Q n x rhs; NULL: none */
    int64_t ldd, rhs; /* 0: none */
};

/* QR updating (backdrop/qr_update.h). The factors are those before a change, with room for it: so
 * are m, q_cols, n and rhs. Whether a Q is full follows from the shape at creation (m = n looks the
 * same). Removed columns of a full Q stay at its end. With a thin Q and d, insert, slide and
 * remove_rows leave d to project. Functions that take new columns or rows (u: m x p, or p x n; e:
 * p x rhs, NULL without d) return BD_ERROR_NUMERIC where these hold NaN or Inf, with the factors as
 * before. append_gram: g is n + 1 doubles in the backend's memory, A^T u and then u^T u. */
struct bd_update_ops {
    enum bd_status (*create)(struct bd_backend *backend, const struct bd_qr_update_shape *shape,
                             void **work);
    void (*destroy)(void *work);
    enum bd_status (*remove)(void *work, const struct bd_qr_parts *parts, int64_t k, int64_t p);
    enum bd_status (*insert)(void *work, const struct bd_qr_parts *parts, int64_t k, int64_t p,
                             const float *u, int64_t ldu);
    enum bd_status (*slide)(void *work, const struct bd_qr_parts *parts, int64_t p, const float *u,
                            int64_t ldu);
    enum bd_status (*insert_rows)(void *work, const struct bd_qr_parts *parts, int64_t k, int64_t p,
                                  const float *u, int64_t ldu, const float *e, int64_t lde);
    enum bd_status (*remove_rows)(void *work, const struct bd_qr_parts *parts, int64_t k,
                                  int64_t p);
    /* BD_ERROR_NUMERIC where X (rows x cols) holds NaN or Inf; the host waits for that. */
    enum bd_status (*check)(void *work, const float *x, int64_t ldx, int64_t rows, int64_t cols);
    /* d := Q^T B, B m x rhs, for a thin Q. */
    enum bd_status (*project)(void *work, const struct bd_qr_parts *parts, const float *b,
                              int64_t ldb);
    /* X (n x rhs) := R^-1 d(1:n), x may be d; BD_ERROR_NUMERIC for a zero on the diagonal of R;
     * the host waits for that. */
    enum bd_status (*solve)(void *work, const float *r, int64_t ldr, int64_t n, const float *d,
                            int64_t ldd, int64_t rhs, float *x, int64_t ldx);
    const struct bd_qr_update_costs *costs;
    enum bd_status (*append_gram)(void *work, float *r, int64_t ldr, int64_t n, const double *g);
};

/* The implementations; cuda in builds that have it. */
extern const struct bd_update_ops bd_cpu_update_ops, bd_cuda_update_ops;

#ifdef __cplusplus
}
#endif
#endif
