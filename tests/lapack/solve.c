/* The LAPACK drop-in's SGELS: least squares and least norm, both ways, against float64. */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lapack/check.h"
#include "tests/support/quick.h"
#include "tests/support/random.h"

/* Solves the symmetric positive definite S X = B (order n, in float64, both overwritten). */
static void solve_positive(int64_t n, int64_t nrhs, double *s, double *b)
{
    for (int64_t j = 0; j < n; j++) {
        for (int64_t p = 0; p < j; p++)
            for (int64_t i = j; i < n; i++)
                s[i + j * n] -= s[i + p * n] * s[j + p * n];
        const double root = sqrt(s[j + j * n]);
        for (int64_t i = j; i < n; i++)
            s[i + j * n] /= root;
    }
    for (int64_t c = 0; c < nrhs; c++, b += n) {
        for (int64_t j = 0; j < n; j++) {
            for (int64_t p = 0; p < j; p++)
                b[j] -= s[j + p * n] * b[p];
            b[j] /= s[j + j * n];
        }
        for (int64_t j = n - 1; j >= 0; j--) {
            for (int64_t p = j + 1; p < n; p++)
                b[j] -= s[p + j * n] * b[p];
            b[j] /= s[j + j * n];
        }
    }
}

/* Element (i, j) of op(A). */
static double at(int transposed, const float *a, int64_t lda, int64_t i, int64_t j)
{
    return transposed ? a[j + i * lda] : a[i + j * lda];
}

/* X (wanted x nrhs) of op(A) X = B by normal equations in float64; op(A) given x wanted. */
static double *reference(int transposed, int64_t given, int64_t wanted, int64_t nrhs,
                         const float *a, int64_t lda, const float *b, int64_t ldb)
{
    const int tall = given >= wanted;
    const int64_t k = tall ? wanted : given, terms = tall ? given : wanted;
    double *s = new_doubles(k * k), *y = new_doubles(k * nrhs), *x = new_doubles(wanted * nrhs);
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < k; i++)
            for (int64_t p = 0; p < terms; p++)
                s[i + j * k] += tall ? at(transposed, a, lda, p, i) * at(transposed, a, lda, p, j)
                                     : at(transposed, a, lda, i, p) * at(transposed, a, lda, j, p);
    for (int64_t c = 0; c < nrhs; c++)
        for (int64_t i = 0; i < k; i++)
            for (int64_t p = 0; p < (tall ? given : 1); p++)
                y[i + c * k] +=
                    tall ? at(transposed, a, lda, p, i) * b[p + c * ldb] : (double)b[i + c * ldb];
    solve_positive(k, nrhs, s, y);
    for (int64_t c = 0; c < nrhs; c++)
        for (int64_t j = 0; j < wanted; j++)
            for (int64_t p = 0; p < (tall ? 1 : k); p++)
                x[j + c * wanted] +=
                    tall ? y[j + c * k] : at(transposed, a, lda, p, j) * y[p + c * k];
    free(s);
    free(y);
    return x;
}

/* One problem, A scaled by scale_a and B by scale_b. */
static void check(char trans, int32_t m, int32_t n, int32_t nrhs, float scale_a, float scale_b)
{
    const int transposed = trans == 'T' || trans == 't';
    const int32_t given = transposed ? n : m, wanted = transposed ? m : n, k = m < n ? m : n;
    const int32_t lda = m + 2, ldb = (m > n ? m : n) + 1, size = k + (k > nrhs ? k : nrhs);
    int32_t info = 99;
    float *a = new_random((int64_t)lda * n), *b = new_random((int64_t)ldb * nrhs);
    for (int64_t i = 0; i < k; i++) /* so that it is well-conditioned */
        a[i + i * lda] += i % 2 ? 3 : -3;
    double *x = reference(transposed, given, wanted, nrhs, a, lda, b, ldb);
    for (int64_t i = 0; i < (int64_t)lda * n; i++)
        a[i] *= scale_a;
    for (int64_t i = 0; i < (int64_t)ldb * nrhs; i++)
        b[i] *= scale_b;
    float *work = new_floats(size);
    sgels_(&trans, &m, &n, &nrhs, a, &lda, b, &ldb, work, &size, &info, 1);
    assert_int_equal(info, 0);
    assert_true(work[0] >= (float)size);
    const double factor = (double)scale_a / scale_b;
    for (int64_t c = 0; c < nrhs; c++) {
        double error = 0, norm = 0;
        for (int64_t j = 0; j < wanted; j++) {
            const double d = b[j + c * ldb] * factor - x[j + c * wanted];
            error += d * d;
            norm += x[j + c * wanted] * x[j + c * wanted];
        }
        if (!(sqrt(error) <= 1e-4 * sqrt(norm)))
            fail_msg("sgels %c %d x %d, A * %g, B * %g: X is off by %g of %g", trans, m, n,
                     (double)scale_a, (double)scale_b, sqrt(error), sqrt(norm));
    }
    free(a);
    free(b);
    free(x);
    free(work);
}

