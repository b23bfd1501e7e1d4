/* Columns and rows that come and go, with Q thin, full and absent, with right-hand sides and
 * without: after every change the factors are those of the problem as it is then. On every
 * backend, against float64. */
#include "tests/support/quick.h"
#include "tests/support/update_problem.h"

/* There and back again at place k of `of` thirds. */
static int round_trip(struct problem *p, int third, int64_t block)
{
    int64_t row = p->m * third / 3, column = p->n * third / 3;
    fill_rows(p, block);
    if (!done(rows_in(p, row, block), "insert rows"))
        return 0;
    check_problem(p, "insert rows");
    if (p->f.q.data && p->n + block <= p->m && p->n + block <= p->shape.max_cols) {
        fill_columns(p, column, block);
        if (!done(columns_in(p, column, block), "insert columns"))
            return 0;
        check_problem(p, "insert columns");
        fill_columns(p, p->n - block, block);
        if (!done(slide_columns(p, block), "slide"))
            return 0;
        check_problem(p, "slide");
    }
    if (p->f.q.data) {
        int64_t from = p->m - block < row ? p->m - block : row;
        if (p->m - block >= p->n) {
            if (!done(rows_out(p, from, block), "remove rows"))
                return 0;
            check_problem(p, "remove rows");
        }
    }
    int64_t least = p->f.q.data ? 0 : 1; /* without Q, columns do not come back */
    if (p->n - block >= least) {
        if (!done(columns_out(p, column <= p->n - block ? column : p->n - block, block),
                  "remove columns"))
            return 0;
        check_problem(p, "remove columns");
    }
    return 1;
}

static void test_round_trips(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = { { 1, 1 },   { 7, 5 },    { 40, 40 },
                                         { 41, 40 }, { 150, 70 }, { 300, 33 } };
    static const int64_t blocks[] = { 1, 2, 9, 16, 33, 64, 70, 130 };
    FOR_EACH_BACKEND(name)
    {
        double residual = 0, skew = 0, rhs = 0;
        for (int form = 0; form < 3; form++)
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
                int64_t m = shapes[s][0], n = shapes[s][1], most = m < 20 ? 9 : 130;
                int on = 1;
                for (size_t b = 0; b < sizeof blocks / sizeof *blocks && on; b++) {
                    int64_t block = blocks[b];
                    if (block > most || (test_quick() && (b % 3 || m > 50 || s % 2 == 0)))
                        continue;
                    struct problem p;
                    /* without Q, rows come four times and never go */
                    open_problem(&p, name, form, m + 4 * most, n + most, most, b % 2 ? 3 : 0);
                    on = done(begin_problem(&p, m, n), "first columns");
                    if (form == NO_Q)
                        forget_q(&p);
                    for (int third = 0; third <= 3 && on; third += test_quick() ? 3 : 1)
                        on = round_trip(&p, third, block);
                    residual = fmax(residual, p.residual_max);
                    skew = fmax(skew, p.skew_max);
                    rhs = fmax(rhs, p.rhs_max);
                    close_problem(&p);
                }
            }
        print_message("%s: residual %.2f, orthogonality %.2f, d %.2f (n eps) at most\n", name,
                      residual, skew, rhs);
    }
}

/* Long chains of changes in any order: nothing grows. */
static void test_mixed_chain(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        for (int form = 0; form < 2; form++) {
            struct problem p;
            open_problem(&p, name, form, 220, 90, 70, 2);
            int on = done(begin_problem(&p, 150, 50), "first columns");
            int steps = test_quick() ? 8 : 400;
            for (int step = 0; step < steps && on; step++) {
                int64_t block = 1 + (int64_t)((noise(&p.seed) + 1) * (step % 5 ? 6 : 30));
                double where = (noise(&p.seed) + 1) / 2;
                enum bd_status status = BD_OK;
                if (step % 4 == 0 && p.m + block <= 220) {
                    fill_rows(&p, block);
                    status = rows_in(&p, (int64_t)(where * (double)p.m), block);
                } else if (step % 4 == 1 && p.n + block <= 90 && p.n + block <= p.m) {
                    fill_columns(&p, 0, block);
                    status = columns_in(&p, (int64_t)(where * (double)p.n), block);
                } else if (step % 4 == 2 && p.m - block >= p.n + 20) {
                    status = rows_out(&p, (int64_t)(where * (double)(p.m - block)), block);
                } else if (step % 4 == 3 && p.n - block >= 10) {
                    status = columns_out(&p, (int64_t)(where * (double)(p.n - block)), block);
                }
                on = done(status, "a chain of changes");
                if (on && (step % 20 == 19 || step == steps - 1))
                    check_problem(&p, "a chain of changes");
            }
            if (on)
                print_message("%s, %s Q, %d changes: residual %.2f, orthogonality %.2f, d %.2f "
                              "(n eps) at most\n",
                              name, form ? "full" : "thin", steps, p.residual_max, p.skew_max,
                              p.rhs_max);
            close_problem(&p);
        }
    }
}

