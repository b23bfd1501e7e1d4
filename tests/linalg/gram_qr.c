/* QR by the Gram matrix: Q, R and the report for every method, shape, type and kind of matrix. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/gram_problem.h"
#include "tests/support/quick.h"

static void check(const struct outcome *out, int64_t n, enum bd_type type)
{
    double unit = epsilon_of(type);
    assert_int_equal(out->status, BD_OK);
    assert_true(out->orthogonality <= (4 + 2 * (double)n) * unit);
    assert_true(out->residual <= (8 + (double)n) * unit);
}

static void shapes(struct bd_backend *backend)
{
    static const int64_t cols[] = { 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 20, 31, 33, 64, 65, 100, 130 };
    static const enum bd_type types[] = { BD_F64, BD_F32 };
    int round = 0;
    for (size_t c = 0; c < sizeof cols / sizeof *cols; c++) {
        int64_t n = cols[c];
        const int64_t rows[] = { n, n + 1, 63, 64, 65, 1000, 4099 };
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            if (rows[k] < n || (test_quick() && (n > 33 || rows[k] > 1000)))
                continue;
            int64_t m = rows[k];
            double *a = conditioned_matrix(m, n, 100, (uint64_t)(m + n));
            /* Each combination comes up often enough for each kind of shape. */
            for (int i = 0; i < 3; i++, round++) {
                enum bd_type type = types[round % 2];
                struct bd_gram_qr_options options = { .method = round / 2 % 4,
                                                      .solve = round / 8 % 3 };
                struct outcome out = run_one(backend, a, m, n, type, &options);
                check(&out, n, type);
                release(&out);
            }
            free(a);
        }
    }
}

/* More columns than the kernels of the cpu backend are for, and than cuda has for the SVD. */
static void many_columns(struct bd_backend *backend)
{
    const int64_t m = 640, n = 520;
    if (test_quick())
        return;
    double *a = conditioned_matrix(m, n, 1e4, 12);
    for (int kind = 0; kind < 4; kind++) {
        struct bd_gram_qr_options options = { .method = BD_GRAM_QR_CHOLESKY2,
                                              .solve = (enum bd_triangular_solve)(kind % 3) };
        struct outcome out = run_one(backend, a, m, n, kind == 3 ? BD_F32 : BD_F64, &options);
        check(&out, n, kind == 3 ? BD_F32 : BD_F64);
        release(&out);
    }
    free(a);
}

/* All methods up to the condition that they are good for; R agrees between them. */
static void conditions(struct bd_backend *backend)
{
    static const double most[] = { HUGE_VAL, 2e7, 1e11, HUGE_VAL };
    int64_t m = 1500, n = 24;
    for (int step = 0; step < 8; step++) {
        double condition = pow(300, step);
        double *a = conditioned_matrix(m, n, condition, 5);
        for (int method = 0; method < 4; method++) {
            if (condition > most[method])
                continue;
            for (int solve = 0; solve < 3; solve++) {
                struct bd_gram_qr_options options = { .method = method, .solve = solve };
                struct outcome out = run_one(backend, a, m, n, BD_F64, &options);
                assert_int_equal(out.status, BD_OK);
                assert_true(out.orthogonality <= 60 * DBL_EPSILON);
                /* An inverse costs backward error (section 6, figure 18), blocks of it do not. */
                double unit = solve == BD_TRIANGULAR_INVERSION
                                  ? DBL_EPSILON * fmin(condition, 1e9) * 10
                                  : 100 * DBL_EPSILON;
                assert_true(out.residual <= fmax(unit, 100 * DBL_EPSILON));
                assert_true(out.report.orthogonality <= 100 * DBL_EPSILON);
                if (method == BD_GRAM_QR_SHIFTED3) /* that is what the shift is for */
                    assert_false(out.report.pass[0].failed || out.report.pass[1].failed);
                if (condition < 1e6) {
                    assert_true(out.report.pass[0].condition <= condition * condition * 1.1);
                    assert_false(out.report.pass[0].truncated || out.report.pass[0].failed);
                }
                release(&out);
            }
        }
        free(a);
    }
}

