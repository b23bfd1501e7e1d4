#include "linalg/check.h"

#include <string.h>

enum bd_status bd_backend_require(const struct bd_backend *backend, const void *table,
                                  const char *what)
{
    if (table)
        return BD_OK;
    return bd_fail(BD_ERROR_UNSUPPORTED, "backend %s: this build of it has no %s",
                   backend->ops->name, what);
}

enum bd_status bd_check_pointer(const void *pointer, const char *name)
{
    return pointer ? BD_OK : bd_fail(BD_ERROR_ARGUMENT, "%s is NULL", name);
}

enum bd_status bd_check_create(void *out, const char *name, const struct bd_backend *backend)
{
    enum bd_status status = bd_check_pointer(out, name);
    if (status != BD_OK)
        return status;
    memset(out, 0, sizeof(void *));
    return bd_check_pointer(backend, "backend");
}

enum bd_status bd_check_float_type(enum bd_type type)
{
    if (type == BD_F32 || type == BD_F64)
        return BD_OK;
    return bd_fail(BD_ERROR_ARGUMENT, "type = %d: must be BD_F32 or BD_F64", (int)type);
}

enum bd_status bd_check_solve(enum bd_triangular_solve solve)
{
    if (solve >= BD_TRIANGULAR_ADAPTIVE && solve <= BD_TRIANGULAR_INVERSION)
        return BD_OK;
    return bd_fail(BD_ERROR_ARGUMENT,
                   "solve = %d: must be BD_TRIANGULAR_ADAPTIVE, _SUBSTITUTION or _INVERSION",
                   (int)solve);
}

enum bd_status bd_check_shape(const struct bd_matrix *matrix, enum bd_type type, int64_t rows,
                              int64_t cols, const char *name)
{
    enum bd_status status = bd_matrix_check(matrix, type, name);
    if (status == BD_OK && matrix->rows != rows)
        return bd_fail(BD_ERROR_ARGUMENT, "%s has %lld rows: %lld are wanted", name,
                       (long long)matrix->rows, (long long)rows);
    if (status == BD_OK && cols >= 0 && matrix->cols != cols)
        return bd_fail(BD_ERROR_ARGUMENT, "%s has %lld columns: %lld are wanted", name,
                       (long long)matrix->cols, (long long)cols);
    return status;
}
