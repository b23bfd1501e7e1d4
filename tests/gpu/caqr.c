/* CAQR on the GPU (gpu/qr/caqr/caqr.h): what tests of backdrop/qr.h do not see of it, shapes around
 * the edges of its blocks above all. Measured on the host in float64; skipped without a GPU. */
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

#include "gpu/qr/caqr/caqr.h"
#include "gpu/qr/caqr/tuning.h"
#include "tests/gpu/group.h"
#include "tests/support/qr_errors.h"
#include "tests/support/quick.h"
#include "tests/support/random.h"
#include <backdrop/backend.h>
#include <backdrop/matrix.h>

enum kind { RANDOM, ZERO, CONSTANT, DUPLICATES, GRADED, ZERO_ROWS };

struct problem {
    int64_t m, n;
    enum kind kind;
    struct bd_cuda_caqr_shape shape; /* panel_cols = 0: the tuned one */
    int64_t extra; /* ld is larger than m by that, and A starts as many elements into its memory */
    int64_t k;     /* columns of C; 0: 5 */
};

static uint64_t seed;

static float element(const struct problem *p, int64_t i, int64_t j)
{
    double x = signed_uniform(&seed);
    switch (p->kind) {
    case ZERO:
        return 0;
    case CONSTANT:
        return 7;
    case GRADED:
        return (float)(x * pow(10, -30 + 60 * (double)(j * 7 % p->n) / (double)p->n));
    case ZERO_ROWS: /* whole sub-blocks of nothing between the others */
        return i / 150 % 2 ? 0 : (float)x;
    default:
        return (float)x;
    }
}

static float *new_matrix(const struct problem *p, int64_t n)
{
    float *a = malloc((size_t)(p->m * n) * sizeof *a);
    assert_non_null(a);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < p->m; i++)
            a[i + j * p->m] = element(p, i, j);
    if (p->kind == DUPLICATES)
        for (int64_t j = 2; j < n; j += 3)
            memcpy(a + j * p->m, a + (j - 1) * p->m, (size_t)p->m * sizeof *a);
    return a;
}

/* A device matrix that begins `extra` elements into its columns, with the values of host. */
struct device {
    struct bd_matrix whole, part;
};

static void device_make(struct device *d, const struct problem *p, const float *host, int64_t n)
{
    assert_int_equal(bd_matrix_create(backend, &d->whole, p->m + 2 * p->extra, n, BD_F32), BD_OK);
    d->part = d->whole;
    d->part.rows = p->m;
    d->part.data = (float *)d->whole.data + p->extra;
    if (host)
        assert_int_equal(bd_matrix_upload(backend, &d->part, host, p->m), BD_OK);
}

static void device_get(const struct device *d, const struct problem *p, float *host)
{
    assert_int_equal(bd_matrix_download(backend, host, p->m, &d->part), BD_OK);
}

