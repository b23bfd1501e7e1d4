/* The name of the processor. */
#ifndef BD_APP_CPU_NAME_H
#define BD_APP_CPU_NAME_H

#include <stddef.h>

/* Writes "NAME, N cores" (size bytes at most) and returns `text`; NAME is "unknown processor" where
 * the kernel does not give it. */
char *bd_cpu_name(char *text, size_t size);

#endif
