/* The cpu backend: what it can do in this build. */
#include "backends/tables.h"

const struct bd_backend_ops bd_cpu_ops = {
    .name = "cpu",
    .device = &bd_cpu_device_ops,
    .qr = &bd_cpu_qr_ops,
    .update = &bd_cpu_update_ops,
    .gram_qr = &bd_cpu_gram_qr_ops,
    .svd = &bd_cpu_svd_ops,
    .rpca = &bd_cpu_rpca_ops,
#ifdef BD_HAVE_SEPARATION
    .separation = &bd_cpu_separation_ops,
#endif
};
