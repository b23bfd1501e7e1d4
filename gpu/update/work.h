/* Private to update.cu and narrow.cu: the workspace of QR updating, and what is done
 * to a thin Q of at most bd_update_most_cols columns. */
#ifndef BD_GPU_UPDATE_WORK_H
#define BD_GPU_UPDATE_WORK_H

#include "gpu/update/blocked/blocked.h"
#include "gpu/update/update.h"
#include "linalg/shared/update_ops.h"

struct bd_update_work {
    bd_cuda *cuda;
    struct bd_cuda_blocked *blocked; /* NULL: the GPU has too little shared memory for it */
    bool full_q;
    int64_t m;    /* rows of the call at work */
    int max_cols; /* of a narrow R */
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

/* p columns at k come or go; `call` is the number of the update, which is left undone if what comes
 * in turns out not to be finite. Nothing is waited for. q may be NULL where columns go. */
void bd_update_rotations_remove(struct bd_update_work *work, const struct bd_qr_parts *f, int64_t k,
                                int64_t p, int call);
enum bd_status bd_update_rotations_insert(struct bd_update_work *work, const struct bd_qr_parts *f,
                                          int64_t k, int64_t p, const float *u, int64_t ldu,
                                          int call);
enum bd_status bd_update_rotations_slide(struct bd_update_work *work, const struct bd_qr_parts *f,
                                         int64_t p, const float *u, int64_t ldu, int call);

#endif
