/* QR by the Gram matrix: blocks of rows, what is refused, what must stay as it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/gram_problem.h"

/* Blocks of rows on one backend, named again and again, and on two, with none in one of them. */
static void blocks(struct bd_backend *backend)
{
    struct bd_backend *second;
    assert_int_equal(bd_backend_open(&second, bd_backend_name(backend), 1), BD_OK);
    struct bd_backend *const same[] = { backend, backend, backend, backend };
    struct bd_backend *const mixed[] = { backend, second, second, backend };
    const int64_t rows[][4] = { { 700, 350, 0, 150 }, { 0, 1, 1199, 0 }, { 3, 5, 592, 600 } };
    const int64_t m = 1200, n = 17;
    for (int kind = 0; kind < 6; kind++) {
        double *a = kind >= 4 ? random_matrix(m, n, 7) : conditioned_matrix(m, n, 1e5, 6);
        for (int64_t i = 0; i < m; i++)
            if (kind == 2) /* a column of 0 */
                a[i + 5 * m] = 0;
            else if (kind == 3) /* beyond the squares of double */
                a[i + 4 * m] = ldexp(a[i + 4 * m], -900), a[i] = ldexp(a[i], 800);
            else if (kind == 5) /* all of that together */
                a[i + 2 * m] = 0, a[i + 3 * m] = a[i + 9 * m] = a[i + m] = i % 4 < 2,
                          a[i + 4 * m] = ldexp(i % 4 < 2, -700);
            else if (kind == 4) /* parallel to the last bit */
                a[i + 3 * m] = a[i + 9 * m] = a[i + m] = i % 4 < 2;
        struct bd_gram_qr_options options = { .method = kind == 1 ? BD_GRAM_QR_CHOLESKY2
                                                                  : BD_GRAM_QR_SVD };
        struct outcome whole = run_one(backend, a, m, n, BD_F64, &options);
        assert_int_equal(whole.status, BD_OK);
        for (int split = 0; split < 3; split++)
            for (int two = 0; two < 2; two++) {
                struct outcome out =
                    run_blocks(two ? mixed : same, rows[split], 4, a, n, BD_F64, &options);
                assert_int_equal(out.status, BD_OK);
                assert_true(out.orthogonality <= 60 * DBL_EPSILON);
                assert_true(out.residual <= 60 * DBL_EPSILON);
                if (kind < 4) /* of what is left to roundings, those decide */
                    assert_int_equal(out.report.passes, whole.report.passes);
                /* What columns are filled with does not depend on the blocks. */
                for (int64_t i = 0; i < m * n && kind == 2; i++)
                    assert_true(fabs(out.q[i] - whole.q[i]) < 1e-9);
                release(&out);
            }
        release(&whole);
        free(a);
    }
    bd_backend_close(&second);
}

/* NaN and Inf anywhere are told, and V stays as it is. */
static void not_finite(struct bd_backend *backend)
{
    static const double bad[] = { NAN, INFINITY, -INFINITY };
    const int64_t m = 333, n = 9;
    const int64_t places[] = { 0, m - 1, 4 * m + 77, m * n - 1 };
    for (int type = BD_F32; type <= BD_F64; type += BD_F64 - BD_F32)
        for (int method = 0; method < 4; method++)
            for (size_t k = 0; k < 12; k++) {
                double *a = random_matrix(m, n, 2);
                int64_t place = places[k % 4];
                a[place] = bad[k / 4];
                struct bd_gram_qr_options options = { .method = method, .max_passes = k % 2 };
                struct outcome out = run_one(backend, a, m, n, (enum bd_type)type, &options);
                char column[32];
                assert_int_equal(out.status, BD_ERROR_NUMERIC);
                snprintf(column, sizeof column, "column %d", (int)(place / m));
                assert_non_null(strstr(bd_error_detail(), column));
                for (int64_t i = 0; i < m * n; i++)
                    assert_true(out.q[i] == a[i] || (isnan(a[i]) && isnan(out.q[i])));
                for (int64_t i = 0; i < n * n; i++)
                    assert_true(out.r[i] == 7);
                release(&out);
                free(a);
            }
    /* In one block of several, and where columns have to be repaired besides. */
    double *a = random_matrix(m, n, 2);
    struct bd_backend *const two[] = { backend, backend };
    const int64_t rows[] = { 100, 233 };
    for (int64_t i = 0; i < m; i++)
        a[i] = 0;
    a[2 * m + 150] = NAN;
    struct outcome out = run_blocks(two, rows, 2, a, n, BD_F64, NULL);
    assert_int_equal(out.status, BD_ERROR_NUMERIC);
    for (int64_t i = 0; i < m; i++)
        assert_true(out.q[i] == 0);
    release(&out);
    free(a);
}

