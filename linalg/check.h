/* Private to linalg/: the checks of arguments that public functions share (the rule is in
 * backdrop/status.h). Each returns BD_OK, or BD_ERROR_ARGUMENT with a detail that names the
 * argument.
 */
#ifndef BD_LINALG_CHECK_H
#define BD_LINALG_CHECK_H

#include <backdrop/triangular.h>

#include "linalg/shared/ops.h"
#include "linalg/sizes.h"

enum bd_status bd_check_pointer(const void *pointer, const char *name);

/* Of a create function: `out` (the argument `name`) is the place of its handle, which becomes NULL.
 */
enum bd_status bd_check_create(void *out, const char *name, const struct bd_backend *backend);

/* BD_F32 or BD_F64. */
enum bd_status bd_check_float_type(enum bd_type type);

enum bd_status bd_check_solve(enum bd_triangular_solve solve);

/* The matrix has this type and is rows x cols; cols < 0: any number of columns. */
enum bd_status bd_check_matrix(const struct bd_matrix *matrix, enum bd_type type, int64_t rows,
                               int64_t cols, const char *name);

#endif
