#include <backdrop/status.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char detail[bd_detail_size];

static struct {
    pthread_mutex_t lock;
    bd_log_fn *fn;
    void *user;
} sink = { .lock = PTHREAD_MUTEX_INITIALIZER };

const char *bd_status_text(enum bd_status status)
{
    switch (status) {
    case BD_OK:
        return "ok";
    case BD_END:
        return "end of stream";
    case BD_ERROR_ARGUMENT:
        return "bad argument";
    case BD_ERROR_MEMORY:
        return "out of memory";
    case BD_ERROR_IO:
        return "input/output error";
    case BD_ERROR_FORMAT:
        return "unreadable data";
    case BD_ERROR_UNSUPPORTED:
        return "not supported here";
    case BD_ERROR_NUMERIC:
        return "numerical failure";
    case BD_ERROR_BACKEND:
        return "backend failure";
    case BD_ERROR_INTERRUPTED:
        return "interrupted";
    }
    return "unknown status";
}

const char *bd_error_detail(void)
{
    return detail;
}

/* In parentheses because backdrop/status.h may define a macro of this name. */
enum bd_status(bd_fail)(enum bd_status status, const char *format, ...)
{
    char text[bd_detail_size]; /* an argument may be `detail` */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(detail, text, strlen(text) + 1);
    return status;
}

void bd_log_set(bd_log_fn *fn, void *user)
{
    pthread_mutex_lock(&sink.lock);
    sink.fn = fn;
    sink.user = user;
    pthread_mutex_unlock(&sink.lock);
}

void bd_log(enum bd_log_level level, const char *format, ...)
{
    char message[bd_detail_size];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    /* The lock is held during the call so that messages of two threads never interleave. */
    pthread_mutex_lock(&sink.lock);
    if (sink.fn)
        sink.fn(sink.user, level, message);
    pthread_mutex_unlock(&sink.lock);
}
