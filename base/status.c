#include <backdrop/status.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char detail[bd_detail_size];

struct message {
    struct message *next;
    enum bd_log_level level;
    char text[bd_detail_size];
};

/* The log callback and the messages that wait for it. The first thread to find it idle delivers all
 * of them, so that calls of two threads never overlap though no lock is held during a call. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t returned; /* the callback, from a call */
    bd_log_fn *fn;
    void *user;
    struct message *first, **end;
    unsigned long calls; /* that have returned */
    bool delivering;
    pthread_t deliverer;
} sink = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .returned = PTHREAD_COND_INITIALIZER,
    .end = &sink.first,
};

const char *bd_status_text(enum bd_status status)
{
    static const char *const texts[] = {
        [-BD_OK] = "ok",
        [-BD_END] = "end of stream",
        [-BD_ERROR_ARGUMENT] = "bad argument",
        [-BD_ERROR_MEMORY] = "out of memory",
        [-BD_ERROR_IO] = "input/output error",
        [-BD_ERROR_FORMAT] = "unreadable data",
        [-BD_ERROR_UNSUPPORTED] = "not supported here",
        [-BD_ERROR_NUMERIC] = "numerical failure",
        [-BD_ERROR_BACKEND] = "backend failure",
        [-BD_ERROR_INTERRUPTED] = "interrupted",
        [-BD_ERROR_CONVERGENCE] = "not converged",
    };
    int count = sizeof texts / sizeof *texts;
    return status <= 0 && status > -count ? texts[-status] : "unknown status";
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
    const unsigned long calls = sink.calls;
    sink.fn = fn;
    sink.user = user;
    while (sink.delivering && sink.calls == calls && !pthread_equal(sink.deliverer, pthread_self()))
        pthread_cond_wait(&sink.returned, &sink.lock);
    pthread_mutex_unlock(&sink.lock);
}

/* Called, and returns, with the lock held. */
static void deliver_messages(void)
{
    sink.delivering = true;
    sink.deliverer = pthread_self();
    while (sink.first) {
        struct message *message = sink.first;
        bd_log_fn *fn = sink.fn;
        void *user = sink.user;
        sink.first = message->next;
        if (!sink.first)
            sink.end = &sink.first;
        pthread_mutex_unlock(&sink.lock);
        if (fn)
            fn(user, message->level, message->text);
        free(message);
        pthread_mutex_lock(&sink.lock);
        sink.calls++;
        pthread_cond_broadcast(&sink.returned);
    }
    sink.delivering = false;
}

void bd_log(enum bd_log_level level, const char *format, ...)
{
    struct message *message = malloc(sizeof *message);
    if (!message)
        return;
    *message = (struct message){ .level = level };
    va_list args;
    va_start(args, format);
    vsnprintf(message->text, sizeof message->text, format, args);
    va_end(args);
    pthread_mutex_lock(&sink.lock);
    *sink.end = message;
    sink.end = &message->next;
    if (!sink.delivering)
        deliver_messages();
    pthread_mutex_unlock(&sink.lock);
}