/* A plan serves again and again, with the same result, whatever came between; R and the report may
 * be left out; what is below the rows of V and R is left alone. */
static void again(struct bd_backend *backend)
{
    const int64_t m = 515, n = 22, ld = 530;
    struct bd_matrix v, r;
    struct bd_gram_qr *qr;
    double *a = conditioned_matrix(m, n, 1e10, 3), *host = new_doubles(ld * n);
    double *first = new_doubles(ld * n);
    struct bd_gram_qr_options options = { .method = BD_GRAM_QR_SVD };
    assert_int_equal(bd_gram_qr_create(&qr, &backend, &m, 1, n, BD_F64, &options), BD_OK);
    assert_int_equal(bd_matrix_create(backend, &v, ld, n, BD_F64), BD_OK);
    assert_int_equal(bd_matrix_create(backend, &r, n, n, BD_F64), BD_OK);
    for (int round = 0; round < 4; round++) {
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < ld; i++)
                host[i + j * ld] = i < m ? (round == 1 ? 0 : a[i + j * m]) : -5;
        if (round == 2)
            host[3] = NAN;
        assert_int_equal(bd_matrix_upload(backend, &v, host, ld), BD_OK);
        struct bd_matrix view = v;
        view.rows = m;
        struct bd_gram_qr_report report;
        enum bd_status status =
            bd_gram_qr_run(qr, &view, round == 3 ? NULL : &r, round == 3 ? NULL : &report);
        assert_int_equal(status, round == 2 ? BD_ERROR_NUMERIC : BD_OK);
        assert_int_equal(bd_matrix_download(backend, host, ld, &v), BD_OK);
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = m; i < ld; i++)
                assert_true(host[i + j * ld] == -5);
        if (round == 0)
            memcpy(first, host, (size_t)(ld * n) * sizeof *first);
    }
    assert_memory_equal(first, host, (size_t)(ld * n) * sizeof *first);
    bd_matrix_destroy(backend, &v);
    bd_matrix_destroy(backend, &r);
    bd_gram_qr_destroy(&qr);
    bd_gram_qr_destroy(&qr);
    assert_null(qr);
    free(a);
    free(host);
    free(first);
}

static void refuse(struct bd_backend *const *backends, const int64_t *rows, int count, int64_t n,
                   int type, struct bd_gram_qr_options options, const char *word)
{
    struct bd_gram_qr *qr = (struct bd_gram_qr *)1;
    assert_int_equal(bd_gram_qr_create(&qr, backends, rows, count, n, (enum bd_type)type, &options),
                     BD_ERROR_ARGUMENT);
    assert_null(qr);
    if (!strstr(bd_error_detail(), word))
        fail_msg("\"%s\" does not say %s", bd_error_detail(), word);
}

#define OPTIONS(...) ((struct bd_gram_qr_options){ __VA_ARGS__ })

