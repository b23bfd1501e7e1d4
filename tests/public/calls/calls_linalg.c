/* Calls of the linear algebra but for updating. */
#include "tests/public/calls/calls_handles.h"

static enum bd_status backends(struct bd_call *call)
{
    struct bd_backend *opened = NULL;
    const char *names[] = { "cpu", "auto", "nosuch", "cpu:1", "", "cuda:99999999999", ":" };
    const int choice = bd_call_choice(call, sizeof names / sizeof *names);
    call->refused = choice > 1;
    void *out = bd_call_pointer(call, &opened);
    const char *name = bd_call_optional(call, (void *)names[choice]);
    call->refused = call->refused && (!out || name);
    const int64_t threads = bd_call_size(call, 1);
    const enum bd_status status =
        bd_backend_open(out, name, threads > 4 || threads < -4 ? -1 : (int)threads);
    call->refused = call->refused || threads < 0;
    call->huge = false;
    call->refused = call->refused || threads > 4;
    bd_backend_close(&opened);
    return status;
}

/* Functions that return no status. */
static enum bd_status questions(struct bd_call *call)
{
    struct bd_backend *backend = bd_call_optional(call, call->backend);
    struct bd_matrix nothing = { 0 };
    bd_matrix_destroy(backend, bd_call_optional(call, &nothing));
    bd_matrix_destroy(NULL, &call->handles->matrix[CALL_A]);
    bd_backend_close(NULL);
    bd_qr_destroy(NULL);
    bd_gram_qr_destroy(NULL);
    bd_triangular_destroy(NULL);
    bd_small_svd_destroy(NULL);
    bd_rpca_destroy(NULL);
    bd_qr_update_destroy(NULL);
    bd_log_set(NULL, NULL);
    bd_log(BD_LOG_DEBUG, "%s", "nobody hears this");
    const int kind = bd_call_kind(call, BD_F32);
    call->refused = false;
    const bool answered = bd_backend_name(backend) && bd_backend_description(backend) &&
                          bd_status_text((enum bd_status)kind) && bd_backend_names()[0] &&
                          bd_type_size((enum bd_type)kind) == (kind == BD_F32 ? 4 : 0);
    return answered ? BD_OK : 1;
}

static enum bd_status synchronise(struct bd_call *call)
{
    return bd_backend_sync(bd_call_pointer(call, call->backend));
}

static enum bd_status matrix_create(struct bd_call *call)
{
    struct bd_matrix made = { 0 };
    struct bd_backend *backend = bd_call_pointer(call, call->backend);
    struct bd_matrix *out = bd_call_pointer(call, &made);
    const int64_t rows = bd_call_size(call, call_m), cols = bd_call_size(call, call_n);
    const enum bd_type type = (enum bd_type)bd_call_kind(call, BD_F32);
    const enum bd_status status = bd_matrix_create(backend, out, rows, cols, type);
    bd_matrix_destroy(call->backend, &made);
    return status;
}

enum { host_bytes = 3 * call_m * call_m * 8 };

static enum bd_status copy(struct bd_call *call, bool up)
{
    static double host[host_bytes / 8];
    struct bd_backend *backend = bd_call_pointer(call, call->backend);
    struct bd_matrix *matrix = bd_call_matrix(call, CALL_A);
    const int64_t ld = bd_call_size(call, call_m);
    const bool empty = matrix && (matrix->rows == 0 || matrix->cols == 0);
    double *data = bd_call_optional(call, host);
    call->refused = call->refused || (!data && !empty);
    call->huge = call->huge && !empty;
    return up ? bd_matrix_upload(backend, matrix, data, ld)
              : bd_matrix_download(backend, data, ld, matrix);
}

static enum bd_status upload(struct bd_call *call)
{
    return copy(call, true);
}

static enum bd_status download(struct bd_call *call)
{
    return copy(call, false);
}

static enum bd_status matrix_check(struct bd_call *call)
{
    struct bd_matrix *matrix = bd_call_matrix(call, CALL_A);
    const enum bd_type type = (enum bd_type)bd_call_kind(call, BD_F32);
    return bd_matrix_check(matrix, type, bd_call_pointer(call, "matrix"));
}

static enum bd_status qr_create(struct bd_call *call)
{
    struct bd_qr *made = NULL;
    struct bd_qr_options options = { 0 };
    struct bd_qr **out = bd_call_pointer(call, &made);
    struct bd_backend *backend = bd_call_pointer(call, call->backend);
    const int64_t m = bd_call_size(call, call_m), n = bd_call_size(call, call_n);
    const bool given = bd_call_choice(call, 2);
    options.method = (enum bd_qr_method)bd_call_kind(call, BD_QR_AUTO);
    options.block_rows = bd_call_size(call, 10);
    options.panel_cols = bd_call_choice(call, 7) - 1;
    options.orthogonality = bd_call_number(call, 0);
    call->huge = m >= (int64_t)1 << 50 || n >= (int64_t)1 << 50;
    const enum bd_status status = bd_qr_create(out, backend, m, n, given ? &options : NULL);
    if (!given)
        call->refused = !out || !backend || m < 0 || n < 0;
    bd_qr_destroy(&made);
    return status;
}

