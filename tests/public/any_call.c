/* The rule of backdrop/status.h, over the whole public interface: whatever a caller passes, a call
 * answers. On each backend of this machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/public/calls/calls.h"
#include "tests/support/each_backend.h"
#include "tests/support/random.h"

/* Fails, and shows the last record, where something was wrong. Returns the last status. */
static enum bd_status run(const char *backend, const uint8_t *data, size_t size)
{
    struct bd_calls_end end = { 0 };
    const char *wrong = bd_calls_run(backend, data, size, &end);
    if (!wrong)
        return end.status;
    for (size_t i = 0; i < bd_call_bytes && end.calls; i++)
        print_message("%d ", data[(end.calls - 1) * bd_call_bytes + i]);
    fail_msg("%s, call %zu (function %d): %s: %d \"%s\"", backend, end.calls,
             end.calls ? data[(end.calls - 1) * bd_call_bytes] % bd_calls_count() : 0, wrong,
             (int)end.status, bd_error_detail());
    return end.status;
}

/* Each function with good arguments. */
static void good_calls(void **state)
{
    (void)state;
    FOR_EACH_BACKEND(name)
    for (int function = 0; function < bd_calls_count(); function++) {
        const uint8_t record[bd_call_bytes] = { (uint8_t)function };
        if (run(name, record, sizeof record) != BD_OK)
            fail_msg("%s: function %d: %s", name, function, bd_error_detail());
    }
}

/* Each function with each choice for one argument, the others good; all of a function in one run.
 */
static void one_bad_argument(void **state)
{
    enum { choices = 24, arguments = bd_call_bytes - 1 };
    static uint8_t data[arguments * choices][bd_call_bytes];
    (void)state;
    FOR_EACH_BACKEND(name)
    for (int function = 0; function < bd_calls_count(); function++) {
        for (int i = 0; i < arguments * choices; i++)
            for (int j = 0; j < bd_call_bytes; j++)
                data[i][j] = (uint8_t)(j == 0 ? function : j == 1 + i / choices ? i % choices : 0);
        run(name, data[0], sizeof data);
    }
}

/* Any functions with any arguments, mostly good ones; few calls a run, so that runs differ. */
static void random_calls(void **state)
{
    enum { runs = 400, calls = 20 };
    (void)state;
    FOR_EACH_BACKEND(name)
    for (uint32_t i = 0; i < runs; i++) {
        uint8_t data[calls * bd_call_bytes];
        uint32_t seed = i;
        for (int j = 0; j < (int)sizeof data; j++) {
            const bool free = j % bd_call_bytes == 0 || random_bits(&seed) % 4 == 0;
            data[j] = (uint8_t)(free ? random_bits(&seed) >> 8 : 0);
        }
        run(name, data, sizeof data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_calls),
        cmocka_unit_test(one_bad_argument),
        cmocka_unit_test(random_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
