/* QR updating by a column whose inner products lie in the backend's memory: for the live separator,
 * which must not wait for a GPU. linalg/update/gram.c */
#ifndef BD_LINALG_SHARED_APPEND_GRAM_H
#define BD_LINALG_SHARED_APPEND_GRAM_H

#include <backdrop/qr_update.h>

#ifdef __cplusplus
extern "C" {
#endif

/* bd_qr_append_gram with the inner products in the backend's memory: g is n + 1 doubles, A^T u and
 * then u^T u, which have to be finite. Shapes are checked, numbers are not. Nothing is copied, and
 * the host does not wait. BD_ERROR_ARGUMENT as for bd_qr_append_gram. */
enum bd_status bd_qr_append_gram_device(struct bd_qr_update *update, struct bd_matrix *r,
                                        const double *g);

#ifdef __cplusplus
}
#endif
#endif
