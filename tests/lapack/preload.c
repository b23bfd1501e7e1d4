/* The LAPACK drop-in as programs meet it that know nothing of it: this one is linked with LAPACKE
 * and LAPACK alone. Without arguments it runs itself again with LD_PRELOAD and checks that it did
 * run on the drop-in, by the counts that BACKDROP_LAPACK_COUNTS asks for. */
#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/random.h"

enum { M = 27000, N = 40 }; /* large enough for a GPU, where one is there and asked for */

/* This program's own XERBLA is the one that is called, whoever finds the fault. */
static int complaints;

void xerbla_(const char *name, const lapack_int *argument, size_t length);
void xerbla_(const char *name, const lapack_int *argument, size_t length)
{
    complaints += length == 6 && memcmp(name, "SGEQRF", 6) == 0 && *argument == 4;
}

static float *random_matrix(void)
{
    uint32_t random = 7;
    float *a = malloc((size_t)M * N * sizeof *a);
    for (int i = 0; a && i < M * N; i++)
        a[i] = (float)random_bits(&random) * 0x1p-24F - 0.5F;
    return a;
}

/* ||A - Q R|| / ||A|| with Q formed, in float64. */
static double residual(const float *a, const float *r, const float *q)
{
    double error = 0, norm = 0;
    for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i++) {
            double sum = -(double)a[i + j * M];
            for (int p = 0; p <= j; p++)
                sum += (double)q[i + p * M] * r[p + j * M];
            error += sum * sum;
            norm += (double)a[i + j * M] * a[i + j * M];
        }
    return sqrt(error / norm);
}

/* QR by LAPACKE, whose calls to LAPACK the dynamic linker resolves; 0 if all is well. */
static int use_lapack(void)
{
    float *a = random_matrix(), *f = random_matrix(), *r = malloc((size_t)M * N * sizeof *r);
    float tau[N], x[M];
    int bad = !a || !f || !r;
    if (!bad) {
        bad |= LAPACKE_sgeqrf(LAPACK_COL_MAJOR, M, N, f, M, tau) != 0;
        memcpy(r, f, (size_t)M * N * sizeof *r);
        bad |= LAPACKE_sorgqr(LAPACK_COL_MAJOR, M, N, N, f, M, tau) != 0;
        bad |= !(residual(a, r, f) < 2e-6);
        for (int i = 0; i < M; i++)
            x[i] = a[i + 3 * M];
        bad |= LAPACKE_sormqr(LAPACK_COL_MAJOR, 'L', 'T', M, 1, N, r, M, tau, x, M) != 0;
        for (int i = 0; i < M; i++)
            bad |= !(fabsf(x[i] - (i <= 3 ? r[i + 3 * M] : 0)) < 1e-4F);
        for (int i = 0; i < M; i++)
            x[i] = a[i + 5 * M] - 2 * a[i + 7 * M];
        memcpy(r, a, (size_t)M * N * sizeof *r);
        bad |= LAPACKE_sgels(LAPACK_COL_MAJOR, 'N', M, N, 1, r, M, x, M) != 0;
        for (int j = 0; j < N; j++)
            bad |= !(fabsf(x[j] - (j == 5 ? 1 : j == 7 ? -2 : 0)) < 1e-4F);
        complaints = 0;
        bad |= LAPACKE_sgeqrf(LAPACK_COL_MAJOR, M, N, a, M - 1, tau) != -5;
        bad |= complaints != 1;
    }
    free(a);
    free(f);
    free(r);
    return bad;
}

/* Routines of LAPACK that call the replaced ones inside: QR with pivoting. And again in a child
 * that was forked when the drop-in's threads were running, and in the parent after that. */
static int use_all(void)
{
    float *a = random_matrix(), tau[N];
    lapack_int pivots[N] = { 0 };
    int bad = use_lapack(), status = 1;
    bad |= !a || LAPACKE_sgeqp3(LAPACK_COL_MAJOR, M, N, a, M, pivots, tau) != 0;
    free(a);
    const pid_t child = fork();
    if (child == 0)
        _exit(use_lapack());
    bad |= child < 0 || waitpid(child, &status, 0) != child || status != 0;
    return bad | use_lapack();
}

static int64_t count_of(const char *file, const char *name)
{
    char line[64];
    int64_t sum = -1;
    FILE *in = fopen(file, "r");
    assert_non_null(in);
    while (fgets(line, sizeof line, in)) {
        char routine[32];
        long long count;
        if (sscanf(line, "%31s %lld", routine, &count) == 2 && strcmp(routine, name) == 0)
            sum = (sum < 0 ? 0 : sum) + count;
    }
    fclose(in);
    return sum;
}

static char counts_file[] = "/tmp/bd-test-XXXXXX";
static const char *program;

/* Runs this program again, with the drop-in and these variables; its exit status. */
static int run_again(const char *backend)
{
    const pid_t child = fork();
    if (child == 0) {
        char asan[512];
        const char *options = getenv("ASAN_OPTIONS");
        /* A sanitizer's runtime wants to come first, which nothing of a preloaded library needs. */
        snprintf(asan, sizeof asan, "%s%sverify_asan_link_order=0", options ? options : "",
                 options ? ":" : "");
        setenv("ASAN_OPTIONS", asan, 1);
        /* binaries may have been carried to another machine */
        const char *carried = getenv("BACKDROP_LAPACK");
        setenv("LD_PRELOAD", carried && *carried ? carried : DROP_IN, 1);
        setenv("BACKDROP_LAPACK_COUNTS", counts_file, 1);
        if (backend)
            setenv("BACKDROP_LAPACK_BACKEND", backend, 1);
        execl("/proc/self/exe", program, "preloaded", (char *)NULL);
        _exit(127);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* The backend that is asked for is taken where it is there, and the cpu's where it is not. */
static void preloaded(void **state)
{
    static const char *const backends[] = { NULL, "cpu", "auto", "cuda", "nonsense" };
    (void)state;
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        remove(counts_file);
        assert_int_equal(run_again(backends[i]), 0);
        /* Once for a query and once for the work each; use_lapack ran twice in that process, each
         * time with a call of sgeqrf that failed. */
        assert_int_equal(count_of(counts_file, "sgeqrf"), 2 * 3);
        assert_int_equal(count_of(counts_file, "sorgqr"), 2 * 2);
        assert_true(count_of(counts_file, "sormqr") >= 2 * 2);
        assert_int_equal(count_of(counts_file, "sgels"), 2 * 2);
        assert_int_equal(count_of(counts_file, "sqrinc"), 0);
    }
}

static void without(void **state)
{
    (void)state;
    remove(counts_file);
    setenv("BACKDROP_LAPACK_COUNTS", counts_file, 1);
    assert_int_equal(use_all(), 0);
    assert_int_equal(access(counts_file, F_OK), -1);
    unsetenv("BACKDROP_LAPACK_COUNTS");
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc > 1)
        return use_all();
    const int file = mkstemp(counts_file);
    if (file < 0)
        return 1;
    close(file);
    const struct CMUnitTest tests[] = { cmocka_unit_test(preloaded), cmocka_unit_test(without) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove(counts_file);
    return failed;
}
