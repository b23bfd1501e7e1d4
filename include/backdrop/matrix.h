/* Dense column-major matrices in the memory of a backend. */
#ifndef BACKDROP_MATRIX_H
#define BACKDROP_MATRIX_H

#include <stdint.h>

#include <backdrop/backend.h>
#include <backdrop/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum bd_type { BD_F32, BD_U8, BD_F64 };

/* A view: element (i, j) is data[i + j * ld]. Copying the struct copies the view, not the elements.
 * A view of part of a matrix is made by moving `data` and reducing `rows` and `cols`. */
struct bd_matrix {
    int64_t rows, cols;
    int64_t ld; /* >= max(1, rows) */
    enum bd_type type;
    void *data; /* in the memory of the backend that made it (cpu: host memory) */
};

/* Bytes of an element; 0 for a type that is not known. */
BD_API int64_t bd_type_size(enum bd_type type);

/* Allocates rows x cols elements, zeroed, with ld = rows rounded up so that each column starts on a
 * 64-byte boundary. On failure *matrix is all zero. */
BD_API enum bd_status bd_matrix_create(struct bd_backend *backend, struct bd_matrix *matrix,
                                       int64_t rows, int64_t cols, enum bd_type type);

/* Frees what bd_matrix_create allocated and zeroes the struct. Safe on an all-zero struct and NULL.
 */
BD_API void bd_matrix_destroy(struct bd_backend *backend, struct bd_matrix *matrix);

/* A float32 view of host memory owned by the caller, for use with the cpu backend. */
BD_API struct bd_matrix bd_matrix_host_view(float *data, int64_t rows, int64_t cols, int64_t ld);

/* Copies rows x cols elements from host memory with leading dimension `ld` (elements). */
BD_API enum bd_status bd_matrix_upload(struct bd_backend *backend, const struct bd_matrix *matrix,
                                       const void *host, int64_t ld);

/* Copies rows x cols elements to host memory with leading dimension `ld`; the data are there when
 * this returns. */
BD_API enum bd_status bd_matrix_download(struct bd_backend *backend, void *host, int64_t ld,
                                         const struct bd_matrix *matrix);

/* BD_OK, or BD_ERROR_ARGUMENT with a detail that names `name` (an argument of the caller's): the
 * matrix must have this type, at least 0 rows and columns, ld >= max(1, rows), ld * cols of at most
 * 2^48, and data unless it is empty. */
BD_API enum bd_status bd_matrix_check(const struct bd_matrix *matrix, enum bd_type type,
                                      const char *name);

#ifdef __cplusplus
}
#endif
#endif