/* A window of rows that slides (recursive least squares): a thousand times a row comes and the
 * oldest goes. Columns stay for all of it, so that what they lose would add up. */
static void test_sliding_rows(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        for (int form = 0; form < 2; form++) {
            struct problem p;
            open_problem(&p, name, form, 201, 40, 40, 1);
            int on = done(begin_problem(&p, 200, 40), "first columns");
            int steps = test_quick() ? 5 : 1000;
            for (int step = 1; step <= steps && on; step++) {
                fill_rows(&p, 1);
                on = done(rows_in(&p, p.m, 1), "a row comes");
                on = on && done(rows_out(&p, 0, 1), "a row goes");
                if (on && step % (steps / 5) == 0)
                    check_problem(&p, "sliding rows");
            }
            if (on) {
                print_message("%s, %s Q, %d rows: residual %.2f, orthogonality %.2f, d %.2f (n "
                              "eps) at most\n",
                              name, form ? "full" : "thin", steps, p.residual_max, p.skew_max,
                              p.rhs_max);
                assert_true(p.skew_max <= (strcmp(name, "cpu") == 0 ? 5 : 15));
            }
            close_problem(&p);
        }
    }
}

/* p = n: everything is replaced. */
static void test_all_columns(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        for (int form = 0; form < 2; form++)
            for (int64_t n = 5; n <= 75; n += 70) {
                struct problem p;
                open_problem(&p, name, form, 160, 80, 80, 1);
                int on = done(begin_problem(&p, 100, n), "first columns");
                fill_columns(&p, 0, n);
                on = on && done(slide_columns(&p, n), "slide");
                if (on)
                    check_problem(&p, "slide by all columns");
                on = on && done(columns_out(&p, 0, n), "remove columns");
                if (on)
                    assert_int_equal(p.f.r.cols, 0);
                if (on) {
                    fill_rows(&p, 7);
                    on = done(rows_in(&p, 3, 7), "insert rows");
                }
                on = on && done(rows_out(&p, 20, 12), "remove rows");
                fill_columns(&p, 0, n);
                on = on && done(columns_in(&p, 0, n), "insert columns");
                if (on)
                    check_problem(&p, "from nothing again");
                close_problem(&p);
            }
    }
}

/* As many rows as columns, after rows went and after columns came. */
static void test_square(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    {
        for (int form = 0; form < 2; form++)
            for (int64_t block = 1; block <= 81; block += test_quick() ? 80 : 20) {
                struct problem p;
                open_problem(&p, name, form, 200, 181, 100, 2);
                int on = done(begin_problem(&p, 100 + block, 100), "first columns");
                on = on && done(rows_out(&p, 37, block), "remove rows");
                if (on)
                    check_problem(&p, "remove rows until m = n");
                on = on && done(columns_out(&p, (p.n - block) / 3, block), "remove columns");
                fill_columns(&p, 0, block);
                on = on && done(columns_in(&p, p.n / 2, block), "insert columns");
                if (on)
                    check_problem(&p, "insert columns until m = n");
                close_problem(&p);
            }
    }
}

/* The same bits whatever the number of threads. */
static void test_threads_agree(void **state)
{
    (void)state;
    for (int form = 0; form < 2; form++) {
        float *first = NULL;
        for (int threads = 1; threads <= 3; threads++) {
            struct problem p;
            open_problem_on(&p, "cpu", threads, form, 700, 160, 70, 2);
            assert_int_equal(begin_problem(&p, 600, 90), BD_OK);
            fill_rows(&p, 70);
            assert_int_equal(rows_in(&p, 100, 70), BD_OK);
            fill_columns(&p, 0, 70);
            assert_int_equal(columns_in(&p, 30, 70), BD_OK);
            assert_int_equal(rows_out(&p, 300, 33), BD_OK);
            assert_int_equal(columns_out(&p, 9, 40), BD_OK);
            fetch_problem(&p);
            size_t q = (size_t)(700 * p.f.q.cols), r = 160 * 120, all = (q + r) * sizeof(float);
            float *now = malloc(all);
            assert_non_null(now);
            memcpy(now, p.q, q * sizeof *now);
            memcpy(now + q, p.r, r * sizeof *now);
            if (first)
                assert_memory_equal(first, now, all);
            else
                first = now;
            if (first != now)
                free(now);
            close_problem(&p);
        }
        free(first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),  cmocka_unit_test(test_mixed_chain),
        cmocka_unit_test(test_sliding_rows), cmocka_unit_test(test_all_columns),
        cmocka_unit_test(test_square),       cmocka_unit_test(test_threads_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
