/* QR of tall matrices by their Gram matrix: V = Q R, V m x n with m >= n, Q m x n in its place, R
 * n x n upper triangular with diagonal >= 0, float32 or float64. A pass forms G = V^T V, finds a
 * triangular R with R^T R ~ G on small data, and solves V := V R^-1; passes are repeated, the Rs
 * multiplied, until V is as orthogonal as is wanted. A pass reads V twice and reduces n x n numbers
 * once, whatever m is, so that V may be spread by blocks of rows over several devices.
 *
 * CholQR, SVQR and its adaptive mixed precision: Yamazaki, Tomov, Dongarra: Stability and
 * performance of various singular value QR implementations on multicore CPU with a GPU (2016);
 * Stathopoulos, Wu: A block orthogonalization procedure with constant synchronization requirements
 * (2002). Shifted CholQR3: Fukaya, Kannan, Nakatsukasa, Yamamoto, Yanagisawa: Shifted Cholesky QR
 * for computing the QR factorization of ill-conditioned matrices (2020). G is summed in float64 and
 * all arithmetic is float64 but where `mixed` says otherwise; elements of V and R are rounded to
 * their type when they are stored. */
#ifndef BACKDROP_GRAM_QR_H
#define BACKDROP_GRAM_QR_H

#include <backdrop/matrix.h>
#include <backdrop/triangular.h>

#ifdef __cplusplus
extern "C" {
#endif

enum bd_gram_qr_method {
    /* R = chol(G), repeated until V is orthogonal enough. A pivot <= 0 ends a factorisation: R is
     * then [R11 R12; 0 I], and the next pass goes on with the columns that are left (Yamazaki,
     * Tomov, Dongarra, section 2). */
    BD_GRAM_QR_CHOLESKY,
    /* Two such passes: orthogonal to rounding for condition numbers up to about 1e7. */
    BD_GRAM_QR_CHOLESKY2,
    /* Three passes, the first with R = chol(G + s I), G scaled to unit diagonal and s =
     * 11 (m n + n (n + 1)) epsilon / 2 (Fukaya et al., section 3.1, where ||A||_2^2 is bounded for
     * columns of unit norm): for larger condition numbers, up to about 1e15 / sqrt(m n). */
    BD_GRAM_QR_SHIFTED3,
    /* Singular value QR, for any V: with D = diag(G) and the eigenvalues of D^-1/2 G D^-1/2 = U S
     * U^T, those below epsilon s_1 clamped to that, W R = qr(S^1/2 U^T) D^1/2. Repeated until V is
     * orthogonal enough. */
    BD_GRAM_QR_SVD
};

/* How to factor; all 0 means the defaults. */
struct bd_gram_qr_options {
    enum bd_gram_qr_method method;
    enum bd_triangular_solve solve;
    /* BD_GRAM_QR_SVD of float64: V R^-1 is computed in float32 in passes whose scaled Gram matrix
     * has a condition of at least 1 / epsilon, where that does not cost orthogonality (figure 10 of
     * the paper); it costs backward error: V = Q R then holds to float32 only. */
    bool mixed;
    /* The wanted ||Q^T Q - I||_F, n * epsilon of the type to 0.25; 0: n * epsilon of the type. */
    double orthogonality;
    /* At most so many passes, 1 to bd_gram_qr_max_passes, and what they give is taken; 0: as many
     * as the method has (2, 3), or for CHOLESKY and SVD as it takes, and a Q that is not orthogonal
     * enough then is an error. */
    int max_passes;
};

enum { bd_gram_qr_max_passes = 10 };

/* What a pass did. */
struct bd_gram_qr_pass {
    /* ||V^T V - I||_F of what this pass started from. */
    double orthogonality;
    /* Of the Gram matrix scaled to unit diagonal, in the 2-norm; estimated from R by the Cholesky
     * methods (Bischof's incremental condition estimation; on cuda, where up to 32 or many
     * columns are nearly orthogonal, a bound by ||G - I||_F), computed by SVD; HUGE_VAL where
     * the Cholesky factorisation failed or the least singular value is 0. */
    double condition;
    int64_t truncated; /* singular values that were clamped */
    bool failed;       /* the Cholesky factorisation met a pivot <= 0 */
    bool single;       /* V R^-1 was computed in float32 */
    bool skipped;      /* V was orthogonal enough: nothing was done */
};

struct bd_gram_qr_report {
    int passes; /* 1 to bd_gram_qr_max_passes; a last one that was skipped is counted */
    struct bd_gram_qr_pass pass[bd_gram_qr_max_passes];
    /* A bound by rounding analysis, not measured: about n epsilon times the condition of the last
     * pass, HUGE_VAL where that failed; of a pass that was skipped, what that measured. */
    double orthogonality;
};

struct bd_gram_qr; /* workspace */

/* Makes all workspace for V with rows[0] + ... + rows[blocks - 1] = m rows, m >= n >= 1, of BD_F32
 * or BD_F64: block i, rows[i] >= 0 of them, is in the memory of backends[i]. All are of one kind
 * and, with cuda, of one GPU (backdrop/backend.h); the same may be named twice. One block is the
 * usual case. Later calls allocate nothing. `options` may be NULL. BD_ERROR_ARGUMENT for sizes and
 * options out of range; BD_ERROR_UNSUPPORTED for n beyond what the backend has (cuda:
 * 256 columns for SVD, 1024 otherwise). */
BD_API enum bd_status bd_gram_qr_create(struct bd_gram_qr **qr, struct bd_backend *const *backends,
                                        const int64_t *rows, int blocks, int64_t n,
                                        enum bd_type type,
                                        const struct bd_gram_qr_options *options);
BD_API void bd_gram_qr_destroy(struct bd_gram_qr **qr);

/* v: the blocks, an array of `blocks` views of rows[i] x n: V on entry, Q on exit. r (n x n, of
 * backends[0], zeros below the diagonal) and report may be NULL. Waits for the devices.
 *
 * Any scale of columns works, denormal ones included. Where a column of V is 0, or nothing is left
 * of it when those before it are taken out, the diagonal of R is 0 there, and the column of Q is a
 * pseudo-random one made orthogonal.
 *
 * BD_ERROR_NUMERIC: NaN or Inf in V, which is then not changed and R not written; or, where
 * options.max_passes is 0, the wanted orthogonality was not reached, with V = Q R and the report as
 * on success. */
BD_API enum bd_status bd_gram_qr_run(struct bd_gram_qr *qr, struct bd_matrix *v,
                                     struct bd_matrix *r, struct bd_gram_qr_report *report);

#ifdef __cplusplus
}
#endif
#endif
