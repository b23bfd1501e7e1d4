/* For tests of QR updating: a least-squares problem on the host beside its factorisation on a
 * backend, thin, full or without Q, with right-hand sides or without, changed in step and compared
 * in float64. */
#ifndef BD_TESTS_SUPPORT_UPDATE_PROBLEM_H
#define BD_TESTS_SUPPORT_UPDATE_PROBLEM_H

#include "tests/support/qr_window.h"
#include <backdrop/qr_update.h>

enum form { THIN, FULL, NO_Q };

struct problem {
    struct bd_backend *backend;
    struct bd_qr_update *update;
    struct bd_qr_update_shape shape;
    enum form form;
    int64_t m, n, rhs;
    float *a, *b;     /* max_rows x max_cols, max_rows x rhs; ld max_rows */
    float *q, *r, *d; /* what was fetched: ld max_rows, max_cols, max_rows */
    float *u, *e;     /* what comes in: max_rows x max_cols, max_rows x rhs */
    struct bd_qr_factors f;
    struct bd_matrix mu, me, ma, mb; /* on the backend; ma, mb: A and B as they are */
    uint64_t seed;
    double grade; /* column j of A is 10^(-grade j) times what it would be */
    double skew_max, residual_max, rhs_max; /* of all checks, in units of their bounds */
};

static inline float *floats(int64_t count)
{
    float *x = calloc((size_t)(count ? count : 1), sizeof *x);
    assert_non_null(x);
    return x;
}

/* A matrix whose ld is more than its rows. */
static inline void make_matrix(struct problem *p, struct bd_matrix *x, int64_t rows, int64_t cols)
{
    assert_int_equal(bd_matrix_create(p->backend, x, rows + 3, cols ? cols : 1, BD_F32), BD_OK);
    x->rows = rows;
    x->cols = cols;
}

static inline void send_matrix(const struct problem *p, struct bd_matrix *to, const float *x,
                               int64_t rows, int64_t cols, int64_t ld)
{
    to->rows = rows;
    to->cols = cols;
    if (rows && cols)
        assert_int_equal(bd_matrix_upload(p->backend, to, x, ld), BD_OK);
}

static inline double random_value(struct problem *p)
{
    return 2 * noise(&p->seed) + 1;
}

static inline void open_problem_on(struct problem *p, const char *backend, int threads,
                                   enum form form, int64_t max_rows, int64_t max_cols,
                                   int64_t max_block, int64_t rhs)
{
    memset(p, 0, sizeof *p);
    p->form = form;
    p->rhs = rhs;
    p->seed = 77 + (uint64_t)(max_rows * 1000 + max_cols);
    p->shape = (struct bd_qr_update_shape){ max_rows, max_cols, max_block, rhs, form == FULL };
    assert_int_equal(bd_backend_open(&p->backend, backend, threads), BD_OK);
    p->a = floats(max_rows * max_cols);
    p->u = floats(max_rows * max_cols);
    p->b = floats(max_rows * rhs);
    p->e = floats(max_rows * rhs);
    int64_t q_cols = form == FULL ? max_rows : max_cols;
    p->q = floats(max_rows * q_cols);
    p->r = floats(max_cols * max_cols);
    p->d = floats(max_rows * rhs);
    make_matrix(p, &p->f.q, max_rows, q_cols);
    make_matrix(p, &p->f.r, max_cols, max_cols);
    make_matrix(p, &p->mu, max_rows, max_cols);
    make_matrix(p, &p->ma, max_rows, max_cols);
    make_matrix(p, &p->me, max_rows, rhs);
    make_matrix(p, &p->mb, max_rows, rhs);
    if (rhs)
        make_matrix(p, &p->f.d, max_rows, rhs);
}

static inline void open_problem(struct problem *p, const char *backend, enum form form,
                                int64_t max_rows, int64_t max_cols, int64_t max_block, int64_t rhs)
{
    open_problem_on(p, backend, 2, form, max_rows, max_cols, max_block, rhs);
}

static inline void close_problem(struct problem *p)
{
    struct bd_matrix *const all[] = { &p->f.q, &p->f.r, &p->f.d, &p->mu, &p->me, &p->ma, &p->mb };
    for (int i = 0; i < 7; i++)
        bd_matrix_destroy(p->backend, all[i]);
    bd_qr_update_destroy(&p->update);
    bd_backend_close(&p->backend);
    float *const arrays[] = { p->a, p->u, p->b, p->e, p->q, p->r, p->d };
    for (int i = 0; i < 7; i++)
        free(arrays[i]);
}

