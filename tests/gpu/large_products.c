/* More than 2^31 elements on the GPU (large_problem.h): QR by the Gram matrix, products with
 * triangles, a full Q of 46,400 x 46,400, and many right-hand sides.
 *
 * Skipped, with a message, where there is no GPU or too little of its memory is free: up to 34 GiB
 * are wanted. An argument is a pattern for the names of tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/gpu/large_checks.h"
#include <backdrop/gram_qr.h>
#include <backdrop/qr.h>
#include <backdrop/qr_update.h>
#include <backdrop/triangular.h>

static void test_gram_qr(void **state)
{
    static const struct {
        int64_t m, n, ld, offset;
        enum bd_type type;
        struct bd_gram_qr_options options;
        double epsilon; /* of V = Q R */
        const char *what;
    } cases[] = {
        { 110000003,
          20,
          110000016,
          0,
          BD_F32,
          { .method = BD_GRAM_QR_CHOLESKY2 },
          FLT_EPSILON,
          "CholQR2" },
        { 110000003, 20, 110000005, 1, BD_F32, { .method = BD_GRAM_QR_SVD }, FLT_EPSILON, "SVQR" },
        { 16900001,
          128,
          16900016,
          0,
          BD_F32,
          { .method = BD_GRAM_QR_CHOLESKY2 },
          FLT_EPSILON,
          "CholQR2" },
        { 110000003,
          20,
          110000016,
          0,
          BD_F64,
          { .method = BD_GRAM_QR_SVD, .mixed = true },
          DBL_EPSILON,
          "mixed SVQR" },
    };
    (void)state;
    large_open(34 * gib);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct large_matrix a = large_make(cases[i].m, cases[i].n);
        struct placed v =
            place(cases[i].m, cases[i].n, cases[i].ld, cases[i].offset, cases[i].type);
        struct bd_matrix r;
        struct bd_gram_qr *qr;
        struct bd_gram_qr_report report;
        assert_true(a.m * a.n > (int64_t)1 << 31);
        assert_int_equal(bd_matrix_create(large.backend, &r, a.n, a.n, cases[i].type), BD_OK);
        large_upload(&a, &v.x);
        assert_int_equal(
            bd_gram_qr_create(&qr, &large.backend, &a.m, 1, a.n, cases[i].type, &cases[i].options),
            BD_OK);
        assert_int_equal(bd_gram_qr_run(qr, &v.x, &r, &report), BD_OK);
        struct large_pass pass = { .a = &a, .r = get_r(&r), .times_r = true, .gram = true };
        const struct large_errors e = large_compare(&pass, &v.x);
        large_told(cases[i].what, &a, &e);
        large_assert(&e, 30 * (double)a.n * cases[i].epsilon);
        free((void *)pass.r);
        bd_gram_qr_destroy(&qr);
        bd_matrix_destroy(large.backend, &r);
        bd_matrix_destroy(large.backend, &v.whole);
    }
    large_close();
}

/* An R that is far from an identity, and well-conditioned. */
static void make_r(const struct bd_matrix *r)
{
    const int64_t n = r->cols;
    float *host = calloc((size_t)(n * n), sizeof *host);
    assert_non_null(host);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j; i++)
            host[i + j * n] =
                i == j ? 1.5F + 0.01F * (float)(j % 7) : large_element(i, 1000 + j) / (float)n;
    assert_int_equal(bd_matrix_upload(large.backend, r, host, n), BD_OK);
    free(host);
}

/* V := V R, and V R R^-1 is V again. */
static void test_triangular(void **state)
{
    static const int64_t shapes[][4] = { { 110000003, 20, 110000016, 0 },
                                         { 110000003, 20, 110000005, 1 },
                                         { 16900001, 128, 16900016, 0 } };
    (void)state;
    large_open(12 * gib);
    for (int i = 0; i < 3; i++) {
        const int64_t m = shapes[i][0], n = shapes[i][1];
        const struct large_matrix a = large_make(m, n);
        const double limit = 30 * (double)n * FLT_EPSILON;
        struct placed v = place(m, n, shapes[i][2], shapes[i][3], BD_F32);
        struct bd_matrix r;
        struct bd_triangular *triangular;
        assert_int_equal(bd_matrix_create(large.backend, &r, n, n, BD_F32), BD_OK);
        assert_int_equal(bd_triangular_create(&triangular, large.backend, m, n, BD_F32), BD_OK);
        large_upload(&a, &v.x);
        make_r(&r);
        assert_int_equal(bd_triangular_multiply(triangular, &r, &v.x, false), BD_OK);
        struct large_pass pass = { .a = &a, .r = get_r(&r), .expected = LARGE_A_TIMES_R };
        const struct large_errors e = large_compare(&pass, &v.x);
        large_told("V R", &a, &e);
        large_assert(&e, limit);
        free((void *)pass.r);
        assert_int_equal(bd_triangular_solve(triangular, &r, &v.x, BD_TRIANGULAR_ADAPTIVE, false),
                         BD_OK);
        check_same(&a, &v.x, limit, "V R^-1");
        bd_triangular_destroy(&triangular);
        bd_matrix_destroy(large.backend, &r);
        bd_matrix_destroy(large.backend, &v.whole);
    }
    large_close();
}