/* CholQR2 does not take what is too ill-conditioned for it, and says so; A = Q R nonetheless. */
static void too_ill(struct bd_backend *backend)
{
    int64_t m = 700, n = 20;
    double *a = conditioned_matrix(m, n, 1e13, 9);
    struct bd_gram_qr_options options = { .method = BD_GRAM_QR_CHOLESKY2 };
    struct outcome out = run_one(backend, a, m, n, BD_F64, &options);
    assert_int_equal(out.status, BD_ERROR_NUMERIC);
    assert_non_null(strstr(bd_error_detail(), "BD_GRAM_QR_SVD"));
    assert_int_equal(out.report.passes, 2);
    measure(&out, a, m, n);
    assert_true(out.orthogonality > 1e-9);
    assert_true(out.residual < 1e-13);
    release(&out);
    options.max_passes = 2; /* the caller looks at the report */
    out = run_one(backend, a, m, n, BD_F64, &options);
    assert_int_equal(out.status, BD_OK);
    assert_true(out.report.orthogonality > 1e-9);
    release(&out);
    free(a);
}

struct hard {
    const char *name;
    double *a;
    int64_t m, n;
};

/* The matrices of the paper, by the two methods that take any. */
static void papers(struct bd_backend *backend)
{
    struct hard cases[] = { { "dependent", dependent_matrix(1000, 15), 1000, 15 },
                            { "K30", krylov_matrix(33, 30), 1089, 30 },
                            { "Hilbert", hilbert_matrix(100), 100, 100 },
                            { "synthetic", synthetic_matrix(100), 101, 100 } };
    for (int c = 0; c < 4; c++) {
        int64_t m = cases[c].m, n = cases[c].n;
        for (int kind = 0; kind < 8; kind += test_quick() ? 2 : 1) {
            bool svd = kind > 0, mixed = kind > 3;
            struct bd_gram_qr_options options = { .method =
                                                      svd ? BD_GRAM_QR_SVD : BD_GRAM_QR_CHOLESKY,
                                                  .solve = kind % 3,
                                                  .mixed = mixed,
                                                  .max_passes = 10 };
            struct outcome out = run_one(backend, cases[c].a, m, n, BD_F64, &options);
            const struct bd_gram_qr_report *report = &out.report;
            assert_int_equal(out.status, BD_OK);
            if (!(out.orthogonality <= 4 * (double)n * DBL_EPSILON))
                print_message("%s, %d: %g after %d\n", cases[c].name, kind, out.orthogonality,
                              report->passes);
            assert_true(out.orthogonality <= 4 * (double)n * DBL_EPSILON);
            assert_true(report->orthogonality <= 4 * (double)n * DBL_EPSILON);
            /* The first pass knows what it has before it. */
            if (svd)
                assert_true(report->pass[0].truncated > 0 && report->passes <= 6);
            else
                assert_true(report->pass[0].failed);
            assert_int_equal(report->pass[0].single, mixed);
            assert_false(report->pass[report->passes - 1].single);
            if (options.solve != BD_TRIANGULAR_INVERSION)
                assert_true(out.residual <= (mixed ? 1e-4 : 1e-12));
            release(&out);
        }
        free(cases[c].a);
    }
}

/* Zero and repeated columns, and whole matrices of them: Q is orthogonal all the same. */
static void degenerate(struct bd_backend *backend)
{
    int64_t m = 300, n = 12;
    for (int kind = 0; kind < 5; kind++)
        for (int type = BD_F32; type <= BD_F64; type += BD_F64 - BD_F32)
            for (int method = 0; method < 4; method += 3) {
                double *a = random_matrix(m, n, 3);
                for (int64_t j = 0; j < n; j++)
                    for (int64_t i = 0; i < m; i++) {
                        double *x = &a[i + j * m];
                        if (kind == 0 || (kind == 1 && j % 4 == 1)) /* zero; zero columns */
                            *x = 0;
                        else if (kind == 2) /* all equal, and roots of m are exact */
                            *x = i < 256;
                        else if (kind == 3 && j > 3) /* repeated, graded */
                            *x = ldexp(a[i + j % 4 * m], -(int)j);
                        else if (kind == 4) /* rank 1 */
                            *x = (double)((i + 1) * (j + 1));
                    }
                struct bd_gram_qr_options options = { .method = method };
                struct outcome out = run_one(backend, a, m, n, (enum bd_type)type, &options);
                check(&out, n, (enum bd_type)type);
                if (kind < 2)
                    for (int64_t j = 0; j < n; j++)
                        for (int64_t i = 0; i < n && (kind == 0 || j % 4 == 1); i++)
                            assert_true(out.r[i + j * n] == 0);
                release(&out);
                free(a);
            }
}

