/* bd_qr_thin and bd_qr_reduce (backdrop/qr.h) by every method on every backend: R, and a Q that is
 * orthonormal to rounding however ill-conditioned the matrix. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/qr_problem.h"
#include "tests/support/quick.h"

/* Q and R in f->q and f->r; `a` is A, or Q itself. */
static void check_factors(struct fixture *f, struct bd_matrix *q)
{
    int64_t m = f->p->m, n = f->p->n;
    get_r(f);
    assert_true(gram_error(f->host_a, f->host_r, m, n) < limit(f->p));
    assert_int_equal(bd_matrix_download(f->backend, f->host_q, m, q), BD_OK);
    float *qr = product(f->host_q, f->host_r, m, n);
    assert_true(column_error(f->host_a, qr, m, n) < limit(f->p));
    assert_true(departure(f->host_q, m, n) < limit(f->p));
    free(qr);
}

static void check_method(const struct problem *p, const char *backend, bool may_fail)
{
    struct fixture f;
    int64_t m = p->m, n = p->n;
    if (!setup(&f, p, backend))
        return;
    assert_int_equal(bd_qr_reduce(f.qr, &f.a, &f.r), BD_OK);
    get_r(&f);
    assert_true(gram_error(f.host_a, f.host_r, m, n) < limit(p));
    enum bd_status status = bd_qr_thin(f.qr, &f.a, &f.q, &f.r);
    if (!may_fail || status != BD_ERROR_NUMERIC) {
        assert_int_equal(status, BD_OK);
        check_factors(&f, &f.q);
        assert_int_equal(bd_qr_get_r(f.qr, &f.r), BD_ERROR_ARGUMENT); /* nothing is factored */
    }
    assert_int_equal(bd_matrix_download(f.backend, f.host_q, m, &f.a), BD_OK);
    assert_memory_equal(f.host_q, f.host_a, (size_t)(m * n) * sizeof(float));
    if (status == BD_OK) {
        assert_int_equal(bd_qr_thin(f.qr, &f.a, &f.a, &f.r), BD_OK);
        check_factors(&f, &f.a);
    }
    teardown(&f);
}

/* `cholesky_may_fail`: the columns are dependent. */
static void check(struct problem p, bool cholesky_may_fail)
{
    static const enum bd_qr_method methods[] = { BD_QR_AUTO, BD_QR_CAQR, BD_QR_CHOLESKY,
                                                 BD_QR_HOUSEHOLDER };
    for (const char *const *name = bd_backend_names(); *name; name++)
        for (int i = 0; i < 4; i++) {
            p.options.method = methods[i];
            check_method(&p, *name, cholesky_may_fail && methods[i] == BD_QR_CHOLESKY);
        }
}

static void test_shapes(void **state)
{
    static const int64_t shapes[][2] = {
        { 1, 1 },     { 5000, 1 },  { 7, 7 },      { 1000, 20 }, { 777, 24 },   { 1001, 25 },
        { 513, 32 },  { 513, 33 },  { 2051, 64 },  { 999, 65 },  { 3000, 100 }, { 100, 100 },
        { 600, 113 }, { 501, 129 }, { 2003, 192 }, { 400, 193 }, { 900, 256 },
    };
    (void)state;
    for (size_t i = 0; i < (test_quick() ? 8 : sizeof shapes / sizeof *shapes);
         i += test_quick() ? 7 : 1)
        check((struct problem){ .m = shapes[i][0], .n = shapes[i][1], .extra_rows = i % 3 * 13 },
              shapes[i][0] < shapes[i][1] + 8); /* square random matrices may be anything */
}

static void test_many_columns(void **state)
{
    (void)state;
    if (test_quick())
        skip();
    check((struct problem){ .m = 1300, .n = 512, .extra_rows = 1 }, false);
}

