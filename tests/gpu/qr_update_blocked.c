/* QR updating on the GPU beyond what its narrow kernels do (gpu/update/blocked/blocked.h): many
 * columns, full Q, right-hand sides, many columns or rows at a time; shapes around the edges of its
 * windows and groups. Changes follow each other on one factorisation, and after each of them Q R,
 * Q^T Q and d are compared with A and b in float64, by products with random vectors. Skipped
 * without a GPU. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/gpu/open_gpu.h"
#include "tests/support/quick.h"
#include "tests/support/random.h"
#include <backdrop/backend.h>
#include <backdrop/least_squares.h>
#include <backdrop/qr.h>
#include <backdrop/qr_update.h>

struct step {
    enum bd_qr_change_kind kind;
    int64_t k, p; /* k < 0: so far from the end */
};

struct problem {
    int64_t m, n, max_m, max_n, rhs;
    bool with_q, full_q;
    int64_t extra; /* ld of Q and R is larger than it has to be by that */
    double scale;
    const struct step *steps;
    int count;
};

struct fixture {
    const struct problem *p;
    struct bd_backend *backend;
    struct bd_qr_update *update;
    struct bd_qr_factors f;
    struct bd_matrix q, r, d, u, e; /* with all their room */
    int64_t m, n;
    float *a, *b; /* max_m x max_n, max_m x rhs: the problem on the host */
};

static uint64_t seed;

static void *room(size_t count, size_t size)
{
    void *data = calloc(count + 1, size);
    assert_non_null(data);
    return data;
}

/* y := A x in float64; A m x n. */
static void multiply(double *y, const float *a, int64_t lda, int64_t m, int64_t n, const double *x)
{
    memset(y, 0, (size_t)m * sizeof *y);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            y[i] += (double)a[i + j * lda] * x[j];
}

/* y := A^T x */
static void multiply_transposed(double *y, const float *a, int64_t lda, int64_t m, int64_t n,
                                const double *x)
{
    for (int64_t j = 0; j < n; j++) {
        y[j] = 0;
        for (int64_t i = 0; i < m; i++)
            y[j] += (double)a[i + j * lda] * x[i];
    }
}