#define assert_small(error, p)                                                                  \
    do {                                                                                        \
        double value_ = (error) / (30 * (double)(p)->n * FLT_EPSILON);                          \
        if (!(value_ < 1))                                                                      \
            fail_msg("%lld x %lld kind %d panel %d block %lld arity %lld extra %lld: %s is %g " \
                     "of its bound",                                                            \
                     (long long)(p)->m, (long long)(p)->n, (p)->kind, (p)->shape.panel_cols,    \
                     (long long)(p)->shape.block_rows, (long long)(p)->shape.arity,             \
                     (long long)(p)->extra, #error, value_);                                    \
    } while (0)

/* Q^T C and back: Q^T A = [R; 0] says that it is the same Q, C that all of it is orthogonal. */
static void check_apply(struct bd_cuda_caqr *plan, const struct problem *p, const float *a,
                        const float *r)
{
    int64_t m = p->m, n = p->n, k = p->k ? p->k : 5;
    float *got = malloc((size_t)(m * (n > k ? n : k)) * sizeof *got);
    float *want = calloc((size_t)(m * n), sizeof *want);
    struct problem random = *p;
    random.kind = RANDOM;
    float *c = new_matrix(&random, k);
    struct device d;
    assert_true(got && want);
    for (int64_t j = 0; j < n; j++)
        memcpy(want + j * m, r + j * n, (size_t)n * sizeof *want);
    device_make(&d, p, a, n);
    assert_int_equal(bd_cuda_caqr_apply(plan, BD_QR_Q_TRANSPOSED, d.part.data, d.part.ld, n),
                     BD_OK);
    device_get(&d, p, got);
    assert_small(column_error(want, got, m, n), p);
    bd_matrix_destroy(backend, &d.whole);
    device_make(&d, p, c, k);
    assert_int_equal(bd_cuda_caqr_apply(plan, BD_QR_Q_TRANSPOSED, d.part.data, d.part.ld, k),
                     BD_OK);
    device_get(&d, p, got);
    for (int64_t j = 0; j < k; j++)
        assert_small(
            fabs(1 - sqrt(dot(got + j * m, got + j * m, m)) / sqrt(dot(c + j * m, c + j * m, m))),
            p);
    assert_int_equal(bd_cuda_caqr_apply(plan, BD_QR_Q, d.part.data, d.part.ld, k), BD_OK);
    device_get(&d, p, got);
    assert_small(column_error(c, got, m, k), p);
    bd_matrix_destroy(backend, &d.whole);
    free(got);
    free(want);
    free(c);
}

static void check(const struct problem *p)
{
    int64_t m = p->m, n = p->n;
    struct bd_cuda *cuda = bd_cuda_of(backend);
    struct bd_cuda_caqr *plan;
    struct device a, q;
    struct bd_matrix r;
    seed = 42;
    float *host = new_matrix(p, n), *host_q = malloc((size_t)(m * n) * sizeof *host_q);
    float *host_r = malloc((size_t)(n * n) * sizeof *host_r);
    assert_true(host_q && host_r);
    if (p->shape.panel_cols)
        assert_int_equal(bd_cuda_caqr_create_shaped(cuda, m, n, &p->shape, &plan), BD_OK);
    else
        assert_int_equal(bd_cuda_caqr_create(cuda, m, n, NULL, 1, &plan), BD_OK);
    device_make(&a, p, host, n);
    device_make(&q, p, NULL, n);
    assert_int_equal(bd_matrix_create(backend, &r, n, n, BD_F32), BD_OK);

    assert_int_equal(bd_cuda_caqr_reduce(plan, a.part.data, a.part.ld, r.data, r.ld), BD_OK);
    assert_int_equal(bd_matrix_download(backend, host_r, n, &r), BD_OK);
    assert_upper(host_r, n);
    assert_small(gram_error(host, host_r, m, n), p);
    device_get(&a, p, host_q);
    assert_memory_equal(host, host_q, (size_t)(m * n) * sizeof *host);

    assert_int_equal(bd_cuda_caqr_factor(plan, a.part.data, a.part.ld), BD_OK);
    assert_int_equal(bd_cuda_caqr_get_r(plan, r.data, r.ld), BD_OK);
    assert_int_equal(bd_matrix_download(backend, host_r, n, &r), BD_OK);
    assert_upper(host_r, n);
    assert_small(gram_error(host, host_r, m, n), p);
    check_apply(plan, p, host, host_r);
    assert_int_equal(bd_cuda_caqr_form_q(plan, q.part.data, q.part.ld), BD_OK);
    device_get(&q, p, host_q);
    float *qr = product(host_q, host_r, m, n);
    assert_small(column_error(host, qr, m, n), p);
    free(qr);
    assert_small(departure(host_q, m, n), p);
    assert_int_equal(bd_cuda_caqr_form_q(plan, a.part.data, a.part.ld), BD_OK);
    float *in_place = malloc((size_t)(m * n) * sizeof *in_place);
    assert_non_null(in_place);
    device_get(&a, p, in_place);
    assert_memory_equal(host_q, in_place, (size_t)(m * n) * sizeof *host_q);

    bd_cuda_caqr_destroy(plan);
    bd_matrix_destroy(backend, &a.whole);
    bd_matrix_destroy(backend, &q.whole);
    bd_matrix_destroy(backend, &r);
    free(host);
    free(host_q);
    free(host_r);
    free(in_place);
}

/* One leaf: a sub-block, less than one, more. */
static void test_one_leaf(void **state)
{
    static const int64_t rows[] = { 16, 17, 100, 127, 128, 129, 143, 144, 256, 257, 1000 };
    (void)state;
    need_gpu();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int64_t n = 1; n <= 16 && n <= rows[i]; n += i % 2 ? 15 : 5)
            check(&(struct problem){ .m = rows[i], .n = n, .shape = { 16, 1 << 20, 2 } });
}

