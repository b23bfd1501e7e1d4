#include "app/interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

/* A signal handler can only write to a global. */
static atomic_bool asked;

static void on_signal(int number)
{
    (void)number;
    atomic_store(&asked, true);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

void bd_interrupt_install(void)
{
    struct sigaction action = { .sa_handler = on_signal };
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

bool bd_interrupted(void *user)
{
    (void)user;
    return atomic_load(&asked);
}
