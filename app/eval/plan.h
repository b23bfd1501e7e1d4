/* The work of `backdrop eval`: its sequences, in the order of the command line, and how many of
 * them run at the same time. */
#ifndef BD_APP_EVAL_PLAN_H
#define BD_APP_EVAL_PLAN_H

#include "app/eval/job.h"

struct bd_eval_plan {
    struct bd_eval_setup setup;
    struct bd_eval_job *jobs; /* a sequence that was not found is a job that has failed */
    int count;
    int *order; /* count: the jobs in the order in which to start them */
};

/* Finds the sequences and the folders of other programs' masks. `options` must stay.
 * BD_ERROR_ARGUMENT, BD_ERROR_IO for an option that cannot be followed; BD_ERROR_MEMORY. */
enum bd_status bd_eval_plan_make(struct bd_eval_plan *plan, const struct bd_options *options);
void bd_eval_plan_free(struct bd_eval_plan *plan);

#endif
