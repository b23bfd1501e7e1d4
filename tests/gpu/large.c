/* Matrices of more than 2^31 elements on the GPU (large_problem.h): every factorisation,
 * product and copy whose kernels count rows or elements, on shapes from one column of 2.2 billion
 * rows to 200 columns, and a full Q of 46,400 x 46,400. QR updating is large_update.c.
 *
 * Skipped, with a message, where there is no GPU or too little of its memory is free: up to 50 GiB
 * are wanted. An argument is a pattern for the names of tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/gpu/large_checks.h"
#include <backdrop/qr.h>

/* S^T S = R^T R, for R of A = Q R, which has been checked. */
static void check_r(const double *r, const struct bd_matrix *other, const char *what)
{
    const int64_t n = other->cols;
    double *s = get_r(other), worst = 0;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j; i++) {
            double difference = 0, left = 0, right = 0;
            for (int64_t k = 0; k <= j; k++) {
                difference += r[k + i * n] * r[k + j * n] - s[k + i * n] * s[k + j * n];
                left += r[k + i * n] * r[k + i * n];
                right += r[k + j * n] * r[k + j * n];
            }
            worst = fmax(worst, fabs(difference) / sqrt(left * right));
        }
    print_message("%s: R^T R off by %.1e\n", what, worst);
    assert_true(worst <= 30 * (double)n * FLT_EPSILON);
    free(s);
}

static const char *const method_names[] = { "auto", "CAQR", "Cholesky", "Householder" };

struct shape {
    int64_t m, n, ld, offset;
    enum bd_qr_method methods[4]; /* AUTO first; another one that is AUTO ends them */
};

/* Thin Q, then R alone, by every method. */
static void check_shape(const struct shape *s)
{
    const struct large_matrix a = large_make(s->m, s->n);
    struct placed on_device = place(s->m, s->n, s->ld, s->offset, BD_F32);
    struct placed q = place(s->m, s->n, s->ld, s->offset, BD_F32);
    struct bd_matrix r;
    double *first_r = NULL;
    char what[64];
    assert_true(s->m * s->n > (int64_t)1 << 31);
    assert_int_equal(bd_matrix_create(large.backend, &r, s->n, s->n, BD_F32), BD_OK);
    large_upload(&a, &on_device.x);
    for (int i = 0; i == 0 || (i < 4 && s->methods[i] != BD_QR_AUTO); i++) {
        const struct bd_qr_options options = { .method = s->methods[i] };
        const char *name = method_names[options.method];
        struct bd_qr *qr;
        assert_int_equal(bd_qr_create(&qr, large.backend, s->m, s->n, &options), BD_OK);
        assert_int_equal(bd_qr_thin(qr, &on_device.x, &q.x, &r), BD_OK);
        snprintf(what, sizeof what, "thin Q, %s", name);
        check_qr(&a, &q.x, &r, what);
        first_r = first_r ? first_r : get_r(&r);
        assert_int_equal(bd_qr_reduce(qr, &on_device.x, &r), BD_OK);
        snprintf(what, sizeof what, "R alone, %s", name);
        check_r(first_r, &r, what);
        bd_qr_destroy(&qr);
    }
    free(first_r);
    bd_matrix_destroy(large.backend, &r);
    bd_matrix_destroy(large.backend, &q.whole);
    bd_matrix_destroy(large.backend, &on_device.whole);
}

static void test_tall(void **state)
{
    static const struct shape shape = {
        110000003, 20, 110000016, 0, { BD_QR_AUTO, BD_QR_CAQR, BD_QR_HOUSEHOLDER }
    };
    (void)state;
    large_open(42 * gib);
    check_shape(&shape);
    large_close();
}

/* Nothing is aligned. */
static void test_odd(void **state)
{
    static const struct shape shape = { 110000003, 20, 110000005, 1, { BD_QR_AUTO, BD_QR_CAQR } };
    (void)state;
    large_open(26 * gib);
    check_shape(&shape);
    large_close();
}

static void test_many_columns(void **state)
{
    static const struct shape shapes[] = {
        { 33600001, 64, 33600016, 0, { BD_QR_AUTO } },
        { 16900000, 128, 16900000, 0, { BD_QR_AUTO, BD_QR_CAQR } },
        { 10800001, 200, 10800016, 0, { BD_QR_AUTO } },
    };
    (void)state;
    large_open(26 * gib);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_shape(&shapes[i]);
    large_close();
}

