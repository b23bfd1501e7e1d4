/* What bd_qr_* refuse (backdrop/qr.h), and with which words. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <backdrop/backend.h>
#include <backdrop/gram_qr.h>
#include <backdrop/matrix.h>
#include <backdrop/qr.h>
#include <backdrop/rpca.h>
#include <backdrop/triangular.h>

static void assert_refused(enum bd_status status, const char *word)
{
    assert_int_equal(status, BD_ERROR_ARGUMENT);
    assert_non_null(strstr(bd_error_detail(), word));
}

static void test_bad_shapes(void **state)
{
    static const struct {
        int64_t m, n;
        struct bd_qr_options options;
        const char *word;
    } cases[] = {
        { 3, 4, { 0, 0, BD_QR_AUTO, 0 }, "3 x 4" },
        { 3, 0, { 0, 0, BD_QR_AUTO, 0 }, "3 x 0" },
        { -1, -1, { 0, 0, BD_QR_AUTO, 0 }, "-1 x -1" },
        { 100, 10, { 19, 10, BD_QR_AUTO, 0 }, "block_rows" },
        { 100, 10, { -5, 0, BD_QR_AUTO, 0 }, "block_rows" },
        { 100, 10, { 1, 0, BD_QR_AUTO, 0 }, "block_rows" },
        { 100, 10, { 0, -1, BD_QR_AUTO, 0 }, "panel_cols" },
        { 100, 10, { 0, 0, (enum bd_qr_method)4, 0 }, "method" },
        { 100, 10, { 0, 0, BD_QR_AUTO, 1e-6 }, "orthogonality = 1e-06" },
        { 100, 10, { 0, 0, BD_QR_AUTO, -1e-3 }, "orthogonality" },
        { 100, 10, { 0, 0, BD_QR_HOUSEHOLDER, 0.3 }, "orthogonality" },
        { 100, 10, { 0, 0, BD_QR_AUTO, NAN }, "orthogonality" },
    };
    struct bd_backend *backend;
    (void)state;
    assert_int_equal(bd_backend_open(&backend, "cpu", 1), BD_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bd_qr *qr = (struct bd_qr *)&backend;
        assert_refused(bd_qr_create(&qr, backend, cases[i].m, cases[i].n, &cases[i].options),
                       cases[i].word);
        assert_null(qr);
    }
    bd_backend_close(&backend);
}

/* Sizes of which products leave 64 bits: there is no such memory. */
static void test_too_large(void **state)
{
    static const int64_t sizes[][2] = {
        { INT64_MAX, 1 }, { INT64_MAX, INT64_MAX }, { INT64_MAX / 8, 8 }, { (int64_t)1 << 48, 2 }
    };
    struct bd_backend *backend;
    (void)state;
    assert_int_equal(bd_backend_open(&backend, "cpu", 1), BD_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t m = sizes[i][0], n = sizes[i][1];
        struct bd_qr *qr = (struct bd_qr *)&backend;
        struct bd_triangular *triangular = (struct bd_triangular *)&backend;
        struct bd_gram_qr *gram = (struct bd_gram_qr *)&backend;
        struct bd_rpca *rpca = (struct bd_rpca *)&backend;
        struct bd_matrix x = { .rows = 1 };
        assert_int_equal(bd_qr_create(&qr, backend, m, n, NULL), BD_ERROR_MEMORY);
        assert_int_equal(bd_triangular_create(&triangular, backend, m, n, BD_F64), BD_ERROR_MEMORY);
        assert_int_equal(bd_gram_qr_create(&gram, &backend, &m, 1, n, BD_F64, NULL),
                         BD_ERROR_MEMORY);
        assert_int_equal(bd_matrix_create(backend, &x, m, n, BD_U8), BD_ERROR_MEMORY);
        assert_non_null(strstr(bd_error_detail(), "too large"));
        assert_null(strchr(bd_error_detail(), '\n'));
        assert_int_equal(bd_matrix_create(backend, &x, n, m, BD_U8), BD_ERROR_MEMORY);
        if (n == 1) {
            assert_int_equal(bd_rpca_create(&rpca, backend, m, n, NULL), BD_ERROR_MEMORY);
            assert_null(rpca);
        }
        assert_true(!qr && !triangular && !gram && !x.data && x.rows == 0);
    }
    bd_backend_close(&backend);
}

