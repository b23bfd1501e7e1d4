/* Ctrl-C and SIGTERM: the first asks the program to finish the frame and its files, the second ends
 * it at once. SIGPIPE is ignored: writing to a closed pipe is an error of that output. */
#ifndef BD_APP_INTERRUPT_H
#define BD_APP_INTERRUPT_H

#include <stdbool.h>

void bd_interrupt_install(void);

/* Has the program been asked to stop? Any thread; the argument is not used, so that it fits
 * bd_reader_options.interrupted. */
bool bd_interrupted(void *user);

#endif
