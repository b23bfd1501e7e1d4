/* The rule of backdrop/status.h: what every public function refuses, and that it names the
 * argument.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <backdrop/gram_qr.h>
#include <backdrop/least_squares.h>
#include <backdrop/matrix.h>
#include <backdrop/qr.h>
#include <backdrop/rpca.h>
#include <backdrop/small_svd.h>
#include <backdrop/triangular.h>

static void refused(enum bd_status status, const char *argument)
{
    assert_int_equal(status, BD_ERROR_ARGUMENT);
    if (!strstr(bd_error_detail(), argument))
        fail_msg("\"%s\" does not name %s", bd_error_detail(), argument);
}

/* A backend, and float32 matrices of 8 x 3 and 3 x 3. */
struct fixture {
    struct bd_backend *backend;
    struct bd_matrix a, r;
};

static struct fixture setup(const char *name)
{
    struct fixture f = { 0 };
    if (bd_backend_open(&f.backend, name, 1) != BD_OK) {
        print_message("%s\n", bd_error_detail());
        return f;
    }
    assert_int_equal(bd_matrix_create(f.backend, &f.a, 8, 3, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_create(f.backend, &f.r, 3, 3, BD_F32), BD_OK);
    return f;
}

static void teardown(struct fixture *f)
{
    bd_matrix_destroy(f->backend, &f->a);
    bd_matrix_destroy(f->backend, &f->r);
    bd_backend_close(&f->backend);
}

static void matrices(struct fixture *f)
{
    struct bd_matrix x = { .rows = 1 };
    refused(bd_matrix_create(f->backend, NULL, 8, 3, BD_F32), "matrix is NULL");
    refused(bd_matrix_create(NULL, &x, 8, 3, BD_F32), "backend is NULL");
    assert_int_equal(x.rows, 0);
    refused(bd_matrix_create(f->backend, &x, 8, 3, (enum bd_type)9), "type = 9");
    refused(bd_matrix_create(f->backend, &x, 8, 3, (enum bd_type) - 1), "type = -1");
    refused(bd_matrix_create(f->backend, &x, -8, 3, BD_F32), "-8 x 3");
    refused(bd_matrix_create(f->backend, &x, 8, -3, BD_F32), "8 x -3");
    assert_null(x.data);
}

/* What an upload refuses, a download does too. */
static void copy_refused(struct bd_backend *backend, const struct bd_matrix *matrix, void *host,
                         int64_t ld, const char *argument)
{
    refused(bd_matrix_upload(backend, matrix, host, ld), argument);
    refused(bd_matrix_download(backend, host, ld, matrix), argument);
}

static void copies(struct fixture *f)
{
    float host[24] = { 0 };
    struct bd_matrix bad;
    copy_refused(NULL, &f->a, host, 8, "backend");
    copy_refused(f->backend, NULL, host, 8, "matrix");
    copy_refused(f->backend, &f->a, NULL, 8, "host");
    copy_refused(f->backend, &f->a, host, 7, "ld = 7");
    copy_refused(f->backend, &f->a, host, -8, "ld = -8");
    bad = f->a;
    bad.rows = -8;
    copy_refused(f->backend, &bad, host, 8, "matrix is -8 x 3");
    bad = f->a;
    bad.cols = -3;
    copy_refused(f->backend, &bad, host, 8, "matrix is 8 x -3");
    bad = f->a;
    bad.ld = 7;
    copy_refused(f->backend, &bad, host, 8, "matrix has ld = 7");
    bad = f->a;
    bad.type = (enum bd_type)9;
    copy_refused(f->backend, &bad, host, 8, "type = 9");
    bad = f->a;
    bad.data = NULL;
    copy_refused(f->backend, &bad, host, 8, "matrix has no data");
    /* of nothing, nothing is wanted */
    bad.cols = 0;
    assert_int_equal(bd_matrix_upload(f->backend, &bad, NULL, 8), BD_OK);
    assert_int_equal(bd_matrix_download(f->backend, NULL, 8, &bad), BD_OK);
}

static void qr(struct fixture *f)
{
    struct bd_qr *qr = (struct bd_qr *)f;
    refused(bd_qr_create(NULL, f->backend, 8, 3, NULL), "qr is NULL");
    refused(bd_qr_create(&qr, NULL, 8, 3, NULL), "backend is NULL");
    assert_null(qr);
    refused(bd_qr_factor(NULL, &f->a), "qr is NULL");
    refused(bd_qr_get_r(NULL, &f->r), "qr is NULL");
    refused(bd_qr_form_q(NULL, &f->a), "qr is NULL");
    refused(bd_qr_form_full_q(NULL, &f->a), "qr is NULL");
    refused(bd_qr_apply(NULL, BD_QR_Q, &f->a), "qr is NULL");
    refused(bd_qr_reduce(NULL, &f->a, &f->r), "qr is NULL");
    refused(bd_qr_thin(NULL, &f->a, &f->a, &f->r), "qr is NULL");
    assert_int_equal(bd_qr_create(&qr, f->backend, 8, 3, NULL), BD_OK);
    refused(bd_qr_factor(qr, NULL), "A is NULL");
    refused(bd_qr_get_r(qr, NULL), "R is NULL");
    refused(bd_qr_form_q(qr, NULL), "Q is NULL");
    refused(bd_qr_form_full_q(qr, NULL), "Q is NULL");
    refused(bd_qr_apply(qr, BD_QR_Q, NULL), "C is NULL");
    refused(bd_qr_reduce(qr, NULL, &f->r), "A is NULL");
    refused(bd_qr_reduce(qr, &f->a, NULL), "R is NULL");
    refused(bd_qr_thin(qr, &f->a, NULL, &f->r), "Q is NULL");
    bd_qr_destroy(&qr);
}

static void gram_qr(struct fixture *f)
{
    struct bd_gram_qr *qr = (struct bd_gram_qr *)f;
    struct bd_backend *const backends[] = { f->backend, NULL };
    const int64_t rows[] = { 8, 8 };
    refused(bd_gram_qr_create(NULL, backends, rows, 1, 3, BD_F32, NULL), "qr is NULL");
    refused(bd_gram_qr_create(&qr, NULL, rows, 1, 3, BD_F32, NULL), "backend");
    assert_null(qr);
    refused(bd_gram_qr_create(&qr, backends, NULL, 1, 3, BD_F32, NULL), "rows is NULL");
    refused(bd_gram_qr_create(&qr, backends, rows, 2, 3, BD_F32, NULL), "backends[1] is NULL");
    refused(bd_gram_qr_run(NULL, &f->a, NULL, NULL), "qr is NULL");
    assert_int_equal(bd_gram_qr_create(&qr, backends, rows, 1, 3, BD_F32, NULL), BD_OK);
    refused(bd_gram_qr_run(qr, NULL, NULL, NULL), "V is NULL");
    bd_gram_qr_destroy(&qr);
}

static void triangles(struct fixture *f)
{
    struct bd_triangular *triangular = (struct bd_triangular *)f;
    refused(bd_triangular_create(NULL, f->backend, 8, 3, BD_F32), "triangular is NULL");
    refused(bd_triangular_create(&triangular, NULL, 8, 3, BD_F32), "backend is NULL");
    assert_null(triangular);
    refused(bd_triangular_solve(NULL, &f->r, &f->a, BD_TRIANGULAR_ADAPTIVE, false), "triangular");
    refused(bd_triangular_multiply(NULL, &f->r, &f->a, false), "triangular");
    assert_int_equal(bd_triangular_create(&triangular, f->backend, 8, 3, BD_F32), BD_OK);
    refused(bd_triangular_multiply(triangular, NULL, &f->a, false), "R is NULL");
    refused(bd_triangular_multiply(triangular, &f->r, NULL, false), "V is NULL");
    bd_triangular_destroy(&triangular);
}

static void svd(struct fixture *f)
{
    struct bd_small_svd *svd = (struct bd_small_svd *)f;
    int64_t rank;
    refused(bd_small_svd_create(NULL, f->backend, 3), "svd is NULL");
    refused(bd_small_svd_create(&svd, NULL, 3), "backend is NULL");
    assert_null(svd);
    refused(bd_small_svd_compute(NULL, NULL, NULL, &f->r), "svd is NULL");
    refused(bd_small_svd_threshold(NULL, &f->r, &rank, 1), "svd is NULL");
    refused(bd_small_svd_factor(NULL, &f->r, &f->r, 1), "svd is NULL");
    assert_int_equal(bd_small_svd_create(&svd, f->backend, 3), BD_OK);
    refused(bd_small_svd_compute(svd, NULL, NULL, NULL), "r is NULL");
    refused(bd_small_svd_factor(svd, NULL, &f->r, 1), "f is NULL");
    refused(bd_small_svd_factor(svd, &f->r, NULL, 1), "ft is NULL");
    bd_small_svd_destroy(&svd);
}

static void rpca(struct fixture *f)
{
    struct bd_rpca *rpca = (struct bd_rpca *)f;
    refused(bd_rpca_create(NULL, f->backend, 8, 3, NULL), "rpca is NULL");
    refused(bd_rpca_create(&rpca, NULL, 8, 3, NULL), "backend is NULL");
    assert_null(rpca);
    refused(bd_rpca_solve(NULL, &f->a, NULL), "rpca is NULL");
    refused(bd_rpca_get(NULL, &f->a, NULL), "rpca is NULL");
    assert_int_equal(bd_rpca_create(&rpca, f->backend, 8, 3, NULL), BD_OK);
    refused(bd_rpca_solve(rpca, NULL, NULL), "m is NULL");
    bd_rpca_destroy(&rpca);
}

static void least_squares(struct fixture *f)
{
    refused(bd_least_squares(NULL, &f->a, &f->a, &f->r), "backend is NULL");
    refused(bd_least_squares(f->backend, NULL, &f->a, &f->r), "a is NULL");
    refused(bd_least_squares(f->backend, &f->a, NULL, &f->r), "b is NULL");
    refused(bd_least_squares(f->backend, &f->a, &f->a, NULL), "x is NULL");
    refused(bd_least_squares(f->backend, &f->a, &f->r, &f->r), "b has 3 rows");
    refused(bd_least_squares(f->backend, &f->a, &f->a, &f->a), "x has 8 rows");
    refused(bd_qr_solve(NULL, &(struct bd_qr_factors){ 0 }, &f->r), "update is NULL");
}

#define EVERY(name)                                                                  \
    static void test_##name(void **state)                                            \
    {                                                                                \
        (void)state;                                                                 \
        for (const char *const *backend = bd_backend_names(); *backend; backend++) { \
            struct fixture f = setup(*backend);                                      \
            if (!f.backend)                                                          \
                continue;                                                            \
            name(&f);                                                                \
            teardown(&f);                                                            \
        }                                                                            \
    }
EVERY(matrices)
EVERY(copies)
EVERY(qr)
EVERY(gram_qr)
EVERY(triangles)
EVERY(svd)
EVERY(rpca)
EVERY(least_squares)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrices),  cmocka_unit_test(test_copies),
        cmocka_unit_test(test_qr),        cmocka_unit_test(test_gram_qr),
        cmocka_unit_test(test_triangles), cmocka_unit_test(test_svd),
        cmocka_unit_test(test_rpca),      cmocka_unit_test(test_least_squares),
    };
    return cmocka_run_group_tests_name("arguments", tests, NULL, NULL);
}
