/* The cuda backend: what it can do in this build. */
#include "backends/tables.h"

const struct bd_backend_ops bd_cuda_ops = {
    .name = "cuda",
    .device = &bd_cuda_device_ops,
    .qr = &bd_cuda_qr_ops,
    .update = &bd_cuda_update_ops,
    .gram_qr = &bd_cuda_gram_qr_ops,
    .svd = &bd_cuda_svd_ops,
    .rpca = &bd_cuda_rpca_ops,
#ifdef BD_HAVE_SEPARATION
    .separation = &bd_cuda_separation_ops,
#endif
};
