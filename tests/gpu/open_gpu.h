/* For tests that need a GPU. */
#ifndef BD_TESTS_GPU_OPEN_GPU_H
#define BD_TESTS_GPU_OPEN_GPU_H

#include <backdrop/backend.h>

/* The cuda backend, which the caller closes, or NULL, with a message, on a machine that has none. A
 * GPU that is there and cannot be opened fails the test. */
static inline struct bd_backend *find_gpu(void)
{
    struct bd_backend *backend = NULL;
    enum bd_status status = bd_backend_open(&backend, "cuda", 1);
    if (status == BD_ERROR_UNSUPPORTED)
        print_message("skipped: %s\n", bd_error_detail());
    else
        assert_int_equal(status, BD_OK);
    return backend;
}

/* The same, but the test is skipped on a machine without the backend. */
static inline struct bd_backend *open_gpu(void)
{
    struct bd_backend *backend = find_gpu();
    if (!backend)
        skip();
    return backend;
}

#endif
