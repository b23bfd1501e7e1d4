#include "linalg/qr_update.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/backend_ops.h"
#include "linalg/qr_update_private.h"

struct bd_qr_update {
    struct bd_backend *backend;
    int64_t m, max_cols, max_block;
    void *work;     /* the backend's */
    double *gram;   /* max_cols: inner products, in the backend's memory */
    double *staged; /* max_cols: the same on the host, to go up in one piece */
};

enum bd_status bd_qr_update_create(struct bd_qr_update **out, struct bd_backend *backend, int64_t m,
                                   int64_t max_cols, int64_t max_block)
{
    *out = NULL;
    if (max_cols < 1 || m < max_cols)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "QR update: m = %lld, max_cols = %lld: 1 <= max_cols <= m is wanted",
                       (long long)m, (long long)max_cols);
    if (max_block < 1 || max_block > max_cols)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "QR update: max_block = %lld: 1 to max_cols = %lld is wanted",
                       (long long)max_block, (long long)max_cols);
    struct bd_qr_update *update = calloc(1, sizeof *update);
    if (!update)
        return bd_fail(BD_ERROR_MEMORY, "no memory for a QR update");
    *update = (struct bd_qr_update){
        .backend = backend, .m = m, .max_cols = max_cols, .max_block = max_block
    };
    size_t bytes = (size_t)max_cols * sizeof(double);
    void *gram = NULL;
    enum bd_status status =
        backend->ops->update_create(backend, m, max_cols, max_block, &update->work);
    if (status == BD_OK)
        status = backend->ops->alloc(backend, bytes, &gram);
    update->gram = gram;
    update->staged = malloc(bytes);
    if (status == BD_OK && !update->staged)
        status = bd_fail(BD_ERROR_MEMORY, "no memory for a QR update");
    if (status != BD_OK) {
        bd_qr_update_destroy(&update);
        return status;
    }
    *out = update;
    return BD_OK;
}

void bd_qr_update_destroy(struct bd_qr_update **update)
{
    if (!*update)
        return;
    const struct bd_backend_ops *ops = (*update)->backend->ops;
    ops->update_destroy((*update)->work);
    ops->free((*update)->backend, (*update)->gram);
    free((*update)->staged);
    free(*update);
    *update = NULL;
}

/* Q (NULL: R alone) and R are a factorisation that this workspace has been made for. */
static enum bd_status check_factors(const struct bd_qr_update *update, const struct bd_matrix *q,
                                    const struct bd_matrix *r)
{
    enum bd_status status = bd_matrix_check(r, BD_F32, "r");
    if (status == BD_OK && q)
        status = bd_matrix_check(q, BD_F32, "q");
    if (status != BD_OK)
        return status;
    if (r->rows != r->cols || r->cols > update->max_cols)
        return bd_fail(BD_ERROR_ARGUMENT, "r is %lld x %lld: square, of at most %lld is wanted",
                       (long long)r->rows, (long long)r->cols, (long long)update->max_cols);
    if (q && (q->rows != update->m || q->cols != r->cols))
        return bd_fail(BD_ERROR_ARGUMENT, "q is %lld x %lld: %lld x %lld is wanted",
                       (long long)q->rows, (long long)q->cols, (long long)update->m,
                       (long long)r->cols);
    return BD_OK;
}

static enum bd_status check_count(const struct bd_qr_update *update, int64_t p)
{
    if (p < 0 || p > update->max_block)
        return bd_fail(BD_ERROR_ARGUMENT, "QR update of %lld columns: 0 to %lld are possible",
                       (long long)p, (long long)update->max_block);
    return BD_OK;
}

static void set_size(struct bd_matrix *q, struct bd_matrix *r, int64_t n)
{
    r->rows = r->cols = n;
    if (q)
        q->cols = n;
}

enum bd_status bd_qr_remove_columns(struct bd_qr_update *update, struct bd_matrix *q,
                                    struct bd_matrix *r, int64_t k, int64_t p)
{
    enum bd_status status = check_factors(update, q, r);
    if (status == BD_OK)
        status = check_count(update, p);
    if (status != BD_OK)
        return status;
    if (k < 0 || k > r->cols - p)
        return bd_fail(BD_ERROR_ARGUMENT, "remove columns %lld .. %lld: there are 0 .. %lld",
                       (long long)k, (long long)(k + p - 1), (long long)r->cols - 1);
    if (p == 0)
        return BD_OK;
    status = update->backend->ops->update_remove(update->work, q ? q->data : NULL, q ? q->ld : 0,
                                                 r->data, r->ld, r->cols, k, p);
    if (status == BD_OK)
        set_size(q, r, r->cols - p);
    return status;
}

