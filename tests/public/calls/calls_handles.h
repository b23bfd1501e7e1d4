/* What the calls are made with: matrices with random elements, and a handle of each kind, after the
 * call that others need (factor, compute, solve). */
#ifndef BD_TESTS_PUBLIC_CALLS_HANDLES_H
#define BD_TESTS_PUBLIC_CALLS_HANDLES_H

#include <backdrop/gram_qr.h>
#include <backdrop/qr.h>
#include <backdrop/qr_update.h>
#include <backdrop/rpca.h>
#include <backdrop/small_svd.h>
#include <backdrop/triangular.h>
#ifdef BD_HAVE_SEPARATION
#include <backdrop/components.h>
#include <backdrop/separator.h>
#include <backdrop/tracker.h>
#endif

#include "tests/public/calls/calls.h"

/* Rows and columns of A, right-hand sides, columns or rows that come, sides of pictures. */
enum { call_m = 12, call_n = 5, call_rhs = 2, call_p = 2, call_width = 12, call_height = 8 };

/* Of what is updated: there is room for call_p more, and for one more still in its memory. */
enum { call_rows_now = call_m - call_p - 1, call_cols_now = call_n - call_p };

enum bd_call_matrix {
    CALL_A,      /* m x n */
    CALL_Q,      /* m x n */
    CALL_S,      /* m x n */
    CALL_R,      /* n x n */
    CALL_V,      /* n x n */
    CALL_FULL,   /* m x m */
    CALL_B,      /* m x rhs */
    CALL_D,      /* m x rhs */
    CALL_X,      /* n x rhs */
    CALL_U,      /* call_rows_now x p */
    CALL_ROWS,   /* p x call_cols_now */
    CALL_E,      /* p x rhs */
    CALL_BYTES,  /* m x n, BD_U8 */
    CALL_DOUBLE, /* m x n, BD_F64 */
    CALL_MATRICES
};

struct bd_call_handles {
    struct bd_matrix matrix[CALL_MATRICES];
    struct bd_qr *qr;
    struct bd_gram_qr *gram_qr;
    struct bd_triangular *triangular;
    struct bd_small_svd *svd;
    struct bd_rpca *rpca;
    struct bd_qr_update *update, *update_full; /* of thin and of full Q */
#ifdef BD_HAVE_SEPARATION
    struct bd_separator *separator;
    struct bd_tracker *tracker;
#endif
};

enum bd_status bd_call_handles_make(struct bd_backend *backend, struct bd_call_handles *handles);
void bd_call_handles_destroy(struct bd_backend *backend, struct bd_call_handles *handles);

/* A view of that matrix, or of part of it, or one that the rule forbids, NULL among them. */
struct bd_matrix *bd_call_matrix(struct bd_call *call, enum bd_call_matrix which);

/* The same; NULL is allowed. */
struct bd_matrix *bd_call_optional_matrix(struct bd_call *call, enum bd_call_matrix which);

#ifdef BD_HAVE_SEPARATION
/* Options for small pictures. */
static inline struct bd_separator_options bd_call_options(void)
{
    return (struct bd_separator_options){
        .width = call_width, .height = call_height, .channels = 1, .window = 4
    };
}
#endif

#endif