static enum bd_status qr_factor(struct bd_call *call)
{
    struct bd_qr *qr = bd_call_pointer(call, call->handles->qr);
    return bd_qr_factor(qr, bd_call_matrix(call, CALL_A));
}

static enum bd_status qr_get_r(struct bd_call *call)
{
    struct bd_qr *qr = bd_call_pointer(call, call->handles->qr);
    return bd_qr_get_r(qr, bd_call_matrix(call, CALL_R));
}

static enum bd_status qr_form_q(struct bd_call *call)
{
    struct bd_qr *qr = bd_call_pointer(call, call->handles->qr);
    return bd_qr_form_q(qr, bd_call_matrix(call, CALL_Q));
}

static enum bd_status qr_form_full_q(struct bd_call *call)
{
    struct bd_qr *qr = bd_call_pointer(call, call->handles->qr);
    return bd_qr_form_full_q(qr, bd_call_matrix(call, CALL_FULL));
}

static enum bd_status qr_apply(struct bd_call *call)
{
    struct bd_qr *qr = bd_call_pointer(call, call->handles->qr);
    const enum bd_qr_op op = (enum bd_qr_op)bd_call_kind(call, BD_QR_Q);
    return bd_qr_apply(qr, op, bd_call_matrix(call, CALL_B));
}

static enum bd_status qr_reduce(struct bd_call *call)
{
    struct bd_qr *qr = bd_call_pointer(call, call->handles->qr);
    const struct bd_matrix *a = bd_call_matrix(call, CALL_A);
    return bd_qr_reduce(qr, a, bd_call_matrix(call, CALL_R));
}

static enum bd_status qr_thin(struct bd_call *call)
{
    struct bd_qr *qr = bd_call_pointer(call, call->handles->qr);
    const struct bd_matrix *a = bd_call_matrix(call, CALL_A);
    struct bd_matrix *q = bd_call_matrix(call, CALL_Q);
    return bd_qr_thin(qr, a, q, bd_call_matrix(call, CALL_R));
}

static enum bd_status gram_qr_create(struct bd_call *call)
{
    struct bd_gram_qr *made = NULL;
    struct bd_gram_qr_options options = { 0 };
    struct bd_gram_qr **out = bd_call_pointer(call, &made);
    struct bd_backend *one = bd_call_pointer(call, call->backend), *two[] = { one, one };
    struct bd_backend *const *backends = bd_call_pointer(call, (void *)two);
    int64_t sizes[2];
    sizes[0] = bd_call_size(call, call_m);
    sizes[1] = bd_call_size(call, 0);
    const int64_t *rows = bd_call_pointer(call, sizes);
    const int64_t n = bd_call_size(call, call_n);
    const enum bd_type type = (enum bd_type)bd_call_kind(call, BD_F32);
    options.method = (enum bd_gram_qr_method)bd_call_kind(call, BD_GRAM_QR_CHOLESKY);
    options.solve = (enum bd_triangular_solve)bd_call_kind(call, BD_TRIANGULAR_ADAPTIVE);
    options.orthogonality = bd_call_number(call, 0);
    options.max_passes = bd_call_choice(call, 13) - (bd_call_choice(call, 2) ? 1 : 0);
    const enum bd_status status = bd_gram_qr_create(out, backends, rows, 2, n, type, &options);
    bd_gram_qr_destroy(&made);
    return status;
}

static enum bd_status gram_qr_run(struct bd_call *call)
{
    struct bd_gram_qr_report report;
    struct bd_gram_qr *qr = bd_call_pointer(call, call->handles->gram_qr);
    struct bd_matrix *v = bd_call_matrix(call, CALL_A);
    struct bd_matrix *r = bd_call_optional_matrix(call, CALL_R);
    return bd_gram_qr_run(qr, v, r, bd_call_optional(call, &report));
}

static enum bd_status triangular_create(struct bd_call *call)
{
    struct bd_triangular *made = NULL;
    struct bd_triangular **out = bd_call_pointer(call, &made);
    struct bd_backend *backend = bd_call_pointer(call, call->backend);
    const int64_t m = bd_call_size(call, call_m), n = bd_call_size(call, call_n);
    const enum bd_type type = (enum bd_type)bd_call_kind(call, BD_F32);
    const enum bd_status status = bd_triangular_create(out, backend, m, n, type);
    bd_triangular_destroy(&made);
    return status;
}

static enum bd_status triangular_solve(struct bd_call *call)
{
    struct bd_triangular *triangular = bd_call_pointer(call, call->handles->triangular);
    const struct bd_matrix *r = bd_call_matrix(call, CALL_R);
    struct bd_matrix *v = bd_call_matrix(call, CALL_A);
    const int solve = bd_call_kind(call, BD_TRIANGULAR_ADAPTIVE), mixed = bd_call_choice(call, 2);
    call->refused = call->refused || mixed;
    return bd_triangular_solve(triangular, r, v, (enum bd_triangular_solve)solve, mixed);
}

