/* The suites of the bench that compare with published tables: the tables themselves, what is asked
 * of them, the norms that errors are given in, and whole runs at small sizes. */
#include "tests/app/cli_fixture.h"

#include <math.h>
#include <sched.h>

#include "app/bench/cells.h"
#include "tests/support/quick.h"

/* How many cells each table has, and its highest speed-up, which the paper's figures 10 to 18 and
 * its text give too: 13.5 for removing columns, 3.5 for adding them, nearly 2 for adding rows. */
static void published_tables_are_whole(void **state)
{
    static const struct {
        int table, cells;
        double least, most;
    } known[] = {
        { 2, 21, 2.4, 2.5 }, { 3, 39, 3.5, 3.6 },   { 5, 16, 2.7, 2.8 },
        { 6, 7, 1.9, 2 },    { 7, 20, 13.4, 13.5 }, { 8, 7, 1.9, 2 },
        { 9, 14, 1.6, 1.7 }, { 10, 15, 1.5, 1.6 },  { 11, 15, 1, 1.1 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double best = 0;
        int cells = 0;
        struct bd_published_update u;
        for (int j = 0; bd_published_update(j, &u); j++) {
            double ratio = (double)u.full_ms / u.update_ms;
            if (u.table != known[i].table)
                continue;
            cells++;
            best = ratio > best ? ratio : best;
        }
        assert_int_equal(cells, known[i].cells);
        assert_true(best >= known[i].least && best <= known[i].most);
    }
    assert_int_equal(bd_published_accuracy_count, 20);
}

/* Longer problems take longer, and the paper's times say so: a copying error shows as a jump. */
static void published_times_are_smooth(void **state)
{
    (void)state;
    struct bd_published_update before = { 0 }, u;
    for (int i = 0; bd_published_update(i, &u); before = u, i++) {
        if (u.table != before.table || u.m != before.m || u.n != before.n || u.p != before.p)
            continue;
        assert_true(u.full_ms == before.full_ms);
        assert_true(u.k > before.k);
        assert_true(u.update_ms < before.update_ms);
    }
}

static void cells_fit_at_every_scale(void **state)
{
    (void)state;
    struct bd_published_update u;
    for (int i = 0; bd_published_update(i, &u); i++) {
        struct bd_bench_cell c = bd_bench_cell_scaled(&u, 1);
        assert_true(c.m == u.m && c.n == u.n && c.k == u.k && c.p == u.p);
        for (int64_t scale = 2; scale <= 1000; scale++) {
            c = bd_bench_cell_scaled(&u, scale);
            assert_true(c.n >= 1 && c.p >= 1 && c.k >= 0 && c.k <= c.n);
            assert_true(c.m >= c.n + (c.with_q ? c.p : 0));
            assert_true(u.kind != BD_QR_REMOVE_COLUMNS || (c.n > c.p && c.k + c.p <= c.n));
        }
    }
}

static void tables_are_chosen_by_number(void **state)
{
    static const char *const bad[] = { "1", "4", "12", "7,", "7,x", "7x", "-2", "2 3", ",", "x" };
    bool wanted[bd_bench_table_count];
    (void)state;
    assert_int_equal(bd_bench_choose_tables(NULL, wanted), BD_OK);
    assert_true(wanted[2] && wanted[11]);
    assert_int_equal(bd_bench_choose_tables("2,10", wanted), BD_OK);
    for (int i = 0; i < bd_bench_table_count; i++)
        assert_int_equal(wanted[i], i == 2 || i == 10);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(bd_bench_choose_tables(bad[i], wanted), BD_ERROR_ARGUMENT);
}

/* Q with orthogonal columns of squared lengths 1 and, once, 1 + error. */
static void norm_of_orthogonality_is_the_largest(void **state)
{
    enum { m = 60, k = 40 };
    float q[m * k] = { 0 };
    double norm = -1;
    (void)state;
    for (int i = 0; i < k; i++)
        q[i + i * m] = 1;
    assert_int_equal(bd_bench_norm_orthogonality(&norm, q, m, k), BD_OK);
    assert_true(norm == 0);
    q[7 + 7 * m] = 1.25F;
    q[9 + 9 * m] = 0.875F;
    assert_int_equal(bd_bench_norm_orthogonality(&norm, q, m, k), BD_OK);
    assert_true(fabs(norm - 0.5625) < 1e-12);
    assert_int_equal(bd_bench_norm_orthogonality(&norm, q + 7 * m, m, 1), BD_OK);
    assert_true(fabs(norm - 0.5625) < 1e-12);
}

/* A = Q R but for one element, with Q of unit columns and R diagonal. */
static void norm_of_backward_error_is_relative(void **state)
{
    enum { m = 50, n = 30 };
    float a[m * n] = { 0 }, q[m * n] = { 0 }, r[n * n] = { 0 };
    double norm = -1;
    (void)state;
    for (int i = 0; i < n; i++) {
        q[i + i * m] = 1;
        a[i + i * m] = r[i + i * n] = (float)(i + 1);
    }
    for (int i = 1; i < n; i++)
        r[i] = NAN; /* below the diagonal: not read */
    a[40 + 3 * m] = 0.75F;
    assert_int_equal(bd_bench_norm_backward(&norm, a, q, r, m, n), BD_OK);
    assert_true(fabs(norm - 0.75 / n) < 1e-6);
}

/* How often a word occurs in a file. */
static int count_of(const char *folder, const char *file, const char *word)
{
    static char text[1 << 20];
    int count = 0;
    cli_slurp(folder, file, text, sizeof text);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        count++;
    return count;
}

/* The largest value of a field in a file of JSON; -1: it is nowhere a number. */
static double largest(const char *folder, const char *file, const char *field)
{
    static char text[1 << 20];
    char key[64];
    double most = -1, value = 0;
    snprintf(key, sizeof key, "\"%s\": ", field);
    cli_slurp(folder, file, text, sizeof text);
    for (const char *at = strstr(text, key); at; at = strstr(at + 1, key))
        if (sscanf(at + strlen(key), "%lf", &value) == 1 && value > most)
            most = value;
    return most;
}

static void updates_run(void **state)
{
    const char *tables = test_quick() ? "updates:7" : "updates";
    char command[256];
    snprintf(command, sizeof command, "$B bench %s --backend cpu --quick --json u.json", tables);
    assert_int_equal(cli_run(*state, command), 0);
    assert_int_equal(count_of(*state, "out", "# table 7:"), 1);
    assert_int_equal(count_of(*state, "u.json", "\"paper_ms\""), test_quick() ? 20 : 154);
    assert_int_equal(count_of(*state, "out", "the backend has none"), 0);
    assert_true(largest(*state, "u.json", "residual") < 5e-5);
    assert_true(largest(*state, "u.json", "residual") > 0);
    if (!test_quick())
        assert_true(largest(*state, "u.json", "orthogonality") < 1e-4);
    assert_true(largest(*state, "u.json", "ms") > 0);
    assert_true(largest(*state, "u.json", "peer_ms") > 0);
}

static void accuracy_runs(void **state)
{
    assert_int_equal(
        cli_run(*state, "$B bench accuracy:updates --backend cpu --quick --json a.json"), 0);
    assert_int_equal(count_of(*state, "a.json", "\"paper_forward\""), 20);
    assert_int_equal(count_of(*state, "a.json", "\"paper_backward\""), 10);
    assert_true(largest(*state, "a.json", "forward") < 1e-3);
    assert_true(largest(*state, "a.json", "forward_float64") < 1e-3);
    assert_true(largest(*state, "a.json", "forward_float64") > 0);
}

/* The whole program, also by the name that the suite had before. */
static void the_program_is_timed(void **state)
{
    if (test_quick())
        skip();
    assert_int_equal(cli_run(*state, "$B bench export --backend cpu --quick --json p.json"), 0);
    assert_int_equal(count_of(*state, "p.json", "\"suite\": \"app\""), 4);
    assert_int_equal(count_of(*state, "p.json", "\"p99_ms\""), 4);
    assert_true(largest(*state, "p.json", "median_ms") > 0);
    assert_true(largest(*state, "p.json", "p99_ms") >= largest(*state, "p.json", "median_ms"));
    assert_true(largest(*state, "p.json", "cpu_ms") > 0);
    assert_true(largest(*state, "p.json", "peak_mib") > 50);
}

/* Runs the smallest suite and looks for the threads that its row names. */
static void expect_threads(const char *folder, const char *options, int threads)
{
    char command[256], field[64];
    snprintf(command, sizeof command, "$B bench svd --backend cpu --quick -q -y --json t.json %s",
             options);
    assert_int_equal(cli_run(folder, command), 0);
    snprintf(field, sizeof field, "\"threads\": %d,", threads);
    assert_int_equal(count_of(folder, "t.json", field), 1);
    snprintf(field, sizeof field, "\"blas_threads\": %d\n", threads);
    /* 0: the BLAS is not OpenBLAS */
    assert_int_equal(
        count_of(folder, "t.json", field) + count_of(folder, "t.json", "\"blas_threads\": 0\n"), 1);
}

/* LAPACK gets as many threads as the cpu backend: those of --threads, or of the affinity mask. */
static void peers_have_the_threads_of_the_backend(void **state)
{
    cpu_set_t allowed, one;
    int first = 0;
    expect_threads(*state, "--threads 2", 2);
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    while (!CPU_ISSET(first, &allowed))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    expect_threads(*state, "", 1);
    assert_int_equal(sched_setaffinity(0, sizeof allowed, &allowed), 0);
}

/* Each row says when, where and of what commit it is. */
static void rows_name_their_run(void **state)
{
    char version[256], commit[256];
    assert_int_equal(cli_run(*state, "$B bench svd --backend cpu --quick -q --json r.json"), 0);
    assert_int_equal(count_of(*state, "r.json", "\"date\": \"20"), 1);
    assert_int_equal(count_of(*state, "r.json", "\"device\": \"cpu: "), 1);
    assert_int_equal(cli_run(*state, "$B --version"), 0);
    cli_slurp(*state, "out", version, sizeof version);
    assert_int_equal(sscanf(version, "backdrop %*s (%200[^)])", commit), 1);
    snprintf(version, sizeof version, "\"commit\": \"%.200s\"", commit);
    assert_int_equal(count_of(*state, "r.json", version), 1);
}

static void bad_parts_are_one_line(void **state)
{
    static const char *const commands[] = { "$B bench updates:13 --backend cpu --quick -q",
                                            "$B bench updates:7x --backend cpu --quick -q",
                                            "$B bench accuracy:x --backend cpu --quick -q",
                                            "$B bench svd:1 --quick -q" };
    char text[4096];
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        assert_int_not_equal(cli_run(*state, commands[i]), 0);
        cli_slurp(*state, "err", text, sizeof text);
        assert_int_equal(cli_lines(text), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_tables_are_whole),
        cmocka_unit_test(published_times_are_smooth),
        cmocka_unit_test(cells_fit_at_every_scale),
        cmocka_unit_test(tables_are_chosen_by_number),
        cmocka_unit_test(norm_of_orthogonality_is_the_largest),
        cmocka_unit_test(norm_of_backward_error_is_relative),
        CLI_TEST(updates_run),
        CLI_TEST(the_program_is_timed),
        CLI_TEST(accuracy_runs),
        CLI_TEST(peers_have_the_threads_of_the_backend),
        CLI_TEST(rows_name_their_run),
        CLI_TEST(bad_parts_are_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
