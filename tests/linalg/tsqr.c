/* R of a stream of row blocks (linalg/shared/tsqr.h): R^T R = A^T A for any cut of the rows. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "linalg/shared/tsqr.h"
#include "tests/support/random.h"

static uint64_t seed;

/* Pushes a block of random rows and adds its A^T A to gram (n x n). */
static void push_random(struct bd_tsqr *tsqr, int thread, int64_t rows, int64_t n, double *gram)
{
    int64_t ld;
    float *block = bd_tsqr_block(tsqr, thread, &ld);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < rows; i++)
            block[i + j * ld] = (float)((noise(&seed) + 1) / 2);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j; i++)
            for (int64_t k = 0; k < rows; k++)
                gram[i + j * n] += (double)block[k + i * ld] * block[k + j * ld];
    bd_tsqr_push(tsqr, thread, rows);
}

static void assert_gram(const float *r, const double *gram, int64_t n, int64_t ldr)
{
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i <= j; i++) {
            double sum = 0, size = sqrt(gram[i + i * n] * gram[j + j * n]);
            for (int64_t k = 0; k <= i; k++)
                sum += (double)r[k + i * ldr] * r[k + j * ldr];
            assert_true(fabs(sum - gram[i + j * n]) <= 30 * (double)n * FLT_EPSILON * size);
        }
        for (int64_t i = j + 1; i < n; i++)
            assert_true(r[i + j * ldr] == 0);
    }
}

/* `blocks` blocks of 1 .. most rows, dealt to the threads in turn; then the same again after more
 * rows, and from the start. */
static void check(int64_t n, int64_t block_rows, int threads, int blocks, int64_t most)
{
    struct bd_tsqr *tsqr;
    int64_t ldr = n + 3;
    float *r = calloc((size_t)(ldr * n), sizeof *r);
    double *gram = calloc((size_t)(n * n), sizeof *gram);
    assert_true(r && gram);
    seed = 7;
    assert_int_equal(bd_tsqr_create(&tsqr, n, block_rows, threads), BD_OK);
    assert_true(bd_tsqr_block_rows(tsqr) >= most);
    for (int round = 0; round < 3; round++) {
        if (round == 2) {
            bd_tsqr_reset(tsqr);
            memset(gram, 0, (size_t)(n * n) * sizeof *gram);
        }
        for (int i = 0; i < blocks; i++)
            push_random(tsqr, i % threads, 1 + (i * 37 + round) % most, n, gram);
        bd_tsqr_finish(tsqr, r, ldr);
        assert_gram(r, gram, n, ldr);
    }
    bd_tsqr_destroy(&tsqr);
    assert_null(tsqr);
    bd_tsqr_destroy(&tsqr); /* safe on NULL */
    free(r);
    free(gram);
}

static void test_blocks(void **state)
{
    (void)state;
    check(1, 0, 1, 3, 100);
    check(30, 64, 3, 10, 64);
    check(100, 0, 2, 5, 500);
    check(40, 16, 2, 9, 16);    /* an R is joined in several blocks */
    check(250, 100, 2, 8, 100); /* more columns than an outer panel */
}

/* Fewer rows than columns, and none at all: zero rows in R. */
static void test_few_rows(void **state)
{
    struct bd_tsqr *tsqr;
    float r[25];
    (void)state;
    check(30, 16, 3, 2, 5);
    assert_int_equal(bd_tsqr_create(&tsqr, 5, 0, 2), BD_OK);
    memset(r, 1, sizeof r);
    bd_tsqr_finish(tsqr, r, 5);
    for (int i = 0; i < 25; i++)
        assert_true(r[i] == 0);
    bd_tsqr_destroy(&tsqr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_few_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
