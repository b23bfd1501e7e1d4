/* Robust PCA of a whole window, the batch solver: min ||L||_* + lambda ||S||_1 with L + S = M, by
 * an inexact augmented Lagrangian method (Candes, Li, Ma, Wright 2011; Lin, Chen, Ma 2010) in the
 * one-array form: with T = M - L + Y/mu, S = T - clip(T, +-lambda/mu) and the next Y/mu is
 * clip(T, +-lambda/mu) up to the change of mu, so one m x n array of state is enough. An iteration
 * is two sweeps over M and T with one CAQR (R only) and one SVD of R in between. */
#ifndef BACKDROP_RPCA_H
#define BACKDROP_RPCA_H

#include <stdbool.h>

#include <backdrop/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bd_rpca;

struct bd_rpca_options {
    double lambda;      /* 0: 1 / sqrt(max(m, n)) */
    double tolerance;   /* stop at ||M - L - S||_F / ||M||_F below this; 0: 1e-6 */
    double rho;         /* growth of mu an iteration; 0: 1.5 */
    int max_iterations; /* 0: 200 */
    /* Asked before each iteration; true ends the solve with BD_ERROR_INTERRUPTED. May be NULL. */
    bool (*interrupted)(void *user);
    void *user;
};

struct bd_rpca_result {
    int iterations;
    int64_t rank;    /* of L, to float32 rounding of its largest singular value */
    double residual; /* ||M - L - S||_F / ||M||_F reached */
    double seconds;
};

/* State and workspace for windows of m x n. `options` may be NULL. */
BD_API enum bd_status bd_rpca_create(struct bd_rpca **rpca, struct bd_backend *backend, int64_t m,
                                     int64_t n, const struct bd_rpca_options *options);
BD_API void bd_rpca_destroy(struct bd_rpca **rpca);

/* Solves for M (m x n, BD_U8 frames or BD_F32). M must stay until L and S have been read.
 * `result` may be NULL. BD_ERROR_NUMERIC when M holds NaN or Inf or the iteration limit is reached
 * (the state is then still readable). A zero M gives L = S = 0 in 0 iterations. */
BD_API enum bd_status bd_rpca_solve(struct bd_rpca *rpca, const struct bd_matrix *m,
                                    struct bd_rpca_result *result);

/* L, S (m x n, BD_F32) of the last solve, either may be NULL: those of one more iteration, which
 * leaves the state as it is. L has the rank of the result (to rounding), ||M - L - S||_F is below
 * its residual, and S is exactly 0 where nothing is sparse. */
BD_API enum bd_status bd_rpca_get(struct bd_rpca *rpca, struct bd_matrix *l, struct bd_matrix *s);

#ifdef __cplusplus
}
#endif
#endif
