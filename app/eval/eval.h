/* backdrop eval DIR...: scores masks against ground truth. */
#ifndef BD_APP_EVAL_EVAL_H
#define BD_APP_EVAL_EVAL_H

#include "app/options.h"

/* Returns the exit status of the program. Table on stdout, messages on stderr. */
int bd_eval_run(const struct bd_options *options);

#endif
