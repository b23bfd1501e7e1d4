/* Checks of the files that eval writes, before the work begins. */
#ifndef BD_APP_EVAL_OUTPUT_CHECKS_H
#define BD_APP_EVAL_OUTPUT_CHECKS_H

#include "app/eval/plan.h"

/* Whether --json and --contact-sheet can be written. BD_ERROR_ARGUMENT, BD_ERROR_IO. */
enum bd_status bd_eval_outputs_check(const struct bd_options *options);

/* That they, and the folders of --masks, replace nothing that is read: no file of a sequence, no
 * mask of --compare, and not the picture of --roi. BD_ERROR_ARGUMENT, BD_ERROR_MEMORY. */
enum bd_status bd_eval_reads_check(const struct bd_eval_plan *plan);

#endif
