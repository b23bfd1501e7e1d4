#include "base/thread.h"

bool bd_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *user)
{
    if (pthread_create(thread, NULL, run, user))
        return false;
    pthread_setname_np(*thread, name);
    return true;
}
