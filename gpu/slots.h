/* Private to the CUDA backend: the slots of bd_cuda_ops by group; contracts in
 * linalg/backend_ops.h. */
#ifndef BD_GPU_SLOTS_H
#define BD_GPU_SLOTS_H

#include "linalg/backend_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* qr: gpu/qr.cu */

/* update: gpu/qr_update.cu */

/* svd: gpu/small_svd.cu */

/* rpca: gpu/rpca.cu */

/* sep: gpu/separator.cu */

#ifdef __cplusplus
}
#endif
#endif