/* --- the model --- */

static inline void open_columns(struct problem *p, int64_t k, int64_t count, const float *u)
{
    int64_t ld = p->shape.max_rows;
    memmove(p->a + (k + count) * ld, p->a + k * ld, (size_t)((p->n - k) * ld) * sizeof *u);
    memcpy(p->a + k * ld, u, (size_t)(count * ld) * sizeof *u);
    p->n += count;
}

static inline void close_columns(struct problem *p, int64_t k, int64_t count)
{
    int64_t ld = p->shape.max_rows;
    p->n -= count;
    memmove(p->a + k * ld, p->a + (k + count) * ld, (size_t)((p->n - k) * ld) * sizeof *p->a);
}

static inline void open_rows(struct problem *p, float *x, int64_t cols, int64_t k, int64_t count,
                             const float *u)
{
    int64_t ld = p->shape.max_rows;
    for (int64_t j = 0; j < cols; j++) {
        float *column = x + j * ld;
        memmove(column + k + count, column + k, (size_t)(p->m - k) * sizeof *x);
        memcpy(column + k, u + j * ld, (size_t)count * sizeof *x);
    }
}

static inline void close_rows(struct problem *p, float *x, int64_t cols, int64_t k, int64_t count)
{
    int64_t ld = p->shape.max_rows;
    for (int64_t j = 0; j < cols; j++)
        memmove(x + k + j * ld, x + k + count + j * ld, (size_t)(p->m - k - count) * sizeof *x);
}

/* --- the changes, to both; the model follows only where the backend did --- */

/* A and B as they will be, for the calls that want them. */
static inline const struct bd_qr_problem *after(struct problem *p, struct bd_qr_problem *problem,
                                                int whole)
{
    send_matrix(p, &p->mb, p->b, p->m, p->rhs, p->shape.max_rows);
    send_matrix(p, &p->ma, p->a, p->m, p->n, p->shape.max_rows);
    problem->a = whole ? &p->ma : NULL;
    problem->b = p->rhs ? &p->mb : NULL;
    return problem;
}

static inline void fill_columns(struct problem *p, int64_t k, int64_t count)
{
    for (int64_t j = 0; j < count; j++)
        for (int64_t i = 0; i < p->shape.max_rows; i++)
            p->u[i + j * p->shape.max_rows] =
                (float)(random_value(p) * pow(10, -p->grade * (double)(k + j)));
}

static inline void fill_rows(struct problem *p, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        for (int64_t j = 0; j < p->n; j++)
            p->u[i + j * p->shape.max_rows] =
                (float)(random_value(p) * pow(10, -p->grade * (double)j));
        for (int64_t j = 0; j < p->rhs; j++)
            p->e[i + j * p->shape.max_rows] = (float)random_value(p);
    }
}

/* The columns in p->u come in. */
static inline enum bd_status columns_in(struct problem *p, int64_t k, int64_t count)
{
    struct bd_qr_problem problem;
    send_matrix(p, &p->mu, p->u, p->m, count, p->shape.max_rows);
    open_columns(p, k, count, p->u);
    enum bd_status status =
        bd_qr_insert_columns(p->update, &p->f, k, &p->mu, after(p, &problem, 0));
    if (status != BD_OK)
        close_columns(p, k, count);
    return status;
}

static inline enum bd_status columns_out(struct problem *p, int64_t k, int64_t count)
{
    enum bd_status status = bd_qr_remove_columns(p->update, &p->f, k, count, NULL);
    if (status == BD_OK)
        close_columns(p, k, count);
    return status;
}

/* The rows in p->u and p->e come in. */
static inline enum bd_status rows_in(struct problem *p, int64_t k, int64_t count)
{
    int64_t ld = p->shape.max_rows;
    send_matrix(p, &p->mu, p->u, count, p->n, ld);
    send_matrix(p, &p->me, p->e, count, p->rhs, ld);
    enum bd_status status =
        bd_qr_insert_rows(p->update, &p->f, k, &p->mu, p->rhs ? &p->me : NULL, NULL);
    if (status == BD_OK) {
        open_rows(p, p->a, p->n, k, count, p->u);
        open_rows(p, p->b, p->rhs, k, count, p->e);
        p->m += count;
    }
    return status;
}

