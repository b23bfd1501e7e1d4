/* The LAPACK drop-in's argument checks: every INFO, what XERBLA is told, workspace queries, and
 * that nothing is touched then. The order of the checks and the numbers are LAPACK 3.11's. */
#include "tests/lapack/check.h"

/* One matrix that all calls get; it must not change. */
enum { SIZE = 64 };
static float a[SIZE], c[SIZE], tau[SIZE], work[SIZE], t[SIZE];
static int32_t info;

static void start(void)
{
    for (int i = 0; i < SIZE; i++)
        a[i] = c[i] = tau[i] = 1 + (float)i;
    for (int i = 0; i < SIZE; i++)
        t[i] = 1;
    info = 99;
    forget();
}

static void check(const char *name, int argument)
{
    if (info != -argument || told_argument != argument || told_times != 1 ||
        strcmp(told_name, name) != 0)
        fail_msg("%s, argument %d: INFO = %d, XERBLA was told %s, %d, %d times", name, argument,
                 (int)info, told_name, told_argument, told_times);
    for (int i = 0; i < SIZE; i++)
        assert_true(a[i] == 1 + (float)i && c[i] == 1 + (float)i);
}

/* A query: no complaint, INFO = 0, and nothing touched but the size. */
static void check_query(float size, float expected)
{
    assert_int_equal(info, 0);
    assert_int_equal(told_times, 0);
    if (size != expected)
        fail_msg("a query told %g, not %g", (double)size, (double)expected);
    for (int i = 0; i < SIZE; i++)
        assert_true(a[i] == 1 + (float)i && c[i] == 1 + (float)i);
}

/* ILAENV of the program is asked, as LAPACK does. */
static int32_t block_size = 32, row_block = 7, column_block = 3;

int32_t ilaenv_(const int32_t *what, const char *name, const char *options, const int32_t *n1,
                const int32_t *n2, const int32_t *n3, const int32_t *n4, size_t name_length,
                size_t options_length);
int32_t ilaenv_(const int32_t *what, const char *name, const char *options, const int32_t *n1,
                const int32_t *n2, const int32_t *n3, const int32_t *n4, size_t name_length,
                size_t options_length)
{
    (void)options;
    (void)n1;
    (void)n2;
    (void)n4;
    (void)options_length;
    if (*what != 1)
        return 1;
    if (name_length >= 6 && memcmp(name, "SGEQR ", 6) == 0)
        return *n3 == 1 ? row_block : column_block;
    return block_size;
}

static void geqrf(int32_t m, int32_t n, int32_t lda, int32_t lwork)
{
    start();
    sgeqrf_(&m, &n, a, &lda, tau, work, &lwork, &info);
}

static void geqr2(int32_t m, int32_t n, int32_t lda)
{
    start();
    sgeqr2_(&m, &n, a, &lda, tau, work, &info);
}

static void factor(void **state)
{
    (void)state;
    geqrf(-1, 0, 1, 1);
    check("SGEQRF", 1);
    geqrf(0, -1, 1, 1);
    check("SGEQRF", 2);
    geqrf(2, 1, 1, 1);
    check("SGEQRF", 4);
    geqrf(0, 0, 0, 1);
    check("SGEQRF", 4);
    geqrf(1, 2, 1, 1);
    check("SGEQRF", 7);
    geqrf(2, 2, 2, 0);
    check("SGEQRF", 7);
    geqrf(2, 2, 2, -2);
    check("SGEQRF", 7);
    geqrf(0, 2, 1, 0);
    check("SGEQRF", 7);
    geqrf(-1, -1, 0, 0); /* the first counts */
    check("SGEQRF", 1);
    geqrf(0, 2, 1, 1); /* without rows one is enough */
    check_query(work[0], 1);
    geqrf(3, 0, 3, 1);
    check_query(work[0], 1);
    geqrf(4, 3, 4, -1);
    check_query(work[0], 3 * 32);
    geqrf(0, 3, 1, -1);
    check_query(work[0], 1);
    geqr2(-1, 0, 1);
    check("SGEQR2", 1);
    geqr2(0, -1, 1);
    check("SGEQR2", 2);
    geqr2(2, 1, 1);
    check("SGEQR2", 4);
    geqr2(0, 4, 1);
    check_query(0, 0);
}

