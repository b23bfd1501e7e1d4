/* Private: what QR updating consists of, and what the library's own algorithms ask of it beyond
 * qr_update.h. */
#ifndef BD_LINALG_QR_UPDATE_PRIVATE_H
#define BD_LINALG_QR_UPDATE_PRIVATE_H

#include "linalg/qr_update.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bd_qr_update {
    struct bd_backend *backend;
    struct bd_qr_update_shape shape;
    void *work;     /* the backend's */
    double *gram;   /* max_cols: inner products, in the backend's memory */
    double *staged; /* max_cols: the same on the host, to go up in one piece */
};

/* What bd_qr_append_gram works with, made at creation. */
enum bd_status bd_qr_update_make_gram(struct bd_qr_update *update);

/* bd_qr_append_gram with the inner products where they were computed: g is n + 1 doubles in the
 * backend's memory, A^T u and then u^T u, which have to be finite. Shapes are checked, numbers are
 * not; nothing is copied and nobody waits. BD_ERROR_ARGUMENT as for bd_qr_append_gram. */
enum bd_status bd_qr_append_gram_device(struct bd_qr_update *update, struct bd_matrix *r,
                                        const double *g);

/* r is square, of at most max_cols. */
enum bd_status bd_qr_update_check_r(const struct bd_qr_update *update, const struct bd_matrix *r);

#ifdef __cplusplus
}
#endif
#endif
