/* backdrop export INPUT: separates a whole input and writes what was asked for. */
#ifndef BD_APP_EXPORT_EXPORT_H
#define BD_APP_EXPORT_EXPORT_H

#include "app/options.h"

/* Returns the exit status of the program. Messages and progress on stderr, nothing on stdout. */
int bd_export_run(const struct bd_options *options);

#endif