/* Panels of every number of warps, several leaves, last leaves of all kinds. */
static void test_panels(void **state)
{
    (void)state;
    need_gpu();
    const bool quick = test_quick();
    for (int64_t n = 1; n <= 130; n += quick ? 21 : n % 16 == 15 || n % 16 == 0 ? 1 : 5)
        check(&(struct problem){ .m = 1000 + 3 * n, .n = n, .shape = { 128, 256, 2 + n % 3 } });
    for (int64_t m = 510; m <= 1060; m += quick ? 91 : 9)
        check(&(struct problem){ .m = m, .n = 33, .shape = { 32, 128, 3 }, .extra = m % 4 });
}

/* Several panels: updates, deep trees, k on both sides of what a block of warps takes. */
static void test_updates(void **state)
{
    (void)state;
    need_gpu();
    const bool quick = test_quick();
    for (int cols = 16; cols <= 128; cols += quick ? 48 : 16)
        check(&(struct problem){
            .m = 3001, .n = 150, .shape = { cols, 2 * cols, 2 + cols / 16 }, .extra = cols / 16 });
    for (int64_t k = 1; k <= 140; k += quick ? 69 : 23)
        check(&(struct problem){ .m = 999, .n = 70, .shape = { 64, 160, 3 }, .k = k });
    if (quick)
        return;
    check(&(struct problem){ .m = 520, .n = 520 });
    check(&(struct problem){ .m = 2000, .n = 333, .extra = 3 });
}

static void test_kinds(void **state)
{
    (void)state;
    need_gpu();
    for (enum kind kind = ZERO; kind <= ZERO_ROWS; kind++) {
        if (!test_quick())
            check(&(struct problem){ .m = 5000, .n = 100, .kind = kind });
        check(&(struct problem){ .m = 1500, .n = 60, .kind = kind, .shape = { 16, 200, 5 } });
        check(&(struct problem){ .m = 150, .n = 150, .kind = kind, .shape = { 48, 96, 2 } });
    }
}

/* Long chains of folds, and the slabs of reduce (more rows than one holds). */
static void test_tall(void **state)
{
    (void)state;
    need_gpu();
    if (!test_quick()) {
        check(&(struct problem){ .m = 200001, .n = 20 });
        check(&(struct problem){ .m = 100000, .n = 70, .shape = { 80, 50000, 2 } });
        check(&(struct problem){ .m = 60000, .n = 34, .shape = { 16, 3000, 9, 0 } });
        check(&(struct problem){ .m = 60000, .n = 34, .shape = { 16, 3000, 9, 20000 } });
    }
    check(&(struct problem){ .m = 5003, .n = 70, .shape = { 64, 300, 3, 1000 }, .extra = 1 });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_leaf), cmocka_unit_test(test_panels),
        cmocka_unit_test(test_updates),  cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_tall),
    };
    return cmocka_run_group_tests(tests, open_group, close_group);
}