/* A leaf of more rows than there are, whatever the number. */
static void test_largest_block(void **state)
{
    static const char *const names[] = { "cpu", "cuda" };
    static const struct bd_qr_options options = { .block_rows = INT64_MAX, .panel_cols = 1 };
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct bd_backend *backend;
        struct bd_qr *qr;
        struct bd_matrix a, r;
        float host[200], found[25];
        if (bd_backend_open(&backend, names[i], 1) != BD_OK) {
            print_message("%s\n", bd_error_detail());
            continue;
        }
        for (int k = 0; k < 200; k++)
            host[k] = k % 40 == k / 40 ? 2 : 0; /* twice the first columns of an identity */
        assert_int_equal(bd_matrix_create(backend, &a, 40, 5, BD_F32), BD_OK);
        assert_int_equal(bd_matrix_create(backend, &r, 5, 5, BD_F32), BD_OK);
        assert_int_equal(bd_matrix_upload(backend, &a, host, 40), BD_OK);
        assert_int_equal(bd_qr_create(&qr, backend, 40, 5, &options), BD_OK);
        assert_int_equal(bd_qr_factor(qr, &a), BD_OK);
        assert_int_equal(bd_qr_get_r(qr, &r), BD_OK);
        assert_int_equal(bd_matrix_download(backend, found, 5, &r), BD_OK);
        for (int k = 0; k < 25; k++)
            assert_true(fabsf(found[k]) == (k % 6 == 0 ? 2 : 0));
        bd_qr_destroy(&qr);
        bd_matrix_destroy(backend, &a);
        bd_matrix_destroy(backend, &r);
        bd_backend_close(&backend);
    }
}

/* A plan for 40 x 5 matrices, two of those, and an R. */
struct fixture {
    struct bd_backend *backend;
    struct bd_qr *qr;
    struct bd_matrix a, q, r;
};