static inline enum bd_status rows_out(struct problem *p, int64_t k, int64_t count)
{
    struct bd_qr_problem problem;
    int64_t ld = p->shape.max_rows;
    /* what goes comes back if the backend cannot do it */
    for (int64_t j = 0; j < p->n; j++)
        memcpy(p->u + j * ld, p->a + k + j * ld, (size_t)count * sizeof *p->u);
    for (int64_t j = 0; j < p->rhs; j++)
        memcpy(p->e + j * ld, p->b + k + j * ld, (size_t)count * sizeof *p->e);
    close_rows(p, p->a, p->n, k, count);
    close_rows(p, p->b, p->rhs, k, count);
    p->m -= count;
    enum bd_status status = bd_qr_remove_rows(p->update, &p->f, k, count, after(p, &problem, 0));
    if (status != BD_OK) {
        open_rows(p, p->a, p->n, k, count, p->u);
        open_rows(p, p->b, p->rhs, k, count, p->e);
        p->m += count;
    }
    return status;
}

static inline enum bd_status slide_columns(struct problem *p, int64_t count)
{
    struct bd_qr_problem problem;
    send_matrix(p, &p->mu, p->u, p->m, count, p->shape.max_rows);
    close_columns(p, 0, count);
    open_columns(p, p->n, count, p->u);
    return bd_qr_slide(p->update, &p->f, &p->mu, after(p, &problem, 0));
}

/* Factors of m rows and n random columns, made by insertion into nothing (d = B, the full Q = I);
 * without Q from those. BD_ERROR_UNSUPPORTED where the backend cannot. */
static inline enum bd_status begin_problem(struct problem *p, int64_t m, int64_t n)
{
    enum bd_status status = bd_qr_update_create(&p->update, p->backend, &p->shape);
    if (status != BD_OK)
        return status;
    int64_t ld = p->shape.max_rows;
    p->m = m;
    p->n = 0;
    for (int64_t j = 0; j < p->rhs; j++)
        for (int64_t i = 0; i < m; i++)
            p->b[i + j * ld] = (float)random_value(p);
    for (int64_t i = 0; i < m && p->form == FULL; i++)
        p->q[i + i * ld] = 1;
    p->f.r.rows = p->f.r.cols = 0;
    p->f.q.rows = m;
    send_matrix(p, &p->f.q, p->q, m, p->form == FULL ? m : 0, ld);
    if (p->rhs)
        send_matrix(p, &p->f.d, p->b, p->form == FULL ? m : 0, p->rhs, ld);
    p->f.q.rows = m;
    while (p->n < n && status == BD_OK) {
        int64_t left = n - p->n, most = p->shape.max_block;
        int64_t count = left < most ? left : most;
        fill_columns(p, p->n, count);
        status = columns_in(p, p->n, count);
    }
    return status;
}

/* From here on R and d alone. */
static inline void forget_q(struct problem *p)
{
    bd_matrix_destroy(p->backend, &p->f.q);
}

/* --- the comparison --- */

static inline void fetch_problem(struct problem *p)
{
    int64_t ld = p->shape.max_rows;
    assert_int_equal(p->f.r.rows, p->n);
    assert_int_equal(p->f.r.cols, p->n);
    assert_int_equal(bd_matrix_download(p->backend, p->r, p->shape.max_cols, &p->f.r), BD_OK);
    if (p->f.q.data) {
        assert_int_equal(p->f.q.rows, p->m);
        assert_int_equal(p->f.q.cols, p->form == FULL ? p->m : p->n);
        assert_int_equal(bd_matrix_download(p->backend, p->q, ld, &p->f.q), BD_OK);
    }
    if (p->rhs) {
        assert_int_equal(p->f.d.rows, p->f.q.data ? p->f.q.cols : p->n);
        assert_int_equal(bd_matrix_download(p->backend, p->d, ld, &p->f.d), BD_OK);
    }
}

static inline double dot(int64_t count, const float *x, const float *y)
{
    double sum[4] = { 0 };
    int64_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (int64_t l = 0; l < 4; l++)
            sum[l] += (double)x[i + l] * y[i + l];
    for (; i < count; i++)
        sum[0] += (double)x[i] * y[i];
    return sum[0] + sum[1] + sum[2] + sum[3];
}

/* The largest of || a_j - Q r_j || / ||a_j|| over the columns: graded scales count. */
static inline double residual_of(struct problem *p)
{
    int64_t ld = p->shape.max_rows, ldr = p->shape.max_cols;
    double most = 0, *left = calloc((size_t)p->m + 1, sizeof *left);
    assert_non_null(left);
    for (int64_t j = 0; j < p->n; j++) {
        double error = 0, square = dot(p->m, p->a + j * ld, p->a + j * ld);
        for (int64_t i = 0; i < p->m; i++)
            left[i] = p->a[i + j * ld];
        for (int64_t l = 0; l <= j; l++)
            for (int64_t i = 0; i < p->m; i++)
                left[i] -= (double)p->q[i + l * ld] * p->r[l + j * ldr];
        for (int64_t i = 0; i < p->m; i++)
            error += left[i] * left[i];
        most = fmax(most, square > 0 ? sqrt(error / square) : sqrt(error));
        if (isnan(error))
            most = INFINITY;
    }
    free(left);
    return most;
}

