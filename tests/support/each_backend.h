/* The backends that this machine can open, for tests of the public interface. */
#ifndef BD_TESTS_SUPPORT_EACH_BACKEND_H
#define BD_TESTS_SUPPORT_EACH_BACKEND_H

#include <stdbool.h>

#include <backdrop/backend.h>

/* Whether this machine has the backend; says so where it has not. */
static inline bool backend_usable(const char *name)
{
    struct bd_backend *backend = NULL;
    enum bd_status status = bd_backend_open(&backend, name, 1);
    if (status == BD_ERROR_UNSUPPORTED)
        print_message("skipped: %s\n", bd_error_detail());
    else
        assert_int_equal(status, BD_OK);
    bd_backend_close(&backend);
    return status == BD_OK;
}

#define FOR_EACH_BACKEND(name)                                                              \
    for (const char *const *each = bd_backend_names(), *name = *each; name; name = *++each) \
        if (backend_usable(name))

#endif