/* U fits Q, and R has room for n columns. */
static enum bd_status check_new(const struct bd_qr_update *update, const struct bd_matrix *q,
                                const struct bd_matrix *r, const struct bd_matrix *u, int64_t n)
{
    if (!u)
        return bd_fail(BD_ERROR_ARGUMENT, "u is NULL");
    if (!q)
        return bd_fail(BD_ERROR_ARGUMENT, "q is NULL: without it use bd_qr_append_gram");
    enum bd_status status = bd_matrix_check(u, BD_F32, "u");
    if (status == BD_OK)
        status = check_count(update, u->cols);
    if (status != BD_OK)
        return status;
    if (u->rows != update->m)
        return bd_fail(BD_ERROR_ARGUMENT, "u has %lld rows: %lld, as q, are wanted",
                       (long long)u->rows, (long long)update->m);
    if (n > update->max_cols)
        return bd_fail(BD_ERROR_ARGUMENT, "%lld columns: this QR update was made for %lld",
                       (long long)n, (long long)update->max_cols);
    if (r->ld < n)
        return bd_fail(BD_ERROR_ARGUMENT, "r has ld = %lld: room for %lld columns is wanted",
                       (long long)r->ld, (long long)n);
    if (u->cols && (!q->data || !r->data))
        return bd_fail(BD_ERROR_ARGUMENT, "%s has no data", q->data ? "r" : "q");
    return BD_OK;
}

enum bd_status bd_qr_insert_columns(struct bd_qr_update *update, struct bd_matrix *q,
                                    struct bd_matrix *r, int64_t k, const struct bd_matrix *u)
{
    enum bd_status status = check_factors(update, q, r);
    if (status == BD_OK)
        status = check_new(update, q, r, u, r->cols + (u ? u->cols : 0));
    if (status != BD_OK)
        return status;
    if (k < 0 || k > r->cols)
        return bd_fail(BD_ERROR_ARGUMENT, "insert before column %lld: 0 .. %lld are possible",
                       (long long)k, (long long)r->cols);
    if (u->cols == 0)
        return BD_OK;
    status = update->backend->ops->update_insert(update->work, q->data, q->ld, r->data, r->ld,
                                                 r->cols, k, u->cols, u->data, u->ld);
    if (status == BD_OK)
        set_size(q, r, r->cols + u->cols);
    return status;
}

enum bd_status bd_qr_slide(struct bd_qr_update *update, struct bd_matrix *q, struct bd_matrix *r,
                           const struct bd_matrix *u)
{
    enum bd_status status = check_factors(update, q, r);
    if (status == BD_OK)
        status = check_new(update, q, r, u, r->cols);
    if (status != BD_OK)
        return status;
    if (u->cols > r->cols)
        return bd_fail(BD_ERROR_ARGUMENT, "slide by %lld columns: the window has %lld",
                       (long long)u->cols, (long long)r->cols);
    if (u->cols == 0)
        return BD_OK;
    return update->backend->ops->update_slide(update->work, q->data, q->ld, r->data, r->ld, r->cols,
                                              u->cols, u->data, u->ld);
}

/* R fits the workspace and has room for one more column. */
static enum bd_status check_append(const struct bd_qr_update *update, const struct bd_matrix *r)
{
    enum bd_status status = check_factors(update, NULL, r);
    if (status != BD_OK)
        return status;
    int64_t n = r->cols;
    if (n + 1 > update->max_cols || r->ld < n + 1)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "append to r of %lld columns: this QR update was made for %lld, ld = %lld",
                       (long long)n, (long long)update->max_cols, (long long)r->ld);
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
    status = update->backend->ops->update_append_gram(update->work, r->data, r->ld, r->cols, g);
    if (status == BD_OK)
        set_size(NULL, r, r->cols + 1);
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
        memcpy(update->staged, g, (size_t)n * sizeof *g);
    update->staged[n] = uu;
    size_t bytes = (size_t)(n + 1) * sizeof *g;
    status = update->backend->ops->upload(update->backend, update->gram, bytes, update->staged,
                                          bytes, bytes, 1);
    if (status != BD_OK)
        return status;
    return bd_qr_append_gram_device(update, r, update->gram);
}
