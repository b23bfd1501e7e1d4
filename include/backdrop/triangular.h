/* Products of tall matrices with small triangles, in place: V := V R^-1 and V := V R, V m x n, R
 * n x n upper triangular, float32 or float64 alike. Yamazaki, Tomov, Dongarra: Stability and
 * performance of various singular value QR implementations on multicore CPU with a GPU (2016),
 * sections 3 and 4. All arithmetic is float64 unless float32 is asked for (`mixed`). */
#ifndef BACKDROP_TRIANGULAR_H
#define BACKDROP_TRIANGULAR_H

#include <stdbool.h>

#include <backdrop/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How V R^-1 is computed. */
enum bd_triangular_solve {
    /* Diagonal blocks of R are inverted, the rest is products: a block grows until the condition
     * number of its columns scaled to unit norm, by incremental condition estimation (Bischof
     * 1990), would pass max(tau kappa, 32), with kappa that of R scaled likewise, and tau the
     * square root of the epsilon that is computed with (section 3, (2); section 6). */
    BD_TRIANGULAR_ADAPTIVE,
    BD_TRIANGULAR_SUBSTITUTION,
    BD_TRIANGULAR_INVERSION /* one block, however ill-conditioned: V times the inverse of R */
};

struct bd_triangular; /* workspace */

/* Makes the workspace for V of m x n, m >= 0, n >= 1; calls allocate nothing. BD_ERROR_UNSUPPORTED
 * for more columns than the backend has (cuda: 1024). */
BD_API enum bd_status bd_triangular_create(struct bd_triangular **triangular,
                                           struct bd_backend *backend, int64_t m, int64_t n,
                                           enum bd_type type);
BD_API void bd_triangular_destroy(struct bd_triangular **triangular);

/* V := V R^-1; what is below the diagonal of R is not read. mixed (BD_F64 only): in float32. Waits
 * for the device. BD_ERROR_NUMERIC: R holds NaN or Inf, or a 0 on its diagonal (V is not changed
 * then), or V does, or the result overflows. */
BD_API enum bd_status bd_triangular_solve(struct bd_triangular *triangular,
                                          const struct bd_matrix *r, struct bd_matrix *v,
                                          enum bd_triangular_solve solve, bool mixed);

/* V := V R, otherwise likewise. */
BD_API enum bd_status bd_triangular_multiply(struct bd_triangular *triangular,
                                             const struct bd_matrix *r, struct bd_matrix *v,
                                             bool mixed);

#ifdef __cplusplus
}
#endif
#endif