/* The full Q: with X = [A, a few random columns], Y = Q X and Q^T Y. */
enum { side = 46400, reflectors = 20, probes = 8, wide = reflectors + probes, block = 32 };

struct square {
    const double *x; /* side x wide */
    double *q_x;     /* threads x side x probes: shares of Q X, X the probes */
    double *qt_x;    /* side x wide: Q^T [A, Y] */
    const double *y; /* NULL: the first pass, Y is not known yet */
    int64_t column, columns;
};

/* `block` columns of Q, of those in the staging memory. */
static void square_strip(void *arg, int64_t item, int thread)
{
    const struct square *s = arg;
    const int64_t first = item * block, count = large_min(block, s->columns - first);
    const float *q = (const float *)large.staging + first * side;
    double *wide_q = large.scratch + (int64_t)thread * 2 * large_strip * large_most_cols;
    for (int64_t row = 0; row < side; row += large_strip) {
        const int64_t rows = large_min(large_strip, side - row);
        for (int64_t j = 0; j < count; j++)
            for (int64_t i = 0; i < rows; i++)
                wide_q[i + j * large_strip] = (double)q[row + i + j * side];
        if (!s->y) {
            cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (int)count, reflectors, (int)rows,
                        1, wide_q, large_strip, s->x + row, side, 1, s->qt_x + s->column + first,
                        side);
            cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, (int)rows, probes, (int)count, 1,
                        wide_q, large_strip, s->x + s->column + first + (int64_t)reflectors * side,
                        side, 1, s->q_x + (int64_t)thread * side * probes + row, side);
        } else {
            cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (int)count, probes, (int)rows, 1,
                        wide_q, large_strip, s->y + row, side, 1,
                        s->qt_x + s->column + first + (int64_t)reflectors * side, side);
        }
    }
}

static void square_pass(struct square *s, const struct bd_matrix *q)
{
    const int64_t most = large_staging / (int64_t)sizeof(float) / side / block * block;
    for (s->column = 0; s->column < side; s->column += s->columns) {
        struct bd_matrix some = *q;
        some.cols = s->columns = large_min(most, side - s->column);
        some.data = (float *)q->data + s->column * q->ld;
        assert_int_equal(bd_matrix_download(large.backend, large.staging, side, &some), BD_OK);
        bd_pool_run(large.pool, square_strip, s, (s->columns + block - 1) / block);
    }
}

/* Q^T A = [R; 0], and Q^T (Q X) = X for random columns X, in which every element of Q takes part:
 * one that is wrong by its size, 5e-3, is seen in an element of the result, where rounding leaves
 * 1e-5. */
static void check_square(const struct large_matrix *a, const struct bd_matrix *q,
                         const struct bd_matrix *r, const char *what)
{
    const int threads = bd_pool_threads(large.pool);
    const size_t column = (size_t)side * sizeof(double);
    double *x = calloc(wide, column), *qt_x = calloc(wide, column), *host_r = get_r(r);
    double *q_x = calloc((size_t)threads * probes, column), error = 0, size = 0, worst = 0;
    float *single = calloc(side, sizeof *single);
    assert_true(x && qt_x && q_x && single);
    for (int64_t j = 0; j < wide; j++) {
        if (j < reflectors)
            large_fill(single, a, 0, side, j);
        for (int64_t i = 0; i < side; i++)
            x[i + j * side] = (double)(j < reflectors ? single[i] : large_element(i, 5000 + j));
    }
    struct square s = { .x = x, .q_x = q_x, .qt_x = qt_x };
    square_pass(&s, q);
    for (int64_t i = 0; i < (int64_t)side * probes; i++)
        for (int t = 1; t < threads; t++)
            q_x[i] += q_x[i + (int64_t)t * side * probes];
    s.y = q_x;
    square_pass(&s, q);
    for (int64_t j = 0; j < wide; j++)
        for (int64_t i = 0; i < side; i++) {
            const double want = j >= reflectors ? x[i + j * side]
                                : i <= j        ? host_r[i + j * reflectors]
                                                : 0;
            const double d = fabs(qt_x[i + j * side] - want);
            error += d * d;
            size += want * want;
            worst = d <= worst ? worst : isnan(d) ? INFINITY : d;
        }
    print_message("%s: Q^T [A, Q X] off by %.1e, largest %.1e\n", what, sqrt(error / size), worst);
    assert_true(sqrt(error / size) <= 30 * reflectors * (double)FLT_EPSILON);
    assert_true(worst <= 1e-3);
    free(x);
    free(qt_x);
    free(q_x);
    free(single);
    free(host_r);
}

