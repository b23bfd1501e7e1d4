/* V R^-1 and V R against long double on the host, by every way of solving, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/gram_problem.h"
#include "tests/support/quick.h"

/* n x n, upper triangular, a diagonal in 1 .. 2, the rest in -spread .. spread; junk below. */
static double *triangle(int64_t n, double spread, uint64_t seed)
{
    double *r = new_doubles(n * n);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            r[i + j * n] = i < j    ? spread * signed_uniform(&seed)
                           : i == j ? 1 + uniform(&seed)
                                    : NAN;
    return r;
}

static void round_to(double *a, int64_t count, enum bd_type type)
{
    for (int64_t i = 0; i < count && type == BD_F32; i++)
        a[i] = (double)(float)a[i];
}

/* The largest ||A - Q R|| by row, relative to ||A(i, :)|| + || |Q(i, :)| |R| ||: what substitution
 * keeps small for any R. */
static double row_error(const double *a, const double *q, const double *r, int64_t m, int64_t n)
{
    double worst = 0;
    for (int64_t i = 0; i < m; i++) {
        long double error = 0, size = 0;
        for (int64_t j = 0; j < n; j++) {
            long double d = a[i + j * m], magnitude = fabsl(d);
            for (int64_t k = 0; k <= j; k++) {
                d -= (long double)q[i + k * m] * r[k + j * n];
                magnitude += fabsl((long double)q[i + k * m] * r[k + j * n]);
            }
            error += d * d;
            size += magnitude * magnitude;
        }
        double relative = error == 0 ? 0 : (double)sqrtl(error / size);
        if (!(relative <= worst))
            worst = isnan(relative) ? INFINITY : relative;
    }
    return worst;
}

/* out := V R^-1 (solve >= 0) or V R, by the backend. */
static enum bd_status compute(struct bd_backend *backend, double *out, const double *a,
                              const double *r, int64_t m, int64_t n, enum bd_type type, int solve,
                              bool mixed)
{
    struct bd_triangular *triangular;
    struct bd_matrix v, rm;
    assert_int_equal(bd_triangular_create(&triangular, backend, m, n, type), BD_OK);
    upload(backend, &v, a, m, n, m ? m : 1, type);
    upload(backend, &rm, r, n, n, n, type);
    enum bd_status status = solve < 0 ? bd_triangular_multiply(triangular, &rm, &v, mixed)
                                      : bd_triangular_solve(triangular, &rm, &v,
                                                            (enum bd_triangular_solve)solve, mixed);
    download(backend, out, m ? m : 1, &v);
    bd_matrix_destroy(backend, &v);
    bd_matrix_destroy(backend, &rm);
    bd_triangular_destroy(&triangular);
    return status;
}

static void shapes(struct bd_backend *backend)
{
    static const int64_t cols[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 20, 31, 32, 40, 65, 100 };
    static const int64_t rows[] = { 0, 1, 31, 63, 64, 65, 257, 1031 };
    int round = 0;
    for (size_t c = 0; c < sizeof cols / sizeof *cols; c++)
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            int64_t n = cols[c], m = rows[k];
            if (test_quick() && (n > 40 || m > 65))
                continue;
            for (int solve = -1; solve < 3; solve++, round++) {
                enum bd_type type = round % 3 ? BD_F64 : BD_F32;
                bool mixed = round % 3 == 2;
                double *a = random_matrix(m, n, (uint64_t)round), *q = new_doubles(m * n);
                double *r = triangle(n, 0.4, (uint64_t)round);
                round_to(a, m * n, type);
                round_to(r, n * n, type);
                assert_int_equal(compute(backend, q, a, r, m, n, type, solve, mixed), BD_OK);
                double unit = mixed ? (double)FLT_EPSILON : epsilon_of(type);
                double error = solve < 0 ? row_error(q, a, r, m, n) : row_error(a, q, r, m, n);
                /* An inverse does not keep rows; its condition is below 100 here. */
                double most = (4 + (double)n) * unit * (solve == BD_TRIANGULAR_INVERSION ? 100 : 2);
                assert_true(error <= most);
                free(a);
                free(q);
                free(r);
            }
        }
}

