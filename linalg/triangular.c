#include <backdrop/triangular.h>

#include <stdlib.h>

#include "linalg/shared/gram_qr_ops.h"
#include "linalg/sizes.h"

struct bd_triangular {
    struct bd_backend *backend;
    void *work;
    int64_t m, n;
    enum bd_type type;
};

enum bd_status bd_triangular_create(struct bd_triangular **out, struct bd_backend *backend,
                                    int64_t m, int64_t n, enum bd_type type)
{
    *out = NULL;
    if (m < 0 || n < 1)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "a triangular product with %lld x %lld: rows >= 0, columns >= 1 are wanted",
                       (long long)m, (long long)n);
    if (type != BD_F32 && type != BD_F64)
        return bd_fail(BD_ERROR_ARGUMENT, "type = %d: must be BD_F32 or BD_F64", (int)type);
    enum bd_status status = bd_check_elements("a triangular product", m > n ? m : n, n);
    if (status == BD_OK)
        status = bd_backend_require(backend, backend->ops->gram_qr, "products with triangles");
    if (status != BD_OK)
        return status;
    struct bd_triangular *triangular = calloc(1, sizeof *triangular);
    if (!triangular)
        return bd_fail(BD_ERROR_MEMORY, "no memory for triangular products");
    *triangular = (struct bd_triangular){ .backend = backend, .m = m, .n = n, .type = type };
    status = backend->ops->gram_qr->create(backend, m, n, type, 0, &triangular->work);
    if (status != BD_OK) {
        free(triangular);
        return status;
    }
    *out = triangular;
    return BD_OK;
}

void bd_triangular_destroy(struct bd_triangular **triangular)
{
    if (!*triangular)
        return;
    (*triangular)->backend->ops->gram_qr->destroy((*triangular)->work);
    free(*triangular);
    *triangular = NULL;
}

static enum bd_status check(const struct bd_triangular *triangular, const struct bd_matrix *r,
                            const struct bd_matrix *v, bool mixed)
{
    int64_t m = triangular->m, n = triangular->n;
    enum bd_status status = bd_matrix_check(r, triangular->type, "R");
    if (status == BD_OK)
        status = bd_matrix_check(v, triangular->type, "V");
    if (status != BD_OK)
        return status;
    if (r->rows != n || r->cols != n)
        return bd_fail(BD_ERROR_ARGUMENT, "R is %lld x %lld: %lld x %lld is wanted",
                       (long long)r->rows, (long long)r->cols, (long long)n, (long long)n);
    if (v->rows != m || v->cols != n)
        return bd_fail(BD_ERROR_ARGUMENT, "V is %lld x %lld: %lld x %lld is wanted",
                       (long long)v->rows, (long long)v->cols, (long long)m, (long long)n);
    if (mixed && triangular->type != BD_F64)
        return bd_fail(BD_ERROR_ARGUMENT, "mixed: only for float64 matrices");
    return BD_OK;
}

enum bd_status bd_triangular_solve(struct bd_triangular *triangular, const struct bd_matrix *r,
                                   struct bd_matrix *v, enum bd_triangular_solve solve, bool mixed)
{
    enum bd_status status = check(triangular, r, v, mixed);
    if (status == BD_OK && (solve < BD_TRIANGULAR_ADAPTIVE || solve > BD_TRIANGULAR_INVERSION))
        status = bd_fail(BD_ERROR_ARGUMENT,
                         "solve = %d: must be BD_TRIANGULAR_ADAPTIVE, _SUBSTITUTION or _INVERSION",
                         (int)solve);
    if (status != BD_OK)
        return status;
    return triangular->backend->ops->gram_qr->triangular_solve(triangular->work, r->data, r->ld,
                                                               v->data, v->ld, solve, mixed);
}

enum bd_status bd_triangular_multiply(struct bd_triangular *triangular, const struct bd_matrix *r,
                                      struct bd_matrix *v, bool mixed)
{
    enum bd_status status = check(triangular, r, v, mixed);
    if (status != BD_OK)
        return status;
    return triangular->backend->ops->gram_qr->triangular_multiply(triangular->work, r->data, r->ld,
                                                                  v->data, v->ld, mixed);
}