static void arguments(struct bd_backend *backend)
{
    struct bd_backend *const two[] = { backend, backend };
    const int64_t rows[] = { 30, 20 }, negative[] = { 30, -20 }, huge[] = { INT64_MAX, 1 };
    refuse(two, rows, 0, 5, BD_F64, OPTIONS(0), "blocks");
    refuse(two, negative, 2, 5, BD_F64, OPTIONS(0), "block 1");
    refuse(two, huge, 2, 5, BD_F64, OPTIONS(0), "block 1");
    refuse(two, rows, 2, 0, BD_F64, OPTIONS(0), "columns");
    refuse(two, rows, 2, -1, BD_F64, OPTIONS(0), "columns");
    refuse(two, rows, 1, 31, BD_F64, OPTIONS(0), "30 x 31");
    refuse(two, rows, 2, 5, BD_U8, OPTIONS(0), "type");
    refuse(two, rows, 2, 5, BD_F64, OPTIONS(.method = 4), "method");
    refuse(two, rows, 2, 5, BD_F64, OPTIONS(.method = -1), "method");
    refuse(two, rows, 2, 5, BD_F64, OPTIONS(.solve = 3), "solve");
    refuse(two, rows, 2, 5, BD_F64, OPTIONS(.solve = -1), "solve");
    refuse(two, rows, 2, 5, BD_F64, OPTIONS(.mixed = true), "mixed");
    refuse(two, rows, 2, 5, BD_F32, OPTIONS(.method = BD_GRAM_QR_SVD, .mixed = true), "mixed");
    refuse(two, rows, 2, 5, BD_F64, OPTIONS(.orthogonality = 1e-16), "orthogonality");
    refuse(two, rows, 2, 5, BD_F32, OPTIONS(.orthogonality = 1e-8), "orthogonality");
    refuse(two, rows, 2, 5, BD_F64, OPTIONS(.orthogonality = 0.3), "orthogonality");
    refuse(two, rows, 2, 5, BD_F64, OPTIONS(.orthogonality = -1), "orthogonality");
    refuse(two, rows, 2, 5, BD_F64, OPTIONS(.orthogonality = NAN), "orthogonality");
    refuse(two, rows, 2, 5, BD_F64, OPTIONS(.max_passes = -1), "max_passes");
    refuse(two, rows, 2, 5, BD_F64, OPTIONS(.max_passes = 11), "max_passes");
}

/* Views that do not fit the plan. */
static void views(struct bd_backend *backend)
{
    struct bd_backend *const two[] = { backend, backend };
    const int64_t rows[] = { 30, 20 };
    struct bd_gram_qr *qr;
    struct bd_matrix v[2], r;
    assert_int_equal(bd_gram_qr_create(&qr, two, rows, 2, 5, BD_F64, NULL), BD_OK);
    for (int wrong = 0; wrong < 7; wrong++) {
        assert_int_equal(bd_matrix_create(backend, &v[0], wrong == 0 ? 29 : 30, 5, BD_F64), BD_OK);
        assert_int_equal(
            bd_matrix_create(backend, &v[1], 20, wrong == 1 ? 6 : 5, wrong == 2 ? BD_F32 : BD_F64),
            BD_OK);
        assert_int_equal(bd_matrix_create(backend, &r, wrong == 3 ? 6 : 5, wrong == 4 ? 4 : 5,
                                          wrong == 5 ? BD_F32 : BD_F64),
                         BD_OK);
        struct bd_matrix passed[] = { v[0], v[1] };
        if (wrong == 6)
            passed[1].ld = 19;
        assert_int_equal(bd_gram_qr_run(qr, passed, &r, NULL), BD_ERROR_ARGUMENT);
        const char *name = wrong > 2 && wrong < 6 ? "R" : "V";
        assert_non_null(strstr(bd_error_detail(), name));
        bd_matrix_destroy(backend, &v[0]);
        bd_matrix_destroy(backend, &v[1]);
        bd_matrix_destroy(backend, &r);
    }
    bd_gram_qr_destroy(&qr);
}

/* The cpu backend: the same bits with any number of threads. */
static void test_threads(void **state)
{
    const int64_t m = 9000, n = 21;
    double *a = conditioned_matrix(m, n, 1e4, 1), *q = NULL;
    (void)state;
    for (int threads = 1; threads < 5; threads++) {
        struct bd_backend *backend;
        assert_int_equal(bd_backend_open(&backend, "cpu", threads), BD_OK);
        struct outcome out = run_one(backend, a, m, n, BD_F64, NULL);
        assert_int_equal(out.status, BD_OK);
        if (q) {
            assert_memory_equal(q, out.q, (size_t)(m * n) * sizeof *q);
            free(out.q);
        } else {
            q = out.q;
        }
        free(out.r);
        bd_backend_close(&backend);
    }
    free(q);
    free(a);
}

#define EVERY(name)                       \
    static void test_##name(void **state) \
    {                                     \
        (void)state;                      \
        on_every_backend(name);           \
    }
EVERY(blocks)
EVERY(not_finite)
EVERY(again)
EVERY(arguments)
EVERY(views)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks), cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_again),  cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_views),  cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
