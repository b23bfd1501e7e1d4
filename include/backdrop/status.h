/* Status codes, the error detail of the calling thread, and the log callback.
 *
 * Every function of the libraries that can fail returns enum bd_status: BD_OK (0) or a negative
 * code. On failure the function that saw it first records one line of detail with bd_fail(), which
 * names the thing, what is wrong with it and what would be right. Libraries never print and never
 * exit: messages that are not errors go to the log callback.
 *
 * Every public function that returns a status checks its arguments first: a pointer is not NULL
 * unless its comment allows NULL, sizes and leading dimensions (ld) are in range and fit each
 * other, element types and other enum values are known. If not, it returns BD_ERROR_ARGUMENT with a
 * detail that names the argument, and changes nothing; a handle or record that it would have filled
 * is NULL or zero. The caller answers for what cannot be checked: that memory is as large as it is
 * said to be, and that handles are open and of one backend. Destroy and close functions accept
 * NULL and a pointer to NULL. The other functions that return no status accept NULL for a handle
 * and then return NULL, 0, false or "". */
#ifndef BACKDROP_STATUS_H
#define BACKDROP_STATUS_H

#include <stdarg.h>

#include <backdrop/api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum bd_status {
    BD_OK = 0,
    BD_END = -1,               /* no more data: end of a stream, not a fault */
    BD_ERROR_ARGUMENT = -2,    /* an argument is outside its documented range */
    BD_ERROR_MEMORY = -3,      /* out of host or device memory */
    BD_ERROR_IO = -4,          /* cannot open, read or write */
    BD_ERROR_FORMAT = -5,      /* data are not of a form we can read */
    BD_ERROR_UNSUPPORTED = -6, /* correct, but not available in this build or on this machine */
    BD_ERROR_NUMERIC = -7,     /* NaN or Inf in the input, or an SVD without convergence */
    BD_ERROR_BACKEND = -8,     /* the device or its driver failed */
    BD_ERROR_INTERRUPTED = -9, /* the caller asked to stop */
    BD_ERROR_CONVERGENCE = -10 /* the results are there, but not as exact as was wanted */
};

/* Bytes of the longest detail, its final 0 included; what is longer is cut. */
enum { bd_detail_size = 512 };

/* A fixed English phrase for a code, never NULL. */
BD_API const char *bd_status_text(enum bd_status status);

/* The detail recorded last by the calling thread; "" if there is none. Valid until that thread's
 * next failure. */
BD_API const char *bd_error_detail(void);

/* Records the detail (printf format, one line, no final newline) for the calling thread and
 * returns `status`, so that a failure is one statement: return bd_fail(BD_ERROR_IO, "...", ...).
 * bd_error_detail() itself may be an argument, to say more about a failure. */
BD_API enum bd_status bd_fail(enum bd_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#ifdef __clang_analyzer__
/* Clang's analyzer does not see that a variadic function returns its status: with this macro it
 * does, and does not follow a failure as if it were a success. */
#define bd_fail(status, ...) ((void)(bd_fail)(status, __VA_ARGS__), (status))
#endif

enum bd_log_level { BD_LOG_WARNING, BD_LOG_INFO, BD_LOG_DEBUG };

typedef void bd_log_fn(void *user, enum bd_log_level level, const char *message);

/* Sets the process-wide log callback; NULL (the start) discards messages. May be called from any
 * thread. `fn` is called from any thread, by one thread at a time, with no lock of the library
 * held: it may log, which is delivered when it has returned, and it may call bd_log_set.
 *
 * When bd_log_set returns, the callback that was set before is not running and is not called again:
 * it waits for a call in another thread, so do not hold a lock then that `fn` takes. (Called by
 * `fn` itself, it does not wait for that `fn`.) */
BD_API void bd_log_set(bd_log_fn *fn, void *user);

/* Sends one line (printf format, no final newline) to the log callback. While the callback runs in
 * another thread this does not wait: that thread delivers the line next. Keeps bd_error_detail
 * unless the callback fails. */
BD_API void bd_log(enum bd_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif
#endif
