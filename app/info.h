/* backdrop info: lists the parts of this build and of this machine. */
#ifndef BD_APP_INFO_H
#define BD_APP_INFO_H

#include "app/options.h"

/* Prints to stdout. Returns the exit status of the program: 0. */
int bd_info_run(const struct bd_options *options);

#endif
