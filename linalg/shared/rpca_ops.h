/* The table of batch Robust PCA (backdrop/rpca.h). */
#ifndef BD_LINALG_SHARED_RPCA_OPS_H
#define BD_LINALG_SHARED_RPCA_OPS_H

#include <backdrop/rpca.h>

#include "linalg/shared/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One iteration of the batch solver, from the state T that the one before wrote; in grey levels as
 * M has them. With c = clip(T, +-clip_read): S = T - c, Y/mu = dual_scale * c, and X = M - S + Y/mu
 * is what the singular-value thresholding works on. */
struct bd_rpca_step {
    float clip_read;  /* lambda / mu of the iteration that wrote T */
    float dual_scale; /* mu of that iteration / mu of this one */
    float clip_write; /* lambda / mu of this iteration: the new S is T - clip(T, +-clip_write) */
    int keep_svd;     /* X is a multiple of M: the SVD that start computed is used */
    double tau;       /* what the singular values of that SVD, or else of X, are reduced by */
};

/* Of M: ||M||_F, ||M||_2, max |M|. */
struct bd_rpca_norms {
    double frobenius, spectral, max;
};

/* Of an iteration: ||M - L - S||_F, and the rank of L to float32 rounding (singular values of X
 * above tau + FLT_EPSILON times the largest). */
struct bd_rpca_outcome {
    double residual;
    int64_t rank;
};

/* How many iterations may be enqueued ahead of the outcomes that the host knows. */
enum { bd_rpca_ahead = 3 };

/* Batch Robust PCA (backdrop/rpca.h). M is BD_U8 or BD_F32 by `type` and stays where it is; the
 * state T (m x n) is the plan's. */
struct bd_rpca_ops {
    enum bd_status (*create)(struct bd_backend *backend, int64_t m, int64_t n, void **plan);
    void (*destroy)(void *plan);
    /* T := M (with clip_read = FLT_MAX that is S = 0 and Y a multiple of M); the SVD of M and its
     * norms; BD_ERROR_NUMERIC on NaN or Inf. Outcomes that were not polled are dropped. */
    enum bd_status (*start)(void *plan, const void *x, int64_t ldx, enum bd_type type,
                            struct bd_rpca_norms *norms);
    /* The SVD of X, L = X W with the singular values reduced by tau, T := M - L + Y/mu =
     * S + (X - L). A residual below `stop_below` ends the solve: iterations enqueued after that one
     * do nothing, so that the state is as if the host had waited. The residual is that of the new
     * S, the norm of clip(new T, +-clip_write) - dual_scale * clip(old T, +-clip_read). At most
     * bd_rpca_ahead iterations are enqueued whose outcome has not been polled. */
    enum bd_status (*iterate)(void *plan, const struct bd_rpca_step *step, double stop_below);
    /* The outcome of the oldest iteration that has not been polled. *ready = 0 while that iteration
     * runs, unless wait = 1. Not called for iterations after the one that ended the solve. */
    enum bd_status (*poll)(void *plan, int wait, struct bd_rpca_outcome *outcome, int *ready);
    /* The L and the new S of that step, either may be NULL; T stays as it is. For when no iteration
     * is under way; the same every time until the next start or iteration. */
    enum bd_status (*get)(void *plan, const struct bd_rpca_step *step, float *l, int64_t ldl,
                          float *s, int64_t lds);
};

/* The implementations; cuda in builds that have it. */
extern const struct bd_rpca_ops bd_cpu_rpca_ops, bd_cuda_rpca_ops;

#ifdef __cplusplus
}
#endif
#endif
