/* The table of batch Robust PCA (backdrop/rpca.h). */
#ifndef BD_LINALG_SHARED_RPCA_OPS_H
#define BD_LINALG_SHARED_RPCA_OPS_H

#include <backdrop/rpca.h>

#include "linalg/shared/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One iteration of the batch solver, from the state T that the one before wrote; in grey levels as
 * M has them. With c = clip(scale_read T, +-clip_read): E = T - c, Y/mu = dual_scale * c, and
 * X = M - E + Y/mu is what the singular-value thresholding works on. E is S, and the noise with it
 * where the problem has any.
 *
 * A relaxed problem has missing entries, or noise, or both. Where an entry is missing, M is 0 and c
 * is 0. The scales are 1 for a problem that is not relaxed, and not read. */
struct bd_rpca_step {
    float clip_read;   /* lambda / mu of the iteration that wrote T */
    float dual_scale;  /* mu of that iteration / mu of this one */
    float clip_write;  /* lambda / mu of this iteration: E is T - clip(scale_write T, that) */
    float clip_sparse; /* the new S is T - clip(T, +-clip_sparse); clip_write without noise */
    float scale_read;  /* 1 / (1 + nu mu) of the iteration that wrote T; nu: backdrop/rpca.h */
    float scale_write; /* the same of this iteration */
    int keep_svd;      /* X is a multiple of M: the SVD that start computed is used */
    double tau;        /* what the singular values of that SVD, or else of X, are reduced by */
};

/* A solve ends when an outcome has residual < `residual` and change < change * dual. */
struct bd_rpca_stop {
    double residual, change;
};

/* Of M: ||M||_F, ||M||_2, max |M|, and how many entries are not missing. */
struct bd_rpca_norms {
    double frobenius, spectral, max;
    int64_t observed;
};

/* Of an iteration. */
struct bd_rpca_outcome {
    double residual; /* ||M - L - E||_F */
    double change;   /* ||E - old E||_F: that of the dual residual, divided by mu */
    double dual;     /* ||X - L||_F: that of the subgradient of ||L||_*, divided by mu */
    int64_t rank;    /* of L to float32 rounding: singular values of X above tau + FLT_EPSILON times
                      * the largest */
    int stopped;     /* this iteration ended the solve */
};

/* How many iterations may be enqueued ahead of the outcomes that the host knows. */
enum { bd_rpca_ahead = 3 };

/* Batch Robust PCA (backdrop/rpca.h). M is BD_U8 or BD_F32 by `type` and stays where it is; the
 * state T (m x n) is the plan's. A relaxed plan keeps M as floats besides, NaN where it is missing.
 */
struct bd_rpca_ops {
    enum bd_status (*create)(struct bd_backend *backend, int64_t m, int64_t n, bool relaxed,
                             void **plan);
    void (*destroy)(void *plan);
    /* T := M (with clip_read = FLT_MAX that is E = 0 and Y a multiple of M); the SVD of M and its
     * norms; BD_ERROR_NUMERIC on NaN or Inf. Outcomes that were not polled are dropped. A relaxed
     * plan copies M, and knows by `observed` (bytes, 0: missing; NULL: all are there). */
    enum bd_status (*start)(void *plan, const struct bd_matrix *m, const struct bd_matrix *observed,
                            struct bd_rpca_norms *norms);
    /* The SVD of X, L = X W with the singular values reduced by tau, T := M - L + Y/mu =
     * E + (X - L). An outcome that meets `stop` ends the solve: iterations enqueued after that one
     * do nothing, so that the state is as if the host had waited. The residual is that of the new
     * E, the norm of clip(scale_write new T, +-clip_write) - dual_scale * c. At most bd_rpca_ahead
     * iterations are enqueued whose outcome has not been polled. */
    enum bd_status (*iterate)(void *plan, const struct bd_rpca_step *step,
                              const struct bd_rpca_stop *stop);
    /* The outcome of the oldest iteration that has not been polled. *ready = 0 while that iteration
     * runs, unless wait = 1. Not called for iterations after the one that ended the solve. */
    enum bd_status (*poll)(void *plan, int wait, struct bd_rpca_outcome *outcome, int *ready);
    /* The L and the new S of that step, either may be NULL; T stays as it is. S is 0 where an entry
     * is missing. For when no iteration is under way; the same every time until the next start or
     * iteration. */
    enum bd_status (*get)(void *plan, const struct bd_rpca_step *step, float *l, int64_t ldl,
                          float *s, int64_t lds);
};

/* The implementations; cuda in builds that have it. */
extern const struct bd_rpca_ops bd_cpu_rpca_ops, bd_cuda_rpca_ops;

#ifdef __cplusplus
}
#endif
#endif