/* False where the backend cannot be opened. */
static bool setup(struct fixture *f, const char *name)
{
    enum bd_status status = bd_backend_open(&f->backend, name, 1);
    if (status == BD_ERROR_UNSUPPORTED) {
        print_message("%s\n", bd_error_detail());
        return false;
    }
    assert_int_equal(status, BD_OK);
    assert_int_equal(bd_matrix_create(f->backend, &f->a, 40, 5, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_create(f->backend, &f->q, 40, 5, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_create(f->backend, &f->r, 5, 5, BD_F32), BD_OK);
    assert_int_equal(bd_qr_create(&f->qr, f->backend, 40, 5, NULL), BD_OK);
    return true;
}

static void teardown(struct fixture *f)
{
    bd_qr_destroy(&f->qr);
    bd_qr_destroy(&f->qr); /* safe on NULL */
    bd_matrix_destroy(f->backend, &f->a);
    bd_matrix_destroy(f->backend, &f->q);
    bd_matrix_destroy(f->backend, &f->r);
    bd_backend_close(&f->backend);
}

static void test_bad_calls(void **state)
{
    struct fixture f;
    (void)state;
    for (const char *const *name = bd_backend_names(); *name; name++) {
        if (!setup(&f, *name))
            continue;
        struct bd_matrix wrong = f.a;
        assert_refused(bd_qr_get_r(f.qr, &f.r), "bd_qr_factor");
        assert_refused(bd_qr_form_q(f.qr, &f.q), "bd_qr_factor");
        assert_refused(bd_qr_apply(f.qr, BD_QR_Q, &f.q), "bd_qr_factor");
        assert_refused(bd_qr_factor(f.qr, NULL), "A is NULL");
        wrong.rows = 39;
        assert_refused(bd_qr_factor(f.qr, &wrong), "39 rows");
        wrong = f.a;
        wrong.type = BD_U8;
        assert_refused(bd_qr_reduce(f.qr, &wrong, &f.r), "float32");
        wrong = f.a;
        wrong.ld = 39;
        assert_refused(bd_qr_reduce(f.qr, &wrong, &f.r), "ld");
        wrong = f.r;
        wrong.cols = 4;
        assert_refused(bd_qr_reduce(f.qr, &f.a, &wrong), "R has 4 columns");
        assert_refused(bd_qr_thin(f.qr, &f.a, &f.q, &wrong), "R has 4 columns");
        wrong = f.q;
        wrong.rows = 39;
        assert_refused(bd_qr_thin(f.qr, &f.a, &wrong, &f.r), "Q has 39 rows");
        wrong = f.a;
        wrong.ld++;
        assert_refused(bd_qr_thin(f.qr, &f.a, &wrong, &f.r), "share memory");
        assert_int_equal(bd_qr_factor(f.qr, &f.a), BD_OK);
        wrong = f.q;
        wrong.rows = 5;
        assert_refused(bd_qr_apply(f.qr, BD_QR_Q, &wrong), "C has 5 rows");
        assert_refused(bd_qr_apply(f.qr, (enum bd_qr_op)9, &f.q), "op = 9");
        wrong = f.q;
        wrong.cols = 0;
        assert_int_equal(bd_qr_apply(f.qr, BD_QR_Q, &wrong), BD_OK);
        wrong = f.a;
        wrong.ld++;
        assert_refused(bd_qr_form_q(f.qr, &wrong), "share memory");
        assert_int_equal(bd_qr_form_q(f.qr, &f.a), BD_OK);
        assert_refused(bd_qr_form_q(f.qr, &f.q), "reflectors are gone");
        assert_refused(bd_qr_apply(f.qr, BD_QR_Q, &f.q), "reflectors are gone");
        teardown(&f);
    }
}

/* A wanted accuracy in its range, by any method there is. */
static void test_accuracy(void **state)
{
    static const double wanted[] = { 0, 5 * 0x1p-23, 1e-3, 0.25 };
    static const enum bd_qr_method methods[] = { BD_QR_AUTO, BD_QR_CAQR, BD_QR_HOUSEHOLDER };
    struct fixture f;
    (void)state;
    for (const char *const *name = bd_backend_names(); *name; name++) {
        if (!setup(&f, *name))
            continue;
        for (int i = 0; i < 12; i++) {
            struct bd_qr_options options = { .method = methods[i % 3],
                                             .orthogonality = wanted[i / 3] };
            bd_qr_destroy(&f.qr);
            assert_int_equal(bd_qr_create(&f.qr, f.backend, 40, 5, &options), BD_OK);
            assert_int_equal(bd_qr_thin(f.qr, &f.a, &f.q, &f.r), BD_OK);
        }
        teardown(&f);
    }
}

/* A method that a backend does not have is refused, not replaced. */
static void test_methods(void **state)
{
    struct bd_backend *backend;
    struct bd_qr *qr = NULL;
    struct bd_qr_options options = { .method = BD_QR_CHOLESKY };
    (void)state;
    assert_int_equal(bd_backend_open(&backend, "cpu", 1), BD_OK);
    assert_int_equal(bd_qr_create(&qr, backend, 40, 5, &options), BD_ERROR_UNSUPPORTED);
    assert_non_null(strstr(bd_error_detail(), "BD_QR_AUTO"));
    assert_null(qr);
    bd_backend_close(&backend);
    if (bd_backend_open(&backend, "cuda", 1) != BD_OK)
        return;
    assert_int_equal(bd_qr_create(&qr, backend, 3000, 1025, &options), BD_ERROR_UNSUPPORTED);
    assert_non_null(strstr(bd_error_detail(), "1025 columns"));
    assert_null(qr);
    bd_backend_close(&backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_shapes),    cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_largest_block), cmocka_unit_test(test_bad_calls),
        cmocka_unit_test(test_accuracy),      cmocka_unit_test(test_methods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
