/* The LAPACK drop-in's QR: results of every shape and scale against float64. */
#include "tests/lapack/check.h"
#include "tests/support/quick.h"

/* ---- factor, form, apply --------------------------------------------------------------------- */

static void check_format(int64_t m, int64_t n, const float *f, int64_t ldf, const float *tau)
{
    const int64_t k = m < n ? m : n;
    double *q = new_doubles(m * k);
    for (int64_t j = 0; j < k; j++) {
        q[j + j * m] = 1;
        if (!(tau[j] == 0 || (tau[j] > 0.9999F && tau[j] < 2.0001F)))
            fail_msg("%lld x %lld: tau %lld is %g", (long long)m, (long long)n, (long long)j,
                     (double)tau[j]);
    }
    if (m == k)
        assert_true(tau[k - 1] == 0);
    apply64(0, m, k, k, f, ldf, tau, q, m);
    const double error = orthogonality64(m, k, q, m);
    if (!(error <= orthogonality_bound(k)))
        fail_msg("%lld x %lld: ||Q^T Q - I|| = %g of the reflectors", (long long)m, (long long)n,
                 error);
    free(q);
}

/* Q by SORGQR with `cols` >= k columns, against the reflectors in float64. */
static void check_form(int64_t m, int64_t cols, int64_t k, const float *f, int64_t ldf,
                       const float *tau)
{
    const int32_t m32 = (int32_t)m, n32 = (int32_t)cols, k32 = (int32_t)k, ld = (int32_t)m + 3;
    const int32_t size = n32 > 0 ? n32 : 1; /* the least */
    int32_t info = 99;
    float *q = new_random(ld * cols), *work = new_floats(size);
    double *reference = new_doubles(m * cols);
    for (int64_t j = 0; j < k; j++)
        memcpy(q + j * ld, f + j * ldf, (size_t)m * sizeof *q);
    const float guard = cols > 0 ? q[m] : 0;
    sorgqr_(&m32, &n32, &k32, q, &ld, tau, work, &size, &info);
    assert_int_equal(info, 0);
    if (cols > 0)
        assert_true(q[m] == guard);
    for (int64_t j = 0; j < cols; j++)
        reference[j + j * m] = 1;
    apply64(0, m, cols, k, f, ldf, tau, reference, m);
    double error = 0;
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < m; i++) {
            const double d = q[i + j * ld] - reference[i + j * m];
            error += d * d;
        }
    if (!(sqrt(error) <= orthogonality_bound(cols)))
        fail_msg("sorgqr %lld x %lld of %lld reflectors is off by %g", (long long)m,
                 (long long)cols, (long long)k, sqrt(error));
    free(q);
    free(work);
    free(reference);
}

/* SORMQR from both sides, to `others` columns or rows, against float64. */
static void check_apply(int64_t order, int64_t others, int64_t k, const float *f, int64_t ldf,
                        const float *tau)
{
    for (int left = 0; left < 2; left++)
        for (int transposed = 0; transposed < 2; transposed++) {
            const int32_t m = (int32_t)(left ? order : others);
            const int32_t n = (int32_t)(left ? others : order), k32 = (int32_t)k;
            const int32_t lda = (int32_t)ldf, ldc = m + 1,
                          size = (int32_t)(others > 0 ? others : 1);
            int32_t info = 99;
            float *c = new_random((int64_t)ldc * n), *work = new_floats(size);
            double *reference = new_doubles(order * others), error = 0;
            for (int64_t j = 0; j < n; j++)
                for (int64_t i = 0; i < m; i++)
                    reference[left ? i + j * order : j + i * order] = c[i + j * ldc];
            const double norm = norm64(m, n, c, ldc);
            sormqr_(left ? "L" : "r", transposed ? "t" : "N", &m, &n, &k32, f, &lda, tau, c, &ldc,
                    work, &size, &info, 1, 1);
            assert_int_equal(info, 0);
            /* C Q = (Q^T C^T)^T */
            apply64(left == transposed, order, others, k, f, ldf, tau, reference, order);
            for (int64_t j = 0; j < n; j++)
                for (int64_t i = 0; i < m; i++) {
                    const double d =
                        reference[left ? i + j * order : j + i * order] - c[i + j * ldc];
                    error += d * d;
                }
            if (!(sqrt(error) <= residual_bound(k) * norm))
                fail_msg("sormqr %s%s of order %lld, %lld reflectors is off by %g, C's norm %g",
                         left ? "L" : "R", transposed ? "T" : "N", (long long)order, (long long)k,
                         sqrt(error), norm);
            free(c);
            free(work);
            free(reference);
        }
}

