/* Private to backends/: the tables of this build's backends. */
#ifndef BD_BACKENDS_TABLES_H
#define BD_BACKENDS_TABLES_H

#include "linalg/shared/gram_qr_ops.h"
#include "linalg/shared/ops.h"
#include "linalg/shared/qr_ops.h"
#include "linalg/shared/rpca_ops.h"
#include "linalg/shared/svd_ops.h"
#include "linalg/shared/update_ops.h"
#ifdef BD_HAVE_SEPARATION
#include "separation/shared/ops.h"
#endif

extern const struct bd_backend_ops bd_cpu_ops, bd_cuda_ops;

#endif