/* More columns than the kernels of the cpu backend are for. */
static void many_columns(struct bd_backend *backend)
{
    const int64_t m = 70, n = 530;
    if (test_quick())
        return;
    for (int kind = 0; kind < 12; kind++) {
        int solve = kind % 4 - 1;
        enum bd_type type = kind < 4 ? BD_F32 : BD_F64;
        bool mixed = kind >= 8;
        double *a = random_matrix(m, n, 1), *q = new_doubles(m * n), *r = triangle(n, 0.02, 2);
        round_to(a, m * n, type);
        round_to(r, n * n, type);
        assert_int_equal(compute(backend, q, a, r, m, n, type, solve, mixed), BD_OK);
        double error = solve < 0 ? row_error(q, a, r, m, n) : row_error(a, q, r, m, n);
        assert_true(error <= 100 * (mixed ? (double)FLT_EPSILON : epsilon_of(type)));
        a[m * n - 1] = NAN;
        assert_int_equal(compute(backend, q, a, r, m, n, type, solve, mixed), BD_ERROR_NUMERIC);
        free(a);
        free(q);
        free(r);
    }
}

/* Ill-conditioned triangles: substitution and adaptive blocks keep the backward error, the inverse
 * does not have to. Kahan's matrix, graded rows, and ones above a diagonal of 1 (all but singular
 * together, each small block well-conditioned). */
static void ill_conditioned(struct bd_backend *backend)
{
    const int64_t m = 200, n = 48;
    for (int kind = 0; kind < 3; kind++) {
        double *r = new_doubles(n * n), *a = random_matrix(m, n, 5), *q = new_doubles(m * n);
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i <= j; i++) {
                double scale = kind == 2 ? 1 : pow(kind ? 0.4 : 0.85, (double)i);
                r[i + j * n] = scale * (i == j ? 1 : kind == 2 ? -1 : -0.5);
            }
        for (int mixed = 0; mixed < 2; mixed++)
            for (int solve = 0; solve < 2; solve++) {
                double unit = mixed ? (double)FLT_EPSILON : DBL_EPSILON;
                assert_int_equal(compute(backend, q, a, r, m, n, BD_F64, solve, mixed != 0), BD_OK);
                assert_true(row_error(a, q, r, m, n) <= 300 * unit);
            }
        free(r);
        free(a);
        free(q);
    }
}

/* Columns of any scale, which float32 does not have. */
static void scales(struct bd_backend *backend)
{
    const int64_t m = 100, n = 18;
    double *r = triangle(n, 0.4, 3), *a = random_matrix(m, n, 4), *q = new_doubles(m * n);
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i <= j; i++)
            r[i + j * n] = ldexp(r[i + j * n], (int)(j * 7 % n - 9) * 50);
        for (int64_t i = 0; i < m; i++)
            a[i + j * m] = ldexp(a[i + j * m], (int)(j * 7 % n - 9) * 50);
    }
    double *unscaled = triangle(n, 0.4, 3), *plain = random_matrix(m, n, 4);
    double *wanted = new_doubles(m * n);
    for (int mixed = 0; mixed < 2; mixed++)
        for (int solve = 0; solve < 3; solve++) {
            double worst = 0;
            assert_int_equal(compute(backend, q, a, r, m, n, BD_F64, solve, mixed != 0), BD_OK);
            assert_int_equal(compute(backend, wanted, plain, unscaled, m, n, BD_F64, 1, false),
                             BD_OK);
            for (int64_t i = 0; i < m * n; i++)
                worst = fmax(worst, fabs(q[i] - wanted[i]));
            assert_true(worst <= 1000 * (mixed ? (double)FLT_EPSILON : DBL_EPSILON));
        }
    free(r);
    free(a);
    free(q);
    free(unscaled);
    free(plain);
    free(wanted);
}

/* A workspace is as good after an R whose inverse overflows as before. */
static void after_overflow(struct bd_backend *backend)
{
    static const int64_t cols[] = { 7, 40, 200 };
    const int64_t m = 90;
    for (size_t c = 0; c < sizeof cols / sizeof *cols; c++) {
        const int64_t n = cols[c];
        double *r = new_doubles(n * n), *a = random_matrix(m, n, 6), *q = new_doubles(m * n);
        struct bd_triangular *triangular;
        struct bd_matrix v, bad, unit;
        for (int64_t j = 0; j < n; j++)
            r[j + j * n] = 1;
        assert_int_equal(bd_triangular_create(&triangular, backend, m, n, BD_F64), BD_OK);
        upload(backend, &unit, r, n, n, n, BD_F64);
        r[n] = 1;
        r[1 + n] = 1e-310;
        upload(backend, &bad, r, n, n, n, BD_F64);
        upload(backend, &v, a, m, n, m, BD_F64);
        assert_int_equal(bd_triangular_solve(triangular, &bad, &v, BD_TRIANGULAR_INVERSION, false),
                         BD_ERROR_NUMERIC);
        assert_int_equal(bd_triangular_multiply(triangular, &unit, &v, false), BD_OK);
        assert_int_equal(bd_triangular_solve(triangular, &unit, &v, BD_TRIANGULAR_INVERSION, false),
                         BD_OK);
        download(backend, q, m, &v);
        assert_memory_equal(q, a, (size_t)(m * n) * sizeof *q);
        bd_matrix_destroy(backend, &v);
        bd_matrix_destroy(backend, &bad);
        bd_matrix_destroy(backend, &unit);
        bd_triangular_destroy(&triangular);
        free(r);
        free(a);
        free(q);
    }
}

