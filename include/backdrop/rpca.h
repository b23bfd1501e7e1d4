/* Robust PCA of a whole window, the batch solver: min ||L||_* + lambda ||S||_1 with L + S = M, by
 * an inexact augmented Lagrangian method (Candes, Li, Ma, Wright 2011; Lin, Chen, Ma 2010) in the
 * one-array form: with T = M - L + Y/mu, S = T - clip(T, +-lambda/mu) and the next Y/mu is
 * clip(T, +-lambda/mu) up to the change of mu, so one m x n array of state is enough. An iteration
 * is two sweeps over M and T with one QR (R alone) and one SVD of R in between.
 *
 * Optimality. Y is a subgradient of lambda ||S||_1 after each iteration, and Z = mu (X - L), with
 * X = M - S + Y/mu of the old S and Y, is one of ||L||_*. At a solution they are equal. They differ
 * by the dual residual, Z - Y = mu (S - old S), so that for every solution L*, S*
 *
 *     ||L||_* + lambda ||S||_1 - (||L*||_* + lambda ||S*||_1)
 *         <= ||Y||_F ||M - L - S||_F + ||Z - Y||_F ||L - L*||_F
 *
 * (Boyd, Parikh, Chu, Peleato, Eckstein 2011, section 3.3). The first norm on the right is the
 * residual; the solver measures ||Z - Y||_F / ||Z||_F as well, the optimality. ||Z||_F comes from
 * the singular values of X. A matrix of 5000 x 100, rank 10, 10 % of it corrupted: with rho = 1.5
 * the residual falls below 1e-6 at an optimality of 1e-2, where L is off by 1e-3; where both are
 * small, L is off by 1e-6.
 *
 * Missing entries: ||S||_1 is that of the entries that are observed, and L + S = M is asked of
 * these only (Candes and others 2011, section 1.6). Y is 0 elsewhere, and S is reported as 0.
 *
 * Noise: min ||L||_* + lambda ||S||_1 + ||M - L - S||_F^2 / (2 nu) (Zhou, Li, Wright, Candes, Ma
 * 2010), with nu = (sqrt(m) + sqrt(n)) sqrt(share observed) noise, about the norm of the noise: the
 * least value with which a matrix of noise alone has L = 0. The noise N = M - L - S is a part of
 * E = S + N, which takes the place of S above; Y/mu is clip(T / (1 + nu mu), +-lambda/mu). */
#ifndef BACKDROP_RPCA_H
#define BACKDROP_RPCA_H

#include <stdbool.h>

#include <backdrop/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bd_rpca;

struct bd_rpca_options {
    double lambda; /* 0: 1 / sqrt(max(m, n) share), of the share of entries that are observed */
    /* Stop at ||M - L - S||_F / ||M||_F below this; 0: 1e-6. Rounding may keep it above 2e-7. */
    double tolerance;
    /* 0: mu is adapted so that residual and optimality fall together. Else the growth of mu an
     * iteration, in (1, 10]; such a solve ends where the residual is below the tolerance. */
    double rho;
    int max_iterations; /* 0: 500 */
    /* Asked before each iteration; true ends the solve with BD_ERROR_INTERRUPTED. May be NULL. */
    bool (*interrupted)(void *user);
    void *user;
    double optimality; /* stop at an optimality below this; 0: 1e-4 */
    /* m x n, BD_U8, in the memory of the backend: 0 where an entry of M is missing, whatever M has
     * there. NULL: none is. The struct is copied; its data are read when a solve begins, and may
     * change between solves. */
    const struct bd_matrix *observed;
    double noise; /* standard deviation of the noise of an entry of M; 0: there is none */
};

struct bd_rpca_result {
    int iterations;
    int64_t rank;    /* of L, to float32 rounding of its largest singular value */
    double residual; /* ||M - L - S||_F / ||M||_F reached; with noise, ||M - L - S - N||_F */
    double seconds;
    double optimality; /* ||Z - Y||_F / ||Z||_F reached: 0 at a solution */
};

/* State and workspace for windows of m x n: 4 m n bytes of state, and with missing entries or noise
 * 4 m n bytes more. `options` may be NULL. */
BD_API enum bd_status bd_rpca_create(struct bd_rpca **rpca, struct bd_backend *backend, int64_t m,
                                     int64_t n, const struct bd_rpca_options *options);
BD_API void bd_rpca_destroy(struct bd_rpca **rpca);

/* Solves for M (m x n, BD_U8 frames or BD_F32). M must stay until L and S have been read.
 * `result` may be NULL. BD_ERROR_NUMERIC when M holds NaN or Inf. BD_ERROR_CONVERGENCE when the
 * iteration limit is reached first, or a fixed rho ends at a point that is not optimal: L, S and
 * the result are then those of that point. A zero M gives L = S = 0 in 0 iterations. */
BD_API enum bd_status bd_rpca_solve(struct bd_rpca *rpca, const struct bd_matrix *m,
                                    struct bd_rpca_result *result);

/* L, S (m x n, BD_F32) of the last solve, either may be NULL: those of one more iteration, which
 * leaves the state as it is. L has the rank of the result (to rounding) and no missing entries. S
 * is exactly 0 where nothing is sparse. Without noise and missing entries, ||M - L - S||_F is below
 * the result's residual. */
BD_API enum bd_status bd_rpca_get(struct bd_rpca *rpca, struct bd_matrix *l, struct bd_matrix *s);

#ifdef __cplusplus
}
#endif
#endif
