#include <backdrop/qr.h>

#include <float.h>
#include <stdbool.h>
#include <stdlib.h>

#include "linalg/check.h"
#include "linalg/shared/qr_ops.h"

struct bd_qr {
    struct bd_backend *backend;
    void *plan;
    int64_t m, n;
    enum { EMPTY, FACTORED, Q_IN_PLACE } state;
    void *factored; /* data of the A that holds the reflectors, and its ld */
    int64_t factored_ld;
};

static enum bd_status check_options(const struct bd_qr_options *options, int64_t n)
{
    if (!options)
        return BD_OK;
    if (options->method < BD_QR_AUTO || options->method > BD_QR_HOUSEHOLDER)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "method = %d: must be BD_QR_AUTO, BD_QR_CAQR, BD_QR_CHOLESKY or "
                       "BD_QR_HOUSEHOLDER",
                       (int)options->method);
    const double least = (double)n * FLT_EPSILON;
    if (options->orthogonality != 0 &&
        !(options->orthogonality >= least && options->orthogonality <= 0.25))
        return bd_fail(BD_ERROR_ARGUMENT,
                       "orthogonality = %g: must be 0 (float32 rounding) or %.3g (n * FLT_EPSILON) "
                       "to 0.25",
                       options->orthogonality, least);
    if (options->panel_cols < 0)
        return bd_fail(BD_ERROR_ARGUMENT, "panel_cols = %d: must be 0 (default) or more",
                       options->panel_cols);
    if (options->block_rows < 0 || options->block_rows == 1)
        return bd_fail(BD_ERROR_ARGUMENT, "block_rows = %lld: must be 0 (default) or at least 2",
                       (long long)options->block_rows);
    int64_t cols = options->panel_cols && options->panel_cols < n ? options->panel_cols : n;
    if (options->block_rows && options->panel_cols && options->block_rows < 2 * cols)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "block_rows = %lld: must be at least 2 * panel_cols = %lld",
                       (long long)options->block_rows, (long long)(2 * cols));
    return BD_OK;
}

enum bd_status bd_qr_create(struct bd_qr **out, struct bd_backend *backend, int64_t m, int64_t n,
                            const struct bd_qr_options *options)
{
    enum bd_status status = bd_check_create(out, "qr", backend);
    if (status == BD_OK && (n < 1 || m < n))
        status = bd_fail(BD_ERROR_ARGUMENT,
                         "QR of a %lld x %lld matrix: rows >= columns >= 1 are wanted",
                         (long long)m, (long long)n);
    if (status == BD_OK)
        status = bd_backend_require(backend, backend->ops->qr, "QR factorisation");
    if (status == BD_OK)
        status = bd_check_elements("QR", m, n);
    if (status == BD_OK)
        status = check_options(options, n);
    if (status != BD_OK)
        return status;
    struct bd_qr *qr = calloc(1, sizeof *qr);
    if (!qr)
        return bd_fail(BD_ERROR_MEMORY, "no memory for a QR plan");
    *qr = (struct bd_qr){ .backend = backend, .m = m, .n = n };
    status = backend->ops->qr->create(backend, m, n, options, &qr->plan);
    if (status != BD_OK) {
        free(qr);
        return status;
    }
    *out = qr;
    return BD_OK;
}

void bd_qr_destroy(struct bd_qr **qr)
{
    if (!qr || !*qr)
        return;
    (*qr)->backend->ops->qr->destroy((*qr)->plan);
    free(*qr);
    *qr = NULL;
}

enum shape { M_BY_N, N_BY_N, M_BY_M, M_BY_ANY };

/* The plan is there, and a float32 matrix `name` of that shape. */
static enum bd_status check(const struct bd_qr *qr, const struct bd_matrix *matrix,
                            enum shape shape, const char *name)
{
    enum bd_status status = bd_check_pointer(qr, "qr");
    if (status != BD_OK)
        return status;
    const int64_t rows = shape == N_BY_N ? qr->n : qr->m;
    const int64_t cols = shape == M_BY_ANY ? -1 : shape == M_BY_M ? qr->m : qr->n;
    return bd_check_shape(matrix, BD_F32, rows, cols, name);
}

enum bd_status bd_qr_factor(struct bd_qr *qr, struct bd_matrix *a)
{
    enum bd_status status = check(qr, a, M_BY_N, "A");
    if (status != BD_OK)
        return status;
    qr->state = EMPTY;
    status = qr->backend->ops->qr->factor(qr->plan, a->data, a->ld);
    if (status != BD_OK)
        return status;
    qr->state = FACTORED;
    qr->factored = a->data;
    qr->factored_ld = a->ld;
    return BD_OK;
}

