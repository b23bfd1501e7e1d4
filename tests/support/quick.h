/* BD_TEST_QUICK in the environment: the run is under a sanitizer, many times slower. Tests then
 * leave out sizes and rounds that show nothing new about memory and races. */
#ifndef BD_TESTS_SUPPORT_QUICK_H
#define BD_TESTS_SUPPORT_QUICK_H

#include <stdbool.h>
#include <stdlib.h>

static inline bool test_quick(void)
{
    const char *quick = getenv("BD_TEST_QUICK");
    return quick && *quick && *quick != '0';
}

#endif
