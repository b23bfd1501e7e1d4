/* The thread pool (base/pool.h): every item once, thread numbers in range, many loops. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/pool.h"

enum { ITEMS = 1000 };

struct tally {
    atomic_int seen[ITEMS];
    int busy[16]; /* by thread: plain, so that the sanitizers see two users of one number */
    int threads;
    atomic_int wrong;
};

static void count(void *arg, int64_t item, int thread)
{
    struct tally *tally = arg;
    if (thread < 0 || thread >= tally->threads || tally->busy[thread]++) {
        atomic_fetch_add(&tally->wrong, 1);
        return;
    }
    atomic_fetch_add(&tally->seen[item], 1);
    tally->busy[thread]--;
}

static void test_every_item_once(void **state)
{
    static const int threads[] = { 1, 2, 3, 7 };
    static const int64_t items[] = { 0, 1, 2, 7, ITEMS };
    (void)state;
    for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
        struct bd_pool *pool;
        assert_int_equal(bd_pool_create(&pool, threads[t]), BD_OK);
        assert_int_equal(bd_pool_threads(pool), threads[t]);
        for (int round = 0; round < 200; round++) {
            struct tally tally = { .threads = threads[t] };
            int64_t n = items[round % (int)(sizeof items / sizeof *items)];
            bd_pool_run(pool, count, &tally, n);
            assert_int_equal(tally.wrong, 0);
            for (int64_t i = 0; i < ITEMS; i++)
                assert_int_equal(tally.seen[i], i < n);
        }
        bd_pool_destroy(&pool);
        assert_null(pool);
    }
}

static void test_bad_threads(void **state)
{
    static const int threads[] = { -1, 1025 };
    (void)state;
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        struct bd_pool *pool = (struct bd_pool *)&pool;
        assert_int_equal(bd_pool_create(&pool, threads[i]), BD_ERROR_ARGUMENT);
        assert_non_null(strstr(bd_error_detail(), "threads"));
        assert_null(pool);
        bd_pool_destroy(&pool); /* safe on NULL */
    }
}

static void test_default_threads(void **state)
{
    struct bd_pool *pool;
    (void)state;
    assert_int_equal(bd_pool_create(&pool, 0), BD_OK);
    assert_true(bd_pool_threads(pool) >= 1);
    bd_pool_destroy(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_item_once),
        cmocka_unit_test(test_bad_threads),
        cmocka_unit_test(test_default_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
