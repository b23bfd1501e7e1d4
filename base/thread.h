/* Threads with a name, which debuggers and profilers show. */
#ifndef BD_BASE_THREAD_H
#define BD_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Starts run(user) in a thread of that name, of at most 15 characters. Returns whether it runs. */
bool bd_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *user);

#ifdef __cplusplus
}
#endif
#endif
