#include <backdrop/triangular.h>

#include <stdlib.h>

#include "linalg/check.h"
#include "linalg/shared/gram_qr_ops.h"

struct bd_triangular {
    struct bd_backend *backend;
    void *work;
    int64_t m, n;
    enum bd_type type;
};

enum bd_status bd_triangular_create(struct bd_triangular **out, struct bd_backend *backend,
                                    int64_t m, int64_t n, enum bd_type type)
{
    enum bd_status status = bd_check_create(out, "triangular", backend);
    if (status == BD_OK && (m < 0 || n < 1))
        status = bd_fail(BD_ERROR_ARGUMENT, "V of %lld x %lld: rows >= 0, columns >= 1 are wanted",
                         (long long)m, (long long)n);
    if (status == BD_OK)
        status = bd_check_float_type(type);
    if (status == BD_OK)
        status = bd_check_elements("a triangular product", m > n ? m : n, n);
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
    if (!triangular || !*triangular)
        return;
    (*triangular)->backend->ops->gram_qr->destroy((*triangular)->work);
    free(*triangular);
    *triangular = NULL;
}

static enum bd_status check(const struct bd_triangular *triangular, const struct bd_matrix *r,
                            const struct bd_matrix *v, bool mixed)
{
    enum bd_status status = bd_check_pointer(triangular, "triangular");
    if (status != BD_OK)
        return status;
    const int64_t m = triangular->m, n = triangular->n;
    status = bd_check_shape(r, triangular->type, n, n, "R");
    if (status == BD_OK)
        status = bd_check_shape(v, triangular->type, m, n, "V");
    if (status == BD_OK && mixed && triangular->type != BD_F64)
        status = bd_fail(BD_ERROR_ARGUMENT, "mixed: only for float64 matrices");
    return status;
}

enum bd_status bd_triangular_solve(struct bd_triangular *triangular, const struct bd_matrix *r,
                                   struct bd_matrix *v, enum bd_triangular_solve solve, bool mixed)
{
    enum bd_status status = check(triangular, r, v, mixed);
    if (status == BD_OK)
        status = bd_check_solve(solve);
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