/* Singular R, and NaN and Inf in R and V and out of range. */
static void not_finite(struct bd_backend *backend)
{
    const int64_t m = 130, n = 7;
    for (int type = BD_F32; type <= BD_F64; type += BD_F64 - BD_F32)
        for (int solve = -1; solve < 3; solve++)
            for (int kind = 0; kind < 6; kind++) {
                double *r = triangle(n, 0.4, 3), *a = random_matrix(m, n, 4);
                double *q = new_doubles(m * n);
                bool wrong_r = kind < 3;
                round_to(a, m * n, (enum bd_type)type);
                if (kind == 0)
                    r[3 + 3 * n] = solve < 0 ? NAN : 0;
                else if (kind == 1)
                    r[2 + 5 * n] = NAN;
                else if (kind == 2)
                    r[6 + 6 * n] = -INFINITY;
                else if (kind == 3)
                    a[m - 1] = NAN;
                else if (kind == 4)
                    a[64 + 6 * m] = INFINITY;
                else /* overflows */
                    a[1] = type == BD_F64 ? 1e308 : 3e38, r[0] = solve < 0 ? 1e10 : 1e-10;
                assert_int_equal(compute(backend, q, a, r, m, n, (enum bd_type)type, solve, false),
                                 BD_ERROR_NUMERIC);
                for (int64_t i = 0; i < m * n && wrong_r; i++)
                    assert_true(q[i] == a[i]);
                free(r);
                free(a);
                free(q);
            }
}

static void arguments(struct bd_backend *backend)
{
    struct bd_triangular *triangular = (struct bd_triangular *)1;
    struct bd_matrix v, r, other;
    assert_int_equal(bd_triangular_create(&triangular, backend, -1, 3, BD_F64), BD_ERROR_ARGUMENT);
    assert_null(triangular);
    assert_int_equal(bd_triangular_create(&triangular, backend, 3, 0, BD_F64), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_triangular_create(&triangular, backend, 3, 3, BD_U8), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_triangular_create(&triangular, backend, 3, 5, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_create(backend, &v, 3, 5, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_create(backend, &r, 5, 5, BD_F32), BD_OK);
    assert_int_equal(bd_matrix_create(backend, &other, 4, 4, BD_F64), BD_OK);
    assert_int_equal(bd_triangular_solve(triangular, &r, &v, 3, false), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_triangular_solve(triangular, &r, &v, -1, false), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_triangular_solve(triangular, &r, &v, 0, true), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_triangular_multiply(triangular, &r, &v, true), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_triangular_solve(triangular, &other, &v, 0, false), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_triangular_solve(triangular, &r, &other, 0, false), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_triangular_solve(triangular, &v, &v, 0, false), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_triangular_solve(triangular, &r, &r, 0, false), BD_ERROR_ARGUMENT);
    assert_int_equal(bd_triangular_multiply(triangular, &r, &r, false), BD_ERROR_ARGUMENT);
    bd_matrix_destroy(backend, &v);
    bd_matrix_destroy(backend, &r);
    bd_matrix_destroy(backend, &other);
    bd_triangular_destroy(&triangular);
    bd_triangular_destroy(&triangular);
}

#define EVERY(name)                       \
    static void test_##name(void **state) \
    {                                     \
        (void)state;                      \
        on_every_backend(name);           \
    }
EVERY(shapes)
EVERY(many_columns)
EVERY(ill_conditioned)
EVERY(scales)
EVERY(after_overflow)
EVERY(not_finite)
EVERY(arguments)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),          cmocka_unit_test(test_many_columns),
        cmocka_unit_test(test_ill_conditioned), cmocka_unit_test(test_scales),
        cmocka_unit_test(test_after_overflow),  cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