/* All of it for the matrix A (m x n, lda = m). */
static void check_all(int64_t m, int64_t n, const float *a)
{
    const int64_t k = m < n ? m : n, ld = m + 5;
    const int32_t m32 = (int32_t)m, n32 = (int32_t)n, ld32 = (int32_t)ld, size = n32 > 0 ? n32 : 1;
    int32_t info = 99;
    float *f = new_random(ld * n), *tau = new_floats(k), *work = new_floats(size);
    float *before;
    for (int64_t j = 0; j < n; j++)
        memcpy(f + j * ld, a + j * m, (size_t)m * sizeof *f);
    before = new_copy(f, ld * n);
    sgeqrf_(&m32, &n32, f, &ld32, tau, work, &size, &info);
    assert_int_equal(info, 0);
    for (int64_t j = 0; j < n; j++) /* between the columns */
        assert_memory_equal(f + m + j * ld, before + m + j * ld, (size_t)(ld - m) * sizeof *f);
    check_residual(m, n, a, m, f, ld, tau);
    if (k > 0)
        check_format(m, n, f, ld, tau);
    check_form(m, k, k, f, ld, tau);
    check_apply(m, 7, k, f, ld, tau);
    free(f);
    free(before);
    free(tau);
    free(work);
}

static void shapes(void **state)
{
    static const int64_t list[][2] = {
        { 1, 1 },    { 2, 1 },    { 1, 2 },     { 3, 3 },     { 8, 8 },      { 9, 9 },
        { 0, 3 },    { 3, 0 },    { 0, 0 },     { 5, 50 },    { 50, 5 },     { 16, 23 },
        { 40, 40 },  { 64, 64 },  { 65, 65 },   { 130, 129 }, { 129, 130 },  { 60, 300 },
        { 300, 60 }, { 200, 70 }, { 1024, 64 }, { 2200, 40 }, { 1100, 150 }, { 3100, 190 },
        { 64, 63 },  { 63, 64 },  { 257, 256 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (test_quick() && list[i][0] * list[i][1] > 100000)
            continue;
        float *a = new_random(list[i][0] * list[i][1]);
        check_all(list[i][0], list[i][1], a);
        free(a);
    }
}

/* More columns of Q than reflectors, fewer reflectors than there are, many columns of C. */
static void parts_of_q(void **state)
{
    enum { M = 300, N = 150 };
    const int32_t m = M, n = N, size = N;
    int32_t info;
    float *a = new_random(M * N), tau[N], work[N];
    (void)state;
    sgeqrf_(&m, &n, a, &m, tau, work, &size, &info);
    check_form(M, M, N, a, M, tau);
    check_form(M, M, 10, a, M, tau);
    check_form(M, N, 0, a, M, tau);
    check_form(M, 200, 139, a, M, tau);
    check_apply(M, 0, N, a, M, tau);
    check_apply(M, 1, N, a, M, tau);
    check_apply(M, 20, 77, a, M, tau);
    check_apply(M, 40, N, a, M, tau);
    check_apply(M, 1100, N, a, M, tau);
    check_apply(M, 5, 0, a, M, tau);
    free(a);
}

/* ---- matrices that are not random ------------------------------------------------------------ */

enum kind {
    ZERO,
    ZERO_COLUMNS,
    SAME_COLUMNS,
    NEAR,   /* columns differ by a hundredth: A R^-1 needs a second pass */
    NEARER, /* by 1e-7: next to singular */
    GRADED, /* columns from 1e-30 to 1e30 */
    GRADED_ROWS,
    HUGE_SCALE,
    TINY_SCALE,
    DENORMAL,
    ORTHOGONAL_BEGINNING, /* the identity on top of zeros */
    HILBERT,
    KINDS
};

static float *make(enum kind kind, int64_t m, int64_t n)
{
    float *a = new_random(m * n);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++) {
            float *x = a + i + j * m;
            const double step = n > 1 ? (double)j / (double)(n - 1) : 0;
            const double down = m > 1 ? (double)i / (double)(m - 1) : 0;
            switch (kind) {
            case ZERO:
                *x = 0;
                break;
            case ZERO_COLUMNS:
                *x = j % 3 == 1 ? 0 : *x;
                break;
            case SAME_COLUMNS:
                *x = j % 4 ? a[i] : *x;
                break;
            case NEAR:
                *x = (float)(i % 11 - 5) + 1e-2F * *x;
                break;
            case NEARER:
                *x = 1 + 1e-7F * *x;
                break;
            case GRADED:
                *x = (float)(*x * pow(10, 60 * step - 30));
                break;
            case GRADED_ROWS:
                *x = (float)(*x * pow(10, -20 * down));
                break;
            case HUGE_SCALE:
                *x *= 1e35F;
                break;
            case TINY_SCALE:
                *x *= 1e-33F;
                break;
            case DENORMAL:
                *x = (float)(*x * 1e-38);
                break;
            case ORTHOGONAL_BEGINNING:
                *x = i == j;
                break;
            case HILBERT:
                *x = 1 / (float)(i + j + 1);
                break;
            case KINDS:
                break;
            }
        }
    return a;
}

