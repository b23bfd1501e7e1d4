/* How orthogonal V is after a pass of QR by the Gram matrix: for linalg/gram_qr and for backends,
 * on the host or on a GPU. */
#ifndef BD_LINALG_SHARED_GRAM_QR_BOUND_H
#define BD_LINALG_SHARED_GRAM_QR_BOUND_H

#include <float.h>
#include <math.h>

#include <backdrop/gram_qr.h>

#ifdef __CUDACC__
#define BD_ANYWHERE __host__ __device__
#else
#define BD_ANYWHERE
#endif

/* A bound of ||Q^T Q - I||_F after a pass; HUGE_VAL where there is none. Rounding errors of G and R
 * are amplified in Q by the condition of G, in float32 by that of V (Yamazaki, Tomov, Dongarra,
 * theorem 5.1); the rounding of Q's own elements is added. */
static inline BD_ANYWHERE double bd_gram_bound(int64_t n, enum bd_type type,
                                               const struct bd_gram_qr_pass *pass)
{
    if (pass->skipped)
        return pass->orthogonality;
    if (pass->failed || pass->truncated)
        return HUGE_VAL;
    double bound = (double)n * DBL_EPSILON * pass->condition;
    if (pass->single)
        bound += (double)n * (double)FLT_EPSILON * sqrt(pass->condition);
    if (type == BD_F32)
        bound += (double)n * (double)FLT_EPSILON / 2;
    return bound;
}

/* Whether this pass can be the last: Q is as orthogonal as wanted, or G was so near to I that
 * another pass would not improve Q. */
static inline BD_ANYWHERE bool bd_gram_good_enough(int64_t n, enum bd_type type, double wanted,
                                                   const struct bd_gram_qr_pass *pass)
{
    return bd_gram_bound(n, type, pass) <= wanted ||
           (pass->condition < 2 && !pass->failed && !pass->single);
}

#endif