enum bd_status bd_qr_get_r(struct bd_qr *qr, struct bd_matrix *r)
{
    enum bd_status status = check(qr, r, N_BY_N, "R");
    if (status != BD_OK)
        return status;
    if (qr->state == EMPTY)
        return bd_fail(BD_ERROR_ARGUMENT, "no R yet: bd_qr_factor comes first");
    return qr->backend->ops->qr->get_r(qr->plan, r->data, r->ld);
}

/* The reflectors are needed. */
static enum bd_status check_factored(const struct bd_qr *qr)
{
    if (qr->state == EMPTY)
        return bd_fail(BD_ERROR_ARGUMENT, "no Q yet: bd_qr_factor comes first");
    if (qr->state == Q_IN_PLACE)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "the reflectors are gone: bd_qr_form_q put Q in their place");
    return BD_OK;
}

enum bd_status bd_qr_form_q(struct bd_qr *qr, struct bd_matrix *q)
{
    enum bd_status status = check(qr, q, M_BY_N, "Q");
    if (status == BD_OK)
        status = check_factored(qr);
    if (status != BD_OK)
        return status;
    if (q->data == qr->factored && q->ld != qr->factored_ld)
        return bd_fail(BD_ERROR_ARGUMENT, "Q and A share memory but not ld: %lld and %lld",
                       (long long)q->ld, (long long)qr->factored_ld);
    if (q->data == qr->factored)
        qr->state = Q_IN_PLACE;
    return qr->backend->ops->qr->form_q(qr->plan, q->data, q->ld);
}

/* Whether the floats of two matrices lie among each other. */
static bool overlap(const struct bd_matrix *a, const void *b, int64_t cols, int64_t ldb)
{
    const uintptr_t first = (uintptr_t)a->data, second = (uintptr_t)b;
    return first < second + (uintptr_t)(cols * ldb) * sizeof(float) &&
           second < first + (uintptr_t)(a->cols * a->ld) * sizeof(float);
}

enum bd_status bd_qr_form_full_q(struct bd_qr *qr, struct bd_matrix *q)
{
    enum bd_status status = check(qr, q, M_BY_M, "Q");
    if (status == BD_OK)
        status = check_factored(qr);
    if (status != BD_OK)
        return status;
    if (overlap(q, qr->factored, qr->n, qr->factored_ld))
        return bd_fail(BD_ERROR_ARGUMENT,
                       "Q shares memory with A: the full Q needs the reflectors until its end");
    return qr->backend->ops->qr->form_full_q(qr->plan, q->data, q->ld);
}

enum bd_status bd_qr_apply(struct bd_qr *qr, enum bd_qr_op op, struct bd_matrix *c)
{
    enum bd_status status = check(qr, c, M_BY_ANY, "C");
    if (status == BD_OK)
        status = check_factored(qr);
    if (status == BD_OK && op != BD_QR_Q && op != BD_QR_Q_TRANSPOSED)
        status =
            bd_fail(BD_ERROR_ARGUMENT, "op = %d: must be BD_QR_Q or BD_QR_Q_TRANSPOSED", (int)op);
    if (status != BD_OK || c->cols == 0)
        return status;
    return qr->backend->ops->qr->apply(qr->plan, op, c->data, c->ld, c->cols);
}

enum bd_status bd_qr_reduce(struct bd_qr *qr, const struct bd_matrix *a, struct bd_matrix *r)
{
    enum bd_status status = check(qr, a, M_BY_N, "A");
    if (status == BD_OK)
        status = check(qr, r, N_BY_N, "R");
    if (status != BD_OK)
        return status;
    return qr->backend->ops->qr->reduce(qr->plan, a->data, a->ld, r->data, r->ld);
}

enum bd_status bd_qr_thin(struct bd_qr *qr, const struct bd_matrix *a, struct bd_matrix *q,
                          struct bd_matrix *r)
{
    enum bd_status status = check(qr, a, M_BY_N, "A");
    if (status == BD_OK)
        status = check(qr, q, M_BY_N, "Q");
    if (status == BD_OK)
        status = check(qr, r, N_BY_N, "R");
    if (status == BD_OK && q->data == a->data && q->ld != a->ld)
        status = bd_fail(BD_ERROR_ARGUMENT, "Q and A share memory but not ld: %lld and %lld",
                         (long long)q->ld, (long long)a->ld);
    if (status != BD_OK)
        return status;
    qr->state = EMPTY;
    return qr->backend->ops->qr->thin(qr->plan, a->data, a->ld, q->data, q->ld, r->data, r->ld);
}