static void test_conditions(void **state)
{
    static const int64_t cols[] = { 33, 1, 20, 100, 192 };
    static const double conditions[] = { 1e5, 1e1, 1e2, 1e3, 1e4, 1e6, 1e7 };
    (void)state;
    for (size_t i = 0; i < (test_quick() ? 1 : sizeof cols / sizeof *cols); i++)
        for (size_t j = 0; j < (test_quick() ? 1 : sizeof conditions / sizeof *conditions); j++)
            check((struct problem){ .m = (test_quick() ? 200 : 1500) + 7 * (int64_t)i,
                                    .n = cols[i],
                                    .kind = COLLINEAR,
                                    .condition = conditions[j],
                                    .extra_rows = (int64_t)i },
                  conditions[j] > 1e6);
}

static void test_difficult_matrices(void **state)
{
    (void)state;
    if (test_quick()) { /* what falls back to reflectors */
        check((struct problem){ .m = 150, .n = 20, .kind = DUPLICATES }, true);
        return;
    }
    for (enum kind kind = ZERO; kind <= VIDEO; kind++) {
        check((struct problem){ .m = 3000, .n = 40, .kind = kind }, true);
        check((struct problem){ .m = 1000, .n = 130, .kind = kind }, true);
        check((struct problem){ .m = 60, .n = 60, .kind = kind }, true);
    }
}

/* NaN and Inf anywhere are told of by every method, and the plan is fit for the next matrix. */
static void check_not_finite(const struct problem *p, const char *backend, float bad, int64_t row,
                             int64_t column)
{
    struct fixture f;
    if (!setup(&f, p, backend))
        return;
    float keep = f.host_a[row + column * p->m];
    f.host_a[row + column * p->m] = bad;
    assert_int_equal(bd_matrix_upload(f.backend, &f.a, f.host_a, p->m), BD_OK);
    assert_int_equal(bd_qr_thin(f.qr, &f.a, &f.q, &f.r), BD_ERROR_NUMERIC);
    assert_int_equal(bd_qr_reduce(f.qr, &f.a, &f.r), BD_OK); /* tells by R */
    get_r(&f);
    bool shown = false;
    for (int64_t i = 0; i <= column; i++)
        shown = shown || !isfinite(f.host_r[i + column * p->n]);
    assert_true(shown);
    f.host_a[row + column * p->m] = keep;
    assert_int_equal(bd_matrix_upload(f.backend, &f.a, f.host_a, p->m), BD_OK);
    assert_int_equal(bd_qr_thin(f.qr, &f.a, &f.q, &f.r), BD_OK);
    check_factors(&f, &f.q);
    teardown(&f);
}

static void test_not_finite(void **state)
{
    static const float bad[] = { NAN, INFINITY, -INFINITY };
    static const int64_t places[][2] = { { 7, 3 }, { 0, 0 }, { 1, 29 }, { 29, 29 }, { 2400, 14 } };
    static const enum bd_qr_method methods[] = { BD_QR_AUTO, BD_QR_CAQR, BD_QR_CHOLESKY,
                                                 BD_QR_HOUSEHOLDER };
    (void)state;
    for (const char *const *name = bd_backend_names(); *name; name++)
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
            for (size_t k = 0; k < (i > 0 ? 1 : sizeof places / sizeof *places); k++)
                for (size_t l = 0; l < sizeof methods / sizeof *methods; l++) {
                    const struct problem p = { .m = test_quick() ? 100 : 2500,
                                               .n = 30,
                                               .options = { .method = methods[l] } };
                    if (!test_quick() || (i + k == 0 && l % 3 == 0))
                        check_not_finite(&p, *name, bad[i], places[k][0], places[k][1]);
                }
    /* nothing to eliminate, so that no reflector carries it on */
    for (const char *const *name = bd_backend_names(); *name && !test_quick(); name++)
        for (size_t l = 0; l < sizeof methods / sizeof *methods; l++)
            check_not_finite(
                &(struct problem){
                    .m = 40, .n = 30, .kind = TRIANGULAR, .options = { .method = methods[l] } },
                *name, NAN, 2, 25);
}

