/* QR by reflectors (backdrop/qr.h) on every backend: residual, orthogonality, R, applied Q, on all
 * shapes and on difficult matrices, measured in float64. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/qr_problem.h"
#include "tests/support/quick.h"

/* R without Q; A stays as it is. */
static void check_reduce(struct fixture *f)
{
    const struct problem *p = f->p;
    assert_int_equal(bd_qr_reduce(f->qr, &f->a, &f->r), BD_OK);
    get_r(f);
    assert_true(gram_error(f->host_a, f->host_r, p->m, p->n) < limit(p));
    assert_int_equal(bd_matrix_download(f->backend, f->host_q, p->m, &f->a), BD_OK);
    assert_memory_equal(f->host_q, f->host_a, (size_t)(p->m * p->n) * sizeof(float));
}

/* Q^T A = [R; 0], and Q (Q^T A) = A. */
static void check_apply(struct fixture *f)
{
    const struct problem *p = f->p;
    int64_t m = p->m, n = p->n;
    float *want = calloc((size_t)(m * n), sizeof *want);
    assert_non_null(want);
    for (int64_t j = 0; j < n; j++)
        memcpy(want + j * m, f->host_r + j * n, (size_t)n * sizeof *want);
    assert_int_equal(bd_matrix_upload(f->backend, &f->q, f->host_a, m), BD_OK);
    assert_int_equal(bd_qr_apply(f->qr, BD_QR_Q_TRANSPOSED, &f->q), BD_OK);
    assert_int_equal(bd_matrix_download(f->backend, f->host_q, m, &f->q), BD_OK);
    assert_true(column_error(want, f->host_q, m, n) < limit(p));
    assert_int_equal(bd_qr_apply(f->qr, BD_QR_Q, &f->q), BD_OK);
    assert_int_equal(bd_matrix_download(f->backend, f->host_q, m, &f->q), BD_OK);
    assert_true(column_error(f->host_a, f->host_q, m, n) < limit(p));
    free(want);
}

static void check_q(struct fixture *f, struct bd_matrix *q)
{
    int64_t m = f->p->m, n = f->p->n;
    assert_int_equal(bd_qr_form_q(f->qr, q), BD_OK);
    assert_int_equal(bd_matrix_download(f->backend, f->host_q, m, q), BD_OK);
    float *qr = product(f->host_q, f->host_r, m, n);
    assert_true(column_error(f->host_a, qr, m, n) < limit(f->p));
    assert_true(departure(f->host_q, m, n) < limit(f->p));
    free(qr);
}

/* A and Q begin `offset` elements into their columns. */
static void check_method(const struct problem *p, const char *backend, int64_t offset)
{
    struct fixture f;
    if (!setup(&f, p, backend))
        return;
    if (offset > 0) {
        f.a.data = (float *)f.a.data + offset;
        f.q.data = (float *)f.q.data + offset;
        assert_int_equal(bd_matrix_upload(f.backend, &f.a, f.host_a, p->m), BD_OK);
    }
    check_reduce(&f);
    assert_int_equal(bd_qr_factor(f.qr, &f.a), BD_OK);
    assert_int_equal(bd_qr_get_r(f.qr, &f.r), BD_OK);
    get_r(&f);
    assert_true(gram_error(f.host_a, f.host_r, p->m, p->n) < limit(p));
    check_apply(&f);
    check_q(&f, &f.q);
    check_q(&f, &f.a);
    assert_int_equal(bd_qr_get_r(f.qr, &f.r), BD_OK); /* outlives the reflectors */
    assert_int_equal(bd_qr_apply(f.qr, BD_QR_Q, &f.q), BD_ERROR_ARGUMENT);
    teardown(&f);
}

/* All kinds of reflectors, or CAQR alone where its blocks have a shape. */
static const enum bd_qr_method methods[] = { BD_QR_AUTO, BD_QR_HOUSEHOLDER, BD_QR_CAQR };
enum { method_count = sizeof methods / sizeof *methods };

static void check(const struct problem *problem)
{
    const int shaped = problem->options.block_rows || problem->options.panel_cols;
    for (const char *const *name = bd_backend_names(); *name; name++)
        for (int i = shaped ? method_count - 1 : 0; i < method_count; i++) {
            struct problem p = *problem;
            p.options.method = methods[i];
            check_method(&p, *name, 0);
        }
}

