/* What an update costs, and what factoring anew would. */
#include "linalg/backend_ops.h"
#include "linalg/qr_update_private.h"

enum bd_status bd_qr_update_cost(const struct bd_qr_update *update,
                                 const struct bd_qr_change *change, struct bd_qr_cost *cost)
{
    (void)change;
    *cost = (struct bd_qr_cost){ 0 };
    return bd_fail(BD_ERROR_UNSUPPORTED, "%s: no model of the cost of QR updates yet",
                   update->backend->ops->name);
}