static double norm(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

/* ||x - y|| / ||x|| */
static double distance(const double *x, double *y, int64_t n)
{
    double whole = norm(x, n);
    for (int64_t i = 0; i < n; i++)
        y[i] -= x[i];
    return norm(y, n) / (whole > 0 ? whole : 1);
}

static void get(const struct fixture *x, const struct bd_matrix *matrix, float *host)
{
    assert_int_equal(bd_matrix_download(x->backend, host, matrix->rows, matrix), BD_OK);
}

#define assert_below(value, bound, x, i, what)                                         \
    do {                                                                               \
        double value_ = (value) / (bound);                                             \
        if (!(value_ < 1))                                                             \
            fail_msg("%lld x %lld full %d extra %lld, step %d: %s is %g of its bound", \
                     (long long)(x)->p->m, (long long)(x)->p->n, (x)->p->full_q,       \
                     (long long)(x)->p->extra, i, what, value_);                       \
    } while (0)

/* R^T R = A^T A where there is no Q: compared by products, with twice the bound. */
static void check(struct fixture *x, int step)
{
    const struct problem *p = x->p;
    const int64_t m = x->m, n = x->n, qc = p->full_q ? m : n, rhs = p->rhs;
    float *q = room((size_t)(m * m), sizeof *q), *r = room((size_t)(n * n), sizeof *r);
    float *d = room((size_t)(m * (rhs + 1)), sizeof *d);
    double *z = room((size_t)m, sizeof *z), *y = room((size_t)m, sizeof *y);
    double *w = room((size_t)m, sizeof *w), *v = room((size_t)m, sizeof *v);
    const double bound = 4 * sqrt((double)n) * FLT_EPSILON;
    get(x, &x->f.r, r);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j + 1; i < n; i++)
            if (r[i + j * n] != 0)
                fail_msg("step %d: R(%lld, %lld) is %g", step, (long long)i, (long long)j,
                         (double)r[i + j * n]);
    if (p->with_q)
        get(x, &x->f.q, q);
    if (rhs)
        get(x, &x->f.d, d);
    for (int i = 0; i < 3; i++) {
        for (int64_t j = 0; j < m; j++)
            z[j] = signed_uniform(&seed);
        multiply(y, r, n, n, n, z); /* R z */
        if (p->with_q) {
            multiply(v, q, m, m, n, y); /* Q R z, A z */
            multiply(w, x->a, p->max_m, m, n, z);
            assert_below(distance(w, v, m), bound, x, step, "Q R - A");
            multiply(v, q, m, m, qc, z); /* Q^T Q z, z */
            multiply_transposed(w, q, m, m, qc, v);
            assert_below(distance(z, w, qc), bound, x, step, "Q^T Q - I");
        } else {
            multiply_transposed(v, r, n, n, n, y);
            multiply(w, x->a, p->max_m, m, n, z);
            multiply_transposed(y, x->a, p->max_m, m, n, w);
            assert_below(distance(y, v, n), 2 * bound, x, step, "R^T R - A^T A");
        }
    }
    for (int64_t j = 0; j < rhs; j++) {
        for (int64_t i = 0; i < m; i++)
            z[i] = x->b[i + j * p->max_m];
        const double whole = norm(z, m);
        if (p->with_q) {
            multiply_transposed(y, q, m, m, qc, z);
        } else { /* R^T d = A^T b */
            multiply_transposed(y, x->a, p->max_m, m, n, z);
            for (int64_t i = 0; i < n; i++) {
                double sum = y[i];
                for (int64_t l = 0; l < i; l++)
                    sum -= (double)r[l + i * n] * y[l];
                y[i] = sum / (double)r[i + i * n];
            }
        }
        for (int64_t i = 0; i < qc; i++)
            w[i] = d[i + j * qc] - y[i];
        assert_below(norm(w, p->with_q ? qc : n) / whole, p->with_q ? bound : 100 * bound, x, step,
                     "d - Q^T b");
    }
    if (rhs && n > 0) { /* x solves R x = d */
        struct bd_matrix solution;
        float *s = room((size_t)(n * rhs), sizeof *s);
        assert_int_equal(bd_matrix_create(x->backend, &solution, n, rhs, BD_F32), BD_OK);
        assert_int_equal(bd_qr_solve(x->update, &x->f, &solution), BD_OK);
        get(x, &solution, s);
        for (int64_t i = 0; i < n; i++)
            z[i] = s[i];
        multiply(y, r, n, n, n, z);
        for (int64_t i = 0; i < n; i++)
            v[i] = d[i];
        double size = 0;
        for (int64_t i = 0; i < n * n; i++)
            size += (double)r[i] * r[i];
        size = sqrt(size) * norm(z, n) + norm(v, n);
        for (int64_t i = 0; i < n; i++)
            y[i] -= v[i];
        assert_below(norm(y, n) / size, bound, x, step, "R x - d");
        bd_matrix_destroy(x->backend, &solution);
        free(s);
    }
    free(q);
    free(r);
    free(d);
    free(z);
    free(y);
    free(w);
    free(v);
}