static void kinds(void **state)
{
    static const int64_t shapes[][2] = { { 1, 1 },   { 20, 13 },   { 30, 30 },
                                         { 90, 70 }, { 2500, 30 }, { 2200, 100 } };
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            if (test_quick() && shapes[i][1] == 100)
                continue;
            float *a = make((enum kind)kind, shapes[i][0], shapes[i][1]);
            check_all(shapes[i][0], shapes[i][1], a);
            free(a);
        }
}

/* What is triangular already stays as it is, as with LAPACK: all H are the identity. */
static void triangular_input(void **state)
{
    enum { M = 90, N = 60 };
    const int32_t m = M, n = N;
    int32_t info;
    float *a = new_random(M * N), tau[N], work[N];
    (void)state;
    for (int j = 0; j < N; j++)
        memset(a + j + 1 + j * M, 0, (size_t)(M - j - 1) * sizeof *a);
    float *f = new_copy(a, M * N);
    sgeqrf_(&m, &n, f, &m, tau, work, &n, &info);
    assert_memory_equal(f, a, M * N * sizeof *a);
    for (int j = 0; j < N; j++)
        assert_true(tau[j] == 0);
    free(a);
    free(f);
}

/* R's diagonal has the sign that SLARFG gives it, opposite to the element that was there. */
static void signs(void **state)
{
    static const int32_t shapes[][2] = { { 40, 12 }, { 900, 60 }, { 8000, 20 } };
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const int32_t m = shapes[s][0], n = shapes[s][1];
        int32_t info;
        float *a = new_random(m * n), *f = new_copy(a, m * n), *tau = new_floats(n);
        float *work = new_floats(n);
        double *c = new_doubles(m * n);
        sgeqrf_(&m, &n, f, &m, tau, work, &n, &info);
        for (int64_t i = 0; i < (int64_t)m * n; i++)
            c[i] = a[i];
        for (int64_t j = 0; j < n; j++) {
            const double alpha = c[j + j * m];
            if (fabs(alpha) > 1e-4)
                assert_true(alpha * f[j + j * m] < 0);
            apply64(1, m - j, n - j, 1, f + j + j * m, m, tau + j, c + j + j * m, m);
        }
        free(a);
        free(f);
        free(tau);
        free(work);
        free(c);
    }
}

