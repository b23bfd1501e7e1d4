/* Private to update.cu and rotations.cu: the workspace of QR updating, and updates by rotations of
 * a thin Q of at most bd_update_most_cols columns. */
#ifndef BD_GPU_UPDATE_WORK_H
#define BD_GPU_UPDATE_WORK_H

#include "gpu/update/blocked/blocked.h"
#include "gpu/update/update.h"
#include "linalg/shared/update_ops.h"

struct bd_update_work {
    bd_cuda *cuda;
    struct bd_cuda_blocked *blocked; /* NULL: this GPU has too little shared memory */
    bool full_q;
    int64_t m;    /* rows of the call at work */
    int max_cols; /* of an R that is updated by rotations */
    bd_update_launch launch;
    cudaStream_t side;
    cudaEvent_t fork, join, checked;
    int call;
    int *host_bad; /* page-locked: the number of the last update that was refused */
    bd_update_state *state;
    float2 *cs;
    double *w, *sums, *partials, *gathered;
    float *small;
    double *append_z; /* max_cols of the workspace; NULL where they fit a thread block */
};

/* p columns come or go at k. `call` is the number of the update: it is not made if its new columns
 * turn out not to be finite. The host does not wait. q may be NULL where columns go. */
void bd_update_rotations_remove(struct bd_update_work *work, const struct bd_qr_parts *f, int64_t k,
                                int64_t p, int call);
enum bd_status bd_update_rotations_insert(struct bd_update_work *work, const struct bd_qr_parts *f,
                                          int64_t k, int64_t p, const float *u, int64_t ldu,
                                          int call);
enum bd_status bd_update_rotations_slide(struct bd_update_work *work, const struct bd_qr_parts *f,
                                         int64_t p, const float *u, int64_t ldu, int call);

#endif
