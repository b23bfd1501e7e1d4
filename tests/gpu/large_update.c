/* QR updating where Q has more than 2^31 elements, on the GPU (large_problem.h): columns and
 * rows, one and several, come and go at both ends and in between, and A = Q R is checked after
 * every few changes for every element of A, Q^T Q = I in float64.
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
#include <backdrop/least_squares.h>
#include <backdrop/qr.h>
#include <backdrop/qr_update.h>

enum { most_block = 4, cols = 21, most_cols = 24 };

static const int64_t rows = 107000003; /* times 21 columns is 2^31 and some */

/* A on the host, as numbers, and its factors on the device. */
struct fixture {
    struct large_matrix a;
    struct bd_qr_update *update;
    struct bd_qr_factors f;
    struct placed q, u; /* u: most_block new columns */
    struct bd_matrix r, row;
    int64_t next; /* number of the next new column or row */
};

static void setup(struct fixture *f, int64_t ld, int64_t offset)
{
    const struct bd_qr_update_shape shape = { .max_rows = rows + most_block,
                                              .max_cols = most_cols,
                                              .max_block = most_block };
    struct bd_qr *qr;
    memset(f, 0, sizeof *f);
    f->a = large_make(rows, cols);
    f->next = (int64_t)1 << 40;
    f->q = place(rows, most_cols, ld, offset, BD_F32);
    f->u = place(rows, most_block, ld, offset, BD_F32);
    assert_int_equal(bd_matrix_create(large.backend, &f->r, most_cols, most_cols, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_create(large.backend, &f->row, most_block, most_cols, BD_F32),
                     BD_OK);
    f->f.q = f->q.x;
    f->f.r = f->r;
    f->f.q.cols = f->f.r.rows = f->f.r.cols = cols;
    assert_true(rows * cols > (int64_t)1 << 31);
    large_upload(&f->a, &f->f.q);
    assert_int_equal(bd_qr_create(&qr, large.backend, rows, cols, NULL), BD_OK);
    assert_int_equal(bd_qr_thin(qr, &f->f.q, &f->f.q, &f->f.r), BD_OK);
    bd_qr_destroy(&qr);
    assert_int_equal(bd_qr_update_create(&f->update, large.backend, &shape), BD_OK);
}

static void teardown(struct fixture *f)
{
    bd_qr_update_destroy(&f->update);
    bd_matrix_destroy(large.backend, &f->r);
    bd_matrix_destroy(large.backend, &f->row);
    bd_matrix_destroy(large.backend, &f->u.whole);
    bd_matrix_destroy(large.backend, &f->q.whole);
}

/* New columns on the device. */
static struct bd_matrix new_columns(struct fixture *f, int64_t p)
{
    struct bd_matrix u = f->u.x;
    struct large_matrix a = f->a;
    u.rows = f->a.m;
    u.cols = a.n = p;
    for (int64_t j = 0; j < p; j++)
        a.column[j] = f->next + j;
    large_upload(&a, &u);
    return u;
}

static void columns_in(struct fixture *f, int64_t k, int64_t p)
{
    const struct bd_matrix u = new_columns(f, p);
    assert_int_equal(bd_qr_insert_columns(f->update, &f->f, k, &u, NULL), BD_OK);
    large_insert_columns(&f->a, k, p, f->next);
    f->next += p;
}

static void columns_out(struct fixture *f, int64_t k, int64_t p)
{
    assert_int_equal(bd_qr_remove_columns(f->update, &f->f, k, p, NULL), BD_OK);
    large_remove_columns(&f->a, k, p);
}

static void slide(struct fixture *f, int64_t p)
{
    const struct bd_matrix u = new_columns(f, p);
    assert_int_equal(bd_qr_slide(f->update, &f->f, &u, NULL), BD_OK);
    large_remove_columns(&f->a, 0, p);
    large_insert_columns(&f->a, f->a.n, p, f->next);
    f->next += p;
}

static void rows_in(struct fixture *f, int64_t k, int64_t p)
{
    struct bd_matrix u = f->row;
    u.rows = p;
    u.cols = f->a.n;
    float *host = calloc((size_t)(p * f->a.n), sizeof *host);
    assert_non_null(host);
    for (int64_t j = 0; j < f->a.n; j++)
        for (int64_t i = 0; i < p; i++)
            host[i + j * p] = large_element(f->next + i, f->a.column[j]);
    assert_int_equal(bd_matrix_upload(large.backend, &u, host, p), BD_OK);
    free(host);
    assert_int_equal(bd_qr_insert_rows(f->update, &f->f, k, &u, NULL, NULL), BD_OK);
    large_insert_rows(&f->a, k, p, f->next);
    f->next += p;
}

static void rows_out(struct fixture *f, int64_t k, int64_t p)
{
    assert_int_equal(bd_qr_remove_rows(f->update, &f->f, k, p, NULL), BD_OK);
    large_remove_rows(&f->a, k, p);
}

static void check(const struct fixture *f, const char *what)
{
    assert_int_equal(f->f.q.rows, f->a.m);
    assert_int_equal(f->f.q.cols, f->a.n);
    check_qr(&f->a, &f->f.q, &f->f.r, what);
}

/* The kernels of few columns: one, and a group. */
static void test_columns(void **state)
{
    struct fixture f;
    (void)state;
    large_open(26 * gib);
    setup(&f, rows + 13, 0);
    columns_in(&f, cols, 1);
    check(&f, "append a column");
    columns_in(&f, 0, 1);
    columns_out(&f, 3, 1);
    check(&f, "a column in, one out");
    slide(&f, 1);
    check(&f, "slide by one");
    slide(&f, 3);
    check(&f, "slide by three");
    teardown(&f);
    large_close();
}

/* Nothing is aligned. */
static void test_odd_columns(void **state)
{
    struct fixture f;
    (void)state;
    large_open(26 * gib);
    setup(&f, rows + 2, 1);
    columns_in(&f, 5, 1);
    slide(&f, 1);
    slide(&f, 2);
    columns_out(&f, f.a.n - 2, 2);
    check(&f, "odd: columns in and out");
    teardown(&f);
    large_close();
}

/* The windows and reflectors that take any number. */
static void test_blocks_of_columns(void **state)
{
    struct fixture f;
    (void)state;
    large_open(26 * gib);
    setup(&f, rows + 13, 0);
    columns_out(&f, 0, most_block);
    check(&f, "columns out");
    columns_in(&f, 0, most_block);
    check(&f, "columns in");
    teardown(&f);
    large_close();
}

/* Rows near both ends and on both sides of element 2^31 of Q. */
static void test_rows(void **state)
{
    const int64_t boundary = ((int64_t)1 << 31) - 20 * (rows + 13);
    struct fixture f;
    (void)state;
    large_open(26 * gib);
    setup(&f, rows + 13, 0);
    rows_in(&f, boundary, 1);
    check(&f, "a row in");
    rows_out(&f, 7, 1);
    check(&f, "a row out");
    rows_in(&f, f.a.m, 3);
    rows_out(&f, boundary - 1, 3);
    check(&f, "rows in, rows out");
    teardown(&f);
    large_close();
}

/* The last column by the others: what their R, which has been checked, says of it in float64. */
static void test_least_squares(void **state)
{
    enum { n = cols - 1 };
    struct fixture f;
    double worst = 0;
    float x[n];
    (void)state;
    large_open(34 * gib);
    setup(&f, rows + 13, 0);
    check(&f, "R of A and b");
    double *r = get_r(&f.f.r), *want = r + (int64_t)n * cols;
    for (int64_t j = n - 1; j >= 0; j--) {
        want[j] /= r[j + j * cols];
        for (int64_t i = 0; i < j; i++)
            want[i] -= r[i + j * cols] * want[j];
    }
    bd_qr_update_destroy(&f.update);
    large_upload(&f.a, &f.f.q);
    struct bd_matrix a = f.f.q, b = f.f.q, found = { .rows = n, .cols = 1, .ld = n };
    a.cols = n;
    b.cols = 1;
    b.data = (float *)a.data + n * a.ld;
    found.data = f.r.data;
    assert_int_equal(bd_least_squares(large.backend, &a, &b, &found), BD_OK);
    assert_int_equal(bd_matrix_download(large.backend, x, n, &found), BD_OK);
    for (int64_t j = 0; j < n; j++) {
        const double error = fabs((double)x[j] - want[j]);
        worst = error <= worst ? worst : isnan(error) ? INFINITY : error;
    }
    print_message("least squares: x off by %.1e\n", worst);
    assert_true(worst <= 30 * n * (double)FLT_EPSILON);
    free(r);
    teardown(&f);
    large_close();
}

/* NaN in the last row of what comes in: refused, with the factors as they were. */
static void test_last_nan(void **state)
{
    struct fixture f;
    const float nan = NAN;
    (void)state;
    large_open(26 * gib);
    setup(&f, rows + 13, 0);
    for (int64_t p = 1; p <= 3; p += 2) {
        const struct bd_matrix u = new_columns(&f, p);
        struct bd_matrix last = { .rows = 1, .cols = 1, .ld = 1, .type = BD_F32 };
        last.data = (float *)u.data + u.rows - 1 + (p - 1) * u.ld;
        assert_int_equal(bd_matrix_upload(large.backend, &last, &nan, 1), BD_OK);
        assert_int_equal(bd_qr_insert_columns(f.update, &f.f, 1, &u, NULL), BD_ERROR_NUMERIC);
        assert_null(strchr(bd_error_detail(), '\n'));
        assert_int_equal(bd_qr_slide(f.update, &f.f, &u, NULL), BD_ERROR_NUMERIC);
    }
    check(&f, "after what was refused");
    teardown(&f);
    large_close();
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns),           cmocka_unit_test(test_odd_columns),
        cmocka_unit_test(test_blocks_of_columns), cmocka_unit_test(test_rows),
        cmocka_unit_test(test_last_nan),          cmocka_unit_test(test_least_squares),
    };
    if (count > 1)
        cmocka_set_test_filter(arguments[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
