/* backdrop/status.h and base/clock.h: codes, the detail of each thread, the log callback. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"
#include <backdrop/status.h>

static const enum bd_status codes[] = {
    BD_OK,
    BD_END,
    BD_ERROR_ARGUMENT,
    BD_ERROR_MEMORY,
    BD_ERROR_IO,
    BD_ERROR_FORMAT,
    BD_ERROR_UNSUPPORTED,
    BD_ERROR_NUMERIC,
    BD_ERROR_BACKEND,
    BD_ERROR_INTERRUPTED,
    BD_ERROR_CONVERGENCE,
};
enum { code_count = sizeof codes / sizeof codes[0] };

static void test_text_is_distinct(void **state)
{
    (void)state;
    const char *unknown = bd_status_text((enum bd_status) - 1000);
    assert_non_null(unknown);
    for (int i = 0; i < code_count; i++) {
        const char *text = bd_status_text(codes[i]);
        assert_non_null(text);
        assert_true(strlen(text) > 1);
        assert_string_not_equal(text, unknown);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(text, bd_status_text(codes[j]));
    }
}

static void test_failure_records_and_returns(void **state)
{
    (void)state;
    for (int i = 0; i < code_count; i++) {
        char expected[64];
        snprintf(expected, sizeof expected, "frame %d of %s is missing", i, "street.mp4");
        assert_int_equal(bd_fail(codes[i], "frame %d of %s is missing", i, "street.mp4"), codes[i]);
        assert_string_equal(bd_error_detail(), expected);
    }
}

static void test_long_detail_is_cut(void **state)
{
    (void)state;
    char path[4096];
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = 0;
    assert_int_equal(bd_fail(BD_ERROR_IO, "cannot open %s", path), BD_ERROR_IO);
    size_t length = strlen(bd_error_detail());
    assert_true(length >= 200 && length < sizeof path);
    assert_memory_equal(bd_error_detail(), "cannot open xxx", 15);
    /* The next failure leaves nothing of the long one. */
    (void)bd_fail(BD_ERROR_IO, "short");
    assert_string_equal(bd_error_detail(), "short");
}

/* A failure that says more about the one before. */
static void test_detail_may_be_its_own_argument(void **state)
{
    (void)state;
    (void)bd_fail(BD_ERROR_IO, "%s: no such file", "street.mp4");
    assert_int_equal(bd_fail(BD_ERROR_ARGUMENT, "--roi %s", bd_error_detail()), BD_ERROR_ARGUMENT);
    assert_string_equal(bd_error_detail(), "--roi street.mp4: no such file");
    assert_int_equal(bd_fail(BD_ERROR_FORMAT, "%s", bd_error_detail()), BD_ERROR_FORMAT);
    assert_string_equal(bd_error_detail(), "--roi street.mp4: no such file");
    /* cut at the end, however often it is repeated */
    for (int i = 0; i < 40; i++)
        (void)bd_fail(BD_ERROR_IO, "0123456789abcdef %s", bd_error_detail());
    assert_int_equal(strlen(bd_error_detail()), bd_detail_size - 1);
    assert_memory_equal(bd_error_detail(), "0123456789abcdef 0123456789abcdef ", 34);
}

struct thread_case {
    pthread_barrier_t *barrier;
    char seen_first[64]; /* before this thread failed */
    char seen[64];       /* after every thread failed */
};

static void *fail_in_thread(void *argument)
{
    struct thread_case *c = argument;
    snprintf(c->seen_first, sizeof c->seen_first, "%s", bd_error_detail());
    (void)bd_fail(BD_ERROR_NUMERIC, "thread %p", argument);
    pthread_barrier_wait(c->barrier);
    snprintf(c->seen, sizeof c->seen, "%s", bd_error_detail());
    return NULL;
}