static void orgqr(int32_t m, int32_t n, int32_t k, int32_t lda, int32_t lwork)
{
    start();
    sorgqr_(&m, &n, &k, a, &lda, tau, work, &lwork, &info);
}

static void org2r(int32_t m, int32_t n, int32_t k, int32_t lda)
{
    start();
    sorg2r_(&m, &n, &k, a, &lda, tau, work, &info);
}

static void form(void **state)
{
    (void)state;
    orgqr(-1, 0, 0, 1, 1);
    check("SORGQR", 1);
    orgqr(0, -1, 0, 1, 1);
    check("SORGQR", 2);
    orgqr(1, 2, 0, 1, 2);
    check("SORGQR", 2);
    orgqr(0, 0, -1, 1, 1);
    check("SORGQR", 3);
    orgqr(1, 1, 2, 1, 1);
    check("SORGQR", 3);
    orgqr(2, 2, 0, 1, 2);
    check("SORGQR", 5);
    orgqr(2, 2, 0, 2, 1);
    check("SORGQR", 8);
    orgqr(2, 0, 0, 2, 0);
    check("SORGQR", 8);
    orgqr(6, 4, 2, 6, -1);
    check_query(work[0], 4 * 32);
    orgqr(5, 0, 0, 5, 1);
    check_query(work[0], 1);
    orgqr(0, 0, 0, 1, -1);
    check_query(work[0], 32);
    org2r(-1, 0, 0, 1);
    check("SORG2R", 1);
    org2r(1, 2, 0, 1);
    check("SORG2R", 2);
    org2r(2, 1, 2, 2);
    check("SORG2R", 3);
    org2r(2, 1, 0, 1);
    check("SORG2R", 5);
    org2r(3, 0, 0, 3);
    check_query(0, 0);
}

static void ormqr(const char *side, const char *trans, int32_t m, int32_t n, int32_t k, int32_t lda,
                  int32_t ldc, int32_t lwork)
{
    start();
    sormqr_(side, trans, &m, &n, &k, a, &lda, tau, c, &ldc, work, &lwork, &info, 1, 1);
}

static void orm2r(const char *side, const char *trans, int32_t m, int32_t n, int32_t k, int32_t lda,
                  int32_t ldc)
{
    start();
    sorm2r_(side, trans, &m, &n, &k, a, &lda, tau, c, &ldc, work, &info, 1, 1);
}

