/* Bischof's incremental condition estimation against the singular values by one-sided Jacobi. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "linalg/cpu/gram_qr/condition_estimate.h"
#include "tests/support/gram_problem.h"

/* The condition number of R (n x n, ld ldr, upper triangular, columns times scale[j]). */
static double condition_number(const double *r, int64_t ldr, int64_t n, const double *scale)
{
    long double *a = calloc((size_t)(n * n), sizeof *a);
    assert_non_null(a);
    /* R^T: its columns, graded like the rows of R, are what Jacobi is accurate for. */
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j; i++)
            a[j + i * n] = (long double)r[i + j * ldr] * scale[j];
    for (int sweep = 0; sweep < 40; sweep++)
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                long double pp = 0, qq = 0, pq = 0;
                for (int64_t i = 0; i < n; i++) {
                    pp += a[i + p * n] * a[i + p * n];
                    qq += a[i + q * n] * a[i + q * n];
                    pq += a[i + p * n] * a[i + q * n];
                }
                if (pq == 0)
                    continue;
                long double zeta = (qq - pp) / (2 * pq);
                long double t = copysignl(1, zeta) / (fabsl(zeta) + sqrtl(1 + zeta * zeta));
                long double c = 1 / sqrtl(1 + t * t), s = c * t;
                for (int64_t i = 0; i < n; i++) {
                    long double x = a[i + p * n], y = a[i + q * n];
                    a[i + p * n] = c * x - s * y;
                    a[i + q * n] = s * x + c * y;
                }
            }
    long double least = HUGE_VALL, largest = 0;
    for (int64_t j = 0; j < n; j++) {
        long double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += a[i + j * n] * a[i + j * n];
        least = fminl(least, sqrtl(sum));
        largest = fmaxl(largest, sqrtl(sum));
    }
    free(a);
    return (double)(largest / least);
}

enum { random_kind, graded, kahan, from_hilbert, kinds };

static double *triangle(int kind, int64_t n)
{
    uint64_t seed = 11;
    double *r = new_doubles(n * n);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j; i++)
            r[i + j * n] = kind == kahan
                               ? pow(0.9, (double)i) * (i == j ? 1 : -0.4)
                               : signed_uniform(&seed) * (kind == graded ? pow(0.6, (double)i) : 1);
    if (kind == from_hilbert) /* the Cholesky factor of a Hilbert matrix plus 1e-13 I */
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i <= j; i++) {
                double x = 1.0 / (double)(i + j + 1) + (i == j ? 1e-13 : 0);
                for (int64_t k = 0; k < i; k++)
                    x -= r[k + i * n] * r[k + j * n];
                r[i + j * n] = i < j ? x / r[i + i * n] : sqrt(x);
            }
    return r;
}

/* Never above the truth, within a factor of 10 of it, for every leading block as it grows, and for
 * blocks that start later (figure 3 of Yamazaki, Tomov, Dongarra has the Hilbert matrix). */
static void test_estimates(void **state)
{
    const int64_t n = 30;
    double x[30], y[30], scale[30];
    (void)state;
    for (int kind = 0; kind < kinds; kind++) {
        double *r = triangle(kind, n);
        for (int scaled = 0; scaled < 2; scaled++)
            for (int64_t first = 0; first < n; first += 11) {
                struct bd_condition_estimate estimate;
                bd_condition_start(&estimate, x, y);
                for (int64_t j = first; j < n; j++) {
                    double sum = 0;
                    for (int64_t i = first; i <= j; i++)
                        sum += r[i + j * n] * r[i + j * n];
                    scale[j - first] = scaled ? 1 / sqrt(sum) : 1;
                    double found = bd_condition_add(&estimate, r + first + j * n, scale[j - first]);
                    double wanted =
                        condition_number(r + first + first * n, n, j + 1 - first, scale);
                    assert_true(found <= wanted * (1 + 1e-10));
                    assert_true(found >= wanted / 10);
                    assert_true(found == estimate.largest / estimate.least);
                }
            }
        free(r);
    }
}

/* Diagonal: exact. A zero on the diagonal: infinite, and so it stays. Any scale. */
static void test_extremes(void **state)
{
    double x[8], y[8], column[8] = { 0 };
    struct bd_condition_estimate estimate;
    (void)state;
    for (int exponent = -1000; exponent <= 1000; exponent += 250) {
        bd_condition_start(&estimate, x, y);
        for (int j = 0; j < 8; j++) {
            column[j] = ldexp(j == 3 ? 5 : 1 + j % 2, exponent);
            double found = bd_condition_add(&estimate, column, 1);
            double wanted = j == 0 ? 1 : j < 3 ? 2 : 5;
            assert_true(fabs(found - wanted) < 1e-12);
            column[j] = 0;
        }
    }
    bd_condition_start(&estimate, x, y);
    column[0] = 1;
    assert_true(bd_condition_add(&estimate, column, 4) == 1);
    assert_true(bd_condition_add(&estimate, column, 4) == HUGE_VAL); /* (1, 0) */
    column[2] = 1;
    assert_true(bd_condition_add(&estimate, column, 4) == HUGE_VAL);
    bd_condition_start(&estimate, x, y);
    column[0] = column[2] = 0;
    assert_true(bd_condition_add(&estimate, column, 1) == HUGE_VAL);
    assert_true(bd_condition_add(&estimate, column, 1) == HUGE_VAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_estimates),
        cmocka_unit_test(test_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
