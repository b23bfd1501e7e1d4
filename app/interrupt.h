/* Ctrl-C, SIGTERM and SIGHUP (the terminal is gone): the first asks the program to finish the frame
 * and its files, another SIGINT or SIGTERM ends it at once. A SIGHUP that came ignored stays so
 * (nohup). SIGPIPE and SIGXFSZ are ignored: writing to a closed pipe, or beyond the limit of a
 * file's size, is an error of that output. */
#ifndef BD_APP_INTERRUPT_H
#define BD_APP_INTERRUPT_H

#include <stdbool.h>

void bd_interrupt_install(void);

/* Has the program been asked to stop? Any thread; the argument is not used, so that it fits
 * bd_reader_options.interrupted. */
bool bd_interrupted(void *user);

/* Waits until the program is asked to stop, or bd_interrupt_release is called. For one thread,
 * after bd_interrupt_install. */
void bd_interrupt_wait(void);
void bd_interrupt_release(void);

#endif