static enum bd_status triangular_multiply(struct bd_call *call)
{
    struct bd_triangular *triangular = bd_call_pointer(call, call->handles->triangular);
    const struct bd_matrix *r = bd_call_matrix(call, CALL_R);
    struct bd_matrix *v = bd_call_matrix(call, CALL_A);
    const int mixed = bd_call_choice(call, 2);
    call->refused = call->refused || mixed;
    return bd_triangular_multiply(triangular, r, v, mixed);
}

static enum bd_status svd_create(struct bd_call *call)
{
    struct bd_small_svd *made = NULL;
    struct bd_small_svd **out = bd_call_pointer(call, &made);
    struct bd_backend *backend = bd_call_pointer(call, call->backend);
    const enum bd_status status = bd_small_svd_create(out, backend, bd_call_size(call, call_n));
    bd_small_svd_destroy(&made);
    return status;
}

static enum bd_status svd_compute(struct bd_call *call)
{
    float sigma[call_n];
    struct bd_small_svd *svd = bd_call_pointer(call, call->handles->svd);
    float *values = bd_call_optional(call, sigma);
    struct bd_matrix *v = bd_call_optional_matrix(call, CALL_V);
    return bd_small_svd_compute(svd, values, v, bd_call_matrix(call, CALL_R));
}

static enum bd_status svd_threshold(struct bd_call *call)
{
    int64_t rank;
    struct bd_small_svd *svd = bd_call_pointer(call, call->handles->svd);
    struct bd_matrix *w = bd_call_matrix(call, CALL_R);
    int64_t *count = bd_call_optional(call, &rank);
    return bd_small_svd_threshold(svd, w, count, bd_call_number(call, 1));
}

static enum bd_status svd_factor(struct bd_call *call)
{
    struct bd_small_svd *svd = bd_call_pointer(call, call->handles->svd);
    struct bd_matrix *f = bd_call_optional(call, &call->handles->matrix[CALL_R]);
    struct bd_matrix *ft = bd_call_optional(call, &call->handles->matrix[CALL_FULL]);
    struct bd_matrix fc, ftc;
    call->refused = call->refused || !f || !ft;
    if (f)
        fc = *f;
    if (ft)
        ftc = *ft;
    return bd_small_svd_factor(svd, f ? &fc : NULL, ft ? &ftc : NULL, bd_call_number(call, 1));
}

static enum bd_status rpca_create(struct bd_call *call)
{
    struct bd_rpca *made = NULL;
    struct bd_rpca_options options = { 0 };
    struct bd_rpca **out = bd_call_pointer(call, &made);
    struct bd_backend *backend = bd_call_pointer(call, call->backend);
    const int64_t m = bd_call_size(call, call_m), n = bd_call_size(call, call_n);
    options.lambda = bd_call_number(call, 0);
    options.tolerance = bd_call_number(call, 0);
    options.rho = bd_call_number(call, 0);
    options.optimality = bd_call_number(call, 0);
    options.noise = bd_call_number(call, 0);
    options.max_iterations = bd_call_choice(call, 5) - (bd_call_choice(call, 2) ? 1 : 0);
    const bool observed = bd_call_choice(call, 2);
    options.observed = observed ? bd_call_optional_matrix(call, CALL_BYTES) : NULL;
    const enum bd_status status = bd_rpca_create(out, backend, m, n, &options);
    bd_rpca_destroy(&made);
    return status;
}

static enum bd_status rpca_solve(struct bd_call *call)
{
    struct bd_rpca_result result;
    struct bd_rpca *rpca = bd_call_pointer(call, call->handles->rpca);
    const struct bd_matrix *m = bd_call_matrix(call, CALL_A);
    return bd_rpca_solve(rpca, m, bd_call_optional(call, &result));
}

static enum bd_status rpca_get(struct bd_call *call)
{
    struct bd_rpca *rpca = bd_call_pointer(call, call->handles->rpca);
    struct bd_matrix *l = bd_call_optional_matrix(call, CALL_Q);
    struct bd_matrix *s = bd_call_optional_matrix(call, CALL_S);
    return bd_rpca_get(rpca, l, s);
}

bd_call_fn *const bd_linalg_calls[] = {
    backends,    questions,         synchronise,      matrix_create,
    upload,      download,          matrix_check,     qr_create,
    qr_factor,   qr_get_r,          qr_form_q,        qr_form_full_q,
    qr_apply,    qr_reduce,         qr_thin,          gram_qr_create,
    gram_qr_run, triangular_create, triangular_solve, triangular_multiply,
    svd_create,  svd_compute,       svd_threshold,    svd_factor,
    rpca_create, rpca_solve,        rpca_get,         NULL
};