static void shapes(void **state)
{
    static const int32_t list[][2] = { { 1, 1 },   { 7, 3 },     { 3, 7 },     { 20, 20 },
                                       { 60, 41 }, { 41, 60 },   { 130, 100 }, { 100, 130 },
                                       { 90, 90 }, { 4000, 20 }, { 20, 4000 }, { 1500, 70 } };
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        for (int trans = 0; trans < 2; trans++)
            for (int32_t nrhs = 1; nrhs <= 12; nrhs += 11)
                if (!test_quick() || list[i][0] * list[i][1] < 30000)
                    check("Nt"[trans], list[i][0], list[i][1], nrhs, 1, 1);
}

static void scales(void **state)
{
    static const float list[][2] = { { 1e-36F, 1 },     { 1e36F, 1 },       { 1, 1e-36F },
                                     { 1, 1e36F },      { 1e-36F, 1e-36F }, { 1e36F, 1e36F },
                                     { 1e-20F, 1e-25F } };
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        for (int trans = 0; trans < 2; trans++) {
            check("NT"[trans], 30, 12, 2, list[i][0], list[i][1]);
            check("NT"[trans], 12, 30, 2, list[i][0], list[i][1]);
            check("NT"[trans], 3000, 30, 2, list[i][0], list[i][1]);
        }
}

/* A column (or row) of zeros: INFO is its number, from 1, as the triangle shows it. */
static void singular(void **state)
{
    static const int32_t list[][2] = { { 9, 5 }, { 5, 9 }, { 70, 40 }, { 3000, 30 } };
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        for (int trans = 0; trans < 2; trans++) {
            const int32_t m = list[i][0], n = list[i][1], k = m < n ? m : n, one = 1;
            const int32_t ldb = m > n ? m : n, size = 2 * k, bad = k / 2;
            int32_t info = 99;
            float *a = new_random((int64_t)m * n), *b = new_random(ldb), *work = new_floats(size);
            for (int32_t p = 0; p < ldb; p++)
                a[m >= n ? p + bad * m : bad + p * m] = 0;
            sgels_(trans ? "T" : "N", &m, &n, &one, a, &m, b, &ldb, work, &size, &info, 1);
            assert_int_equal(info, bad + 1);
            free(a);
            free(b);
            free(work);
        }
}

/* A = 0: X = 0 and no error; NaN comes out as NaN. */
static void zero_and_nan(void **state)
{
    const int32_t m = 30, n = 10, one = 1, size = 20;
    int32_t info = 99;
    float a[300] = { 0 }, b[30], work[20];
    (void)state;
    for (int i = 0; i < m; i++)
        b[i] = 1;
    sgels_("N", &m, &n, &one, a, &m, b, &m, work, &size, &info, 1);
    assert_int_equal(info, 0);
    for (int i = 0; i < m; i++)
        assert_true(b[i] == 0);
    for (int i = 0; i < 300; i++)
        a[i] = random_float();
    a[44] = NAN;
    for (int i = 0; i < m; i++)
        b[i] = 1;
    sgels_("N", &m, &n, &one, a, &m, b, &m, work, &size, &info, 1);
    assert_int_equal(info, 0);
    assert_true(isnan(b[9]));
}

/* ---- several threads at once ----------------------------------------------------------------- */

enum { THREADS = 6, ROUNDS = 8 };

static void *call_often(void *arg)
{
    const int number = (int)(intptr_t)arg;
    static const int32_t shapes[THREADS][2] = { { 3000, 40 }, { 200, 90 },  { 90, 200 },
                                                { 12, 9 },    { 4000, 20 }, { 400, 100 } };
    const int32_t m = shapes[number][0], n = shapes[number][1], k = m < n ? m : n;
    const int32_t size = k * 2, one = 1, ldb = m > n ? m : n;
    intptr_t wrong = 0; /* results; without memory, none of the matrices is there to be wrong */
    float *a = calloc((size_t)m * (size_t)n, sizeof *a),
          *f = calloc((size_t)m * (size_t)n, sizeof *f);
    float *b = calloc((size_t)ldb, sizeof *b), *work = calloc((size_t)size, sizeof *work);
    for (int round = 0; round < ROUNDS && a && f && b && work; round++) {
        uint32_t random = (uint32_t)(number * 100 + round + 1);
        int32_t info = 99;
        for (int32_t i = 0; i < m * n; i++)
            a[i] = (float)random_bits(&random) * 0x1p-24F - 0.5F;
        memcpy(f, a, (size_t)m * (size_t)n * sizeof *a);
        for (int32_t i = 0; i < ldb; i++)
            b[i] = 0;
        for (int32_t j = 0; j < n; j++) /* B = A e: the sum of the columns */
            for (int32_t i = 0; i < m; i++)
                b[i] += a[i + j * m];
        const double before = norm64(m, 1, b, m);
        sgels_("N", &m, &n, &one, f, &m, b, &ldb, work, &size, &info, 1);
        /* B was in A's range, so that A X = B must hold. */
        double error = 0;
        for (int32_t i = 0; i < m; i++) {
            double sum = 0;
            for (int32_t j = 0; j < n; j++)
                sum += (double)a[i + j * m] * (b[j] - 1);
            error += sum * sum;
        }
        wrong += info != 0 || !(sqrt(error) <= 1e-4 * before);
    }
    free(a);
    free(f);
    free(b);
    free(work);
    return (void *)wrong;
}

