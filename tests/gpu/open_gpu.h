/* For tests that need a GPU. */
#ifndef BD_TESTS_GPU_OPEN_GPU_H
#define BD_TESTS_GPU_OPEN_GPU_H

#include <backdrop/backend.h>

/* The cuda backend; where it cannot be opened the test is skipped, with a message. Close it. */
static inline struct bd_backend *open_gpu(void)
{
    struct bd_backend *backend = NULL;
    if (bd_backend_open(&backend, "cuda", 1) != BD_OK) {
        print_message("skipped: %s\n", bd_error_detail());
        skip();
    }
    return backend;
}

#endif
