#include <backdrop/matrix.h>

#include <string.h>

#include "linalg/check.h"

int64_t bd_type_size(enum bd_type type)
{
    return type == BD_F64 ? 8 : type == BD_F32 ? 4 : type == BD_U8 ? 1 : 0;
}

static enum bd_status check_type(enum bd_type type)
{
    if (bd_type_size(type))
        return BD_OK;
    return bd_fail(BD_ERROR_ARGUMENT, "type = %d: must be BD_F32, BD_U8 or BD_F64", (int)type);
}

enum bd_status bd_matrix_check(const struct bd_matrix *matrix, enum bd_type type, const char *name)
{
    if (!name)
        return bd_fail(BD_ERROR_ARGUMENT, "name is NULL");
    if (!matrix)
        return bd_fail(BD_ERROR_ARGUMENT, "%s is NULL", name);
    enum bd_status status = check_type(type);
    if (status != BD_OK)
        return status;
    if (matrix->type != type)
        return bd_fail(BD_ERROR_ARGUMENT, "%s has the wrong element type: %s is wanted", name,
                       type == BD_F64   ? "float64"
                       : type == BD_F32 ? "float32"
                                        : "uint8");
    if (matrix->rows < 0 || matrix->cols < 0)
        return bd_fail(BD_ERROR_ARGUMENT, "%s is %lld x %lld: sizes must not be negative", name,
                       (long long)matrix->rows, (long long)matrix->cols);
    if (matrix->ld < matrix->rows || matrix->ld < 1)
        return bd_fail(BD_ERROR_ARGUMENT, "%s has ld = %lld: at least its rows, %lld, are wanted",
                       name, (long long)matrix->ld, (long long)matrix->rows);
    if (matrix->cols && matrix->ld > bd_most_elements / matrix->cols)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "%s has ld = %lld and %lld columns: too large for any machine", name,
                       (long long)matrix->ld, (long long)matrix->cols);
    if (!matrix->data && matrix->rows && matrix->cols)
        return bd_fail(BD_ERROR_ARGUMENT, "%s has no data", name);
    return BD_OK;
}

enum bd_status bd_matrix_create(struct bd_backend *backend, struct bd_matrix *matrix, int64_t rows,
                                int64_t cols, enum bd_type type)
{
    enum bd_status status = bd_check_pointer(matrix, "matrix");
    if (status != BD_OK)
        return status;
    memset(matrix, 0, sizeof *matrix);
    status = bd_check_pointer(backend, "backend");
    if (status == BD_OK)
        status = check_type(type);
    if (status != BD_OK)
        return status;
    if (rows < 0 || cols < 0)
        return bd_fail(BD_ERROR_ARGUMENT, "matrix of %lld x %lld: sizes must not be negative",
                       (long long)rows, (long long)cols);
    status = bd_check_elements("matrix", rows, cols ? cols : 1);
    if (status != BD_OK)
        return status;
    int64_t size = bd_type_size(type), step = 64 / size;
    int64_t ld = rows ? (rows + step - 1) / step * step : step;
    int64_t bytes;
    if (__builtin_mul_overflow(ld * size, cols ? cols : 1, &bytes)) /* many columns, few rows */
        return bd_fail(BD_ERROR_MEMORY, "matrix of %lld x %lld: too large for any machine",
                       (long long)rows, (long long)cols);
    void *data;
    status = backend->ops->device->alloc(backend, (size_t)bytes, &data);
    if (status != BD_OK)
        return status;
    *matrix =
        (struct bd_matrix){ .rows = rows, .cols = cols, .ld = ld, .type = type, .data = data };
    return BD_OK;
}

void bd_matrix_destroy(struct bd_backend *backend, struct bd_matrix *matrix)
{
    if (!matrix || (matrix->data && !backend))
        return;
    if (matrix->data)
        backend->ops->device->free(backend, matrix->data);
    memset(matrix, 0, sizeof *matrix);
}

struct bd_matrix bd_matrix_host_view(float *data, int64_t rows, int64_t cols, int64_t ld)
{
    return (struct bd_matrix){ .rows = rows, .cols = cols, .ld = ld, .type = BD_F32, .data = data };
}

static enum bd_status check_copy(const struct bd_backend *backend, const struct bd_matrix *matrix,
                                 const void *host, int64_t ld)
{
    enum bd_status status = bd_check_pointer(backend, "backend");
    if (status == BD_OK)
        status = bd_matrix_check(matrix, matrix ? matrix->type : BD_F32, "matrix");
    if (status == BD_OK && (ld < matrix->rows || ld < 1))
        status =
            bd_fail(BD_ERROR_ARGUMENT, "ld = %lld: at least the rows of matrix, %lld, are wanted",
                    (long long)ld, (long long)matrix->rows);
    if (status == BD_OK && matrix->cols && ld > bd_most_elements / matrix->cols)
        status =
            bd_fail(BD_ERROR_ARGUMENT, "ld = %lld, for %lld columns: too large for any machine",
                    (long long)ld, (long long)matrix->cols);
    if (status == BD_OK && matrix->rows && matrix->cols)
        status = bd_check_pointer(host, "host");
    return status;
}

enum bd_status bd_matrix_upload(struct bd_backend *backend, const struct bd_matrix *matrix,
                                const void *host, int64_t ld)
{
    enum bd_status status = check_copy(backend, matrix, host, ld);
    if (status != BD_OK || !matrix->rows || !matrix->cols)
        return status;
    size_t size = (size_t)bd_type_size(matrix->type);
    return backend->ops->device->upload(backend, matrix->data, (size_t)matrix->ld * size, host,
                                        (size_t)ld * size, (size_t)matrix->rows * size,
                                        (size_t)matrix->cols);
}

enum bd_status bd_matrix_download(struct bd_backend *backend, void *host, int64_t ld,
                                  const struct bd_matrix *matrix)
{
    enum bd_status status = check_copy(backend, matrix, host, ld);
    if (status != BD_OK || !matrix->rows || !matrix->cols)
        return status;
    size_t size = (size_t)bd_type_size(matrix->type);
    return backend->ops->device->download(backend, host, (size_t)ld * size, matrix->data,
                                          (size_t)matrix->ld * size, (size_t)matrix->rows * size,
                                          (size_t)matrix->cols);
}
