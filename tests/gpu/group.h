/* One cuda backend for all tests of a program, in which every test calls need_gpu first:
 * cmocka_run_group_tests(tests, open_group, close_group). */
#ifndef BD_TESTS_GPU_GROUP_H
#define BD_TESTS_GPU_GROUP_H

#include "tests/gpu/open_gpu.h"

static struct bd_backend *backend; /* NULL on a machine without a GPU */

static inline int open_group(void **state)
{
    (void)state;
    backend = find_gpu();
    return 0;
}

static inline int close_group(void **state)
{
    (void)state;
    bd_backend_close(&backend);
    return 0;
}

static inline void need_gpu(void)
{
    if (!backend)
        skip();
}

#endif