static void threads(void **state)
{
    pthread_t list[THREADS];
    (void)state;
    for (intptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&list[i], NULL, call_often, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        assert_int_equal(pthread_join(list[i], &wrong), 0);
        assert_true((intptr_t)wrong == 0);
    }
}

/* ---- without memory -------------------------------------------------------------------------- */

/* The process has what it has, and hardly more. */
static int starve(void)
{
    enum { MORE = 128 * 1024 };
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    const int known = file && fscanf(file, "%ld", &pages) == 1;
    if (file)
        fclose(file);
    const rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + MORE;
    const struct rlimit limit = { .rlim_cur = bytes, .rlim_max = bytes };
    return known && setrlimit(RLIMIT_AS, &limit) == 0;
}

/* In a process of its own with one thread: problems that there is no memory for, as memory is taken
 * for the call, are solved all the same. 0 if all is well. */
static int solve_starved(void)
{
    static const int32_t shapes[][2] = { { 3000, 60 }, { 60, 3000 } };
    enum { SIZE = 3000 * 60, LEN = 3000 };
    static float a[SIZE], f[SIZE], b[LEN], c[LEN], work[200];
    const int32_t one = 1, longest = LEN, size = 200;
    int32_t info = 99;
    mallopt(M_MMAP_THRESHOLD, 64 * 1024);
    for (int i = 0; i < SIZE; i++)
        a[i] = random_float();
    /* A first call, so that BLAS has its buffers. */
    memcpy(f, a, sizeof a);
    sgels_("N", &shapes[0][0], &shapes[0][1], &one, f, &longest, b, &longest, work, &size, &info,
           1);
    if (info != 0 || !starve())
        return 1;
    void *more = malloc(sizeof a);
    if (more) {
        free(more);
        return 2;
    }
    for (int s = 0; s < 4; s++) {
        const int32_t m = shapes[s % 2][0], n = shapes[s % 2][1];
        const int transposed = s / 2, given = transposed ? n : m, wanted = transposed ? m : n;
        double error = 0, norm = 0;
        /* B = op(A) x for an x that is what is wanted: any for a tall op(A), op(A)^T y for a wide
         * one, so that its norm is the least. */
        for (int i = 0; i < wanted; i++) {
            double sum = given > wanted ? 1 : 0;
            for (int p = 0; p < given && given < wanted; p++)
                sum += transposed ? a[i + p * m] : a[p + i * m];
            c[i] = (float)sum;
        }
        for (int i = 0; i < given; i++) {
            double sum = 0;
            for (int p = 0; p < wanted; p++)
                sum += (double)(transposed ? a[p + i * m] : a[i + p * m]) * c[p];
            b[i] = (float)sum;
        }
        memcpy(f, a, sizeof a);
        sgels_(transposed ? "T" : "N", &m, &n, &one, f, &m, b, &longest, work, &size, &info, 1);
        for (int i = 0; i < wanted; i++) {
            error += ((double)b[i] - c[i]) * ((double)b[i] - c[i]);
            norm += (double)c[i] * c[i];
        }
        if (info != 0 || !(sqrt(error) <= 1e-4 * sqrt(norm)))
            return 3 + s;
    }
    return 0;
}

static void without_memory(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* they have mapped terabytes */
#endif
    const pid_t child = fork();
    if (child == 0) {
        setenv("OPENBLAS_NUM_THREADS", "1", 1);
        execl("/proc/self/exe", "test_lapack_solve", "starved", (char *)NULL);
        _exit(127);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return solve_starved();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),       cmocka_unit_test(scales),  cmocka_unit_test(singular),
        cmocka_unit_test(zero_and_nan), cmocka_unit_test(threads), cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