/* NaN and Inf: INFO is 0, nothing hangs, columns on the left of it are those without it, and it is
 * seen in the column where it was. */
static void not_a_number(void **state)
{
    static const int32_t shapes[][2] = { { 6, 5 }, { 70, 40 }, { 40, 70 }, { 3000, 40 } };
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int infinite = 0; infinite < 2; infinite++) {
            const int32_t m = shapes[s][0], n = shapes[s][1], k = m < n ? m : n, bad = k / 2;
            int32_t info = 99;
            float *a = new_random((int64_t)m * n), *f = new_copy(a, (int64_t)m * n);
            float *tau = new_floats(k), *tau_bad = new_floats(k), *work = new_floats(n);
            a[m - 1 + bad * m] = infinite ? INFINITY : NAN;
            sgeqrf_(&m, &n, f, &m, tau, work, &n, &info);
            sgeqrf_(&m, &n, a, &m, tau_bad, work, &n, &info);
            assert_int_equal(info, 0);
            assert_false(isfinite(a[bad + bad * m]) && isfinite(tau_bad[bad]));
            for (int32_t j = 0; j < bad; j++) {
                assert_true(fabsf(tau[j] - tau_bad[j]) < 1e-4F);
                assert_true(fabsf(a[j + j * m] - f[j + j * m]) < 1e-3F * fabsf(f[j + j * m]));
            }
            const int32_t one = 1, order = m;
            float *c = new_random(m);
            sormqr_("L", "T", &m, &one, &k, a, &m, tau_bad, c, &order, work, &n, &info, 1, 1);
            assert_int_equal(info, 0);
            sorgqr_(&m, &k, &k, a, &m, tau_bad, work, &n, &info);
            assert_int_equal(info, 0);
            assert_false(isfinite(a[m - 1 + bad * m]));
            free(a);
            free(f);
            free(tau);
            free(tau_bad);
            free(work);
            free(c);
        }
}

/* The unblocked names do the same. */
static void unblocked(void **state)
{
    enum { M = 70, N = 30 };
    const int32_t m = M, n = N;
    int32_t info = 99;
    float *a = new_random(M * N), *f = new_copy(a, M * N), *g = new_copy(a, M * N);
    float tau[N], tau2[N], work[M + N], c[M], d[M];
    (void)state;
    sgeqrf_(&m, &n, f, &m, tau, work, &n, &info);
    sgeqr2_(&m, &n, g, &m, tau2, work, &info);
    assert_int_equal(info, 0);
    assert_memory_equal(f, g, M * N * sizeof *f);
    assert_memory_equal(tau, tau2, sizeof tau);
    const int32_t one = 1;
    for (int i = 0; i < M; i++)
        c[i] = d[i] = random_float();
    sormqr_("L", "T", &m, &one, &n, f, &m, tau, c, &m, work, &one, &info, 1, 1);
    sorm2r_("L", "T", &m, &one, &n, f, &m, tau, d, &m, work, &info, 1, 1);
    assert_int_equal(info, 0);
    assert_memory_equal(c, d, sizeof c);
    sorgqr_(&m, &n, &n, f, &m, tau, work, &n, &info);
    sorg2r_(&m, &n, &n, g, &m, tau, work, &info);
    assert_int_equal(info, 0);
    assert_memory_equal(f, g, M * N * sizeof *f);
    free(a);
    free(f);
    free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),    cmocka_unit_test(parts_of_q),
        cmocka_unit_test(kinds),     cmocka_unit_test(triangular_input),
        cmocka_unit_test(signs),     cmocka_unit_test(not_a_number),
        cmocka_unit_test(unblocked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