static void test_full_q(void **state)
{
    static const enum bd_qr_method methods[] = { BD_QR_HOUSEHOLDER, BD_QR_CAQR };
    static const char *const names[] = { "full Q, Householder", "full Q, CAQR" };
    const struct large_matrix a = large_make(side, reflectors);
    (void)state;
    large_open(10 * gib);
    assert_true((int64_t)side * side > (int64_t)1 << 31);
    struct placed f = place(side, reflectors, side, 0, BD_F32),
                  q = place(side, side, side, 0, BD_F32);
    struct bd_matrix r;
    assert_int_equal(bd_matrix_create(large.backend, &r, reflectors, reflectors, BD_F32), BD_OK);
    for (int i = 0; i < 2; i++) {
        const struct bd_qr_options options = { .method = methods[i] };
        struct bd_qr *qr;
        large_upload(&a, &f.x);
        assert_int_equal(bd_qr_create(&qr, large.backend, side, reflectors, &options), BD_OK);
        assert_int_equal(bd_qr_factor(qr, &f.x), BD_OK);
        assert_int_equal(bd_qr_get_r(qr, &r), BD_OK);
        assert_int_equal(bd_qr_form_full_q(qr, &q.x), BD_OK);
        check_square(&a, &q.x, &r, names[i]);
        bd_qr_destroy(&qr);
    }
    bd_matrix_destroy(large.backend, &r);
    bd_matrix_destroy(large.backend, &q.whole);
    bd_matrix_destroy(large.backend, &f.whole);
    large_close();
}

/* More right-hand sides than a grid has blocks, or tiles of them, in its second dimension. */
static void test_right_hand_sides(void **state)
{
    enum { m = 8, n = 2, rhs = 4200001 };
    const struct bd_qr_update_shape shape = { m, n + 1, 1, rhs, false };
    (void)state;
    struct bd_backend *backend = open_gpu();
    struct bd_qr *qr;
    struct bd_qr_update *update;
    struct bd_qr_factors f = { 0 };
    struct bd_matrix u, b;
    float a[m * (n + 1)], q[m * (n + 1)];
    float *right = calloc((size_t)m * rhs, sizeof *right);
    float *d = calloc((size_t)(n + 1) * rhs, sizeof *d);
    assert_true(right && d);
    for (int64_t j = 0; j < rhs; j++)
        for (int64_t i = 0; i < m; i++) {
            right[i + j * m] = large_element(i, 100 + j);
            if (j <= n)
                a[i + j * m] = large_element(i, j);
        }
    assert_int_equal(bd_matrix_create(backend, &f.q, m, n + 1, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_create(backend, &f.r, n + 1, n + 1, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_create(backend, &f.d, n + 1, rhs, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_create(backend, &u, m, 1, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_create(backend, &b, m, rhs, BD_F32), BD_OK);
    f.q.cols = f.r.rows = f.r.cols = f.d.rows = n;
    assert_int_equal(bd_matrix_upload(backend, &f.q, a, m), BD_OK);
    assert_int_equal(bd_matrix_upload(backend, &u, a + m * n, m), BD_OK);
    assert_int_equal(bd_matrix_upload(backend, &b, right, m), BD_OK);
    assert_int_equal(bd_qr_create(&qr, backend, m, n, NULL), BD_OK);
    assert_int_equal(bd_qr_thin(qr, &f.q, &f.q, &f.r), BD_OK);
    assert_int_equal(bd_qr_update_create(&update, backend, &shape), BD_OK);
    const struct bd_qr_problem after = { .b = &b };
    assert_int_equal(bd_qr_insert_columns(update, &f, n, &u, &after), BD_OK);
    assert_int_equal(bd_matrix_download(backend, q, m, &f.q), BD_OK);
    assert_int_equal(bd_matrix_download(backend, d, n + 1, &f.d), BD_OK);
    double worst = 0;
    for (int64_t j = 0; j < rhs; j++)
        for (int64_t k = 0; k <= n; k++) {
            double sum = 0;
            for (int64_t i = 0; i < m; i++)
                sum += (double)q[i + k * m] * (double)right[i + j * m];
            const double error = fabs(sum - (double)d[k + j * (n + 1)]);
            worst = error <= worst ? worst : isnan(error) ? INFINITY : error;
        }
    assert_true(worst <= 1e-5);
    /* NaN in the last of them is seen */
    right[(int64_t)m * rhs - 1] = NAN;
    assert_int_equal(bd_matrix_upload(backend, &b, right, m), BD_OK);
    f.q.cols = f.r.rows = f.r.cols = f.d.rows = n;
    assert_int_equal(bd_qr_insert_columns(update, &f, n, &u, &after), BD_ERROR_NUMERIC);
    free(right);
    free(d);
    bd_qr_update_destroy(&update);
    bd_qr_destroy(&qr);
    bd_matrix_destroy(backend, &f.q);
    bd_matrix_destroy(backend, &f.r);
    bd_matrix_destroy(backend, &f.d);
    bd_matrix_destroy(backend, &u);
    bd_matrix_destroy(backend, &b);
    bd_backend_close(&backend);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_hand_sides),
        cmocka_unit_test(test_full_q),
        cmocka_unit_test(test_triangular),
        cmocka_unit_test(test_gram_qr),
    };
    if (count > 1)
        cmocka_set_test_filter(arguments[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