/* Columns of any size that the type has. */
static void graded(struct bd_backend *backend)
{
    int64_t m = 500, n = 14;
    for (int type = BD_F32; type <= BD_F64; type += BD_F64 - BD_F32)
        for (int method = 0; method < 4; method++)
            for (int mixed = 0; mixed < (type == BD_F64 && method == BD_GRAM_QR_SVD ? 2 : 1);
                 mixed++) {
                double *a = random_matrix(m, n, 8);
                int least = type == BD_F64 ? -1065 : -140, most = type == BD_F64 ? 1015 : 120;
                for (int64_t j = 0; j < n; j++)
                    for (int64_t i = 0; i < m; i++)
                        a[i + j * m] = ldexp(
                            a[i + j * m], least + (int)(j * 5 % n) * (most - least) / (int)(n - 1));
                struct bd_gram_qr_options options = { .method = method, .mixed = mixed };
                struct outcome out = run_one(backend, a, m, n, (enum bd_type)type, &options);
                assert_int_equal(out.status, BD_OK);
                assert_true(out.orthogonality <= 30 * epsilon_of((enum bd_type)type));
                /* That of a denormal column is what its elements are rounded to. */
                for (int64_t j = 0; j < n; j++) {
                    long double error = 0, size = 0;
                    for (int64_t i = 0; i < m; i++) {
                        long double d = a[i + j * m];
                        size = fmaxl(size, fabsl(d));
                        for (int64_t k = 0; k <= j; k++)
                            d -= (long double)out.q[i + k * m] * out.r[k + j * n];
                        error = fmaxl(error, fabsl(d));
                    }
                    double ulp = type == BD_F64 ? 0x1p-1074 : 0x1p-149;
                    assert_true(error <=
                                30 * (size * epsilon_of((enum bd_type)type) + (long double)ulp));
                }
                release(&out);
                free(a);
            }
}

/* The wanted orthogonality is met, with fewer passes where it is less. */
static void levels(struct bd_backend *backend)
{
    int64_t m = 2000, n = 16;
    for (int step = 1; step < 8; step++) {
        double condition = pow(10, step);
        double *a = conditioned_matrix(m, n, condition, 4);
        for (int method = 0; method < 4; method += 3) {
            int before = 0;
            for (int level = 0; level < 4; level++) {
                double wanted = 1e-2 * pow(1e-3, level);
                struct bd_gram_qr_options options = { .method = method, .orthogonality = wanted };
                struct outcome out = run_one(backend, a, m, n, BD_F64, &options);
                assert_int_equal(out.status, BD_OK);
                assert_true(out.orthogonality <= wanted);
                assert_true(out.orthogonality <= 2 * out.report.orthogonality + 1e-15);
                assert_true(out.report.passes >= before);
                before = out.report.passes;
                release(&out);
            }
            assert_true(before <= 3);
            struct bd_gram_qr_options loose = { .method = method, .orthogonality = 0.2 };
            struct outcome out = run_one(backend, a, m, n, BD_F64, &loose);
            assert_int_equal(out.report.passes, condition < 3e6 ? 1 : out.report.passes);
            /* What is orthogonal enough is left alone. */
            struct outcome again = run_one(backend, out.q, m, n, BD_F64, &loose);
            assert_int_equal(again.report.passes, 1);
            assert_true(again.report.pass[0].skipped);
            assert_memory_equal(again.q, out.q, (size_t)(m * n) * sizeof *out.q);
            release(&out);
            release(&again);
        }
        free(a);
    }
}

#define EVERY(name)                       \
    static void test_##name(void **state) \
    {                                     \
        (void)state;                      \
        on_every_backend(name);           \
    }
EVERY(shapes)
EVERY(many_columns)
EVERY(conditions)
EVERY(too_ill)
EVERY(papers)
EVERY(degenerate)
EVERY(graded)
EVERY(levels)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),     cmocka_unit_test(test_many_columns),
        cmocka_unit_test(test_conditions), cmocka_unit_test(test_too_ill),
        cmocka_unit_test(test_papers),     cmocka_unit_test(test_degenerate),
        cmocka_unit_test(test_graded),     cmocka_unit_test(test_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