/* The factors of the first A, by reflectors. */
static void factor(struct fixture *x)
{
    const struct problem *p = x->p;
    const int64_t m = x->m, n = x->n, qc = p->full_q ? m : n;
    struct bd_qr_options options = { .method = BD_QR_HOUSEHOLDER };
    struct bd_qr *qr;
    struct bd_matrix a;
    x->f.r = x->r;
    x->f.r.rows = x->f.r.cols = n;
    assert_int_equal(bd_matrix_create(x->backend, &a, m, n, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_upload(x->backend, &a, x->a, p->max_m), BD_OK);
    assert_int_equal(bd_qr_create(&qr, x->backend, m, n, &options), BD_OK);
    assert_int_equal(bd_qr_factor(qr, &a), BD_OK);
    assert_int_equal(bd_qr_get_r(qr, &x->f.r), BD_OK);
    if (p->rhs) {
        x->f.d = x->d;
        x->f.d.rows = m;
        assert_int_equal(bd_matrix_upload(x->backend, &x->f.d, x->b, p->max_m), BD_OK);
        assert_int_equal(bd_qr_apply(qr, BD_QR_Q_TRANSPOSED, &x->f.d), BD_OK);
        x->f.d.rows = qc;
    }
    if (p->with_q) {
        float *identity = room((size_t)(m * qc), sizeof *identity);
        for (int64_t i = 0; i < qc; i++)
            identity[i + i * m] = 1;
        x->f.q = x->q;
        x->f.q.rows = m;
        x->f.q.cols = qc;
        assert_int_equal(bd_matrix_upload(x->backend, &x->f.q, identity, m), BD_OK);
        assert_int_equal(bd_qr_apply(qr, BD_QR_Q, &x->f.q), BD_OK);
        free(identity);
    }
    bd_qr_destroy(&qr);
    bd_matrix_destroy(x->backend, &a);
}

static void fill(float *a, int64_t ld, int64_t rows, int64_t cols, double scale)
{
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++)
            a[i + j * ld] = (float)(scale * signed_uniform(&seed));
}

/* Makes the change on the host; u, e: what comes in, tight. */
static void change_host(struct fixture *x, const struct step *s, int64_t k, float *u, float *e)
{
    const struct problem *p = x->p;
    const int64_t ld = p->max_m, m = x->m, n = x->n, rhs = p->rhs;
    const size_t of = sizeof(float);
    switch (s->kind) {
    case BD_QR_INSERT_COLUMNS:
        memmove(x->a + (k + s->p) * ld, x->a + k * ld, (size_t)((n - k) * ld) * of);
        fill(u, m, m, s->p, p->scale);
        for (int64_t j = 0; j < s->p; j++)
            memcpy(x->a + (k + j) * ld, u + j * m, (size_t)m * of);
        x->n += s->p;
        break;
    case BD_QR_REMOVE_COLUMNS:
        memmove(x->a + k * ld, x->a + (k + s->p) * ld, (size_t)((n - k - s->p) * ld) * of);
        x->n -= s->p;
        break;
    case BD_QR_INSERT_ROWS:
        fill(u, s->p, s->p, n, p->scale);
        fill(e, s->p, s->p, rhs, p->scale);
        for (int64_t j = 0; j < n + rhs; j++) {
            float *column = j < n ? x->a + j * ld : x->b + (j - n) * ld;
            memmove(column + k + s->p, column + k, (size_t)(m - k) * of);
            memcpy(column + k, j < n ? u + j * s->p : e + (j - n) * s->p, (size_t)s->p * of);
        }
        x->m += s->p;
        break;
    default:
        for (int64_t j = 0; j < n + rhs; j++) {
            float *column = j < n ? x->a + j * ld : x->b + (j - n) * ld;
            memmove(column + k, column + k + s->p, (size_t)(m - k - s->p) * of);
        }
        x->m -= s->p;
    }
}