static void apply(void **state)
{
    (void)state;
    ormqr("/", "N", 0, 0, 0, 1, 1, 1);
    check("SORMQR", 1);
    ormqr("L", "/", 0, 0, 0, 1, 1, 1);
    check("SORMQR", 2);
    ormqr("L", "C", 0, 0, 0, 1, 1, 1);
    check("SORMQR", 2);
    ormqr("L", "N", -1, 0, 0, 1, 1, 1);
    check("SORMQR", 3);
    ormqr("L", "N", 0, -1, 0, 1, 1, 1);
    check("SORMQR", 4);
    ormqr("L", "N", 0, 0, -1, 1, 1, 1);
    check("SORMQR", 5);
    ormqr("L", "N", 0, 1, 1, 1, 1, 1);
    check("SORMQR", 5);
    ormqr("R", "N", 1, 0, 1, 1, 1, 1);
    check("SORMQR", 5);
    ormqr("L", "N", 2, 1, 0, 1, 2, 1);
    check("SORMQR", 7);
    ormqr("R", "N", 1, 2, 0, 1, 1, 1);
    check("SORMQR", 7);
    ormqr("L", "N", 2, 1, 0, 2, 1, 1);
    check("SORMQR", 10);
    ormqr("L", "N", 1, 2, 0, 1, 1, 1);
    check("SORMQR", 12);
    ormqr("R", "N", 2, 1, 0, 1, 2, 1);
    check("SORMQR", 12);
    ormqr("L", "N", 3, 0, 0, 3, 3, 0);
    check("SORMQR", 12);
    ormqr("l", "t", 6, 2, 3, 6, 6, -1);
    check_query(work[0], 2 * 32 + 65 * 64);
    ormqr("R", "N", 6, 2, 2, 2, 6, -1);
    check_query(work[0], 6 * 32 + 65 * 64);
    block_size = 200; /* LAPACK goes up to 64 here */
    ormqr("L", "N", 6, 2, 2, 6, 6, -1);
    check_query(work[0], 2 * 64 + 65 * 64);
    block_size = 32;
    ormqr("L", "N", 6, 0, 2, 6, 6, 1);
    check_query(work[0], 1);
    ormqr("R", "T", 6, 2, 0, 2, 6, 6);
    check_query(work[0], 1);
    orm2r("/", "N", 0, 0, 0, 1, 1);
    check("SORM2R", 1);
    orm2r("L", "/", 0, 0, 0, 1, 1);
    check("SORM2R", 2);
    orm2r("L", "N", -1, 0, 0, 1, 1);
    check("SORM2R", 3);
    orm2r("L", "N", 0, -1, 0, 1, 1);
    check("SORM2R", 4);
    orm2r("R", "N", 1, 0, 1, 1, 1);
    check("SORM2R", 5);
    orm2r("R", "N", 1, 2, 0, 1, 1);
    check("SORM2R", 7);
    orm2r("L", "N", 2, 1, 0, 2, 1);
    check("SORM2R", 10);
    orm2r("L", "N", 2, 0, 0, 2, 2);
    check_query(0, 0);
}

static void geqr(int32_t m, int32_t n, int32_t lda, int32_t tsize, int32_t lwork)
{
    start();
    sgeqr_(&m, &n, a, &lda, t, &tsize, work, &lwork, &info);
}

static void gemqr(const char *side, const char *trans, int32_t m, int32_t n, int32_t k, int32_t lda,
                  int32_t tsize, int32_t ldc, int32_t lwork)
{
    start();
    sgemqr_(side, trans, &m, &n, &k, a, &lda, t, &tsize, c, &ldc, work, &lwork, &info, 1, 1);
}

