#include "app/interrupt.h"

#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

/* A signal handler can only write to a global. */
static atomic_bool asked;
static sem_t released; /* what bd_interrupt_wait waits for */

/* What asks the program to stop: the user, the system, and a terminal that goes away. */
static const int stops[] = { SIGINT, SIGTERM, SIGHUP };

static void on_signal(int number)
{
    (void)number;
    atomic_store(&asked, true);
    sem_post(&released);
    /* Not SIGHUP: a terminal that goes away may send it twice. */
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

void bd_interrupt_install(void)
{
    struct sigaction action = { .sa_handler = on_signal }, before;
    sem_init(&released, 0, 0);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++)
        if (stops[i] != SIGHUP || sigaction(SIGHUP, NULL, &before) != 0 ||
            before.sa_handler != SIG_IGN) /* nohup ignores it for us */
            sigaction(stops[i], &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

bool bd_interrupted(void *user)
{
    (void)user;
    return atomic_load(&asked);
}

void bd_interrupt_wait(void)
{
    while (sem_wait(&released) != 0)
        ; /* a signal interrupted it */
}

void bd_interrupt_release(void)
{
    sem_post(&released);
}