static enum bd_status change(struct fixture *x, const struct step *s)
{
    const struct problem *p = x->p;
    const bool columns = s->kind == BD_QR_INSERT_COLUMNS || s->kind == BD_QR_REMOVE_COLUMNS;
    const int64_t span = columns ? x->n : x->m, m = x->m, n = x->n;
    const bool in = s->kind == BD_QR_INSERT_COLUMNS || s->kind == BD_QR_INSERT_ROWS;
    const int64_t k = s->k >= 0 ? s->k : span + s->k + 1 - (in ? 0 : s->p);
    float *u = room((size_t)(p->max_m * s->p + s->p * p->max_n), sizeof *u);
    float *e = room((size_t)(s->p * (p->rhs + 1)), sizeof *e);
    struct bd_matrix um = { 0 }, em = { 0 }, bm = { 0 };
    struct bd_qr_problem after = { 0 };
    enum bd_status status = BD_OK;
    change_host(x, s, k, u, e);
    if (in) {
        assert_int_equal(
            bd_matrix_create(x->backend, &um, columns ? m : s->p, columns ? s->p : n, BD_F32),
            BD_OK);
        assert_int_equal(bd_matrix_upload(x->backend, &um, u, um.rows), BD_OK);
    }
    if (s->kind == BD_QR_INSERT_ROWS && p->rhs) {
        assert_int_equal(bd_matrix_create(x->backend, &em, s->p, p->rhs, BD_F32), BD_OK);
        assert_int_equal(bd_matrix_upload(x->backend, &em, e, s->p), BD_OK);
    }
    if (p->rhs) {
        assert_int_equal(bd_matrix_create(x->backend, &bm, x->m, p->rhs, BD_F32), BD_OK);
        assert_int_equal(bd_matrix_upload(x->backend, &bm, x->b, p->max_m), BD_OK);
        after.b = &bm;
    }
    switch (s->kind) {
    case BD_QR_INSERT_COLUMNS:
        status = bd_qr_insert_columns(x->update, &x->f, k, &um, &after);
        break;
    case BD_QR_REMOVE_COLUMNS:
        status = bd_qr_remove_columns(x->update, &x->f, k, s->p, &after);
        break;
    case BD_QR_INSERT_ROWS:
        status = bd_qr_insert_rows(x->update, &x->f, k, &um, p->rhs ? &em : NULL, &after);
        break;
    default:
        status = bd_qr_remove_rows(x->update, &x->f, k, s->p, &after);
    }
    bd_matrix_destroy(x->backend, &um);
    bd_matrix_destroy(x->backend, &em);
    bd_matrix_destroy(x->backend, &bm);
    free(u);
    free(e);
    return status;
}

static void run(struct bd_backend *backend, const struct problem *p)
{
    struct fixture x = { .p = p, .backend = backend, .m = p->m, .n = p->n };
    int64_t most = 1;
    for (int i = 0; i < p->count; i++)
        most = p->steps[i].p > most ? p->steps[i].p : most;
    const struct bd_qr_update_shape shape = { p->max_m, p->max_n, most, p->rhs, p->full_q };
    seed = 7;
    x.a = room((size_t)(p->max_m * p->max_n), sizeof *x.a);
    x.b = room((size_t)(p->max_m * (p->rhs + 1)), sizeof *x.b);
    fill(x.a, p->max_m, p->m, p->n, p->scale);
    fill(x.b, p->max_m, p->m, p->rhs, p->scale);
    const int64_t rows = p->max_m + p->extra;
    assert_int_equal(bd_matrix_create(backend, &x.q, rows, p->full_q ? p->max_m : p->max_n, BD_F32),
                     BD_OK);
    assert_int_equal(bd_matrix_create(backend, &x.r, p->max_n + p->extra, p->max_n, BD_F32), BD_OK);
    if (p->rhs)
        assert_int_equal(bd_matrix_create(backend, &x.d, rows, p->rhs, BD_F32), BD_OK);
    assert_int_equal(bd_qr_update_create(&x.update, backend, &shape), BD_OK);
    factor(&x);
    check(&x, -1);
    for (int i = 0; i < p->count; i++) {
        const enum bd_status status = change(&x, &p->steps[i]);
        if (status != BD_OK)
            fail_msg("step %d: %s", i, bd_error_detail());
        check(&x, i);
    }
    bd_qr_update_destroy(&x.update);
    bd_matrix_destroy(backend, &x.q);
    bd_matrix_destroy(backend, &x.r);
    bd_matrix_destroy(backend, &x.d);
    free(x.a);
    free(x.b);
}

