/* The scores of objects in the results of `backdrop eval --objects`. */
#ifndef BD_APP_EVAL_OBJECTS_REPORT_H
#define BD_APP_EVAL_OBJECTS_REPORT_H

#include "app/eval/plan.h"
#include "app/json.h"

/* The table on stdout: the sequences whose objects were scored, and the mean of several; nothing
 * where there is none. */
void bd_eval_print_objects(const struct bd_eval_plan *plan);

/* The object "objects" of a sequence, and "mean_objects" of all; nothing where none were scored. */
void bd_eval_write_objects(struct bd_json *json, const struct bd_eval_job *job);
void bd_eval_write_mean_objects(struct bd_json *json, const struct bd_eval_plan *plan);

#endif