/* Without Q: the largest of |(R^T R - A^T A)_ij| / (||a_i|| ||a_j||). */
static inline double gram_error_of(struct problem *p)
{
    int64_t ld = p->shape.max_rows, ldr = p->shape.max_cols;
    double most = 0;
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = 0; i <= j; i++) {
            const float *x = p->a + i * ld, *y = p->a + j * ld;
            double scale = sqrt(dot(p->m, x, x)) * sqrt(dot(p->m, y, y));
            double error = dot(p->m, x, y) - dot(i + 1, p->r + i * ldr, p->r + j * ldr);
            most = fmax(most, scale > 0 ? fabs(error) / scale : fabs(error));
            if (isnan(error))
                most = INFINITY;
        }
    return most;
}

static inline double skew_of(struct problem *p)
{
    int64_t ld = p->shape.max_rows, cols = p->f.q.cols;
    double square = 0;
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i <= j; i++) {
            double inner = dot(p->m, p->q + i * ld, p->q + j * ld) - (i == j);
            square += inner * inner * (i == j ? 1 : 2);
        }
    return isnan(square) ? INFINITY : sqrt(square);
}

/* ||d - Q^T b|| / ||b||, or without Q |R^T d - A^T b| / (||a_j|| ||b||), the largest. */
static inline double rhs_error_of(struct problem *p)
{
    int64_t ld = p->shape.max_rows, ldr = p->shape.max_cols;
    double most = 0;
    for (int64_t j = 0; j < p->rhs; j++) {
        const float *b = p->b + j * ld, *d = p->d + j * ld;
        double whole = sqrt(dot(p->m, b, b)), error = 0;
        for (int64_t i = 0; i < p->f.q.cols && p->f.q.data; i++) {
            double difference = dot(p->m, p->q + i * ld, b) - d[i];
            error += difference * difference;
        }
        error = sqrt(error) / whole;
        for (int64_t i = 0; i < p->n && !p->f.q.data; i++) {
            const float *a = p->a + i * ld;
            double difference = dot(p->m, a, b) - dot(i + 1, p->r + i * ldr, d);
            double scale = sqrt(dot(p->m, a, a)) * whole;
            error = fmax(error, scale > 0 ? fabs(difference) / scale : fabs(difference));
        }
        most = isnan(error) ? INFINITY : fmax(most, error);
    }
    return most;
}

/* Everything holds to 30 n eps. */
static inline void check_problem(struct problem *p, const char *what)
{
    fetch_problem(p);
    for (int64_t j = 0; j < p->n; j++)
        for (int64_t i = j + 1; i < p->n; i++)
            assert_true(p->r[i + j * p->shape.max_cols] == 0);
    int64_t n = p->n ? p->n : 1;
    double unit = (double)n * FLT_EPSILON, skew = 0;
    double residual = (p->f.q.data ? residual_of(p) : gram_error_of(p)) / unit;
    if (p->f.q.data)
        skew = skew_of(p) / (fmax((double)p->f.q.cols, 1) * FLT_EPSILON);
    double rhs = rhs_error_of(p) / unit;
    p->residual_max = fmax(p->residual_max, residual);
    p->skew_max = fmax(p->skew_max, skew);
    p->rhs_max = fmax(p->rhs_max, rhs);
    static const char *const forms[] = { "thin", "full", "no" };
    if (!(residual <= 30) || !(skew <= 30) || !(rhs <= 30))
        fail_msg("%s, %lld x %lld, %s Q: residual %g, orthogonality %g, d %g (n eps)", what,
                 (long long)p->m, (long long)p->n, forms[p->form], residual, skew, rhs);
}

/* Whether the backend did it; prints what it does not support. */
static inline int done(enum bd_status status, const char *what)
{
    if (status == BD_ERROR_UNSUPPORTED) {
        print_message("skipped (%s): %s\n", what, bd_error_detail());
        return 0;
    }
    if (status != BD_OK)
        fail_msg("%s: %s", what, bd_error_detail());
    return 1;
}

#endif