/* The same matrix gives the same bits. */
static void test_repeatable(void **state)
{
    struct problem p = { .m = test_quick() ? 1000 : 40000, .n = 24, .threads = 2 };
    size_t count = (size_t)(p.m * p.n);
    (void)state;
    for (const char *const *name = bd_backend_names(); *name; name++) {
        struct fixture f;
        if (!setup(&f, &p, *name))
            continue;
        float *first = malloc(count * sizeof *first);
        assert_non_null(first);
        for (int i = 0; i < (test_quick() ? 2 : 4); i++) {
            assert_int_equal(bd_qr_thin(f.qr, &f.a, &f.q, &f.r), BD_OK);
            assert_int_equal(bd_matrix_download(f.backend, f.host_q, p.m, &f.q), BD_OK);
            if (i == 0)
                memcpy(first, f.host_q, count * sizeof *first);
            assert_memory_equal(first, f.host_q, count * sizeof *first);
        }
        free(first);
        teardown(&f);
    }
}

/* ||Q^T Q - I||_F of the thin Q by a plan that wants `orthogonality`, with A = Q R checked; -1
 * where there is no such backend or method. */
static double thin_departure(struct problem p, const char *backend, enum bd_qr_method method,
                             double orthogonality)
{
    struct fixture f;
    p.options.method = method;
    p.options.orthogonality = orthogonality;
    if (!setup(&f, &p, backend))
        return -1;
    assert_int_equal(bd_qr_thin(f.qr, &f.a, &f.q, &f.r), BD_OK);
    get_r(&f);
    assert_true(gram_error(f.host_a, f.host_r, p.m, p.n) < limit(&p));
    assert_int_equal(bd_matrix_download(f.backend, f.host_q, p.m, &f.q), BD_OK);
    float *qr = product(f.host_q, f.host_r, p.m, p.n);
    assert_true(column_error(f.host_a, qr, p.m, p.n) < limit(&p));
    double result = departure(f.host_q, p.m, p.n);
    free(qr);
    teardown(&f);
    return result;
}

/* Ill-conditioned matrices: Q is as orthonormal as was wanted, by every method. */
static void test_wanted_accuracy(void **state)
{
    static const double conditions[] = { 1e3, 1e4, 1e5, 1e6 };
    static const double wanted[] = { 0, 3e-5, 1e-3, 1e-2, 0.25 };
    static const enum bd_qr_method methods[] = { BD_QR_AUTO, BD_QR_CHOLESKY, BD_QR_HOUSEHOLDER };
    (void)state;
    for (const char *const *name = bd_backend_names(); *name; name++)
        for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i += test_quick() ? 4 : 1)
            for (size_t j = 0; j < sizeof wanted / sizeof *wanted; j += test_quick() ? 5 : 1)
                for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
                    struct problem p = { .m = (test_quick() ? 150 : 2000) + (int64_t)k,
                                         .n = test_quick() ? 20 : 60,
                                         .kind = COLLINEAR,
                                         .condition = conditions[i] };
                    double got = thin_departure(p, *name, methods[k], wanted[j]);
                    if (!(got <= (wanted[j] > 0 ? wanted[j] : limit(&p))))
                        fail_msg("%s, method %d, condition %g: orthogonal to %g, wanted %g", *name,
                                 methods[k], conditions[i], got, wanted[j]);
                }
}

/* Where less is wanted Cholesky QR makes one pass instead of two, and its Q shows it; reflectors do
 * not know of it. */
static void test_fewer_passes(void **state)
{
    struct problem p = { .m = 3000, .n = 60, .kind = COLLINEAR, .condition = 3e5 };
    if (test_quick())
        skip();
    (void)state;
    for (const char *const *name = bd_backend_names(); *name; name++) {
        const double exact = thin_departure(p, *name, BD_QR_CHOLESKY, 0);
        const double loose = thin_departure(p, *name, BD_QR_CHOLESKY, 0.25);
        if (exact < 0) /* no such backend or method */
            continue;
        print_message("%s: orthogonal to %g, %g wanted: %g\n", *name, exact, 0.25, loose);
        assert_true(exact < 3e-6);
        assert_true(loose > 10 * exact);
        assert_true(thin_departure(p, *name, BD_QR_HOUSEHOLDER, 0.25) < limit(&p));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),          cmocka_unit_test(test_many_columns),
        cmocka_unit_test(test_conditions),      cmocka_unit_test(test_difficult_matrices),
        cmocka_unit_test(test_not_finite),      cmocka_unit_test(test_repeatable),
        cmocka_unit_test(test_wanted_accuracy), cmocka_unit_test(test_fewer_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
