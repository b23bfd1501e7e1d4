/* Private to gpu/gram_qr/gram_qr.cu and persistent.cu: the first passes in one launch. */
#ifndef BD_GPU_GRAM_QR_NARROW_PERSISTENT_H
#define BD_GPU_GRAM_QR_NARROW_PERSISTENT_H

#include "gpu/gram_qr/plan.h"

/* Fills plan->persistent, which stays as it is where there is no such kernel. */
enum bd_status bd_cuda_gram_persistent_create(struct gram_plan *plan);
void bd_cuda_gram_persistent_destroy(struct gram_plan *plan);

#endif
