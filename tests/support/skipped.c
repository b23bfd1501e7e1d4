/* Linked into every cmocka program by bd_test (tests/CMakeLists.txt): makes a program exit with 77
 * where all of its tests skipped, which CTest reports as Skipped. The linker's --wrap puts these
 * functions between the test and cmocka, so that a test program needs no line of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { exit_skipped = 77 };

void __real__skip(const char *file, int line);
void __wrap__skip(const char *file, int line);
int __real__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
                                   CMFixtureFunction setup, CMFixtureFunction teardown);
int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
                                   CMFixtureFunction setup, CMFixtureFunction teardown);

static size_t skipped;

/* skip() ends its test: it is called at most once a test. */
void __wrap__skip(const char *file, int line)
{
    skipped++;
    __real__skip(file, line);
}

/* Returns 0 where a test ran and none failed, 77 where all were skipped, else 1. cmocka returns how
 * many failed, which could be 77, or 256. */
int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests, size_t count,
                                   CMFixtureFunction setup, CMFixtureFunction teardown)
{
    skipped = 0;
    if (__real__cmocka_run_group_tests(name, tests, count, setup, teardown) != 0)
        return 1;
    return skipped > 0 && skipped == count ? exit_skipped : 0;
}