#define CI BD_QR_INSERT_COLUMNS
#define CR BD_QR_REMOVE_COLUMNS
#define RI BD_QR_INSERT_ROWS
#define RR BD_QR_REMOVE_ROWS

static const struct step in_columns[] = {
    { CI, -1, 3 }, { CI, 0, 65 }, { CI, 100, 1 }, { CI, 7, 130 }
};
static const struct step out_rows[] = { { RR, 0, 5 }, { RR, -1, 70 }, { RR, 33, 1 } };
static const struct step out_columns[] = { { CR, 0, 37 }, { CR, -1, 5 }, { CR, 20, 90 } };
static const struct step in_rows[] = { { RI, 0, 37 }, { RI, -1, 5 }, { RI, 20, 90 } };
static const struct step mixed[] = { { CI, 5, 70 },  { RR, 3, 40 },  { RI, 10, 40 },
                                     { CR, 5, 70 },  { CI, 0, 1 },   { RI, 0, 1 },
                                     { RR, 100, 1 }, { CR, 128, 1 }, { CI, -31, 66 } };

#define steps_of(s) s, (int)(sizeof s / sizeof *s)

static void test_full(void **state)
{
    (void)state;
    struct bd_backend *backend = open_gpu();
    static const struct problem problems[] = {
        { 500, 200, 620, 400, 2, true, true, 0, 1, steps_of(in_columns) },
        { 500, 257, 620, 456, 1, true, true, 3, 1, steps_of(in_columns) },
        { 400, 300, 400, 300, 2, true, true, 0, 1, steps_of(out_rows) },
        { 376, 300, 400, 300, 1, true, true, 1, 1, steps_of(out_rows) },
        { 400, 300, 400, 300, 1, true, true, 0, 1, steps_of(out_columns) },
        { 300, 300, 300, 300, 1, true, true, 5, 1, steps_of(out_columns) },
        { 300, 300, 432, 300, 2, true, true, 0, 1, steps_of(in_rows) },
        { 400, 130, 532, 300, 1, true, true, 2, 1, steps_of(in_rows) },
        { 500, 300, 600, 400, 2, true, true, 0, 1e-30, steps_of(mixed) },
        { 500, 300, 600, 400, 2, true, true, 0, 1e18, steps_of(mixed) },
    };
    const int count = (int)(sizeof problems / sizeof *problems);
    for (int i = 0; i < (test_quick() ? 3 : count); i++)
        run(backend, &problems[i]);
    bd_backend_close(&backend);
}

static void test_thin(void **state)
{
    (void)state;
    struct bd_backend *backend = open_gpu();
    static const struct problem problems[] = {
        { 700, 200, 820, 400, 2, true, false, 0, 1, steps_of(in_columns) },
        { 399, 200, 399, 399, 0, true, false, 0, 1, steps_of(in_columns) },
        { 376, 300, 400, 300, 1, true, false, 1, 1, steps_of(out_rows) },
        { 400, 300, 400, 300, 1, true, false, 0, 1, steps_of(out_columns) },
        { 300, 40, 432, 300, 2, true, false, 0, 1, steps_of(in_rows) },
        { 1300, 1100, 1400, 1200, 1, true, false, 0, 1, steps_of(mixed) },
    };
    const int count = (int)(sizeof problems / sizeof *problems);
    for (int i = 0; i < (test_quick() ? 2 : count); i++)
        run(backend, &problems[i]);
    bd_backend_close(&backend);
}

static void test_r_alone(void **state)
{
    (void)state;
    struct bd_backend *backend = open_gpu();
    static const struct problem problems[] = {
        { 700, 300, 900, 400, 2, false, false, 0, 1, steps_of(out_columns) },
        { 500, 300, 900, 400, 2, false, false, 1, 1, steps_of(in_rows) },
    };
    for (int i = 0; i < 2; i++)
        run(backend, &problems[i]);
    bd_backend_close(&backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_thin),
        cmocka_unit_test(test_r_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
