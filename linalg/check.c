#include "linalg/shared/ops.h"

enum bd_status bd_backend_require(const struct bd_backend *backend, const void *table,
                                  const char *what)
{
    if (table)
        return BD_OK;
    return bd_fail(BD_ERROR_UNSUPPORTED, "backend %s: this build of it has no %s",
                   backend->ops->name, what);
}
