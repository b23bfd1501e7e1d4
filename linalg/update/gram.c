/* A column that is appended to R alone, from inner products. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/shared/append_gram.h"
#include "linalg/shared/update_ops.h"
#include "linalg/update/private.h"

enum bd_status bd_qr_update_make_gram(struct bd_qr_update *update)
{
    size_t bytes = (size_t)update->shape.max_cols * sizeof(double);
    void *gram = NULL;
    enum bd_status status = update->backend->ops->device->alloc(update->backend, bytes, &gram);
    update->gram = gram;
    update->host_gram = malloc(bytes);
    if (status == BD_OK && !update->host_gram)
        status = bd_fail(BD_ERROR_MEMORY, "no memory for a QR update");
    return status;
}

/* R fits the workspace and has room for one more column. */
static enum bd_status check_append(const struct bd_qr_update *update, const struct bd_matrix *r)
{
    enum bd_status status = bd_qr_update_check_r(update, r);
    if (status != BD_OK)
        return status;
    int64_t n = r->cols;
    if (n + 1 > update->shape.max_cols || r->ld < n + 1)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "append to r of %lld columns: this QR update was made for %lld, ld = %lld",
                       (long long)n, (long long)update->shape.max_cols, (long long)r->ld);
    if (!r->data)
        return bd_fail(BD_ERROR_ARGUMENT, "r has no data");
    return BD_OK;
}

enum bd_status bd_qr_append_gram_device(struct bd_qr_update *update, struct bd_matrix *r,
                                        const double *g)
{
    enum bd_status status = check_append(update, r);
    if (status != BD_OK)
        return status;
    status = update->backend->ops->update->append_gram(update->work, r->data, r->ld, r->cols, g);
    if (status == BD_OK)
        r->rows = r->cols = r->cols + 1;
    return status;
}

enum bd_status bd_qr_append_gram(struct bd_qr_update *update, struct bd_matrix *r, const double *g,
                                 double uu)
{
    enum bd_status status = check_append(update, r);
    if (status != BD_OK)
        return status;
    int64_t n = r->cols;
    if (n && !g)
        return bd_fail(BD_ERROR_ARGUMENT, "g has no data");
    if (!isfinite(uu) || uu < 0)
        return bd_fail(BD_ERROR_NUMERIC, "uu = %g: a finite square is wanted", uu);
    for (int64_t j = 0; j < n; j++)
        if (!isfinite(g[j]))
            return bd_fail(BD_ERROR_NUMERIC, "g[%lld] = %g: finite numbers are wanted",
                           (long long)j, g[j]);
    if (n)
        memcpy(update->host_gram, g, (size_t)n * sizeof *g);
    update->host_gram[n] = uu;
    size_t bytes = (size_t)(n + 1) * sizeof *g;
    status = update->backend->ops->device->upload(update->backend, update->gram, bytes,
                                                  update->host_gram, bytes, bytes, 1);
    if (status != BD_OK)
        return status;
    return bd_qr_append_gram_device(update, r, update->gram);
}