static void test_shapes(void **state)
{
    static const int64_t shapes[][2] = {
        { 1, 1 },     { 2, 1 },      { 5000, 1 },  { 3, 3 },       { 17, 16 },
        { 16, 16 },   { 101, 100 },  { 100, 100 }, { 513, 8 },     { 511, 9 },
        { 1000, 20 }, { 20000, 20 }, { 9001, 50 }, { 12345, 100 }, { 4096, 192 },
        { 700, 193 }, { 1031, 300 }, { 700, 700 }, { 100003, 5 },  { 180001, 11 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (!test_quick() || shapes[i][0] * shapes[i][1] < 320000)
            check(&(struct problem){
                .m = shapes[i][0], .n = shapes[i][1], .extra_rows = i % 2 * 37 });
}

static void test_difficult_matrices(void **state)
{
    (void)state;
    for (enum kind kind = ZERO; kind <= VIDEO; kind++) {
        check(&(struct problem){ .m = 3000, .n = 40, .kind = kind });
        check(&(struct problem){
            .m = 300, .n = 37, .kind = kind, .options = { .block_rows = 40, .panel_cols = 10 } });
        check(&(struct problem){ .m = 60, .n = 60, .kind = kind });
    }
}

/* Any number of columns of C. Q is orthogonal, all of it: norms stay, and Q Q^T C = C. */
static void check_columns(struct fixture *f, int64_t k)
{
    const struct problem p = { .m = f->p->m, .n = k };
    struct bd_matrix c;
    float *host = new_matrix(&p), *got = malloc((size_t)(p.m * k) * sizeof *got);
    assert_non_null(got);
    assert_int_equal(bd_matrix_create(f->backend, &c, p.m, k, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_upload(f->backend, &c, host, p.m), BD_OK);
    assert_int_equal(bd_qr_apply(f->qr, BD_QR_Q_TRANSPOSED, &c), BD_OK);
    assert_int_equal(bd_matrix_download(f->backend, got, p.m, &c), BD_OK);
    assert_true(column_error(host, got, p.m, k) > 0.1);
    for (int64_t j = 0; j < k; j++)
        assert_true(fabs(1 - norm(got + j * p.m, p.m) / norm(host + j * p.m, p.m)) < limit(f->p));
    assert_int_equal(bd_qr_apply(f->qr, BD_QR_Q, &c), BD_OK);
    assert_int_equal(bd_matrix_download(f->backend, got, p.m, &c), BD_OK);
    assert_true(column_error(host, got, p.m, k) < limit(f->p));
    bd_matrix_destroy(f->backend, &c);
    free(host);
    free(got);
}

static void test_apply(void **state)
{
    static const struct {
        int64_t m, n, k;
    } cases[] = {
        { 1000, 40, 1 }, { 1000, 40, 300 }, { 2500, 17, 65 }, { 60, 60, 7 }, { 40, 7, 5000 },
    };
    (void)state;
    for (const char *const *name = bd_backend_names(); *name; name++)
        for (size_t i = 0; i < method_count * sizeof cases / sizeof *cases; i++) {
            struct problem p = { .m = cases[i / method_count].m,
                                 .n = cases[i / method_count].n,
                                 .options = { .method = methods[i % method_count] } };
            struct fixture f;
            if (!setup(&f, &p, *name))
                continue;
            assert_int_equal(bd_qr_factor(f.qr, &f.a), BD_OK);
            check_columns(&f, cases[i / method_count].k);
            teardown(&f);
        }
}

/* Large enough for all ways of a backend to share out the work; Q^T A = [R; 0] and Q (Q^T A) = A.
 */
static void test_large(void **state)
{
    static const int64_t shapes[][2] = { { 50000, 200 }, { 190000, 100 }, { 8300, 520 } };
    (void)state;
    for (const char *const *name = bd_backend_names(); *name && !test_quick(); name++)
        for (size_t i = 0; i < method_count * sizeof shapes / sizeof *shapes; i++) {
            struct problem p = { .m = shapes[i / method_count][0],
                                 .n = shapes[i / method_count][1],
                                 .extra_rows = (int64_t)(i / method_count % 2),
                                 .options = { .method = methods[i % method_count] } };
            struct fixture f;
            if (!setup(&f, &p, *name))
                continue;
            assert_int_equal(bd_qr_factor(f.qr, &f.a), BD_OK);
            assert_int_equal(bd_qr_get_r(f.qr, &f.r), BD_OK);
            get_r(&f);
            check_apply(&f);
            teardown(&f);
        }
}

/* Parts of larger matrices: columns that do not start at multiples of 16 bytes. */
static void test_offsets(void **state)
{
    static const int64_t shapes[][2] = { { 40, 40 }, { 300, 37 }, { 2500, 70 }, { 9000, 20 } };
    (void)state;
    for (const char *const *name = bd_backend_names(); *name; name++)
        for (int i = 0; i < method_count; i++)
            for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
                check_method(&(struct problem){ .m = shapes[k][0],
                                                .n = shapes[k][1],
                                                .options = { .method = methods[i] },
                                                .extra_rows = 5 },
                             *name, 1 + (int64_t)k % 3);
}

/* What a plan factored stays when it reduces another matrix. */
static void test_reduce_between(void **state)
{
    struct problem p = { .m = 1500, .n = 50 };
    (void)state;
    for (const char *const *name = bd_backend_names(); *name; name++)
        for (int i = 0; i < method_count; i++) {
            struct fixture f;
            p.options.method = methods[i];
            if (!setup(&f, &p, *name))
                continue;
            assert_int_equal(bd_qr_factor(f.qr, &f.a), BD_OK);
            assert_int_equal(bd_qr_reduce(f.qr, &f.q, &f.r), BD_OK); /* zeros */
            get_r(&f);
            assert_true(norm(f.host_r, p.n * p.n) == 0);
            assert_int_equal(bd_qr_get_r(f.qr, &f.r), BD_OK);
            get_r(&f);
            check_q(&f, &f.q);
            teardown(&f);
        }
}

/* From the paper's 64 x 16 to one row a column: trees of many levels, panels that do not divide n,
 * blocks that do not divide m. */
static void test_block_shapes(void **state)
{
    static const int64_t shapes[][2] = {
        { 64, 16 }, { 32, 16 }, { 40, 5 },  { 2, 1 },       { 3, 1 },    { 100, 50 },
        { 48, 20 }, { 0, 7 },   { 130, 0 }, { 1000000, 9 }, { 128, 64 }, { 700, 33 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct bd_qr_options options = { .block_rows = shapes[i][0],
                                         .panel_cols = (int)shapes[i][1] };
        check(&(struct problem){ .m = 1017, .n = 50, .options = options });
        check(&(struct problem){ .m = 53, .n = 50, .options = options, .kind = VIDEO });
    }
}

static void test_threads(void **state)
{
    static const int threads[] = { 1, 2, 3, 7 };
    (void)state;
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        check(&(struct problem){ .m = 10007, .n = 30, .threads = threads[i] });
        if (!test_quick() || threads[i] == 3)
            check(&(struct problem){ .m = 800, .n = 260, .threads = threads[i] });
        check(&(struct problem){ .m = 2000,
                                 .n = 40,
                                 .threads = threads[i],
                                 .options = { .block_rows = 64, .panel_cols = 16 } });
    }
}

/* The same matrix gives the same bits, however the threads share the work. */
static void test_repeatable(void **state)
{
    struct problem p = { .m = 30000, .n = 24, .threads = 3 };
    (void)state;
    for (const char *const *name = bd_backend_names(); *name; name++)
        for (int k = 0; k < method_count; k++) {
            struct fixture f;
            float first[24 * 24];
            p.options.method = methods[k];
            if (!setup(&f, &p, *name))
                continue;
            for (int i = 0; i < 5; i++) {
                assert_int_equal(bd_qr_reduce(f.qr, &f.a, &f.r), BD_OK);
                get_r(&f);
                if (i == 0)
                    memcpy(first, f.host_r, sizeof first);
                assert_memory_equal(first, f.host_r, sizeof first);
            }
            teardown(&f);
        }
}

/* NaN and Inf come through as NaN: no hang, no fault, and the plan is fit for the next matrix. */
static void check_not_finite(const struct problem *p, const char *backend, float bad)
{
    struct fixture f;
    if (!setup(&f, p, backend))
        return;
    float keep = f.host_a[7 + 3 * p->m];
    f.host_a[7 + 3 * p->m] = bad;
    assert_int_equal(bd_matrix_upload(f.backend, &f.a, f.host_a, p->m), BD_OK);
    assert_int_equal(bd_qr_reduce(f.qr, &f.a, &f.r), BD_OK);
    assert_int_equal(bd_qr_factor(f.qr, &f.a), BD_OK);
    assert_int_equal(bd_qr_get_r(f.qr, &f.r), BD_OK);
    get_r(&f);
    assert_false(isfinite(f.host_r[3 + 3 * p->n]));
    assert_int_equal(bd_qr_form_q(f.qr, &f.q), BD_OK);
    f.host_a[7 + 3 * p->m] = keep;
    assert_int_equal(bd_matrix_upload(f.backend, &f.a, f.host_a, p->m), BD_OK);
    check_reduce(&f);
    assert_int_equal(bd_qr_factor(f.qr, &f.a), BD_OK);
    assert_int_equal(bd_qr_get_r(f.qr, &f.r), BD_OK);
    get_r(&f);
    check_q(&f, &f.q);
    teardown(&f);
}

static void test_not_finite(void **state)
{
    static const float bad[] = { NAN, INFINITY, -INFINITY };
    static const struct bd_qr_options options[] = {
        { .block_rows = 600, .panel_cols = 20 },
        { .method = BD_QR_HOUSEHOLDER },
    };
    (void)state;
    for (const char *const *name = bd_backend_names(); *name; name++)
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
            for (size_t k = 0; k < sizeof options / sizeof *options; k++)
                check_not_finite(&(struct problem){ .m = 2500, .n = 30, .options = options[k] },
                                 *name, bad[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),       cmocka_unit_test(test_difficult_matrices),
        cmocka_unit_test(test_block_shapes), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_repeatable),   cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_apply),        cmocka_unit_test(test_reduce_between),
        cmocka_unit_test(test_offsets),      cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
