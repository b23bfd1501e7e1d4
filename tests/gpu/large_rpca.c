/* Robust PCA of more than 2^31 elements on the GPU: a planted still picture and what is sparse are
 * found again, in every element (large_problem.h says how matrices go up and come down).
 *
 * Skipped, with a message, where there is no GPU or too little of its memory is free: up to 38 GiB
 * are wanted. An argument is a pattern for the names of tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/gpu/large_checks.h"
#include <backdrop/rpca.h>

/* The picture: 40 .. 139, the same in all columns. */
static int still(int64_t row)
{
    return 40 + (int)(50 * (large_element(row, 1000) + 0.75F));
}

/* What is sparse: 70 in one of 128 elements. */
static int sparse(int64_t row, int64_t column)
{
    return large_element(row, column) < -0.75F + 2.0F / 128 ? 70 : 0;
}

/* A pass over slabs of M, L or S. */
struct pass {
    struct large_pass slabs;
    int stills, sparses; /* how much of each is in the matrix */
    double worst[256];   /* threads: the largest error */
};

static void make_strip(void *arg, int64_t item, int thread)
{
    const struct pass *p = arg;
    const struct large_pass *s = &p->slabs;
    const int64_t first = item * large_strip, rows = large_min(large_strip, s->rows - first);
    (void)thread;
    for (int64_t i = first; i < first + rows; i++) {
        const int background = still(s->row + i);
        for (int64_t j = 0; j < s->n; j++) {
            const int value = background + sparse(s->row + i, j);
            if (s->type == BD_U8)
                ((uint8_t *)large.staging)[i + j * s->rows] = (uint8_t)value;
            else
                ((float *)large.staging)[i + j * s->rows] = (float)value;
        }
    }
}

static void check_strip(void *arg, int64_t item, int thread)
{
    struct pass *p = arg;
    const struct large_pass *s = &p->slabs;
    const int64_t first = item * large_strip, rows = large_min(large_strip, s->rows - first);
    double worst = p->worst[thread];
    for (int64_t i = first; i < first + rows; i++) {
        const int background = p->stills * still(s->row + i);
        for (int64_t j = 0; j < s->n; j++) {
            const float x = ((const float *)large.staging)[i + j * s->rows];
            const double want = background + p->sparses * sparse(s->row + i, j);
            const double d = fabs((double)x - want);
            worst = d <= worst ? worst : isnan(d) ? INFINITY : d;
        }
    }
    p->worst[thread] = worst;
}

/* The largest error of an element of what should be `stills` pictures and `sparses` of the rest. */
static double error_of(const struct bd_matrix *x, int stills, int sparses)
{
    struct pass p = { .stills = stills, .sparses = sparses };
    double worst = 0;
    FOR_EACH_SLAB(&p.slabs, x, slab)
    {
        assert_int_equal(bd_matrix_download(large.backend, large.staging, p.slabs.rows, &slab),
                         BD_OK);
        bd_pool_run(large.pool, check_strip, &p, large_strips(&p.slabs));
    }
    for (int t = 0; t < bd_pool_threads(large.pool); t++)
        worst = fmax(worst, p.worst[t]);
    return worst;
}

static void check_shape(int64_t m, int64_t n, int64_t ld, enum bd_type type)
{
    struct placed data = place(m, n, ld, 0, type), l, s;
    struct bd_rpca *rpca;
    struct bd_rpca_result result;
    struct pass p = { .stills = 1 };
    assert_true(m * n > (int64_t)1 << 31);
    FOR_EACH_SLAB(&p.slabs, &data.x, slab)
    {
        bd_pool_run(large.pool, make_strip, &p, large_strips(&p.slabs));
        assert_int_equal(bd_matrix_upload(large.backend, &slab, large.staging, p.slabs.rows),
                         BD_OK);
    }
    assert_int_equal(bd_rpca_create(&rpca, large.backend, m, n, NULL), BD_OK);
    assert_int_equal(bd_rpca_solve(rpca, &data.x, &result), BD_OK);
    l = place(m, n, m, 0, BD_F32);
    s = place(m, n, m, 0, BD_F32);
    assert_int_equal(bd_rpca_get(rpca, &l.x, &s.x), BD_OK);
    bd_rpca_destroy(&rpca);
    const double of_l = error_of(&l.x, 1, 0), of_s = error_of(&s.x, 0, 1);
    print_message("%lld x %lld: %d iterations in %.2f s, rank %lld, residual %.1e; L off by %.2f "
                  "grey levels at most, S by %.2f\n",
                  (long long)m, (long long)n, result.iterations, result.seconds,
                  (long long)result.rank, result.residual, of_l, of_s);
    assert_int_equal(result.rank, 1);
    assert_true(result.residual < 1e-6);
    assert_true(of_l <= 2 && of_s <= 2);
    bd_matrix_destroy(large.backend, &s.whole);
    bd_matrix_destroy(large.backend, &l.whole);
    bd_matrix_destroy(large.backend, &data.whole);
}

/* The sweeps of few columns, of bytes. */
static void test_few_columns(void **state)
{
    (void)state;
    large_open(30 * gib);
    check_shape(110000003, 20, 110000016, BD_U8);
    large_close();
}

/* Those of many. */
static void test_many_columns(void **state)
{
    (void)state;
    large_open(30 * gib);
    check_shape(19900001, 108, 19900003, BD_U8);
    large_close();
}

static void test_floats(void **state)
{
    (void)state;
    large_open(38 * gib);
    check_shape(107400001, 20, 107400001, BD_F32);
    large_close();
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_columns),
        cmocka_unit_test(test_many_columns),
        cmocka_unit_test(test_floats),
    };
    if (count > 1)
        cmocka_set_test_filter(arguments[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