static void test_detail_belongs_to_its_thread(void **state)
{
    (void)state;
    enum { threads = 4 };
    pthread_barrier_t barrier;
    pthread_t thread[threads];
    struct thread_case cases[threads];
    assert_int_equal(pthread_barrier_init(&barrier, NULL, threads), 0);
    (void)bd_fail(BD_ERROR_IO, "of the main thread");
    for (int i = 0; i < threads; i++) {
        cases[i] = (struct thread_case){ .barrier = &barrier };
        assert_int_equal(pthread_create(&thread[i], NULL, fail_in_thread, &cases[i]), 0);
    }
    for (int i = 0; i < threads; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    pthread_barrier_destroy(&barrier);
    for (int i = 0; i < threads; i++) {
        char expected[64];
        snprintf(expected, sizeof expected, "thread %p", (void *)&cases[i]);
        assert_string_equal(cases[i].seen_first, "");
        assert_string_equal(cases[i].seen, expected);
    }
    assert_string_equal(bd_error_detail(), "of the main thread");
}

/* What the log callback received. */
struct log_record {
    int count;
    enum bd_log_level level;
    char message[1024];
    int depth; /* calls running at this moment: never above 1 */
    int overlaps;
};

static void record_message(void *user, enum bd_log_level level, const char *message)
{
    struct log_record *record = user;
    if (__atomic_add_fetch(&record->depth, 1, __ATOMIC_SEQ_CST) != 1)
        __atomic_add_fetch(&record->overlaps, 1, __ATOMIC_SEQ_CST);
    record->count++;
    record->level = level;
    snprintf(record->message, sizeof record->message, "%s", message);
    __atomic_sub_fetch(&record->depth, 1, __ATOMIC_SEQ_CST);
}

static int discard_messages(void **state)
{
    (void)state;
    bd_log_set(NULL, NULL);
    return 0;
}

static void test_log_reaches_the_callback(void **state)
{
    (void)state;
    struct log_record record = { 0 };
    bd_log(BD_LOG_WARNING, "nobody listens yet");
    bd_log_set(record_message, &record);
    assert_int_equal(record.count, 0);
    bd_log(BD_LOG_INFO, "%d of %d frames", 3, 7);
    assert_int_equal(record.count, 1);
    assert_int_equal(record.level, BD_LOG_INFO);
    assert_string_equal(record.message, "3 of 7 frames");
    bd_log(BD_LOG_DEBUG, "%s", "100% as it is: %s");
    assert_int_equal(record.count, 2);
    assert_int_equal(record.level, BD_LOG_DEBUG);
    assert_string_equal(record.message, "100% as it is: %s");
    bd_log_set(NULL, NULL);
    bd_log(BD_LOG_WARNING, "nobody listens any more");
    assert_int_equal(record.count, 2);
}

static void test_long_message_is_cut(void **state)
{
    (void)state;
    char text[4096];
    memset(text, 'y', sizeof text - 1);
    text[sizeof text - 1] = 0;
    struct log_record record = { 0 };
    bd_log_set(record_message, &record);
    bd_log(BD_LOG_WARNING, "%s", text);
    bd_log_set(NULL, NULL);
    assert_int_equal(record.count, 1);
    assert_true(strlen(record.message) >= 200 && strlen(record.message) < sizeof text);
    assert_memory_equal(record.message, text, 200);
}

static void *log_many(void *argument)
{
    const int *messages = argument;
    for (int i = 0; i < *messages; i++)
        bd_log(BD_LOG_INFO, "message %d", i);
    return NULL;
}

static void test_messages_of_threads_do_not_overlap(void **state)
{
    (void)state;
    enum { threads = 4 };
    int messages = 2000;
    pthread_t thread[threads];
    struct log_record record = { 0 };
    bd_log_set(record_message, &record);
    for (int i = 0; i < threads; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, log_many, &messages), 0);
    for (int i = 0; i < threads; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    bd_log_set(NULL, NULL);
    assert_int_equal(record.overlaps, 0);
    assert_int_equal(record.count, threads * messages);
}

static void test_logging_keeps_the_detail(void **state)
{
    (void)state;
    struct log_record record = { 0 };
    bd_log_set(record_message, &record);
    (void)bd_fail(BD_ERROR_FORMAT, "the detail");
    bd_log(BD_LOG_WARNING, "a message");
    bd_log_set(NULL, NULL);
    assert_string_equal(bd_error_detail(), "the detail");
}

/* A callback that logs: its message comes after the one that it is called with. */
static void record_and_log(void *user, enum bd_log_level level, const char *message)
{
    struct log_record *record = user;
    record_message(user, level, message);
    if (record->count < 3)
        bd_log(BD_LOG_DEBUG, "answer %d", record->count);
}

static void test_callback_may_log(void **state)
{
    (void)state;
    struct log_record record = { 0 };
    bd_log_set(record_and_log, &record);
    bd_log(BD_LOG_INFO, "question");
    assert_int_equal(record.count, 3);
    assert_int_equal(record.overlaps, 0);
    assert_string_equal(record.message, "answer 2");
}

/* A callback that sets another: from the next message on. */
static void record_and_leave(void *user, enum bd_log_level level, const char *message)
{
    struct log_record *record = user;
    bd_log_set(record_message, record + 1);
    record_message(record, level, message);
}

static void test_callback_may_set_the_callback(void **state)
{
    (void)state;
    struct log_record records[2] = { { 0 }, { 0 } };
    bd_log_set(record_and_leave, records);
    bd_log(BD_LOG_INFO, "first");
    bd_log(BD_LOG_INFO, "second");
    assert_int_equal(records[0].count, 1);
    assert_string_equal(records[0].message, "first");
    assert_int_equal(records[1].count, 1);
    assert_string_equal(records[1].message, "second");
}

/* A callback that waits until it is let go. */
struct gate {
    struct log_record record;
    atomic_bool entered, open;
    atomic_bool removed; /* bd_log_set has returned */
};

static void wait_for(atomic_bool *flag)
{
    while (!atomic_load(flag))
        sched_yield();
}

static void wait_at_gate(void *user, enum bd_log_level level, const char *message)
{
    struct gate *gate = user;
    atomic_store(&gate->entered, true);
    wait_for(&gate->open);
    record_message(&gate->record, level, message);
}

static void *log_one(void *argument)
{
    (void)argument;
    bd_log(BD_LOG_INFO, "from the thread");
    return NULL;
}

/* No lock is held while a callback runs: another thread can log, and its line is delivered next. */
static void test_logging_does_not_wait_for_the_callback(void **state)
{
    (void)state;
    struct gate gate = { 0 };
    pthread_t thread;
    bd_log_set(wait_at_gate, &gate);
    assert_int_equal(pthread_create(&thread, NULL, log_one, NULL), 0);
    wait_for(&gate.entered);
    bd_log(BD_LOG_INFO, "from the main thread"); /* returns though the callback is at the gate */
    atomic_store(&gate.open, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(gate.record.count, 2);
    assert_int_equal(gate.record.overlaps, 0);
    assert_string_equal(gate.record.message, "from the main thread");
}

static void *remove_callback(void *argument)
{
    struct gate *gate = argument;
    bd_log_set(NULL, NULL);
    atomic_store(&gate->removed, true);
    return NULL;
}

/* bd_log_set returns when the callback that was set before is no longer used. */
static void test_removal_waits_for_the_callback(void **state)
{
    (void)state;
    struct gate gate = { 0 };
    struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
    pthread_t logging, removing;
    bd_log_set(wait_at_gate, &gate);
    assert_int_equal(pthread_create(&logging, NULL, log_one, NULL), 0);
    wait_for(&gate.entered);
    assert_int_equal(pthread_create(&removing, NULL, remove_callback, &gate), 0);
    nanosleep(&pause, NULL);
    assert_false(atomic_load(&gate.removed));
    bd_log(BD_LOG_INFO, "to nobody");
    atomic_store(&gate.open, true);
    assert_int_equal(pthread_join(removing, NULL), 0);
    assert_int_equal(pthread_join(logging, NULL), 0);
    assert_true(atomic_load(&gate.removed));
}

static void test_clock_measures_a_sleep(void **state)
{
    (void)state;
    double start = bd_clock_seconds(), last = start;
    for (int i = 0; i < 100000; i++) {
        double now = bd_clock_seconds();
        assert_true(now >= last);
        last = now;
    }
    start = bd_clock_seconds();
    struct timespec pause = { .tv_nsec = 50 * 1000 * 1000 };
    while (nanosleep(&pause, &pause) != 0)
        continue;
    double passed = bd_clock_seconds() - start;
    /* No tight upper bound: the machine may be busy. */
    assert_true(passed >= 0.049 && passed < 60.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_is_distinct),
        cmocka_unit_test(test_failure_records_and_returns),
        cmocka_unit_test(test_long_detail_is_cut),
        cmocka_unit_test(test_detail_may_be_its_own_argument),
        cmocka_unit_test(test_detail_belongs_to_its_thread),
        cmocka_unit_test_teardown(test_log_reaches_the_callback, discard_messages),
        cmocka_unit_test_teardown(test_long_message_is_cut, discard_messages),
        cmocka_unit_test_teardown(test_messages_of_threads_do_not_overlap, discard_messages),
        cmocka_unit_test_teardown(test_logging_keeps_the_detail, discard_messages),
        cmocka_unit_test_teardown(test_callback_may_log, discard_messages),
        cmocka_unit_test_teardown(test_callback_may_set_the_callback, discard_messages),
        cmocka_unit_test_teardown(test_logging_does_not_wait_for_the_callback, discard_messages),
        cmocka_unit_test_teardown(test_removal_waits_for_the_callback, discard_messages),
        cmocka_unit_test(test_clock_measures_a_sleep),
    };
    return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