/* Columns whose distance is beyond 2 GiB, and more than 2^31 rows. */
static void test_few_columns(void **state)
{
    static const struct shape shapes[] = {
        { 720000001, 3, 720000077, 1, { BD_QR_AUTO, BD_QR_CAQR, BD_QR_HOUSEHOLDER } },
        { 2200000011, 1, 2200000011, 0, { BD_QR_AUTO, BD_QR_CAQR, BD_QR_HOUSEHOLDER } },
    };
    (void)state;
    large_open(50 * gib);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_shape(&shapes[i]);
    large_close();
}

/* Whole columns that are 2.9 GB apart, up and down in one call each; and a view of some rows. */
static void test_copies(void **state)
{
    const int64_t m = 720000001, ld = 720000077, n = 3, part = 100000, from = m - part;
    const struct large_matrix a = large_make(m, n);
    (void)state;
    large_open(10 * gib);
    struct placed p = place(m, n, ld, 0, BD_F32);
    /* Three columns in one call, from host columns as far apart: of the host's only `part` rows are
     * touched. */
    float *host = malloc((size_t)(ld * n) * sizeof *host);
    struct bd_matrix rows = p.x;
    assert_non_null(host);
    large_upload(&a, &p.x);
    check_same(&a, &p.x, 0, "up and down");
    rows.rows = part;
    rows.data = (float *)p.x.data + from;
    assert_int_equal(bd_matrix_download(large.backend, host, ld, &rows), BD_OK);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < part; i++) {
            assert_true(host[i + j * ld] == large_element(from + i, j));
            host[i + j * ld] += 1;
        }
    assert_int_equal(bd_matrix_upload(large.backend, &rows, host, ld), BD_OK);
    memset(host, 0, (size_t)part * sizeof *host);
    assert_int_equal(bd_matrix_download(large.backend, host, ld, &rows), BD_OK);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < part; i++)
            assert_true(host[i + j * ld] == large_element(from + i, j) + 1);
    free(host);
    bd_matrix_destroy(large.backend, &p.whole);
    large_close();
}

/* Q^T A = [R; 0], and Q [R; 0] = A: C has as many elements as A. */
static void test_apply(void **state)
{
    const int64_t m = 110000003, n = 20, ld = 110000016;
    static const enum bd_qr_method methods[] = { BD_QR_CAQR, BD_QR_HOUSEHOLDER };
    const struct large_matrix a = large_make(m, n);
    (void)state;
    large_open(42 * gib);
    struct placed original = place(m, n, ld, 0, BD_F32), f = place(m, n, ld, 0, BD_F32),
                  c = place(m, n, ld, 0, BD_F32);
    struct bd_matrix r;
    assert_int_equal(bd_matrix_create(large.backend, &r, n, n, BD_F32), BD_OK);
    large_upload(&a, &original.x);
    for (int i = 0; i < 2; i++) {
        const struct bd_qr_options options = { .method = methods[i] };
        const double limit = 30 * (double)n * FLT_EPSILON;
        char what[64];
        struct bd_qr *qr;
        copy(&f.x, &original.x);
        copy(&c.x, &original.x);
        assert_int_equal(bd_qr_create(&qr, large.backend, m, n, &options), BD_OK);
        assert_int_equal(bd_qr_factor(qr, &f.x), BD_OK);
        assert_int_equal(bd_qr_get_r(qr, &r), BD_OK);
        assert_int_equal(bd_qr_apply(qr, BD_QR_Q_TRANSPOSED, &c.x), BD_OK);
        struct large_pass pass = { .a = &a, .r = get_r(&r), .expected = LARGE_R };
        const struct large_errors e = large_compare(&pass, &c.x);
        snprintf(what, sizeof what, "Q^T A, %s", method_names[methods[i]]);
        large_told(what, &a, &e);
        /* elements of R are 1e4, their rounding 1e-2; below R one that is 1 is 1e-4 of its column
         */
        assert_true(e.residual <= limit);
        free((void *)pass.r);
        assert_int_equal(bd_qr_apply(qr, BD_QR_Q, &c.x), BD_OK);
        snprintf(what, sizeof what, "Q R, %s", method_names[methods[i]]);
        check_same(&a, &c.x, limit, what);
        bd_qr_destroy(&qr);
    }
    bd_matrix_destroy(large.backend, &r);
    bd_matrix_destroy(large.backend, &c.whole);
    bd_matrix_destroy(large.backend, &f.whole);
    bd_matrix_destroy(large.backend, &original.whole);
    large_close();
}

