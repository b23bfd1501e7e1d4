#include "tests/public/calls/calls_handles.h"

#include <string.h>

#include "tests/support/random.h"

static const struct {
    int64_t rows, cols;
    enum bd_type type;
} shapes[CALL_MATRICES] = {
    [CALL_A] = { call_m, call_n, BD_F32 },           [CALL_Q] = { call_m, call_n, BD_F32 },
    [CALL_R] = { call_n, call_n, BD_F32 },           [CALL_FULL] = { call_m, call_m, BD_F32 },
    [CALL_B] = { call_m, call_rhs, BD_F32 },         [CALL_D] = { call_m, call_rhs, BD_F32 },
    [CALL_X] = { call_n, call_rhs, BD_F32 },         [CALL_S] = { call_m, call_n, BD_F32 },
    [CALL_V] = { call_n, call_n, BD_F32 },           [CALL_U] = { call_rows_now, call_p, BD_F32 },
    [CALL_ROWS] = { call_p, call_cols_now, BD_F32 }, [CALL_E] = { call_p, call_rhs, BD_F32 },
    [CALL_BYTES] = { call_m, call_n, BD_U8 },        [CALL_DOUBLE] = { call_m, call_n, BD_F64 },
};

static enum bd_status make_matrices(struct bd_backend *backend, struct bd_call_handles *h)
{
    double host[call_m * call_m];
    uint64_t seed = 1;
    enum bd_status status = BD_OK;
    for (int i = 0; i < CALL_MATRICES && status == BD_OK; i++) {
        const int64_t count = shapes[i].rows * shapes[i].cols;
        for (int64_t j = 0; j < count; j++) {
            const double x = noise(&seed);
            if (shapes[i].type == BD_F64)
                host[j] = x;
            else if (shapes[i].type == BD_F32)
                ((float *)host)[j] = (float)x;
            else
                ((uint8_t *)host)[j] = (uint8_t)(128 + 100 * x);
        }
        status = bd_matrix_create(backend, &h->matrix[i], shapes[i].rows, shapes[i].cols,
                                  shapes[i].type);
        if (status == BD_OK)
            status = bd_matrix_upload(backend, &h->matrix[i], host, shapes[i].rows);
    }
    return status;
}

static enum bd_status make_updates(struct bd_backend *backend, struct bd_call_handles *h)
{
    struct bd_qr_update_shape shape = {
        .max_rows = call_m, .max_cols = call_n, .max_block = 2 * call_p, .max_rhs = call_rhs
    };
    enum bd_status status = bd_qr_update_create(&h->update, backend, &shape);
    shape.full_q = true;
    return status == BD_OK ? bd_qr_update_create(&h->update_full, backend, &shape) : status;
}

enum bd_status bd_call_handles_make(struct bd_backend *backend, struct bd_call_handles *h)
{
    const int64_t rows = call_m;
    const struct bd_rpca_options few = { .max_iterations = 3, .optimality = 0.9, .tolerance = 0.9 };
    enum bd_status status = make_matrices(backend, h);
    struct bd_matrix *a = &h->matrix[CALL_A];
    if (status == BD_OK)
        status = bd_qr_create(&h->qr, backend, call_m, call_n, NULL);
    if (status == BD_OK)
        status = bd_qr_factor(h->qr, a);
    if (status == BD_OK)
        status = bd_gram_qr_create(&h->gram_qr, &backend, &rows, 1, call_n, BD_F32, NULL);
    if (status == BD_OK)
        status = bd_triangular_create(&h->triangular, backend, call_m, call_n, BD_F32);
    if (status == BD_OK)
        status = bd_small_svd_create(&h->svd, backend, call_n);
    if (status == BD_OK)
        status = bd_small_svd_compute(h->svd, NULL, NULL, &h->matrix[CALL_R]);
    if (status == BD_OK)
        status = bd_rpca_create(&h->rpca, backend, call_m, call_n, &few);
    if (status == BD_OK)
        status = bd_rpca_solve(h->rpca, a, NULL);
    if (status == BD_OK)
        status = make_updates(backend, h);
#ifdef BD_HAVE_SEPARATION
    const struct bd_separator_options options = bd_call_options();
    if (status == BD_OK)
        status = bd_separator_create(&h->separator, backend, &options);
    const struct bd_tracker_options size = { .width = call_width, .height = call_height };
    if (status == BD_OK)
        status = bd_tracker_create(&h->tracker, &size);
#endif
    return status;
}

void bd_call_handles_destroy(struct bd_backend *backend, struct bd_call_handles *h)
{
#ifdef BD_HAVE_SEPARATION
    bd_tracker_destroy(&h->tracker);
    bd_separator_destroy(&h->separator);
#endif
    bd_qr_update_destroy(&h->update);
    bd_qr_update_destroy(&h->update_full);
    bd_rpca_destroy(&h->rpca);
    bd_small_svd_destroy(&h->svd);
    bd_triangular_destroy(&h->triangular);
    bd_gram_qr_destroy(&h->gram_qr);
    bd_qr_destroy(&h->qr);
    for (int i = 0; i < CALL_MATRICES; i++)
        bd_matrix_destroy(backend, &h->matrix[i]);
}

/* Changes the view. True: the rule forbids what it is now. */
static bool spoil(struct bd_matrix *view, int how)
{
    switch (how) {
    case 0:
        view->type = (enum bd_type)9;
        return true;
    case 1:
        view->rows = -view->rows;
        return true;
    case 2:
        view->cols = INT64_MIN;
        return true;
    case 3:
        view->ld = view->rows - 1;
        return true;
    case 4:
        view->ld = -view->ld;
        return true;
    case 5:
        view->data = NULL;
        return true;
    case 6:
        view->ld = INT64_MAX;
        return true;
    case 7:
        view->rows = INT64_MAX;
        return true;
    case 8:
        view->cols = INT64_MAX;
        return true;
    case 9:
        view->rows--;
        return false;
    case 10:
        view->cols--;
        return false;
    case 11:
        view->rows = 0;
        return false;
    case 12:
        view->cols = 0;
        view->data = NULL;
        return false;
    default:
        view->type = BD_U8; /* the smallest: no view is larger than its memory */
        return false;
    }
}

struct bd_matrix *bd_call_optional_matrix(struct bd_call *call, enum bd_call_matrix which)
{
    struct bd_matrix *copy = &call->copy[call->copies++];
    const int choice = bd_call_choice(call, 19);
    if (choice == 1)
        return NULL;
    *copy = call->handles->matrix[which];
    if (choice == 2)
        *copy = call->handles->matrix[bd_call_choice(call, CALL_MATRICES)];
    else if (choice > 4 && spoil(copy, choice - 5))
        call->refused = true;
    return copy;
}

struct bd_matrix *bd_call_matrix(struct bd_call *call, enum bd_call_matrix which)
{
    struct bd_matrix *matrix = bd_call_optional_matrix(call, which);
    call->refused = call->refused || !matrix;
    return matrix;
}
