/* The names that the drop-in exports, for the version script's sake and the tests': one line a
 * routine, with its C declaration. Interfaces are LAPACK's and qrupdate's. */
#ifndef BD_LAPACK_NAMES_H
#define BD_LAPACK_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* LAPACK 3.11: QR, in the format of reflectors and their scale factors. */
void sgeqrf_(const int32_t *m, const int32_t *n, float *a, const int32_t *lda, float *tau,
             float *work, const int32_t *lwork, int32_t *info);
void sgeqr2_(const int32_t *m, const int32_t *n, float *a, const int32_t *lda, float *tau,
             float *work, int32_t *info);
void sorgqr_(const int32_t *m, const int32_t *n, const int32_t *k, float *a, const int32_t *lda,
             const float *tau, float *work, const int32_t *lwork, int32_t *info);
void sorg2r_(const int32_t *m, const int32_t *n, const int32_t *k, float *a, const int32_t *lda,
             const float *tau, float *work, int32_t *info);
void sormqr_(const char *side, const char *trans, const int32_t *m, const int32_t *n,
             const int32_t *k, const float *a, const int32_t *lda, const float *tau, float *c,
             const int32_t *ldc, float *work, const int32_t *lwork, int32_t *info,
             size_t side_length, size_t trans_length);
void sorm2r_(const char *side, const char *trans, const int32_t *m, const int32_t *n,
             const int32_t *k, const float *a, const int32_t *lda, const float *tau, float *c,
             const int32_t *ldc, float *work, int32_t *info, size_t side_length,
             size_t trans_length);

/* QR in a format of the implementation's own. */
void sgeqr_(const int32_t *m, const int32_t *n, float *a, const int32_t *lda, float *t,
            const int32_t *tsize, float *work, const int32_t *lwork, int32_t *info);
void sgemqr_(const char *side, const char *trans, const int32_t *m, const int32_t *n,
             const int32_t *k, const float *a, const int32_t *lda, const float *t,
             const int32_t *tsize, float *c, const int32_t *ldc, float *work, const int32_t *lwork,
             int32_t *info, size_t side_length, size_t trans_length);

/* Least squares and least norm by QR or LQ. */
void sgels_(const char *trans, const int32_t *m, const int32_t *n, const int32_t *nrhs, float *a,
            const int32_t *lda, float *b, const int32_t *ldb, float *work, const int32_t *lwork,
            int32_t *info, size_t trans_length);

/* qrupdate 1.1: QR after a column or row was inserted or deleted. */
void sqrinc_(const int32_t *m, const int32_t *n, const int32_t *k, float *q, const int32_t *ldq,
             float *r, const int32_t *ldr, const int32_t *j, const float *x, float *w);
void sqrdec_(const int32_t *m, const int32_t *n, const int32_t *k, float *q, const int32_t *ldq,
             float *r, const int32_t *ldr, const int32_t *j, float *w);
void sqrinr_(const int32_t *m, const int32_t *n, float *q, const int32_t *ldq, float *r,
             const int32_t *ldr, const int32_t *j, float *x, float *w);
void sqrder_(const int32_t *m, const int32_t *n, float *q, const int32_t *ldq, float *r,
             const int32_t *ldr, const int32_t *j, float *w);

#endif