/* What is refused is refused at once, with one line, and nothing of it stays allocated. */
static void assert_refused(enum bd_status status, enum bd_status expected, const char *part)
{
    assert_int_equal(status, expected);
    if (!strstr(bd_error_detail(), part))
        fail_msg("\"%s\" does not say \"%s\"", bd_error_detail(), part);
    assert_null(strchr(bd_error_detail(), '\n'));
}

static void test_too_large(void **state)
{
    static const struct {
        int64_t m, n;
        struct bd_qr_options options;
        const char *word;
    } cases[] = {
        { INT64_MAX, 1, { 0 }, "9223372036854775807 x 1" },
        { INT64_MAX, INT64_MAX, { 0 }, "too large" },
        { (int64_t)1 << 47, 3, { 0 }, "too large" },
        /* what no GPU has, yet */
        { (int64_t)1 << 42, 3, { .method = BD_QR_CAQR }, "MiB of GPU memory" },
        { (int64_t)1 << 42, 3, { .method = BD_QR_HOUSEHOLDER }, "MiB of GPU memory" },
        { (int64_t)1 << 22, 1 << 21, { 0 }, "MiB of GPU memory" },
    };
    (void)state;
    struct bd_backend *backend = open_gpu();
    const int blocks = bd_cuda_blocks();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bd_qr *qr = (struct bd_qr *)&backend;
        assert_refused(bd_qr_create(&qr, backend, cases[i].m, cases[i].n, &cases[i].options),
                       BD_ERROR_MEMORY, cases[i].word);
        assert_null(qr);
        assert_int_equal(bd_cuda_blocks(), blocks);
    }
    static const int64_t sizes[][2] = { { INT64_MAX, 1 }, { 1, INT64_MAX }, { INT64_MAX / 8, 2 } };
    for (int i = 0; i < 3; i++) {
        struct bd_matrix x;
        assert_refused(bd_matrix_create(backend, &x, sizes[i][0], sizes[i][1], BD_F32),
                       BD_ERROR_MEMORY, "too large");
        assert_null(x.data);
    }
    bd_backend_close(&backend);
}

/* The last element, far beyond the 2^31st, is NaN. */
static void test_last_nan(void **state)
{
    const int64_t m = 110000003, n = 20, ld = 110000016;
    static const enum bd_qr_method methods[] = { BD_QR_AUTO, BD_QR_CAQR };
    const struct large_matrix a = large_make(m, n);
    const float nan = NAN;
    (void)state;
    large_open(26 * gib);
    struct placed p = place(m, n, ld, 0, BD_F32);
    struct bd_matrix r, last = { .rows = 1, .cols = 1, .ld = 1, .type = BD_F32 };
    last.data = (float *)p.x.data + m - 1 + (n - 1) * ld;
    assert_int_equal(bd_matrix_create(large.backend, &r, n, n, BD_F32), BD_OK);
    for (int i = 0; i < 2; i++) {
        const struct bd_qr_options options = { .method = methods[i] };
        struct bd_qr *qr;
        large_upload(&a, &p.x);
        assert_int_equal(bd_matrix_upload(large.backend, &last, &nan, 1), BD_OK);
        assert_int_equal(bd_qr_create(&qr, large.backend, m, n, &options), BD_OK);
        assert_refused(bd_qr_thin(qr, &p.x, &p.x, &r), BD_ERROR_NUMERIC, "not finite");
        bd_qr_destroy(&qr);
    }
    bd_matrix_destroy(large.backend, &r);
    bd_matrix_destroy(large.backend, &p.whole);
    large_close();
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_large),   cmocka_unit_test(test_copies),
        cmocka_unit_test(test_tall),        cmocka_unit_test(test_odd),
        cmocka_unit_test(test_few_columns), cmocka_unit_test(test_many_columns),
        cmocka_unit_test(test_apply),       cmocka_unit_test(test_last_nan),
    };
    if (count > 1)
        cmocka_set_test_filter(arguments[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
