/* Private to linalg/: the checks of arguments that public functions share (the rule is in
 * backdrop/status.h), with those of pointers in linalg/shared/ops.h. Each returns BD_OK, or
 * BD_ERROR_ARGUMENT with a detail that names the argument.
 */
#ifndef BD_LINALG_CHECK_H
#define BD_LINALG_CHECK_H

#include <backdrop/triangular.h>

#include "linalg/shared/ops.h"
#include "linalg/sizes.h"

/* BD_F32 or BD_F64. */
enum bd_status bd_check_float_type(enum bd_type type);

enum bd_status bd_check_solve(enum bd_triangular_solve solve);

/* The matrix has this type and is rows x cols; cols < 0: any number of columns. */
enum bd_status bd_check_shape(const struct bd_matrix *matrix, enum bd_type type, int64_t rows,
                              int64_t cols, const char *name);

#endif
