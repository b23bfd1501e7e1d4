/* Wrappers of functions that can fail. The linker's --wrap puts __wrap_NAME between the program and
 * the library's NAME; CMakeLists.txt finds the names in the lines that begin with one of these
 * macros. */
#ifndef BD_TESTS_FAULTS_WRAP_H
#define BD_TESTS_FAULTS_WRAP_H

#include <errno.h>

#include "tests/faults/inject.h"

#define CALLER __builtin_return_address(0)

#define WRAP(type, name, parameters) \
    type __real_##name parameters;   \
    type __wrap_##name parameters;   \
    type __wrap_##name parameters

/* Returns `failure` without doing anything. */
#define CALL(type, name, parameters, arguments, error, failure) \
    WRAP(type, name, parameters)                                \
    {                                                           \
        if (inject(#name, CALLER, error, false))                \
            return failure;                                     \
        return __real_##name arguments;                         \
    }

/* Ends something also where it fails, as close does. */
#define LATE(type, name, parameters, arguments, error, failure) \
    WRAP(type, name, parameters)                                \
    {                                                           \
        bool fails = inject(#name, CALLER, error, false);       \
        type result = __real_##name arguments;                  \
        errno = fails ? error : errno;                          \
        return fails ? failure : result;                        \
    }

#endif