static void opaque(void **state)
{
    (void)state;
    geqr(-1, 0, 1, 1, 1);
    check("SGEQR", 1);
    geqr(0, -1, 1, 1, 1);
    check("SGEQR", 2);
    geqr(1, 1, 0, 1, 1);
    check("SGEQR", 4);
    geqr(3, 2, 3, 1, 1);
    check("SGEQR", 6);
    geqr(3, 2, 3, 6, 100);
    check("SGEQR", 6);
    geqr(10, 3, 10, 1000, 2);
    check("SGEQR", 8);
    geqr(10, 3, 10, 1000, 0);
    check("SGEQR", 8);
    geqr(10, 3, 10, 10, 2); /* T between least and best is a fault too while WORK is too small */
    check("SGEQR", 6);
    geqr(0, 0, 1, 4, 1);
    check("SGEQR", 6);
    geqr(0, 0, 1, 5, 0);
    check("SGEQR", 8);
    /* Blocks of 7 rows by 3 columns: (10 - 3) / (7 - 3) blocks, rounded up. */
    geqr(10, 3, 10, -1, -1);
    check_query(t[0], 3 * 3 * 2 + 5);
    assert_true(t[1] == 7 && t[2] == 3 && work[0] == 9);
    geqr(10, 3, 10, -2, -2);
    check_query(t[0], 3 + 5);
    assert_true(work[0] == 3);
    geqr(10, 3, 10, -2, -1);
    check_query(t[0], 3 + 5);
    assert_true(work[0] == 9);
    geqr(10, 3, 10, -1, -2);
    check_query(t[0], 3 * 3 * 2 + 5);
    assert_true(work[0] == 3);
    geqr(10, 3, 10, 0, -1);
    check_query(t[0], 3 * 3 * 2 + 5);
    geqr(0, 4, 1, -1, -1);
    check_query(t[0], 4 + 5);
    geqr(4, 0, 4, 5, 1);
    check_query(t[0], 5);

    gemqr("/", "N", 0, 0, 0, 1, 1, 1, 1);
    check("SGEMQR", 1);
    gemqr("L", "/", 0, 0, 0, 1, 1, 1, 1);
    check("SGEMQR", 2);
    gemqr("L", "N", -1, 0, 0, 1, 1, 1, 1);
    check("SGEMQR", 3);
    gemqr("L", "N", 0, -1, 0, 1, 1, 1, 1);
    check("SGEMQR", 4);
    gemqr("L", "N", 0, 0, -1, 1, 1, 1, 1);
    check("SGEMQR", 5);
    gemqr("R", "N", 0, 0, 1, 1, 1, 1, 1);
    check("SGEMQR", 5);
    gemqr("L", "N", 2, 1, 0, 0, 1, 1, 1);
    check("SGEMQR", 7);
    gemqr("R", "N", 2, 2, 1, 2, 0, 1, 1);
    check("SGEMQR", 9);
    gemqr("L", "N", 2, 1, 1, 2, 6, 0, 1);
    check("SGEMQR", 11);
    gemqr("L", "N", 2, 2, 1, 2, 6, 2, 0);
    check("SGEMQR", 13);
    gemqr("L", "N", 4, 3, 2, 4, 7, 4, -1);
    check_query(work[0], 3);
    t[1] = NAN; /* a header that nobody wrote is no reason to crash */
    gemqr("R", "N", 4, 3, 0, 3, 7, 4, 100);
    assert_int_equal(info, 0);
}

static void gels(const char *trans, int32_t m, int32_t n, int32_t nrhs, int32_t lda, int32_t ldb,
                 int32_t lwork)
{
    start();
    sgels_(trans, &m, &n, &nrhs, a, &lda, c, &ldb, work, &lwork, &info, 1);
}

static void solve(void **state)
{
    (void)state;
    gels("/", 0, 0, 0, 1, 1, 1);
    check("SGELS ", 1);
    gels("N", -1, 0, 0, 1, 1, 1);
    check("SGELS ", 2);
    gels("N", 0, -1, 0, 1, 1, 1);
    check("SGELS ", 3);
    gels("N", 0, 0, -1, 1, 1, 1);
    check("SGELS ", 4);
    gels("N", 2, 0, 0, 1, 2, 2);
    check("SGELS ", 6);
    gels("N", 2, 0, 0, 2, 1, 2);
    check("SGELS ", 8);
    gels("N", 0, 2, 0, 1, 1, 2);
    check("SGELS ", 8);
    work[0] = 0;
    gels("N", 1, 1, 0, 1, 1, 1);
    check("SGELS ", 10);
    assert_true(work[0] == 1 + 1 * 32); /* LAPACK tells the size with this fault */
    gels("T", 3, 2, 5, 3, 3, 6);
    check("SGELS ", 10);
    gels("n", 4, 3, 2, 4, 4, -1);
    check_query(work[0], 3 + 3 * 32);
    gels("t", 3, 4, 9, 3, 4, -1);
    check_query(work[0], 3 + 9 * 32);
    gels("N", 0, 3, 2, 1, 4, 2); /* B := 0 */
    assert_int_equal(info, 0);
    for (int i = 0; i < SIZE; i++)
        assert_true(c[i] == (i % 4 < 3 && i < 8 ? 0 : 1 + (float)i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factor), cmocka_unit_test(form),  cmocka_unit_test(apply),
        cmocka_unit_test(opaque), cmocka_unit_test(solve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
