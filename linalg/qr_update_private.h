/* Private: what the library's own algorithms ask of QR updating beyond qr_update.h. */
#ifndef BD_LINALG_QR_UPDATE_PRIVATE_H
#define BD_LINALG_QR_UPDATE_PRIVATE_H

#include "linalg/qr_update.h"

#ifdef __cplusplus
extern "C" {
#endif

/* bd_qr_append_gram with the inner products where they were computed: g is n + 1 doubles in the
 * backend's memory, A^T u and then u^T u, which have to be finite. Shapes are checked, numbers are
 * not; nothing is copied and nobody waits. BD_ERROR_ARGUMENT as for bd_qr_append_gram. */
enum bd_status bd_qr_append_gram_device(struct bd_qr_update *update, struct bd_matrix *r,
                                        const double *g);

#ifdef __cplusplus
}
#endif
#endif
