/* The results of `backdrop eval`: a table on stdout and JSON. */
#ifndef BD_APP_EVAL_REPORT_H
#define BD_APP_EVAL_REPORT_H

#include "app/eval/plan.h"

/* Means over the sequences that were scored in full, each with the same weight. */
struct bd_eval_mean {
    int sequences;
    double precision, recall, f_measure;
    int64_t frames; /* separated, in all */
    double seconds; /* for them, added up over the sequences */
};

/* Of ours (peer < 0) or of a peer. */
struct bd_eval_mean bd_eval_mean(const struct bd_eval_plan *plan, int peer);

/* Whether our masks of the sequence, or a peer's, were scored in full. A peer's need ours. */
bool bd_eval_scored(const struct bd_eval_job *job, int peer);

/* Characters that the names in a table take. */
int bd_eval_name_column(const struct bd_eval_plan *plan);

/* The table, line by line. Of a job: ours, and below it the peers'; nothing where it failed. */
void bd_eval_print_header(const struct bd_eval_plan *plan);
void bd_eval_print_job(const struct bd_eval_plan *plan, const struct bd_eval_job *job);
void bd_eval_print_mean(const struct bd_eval_plan *plan);

/* Writes FILE. `seconds`: what the whole run took. BD_ERROR_IO. */
enum bd_status bd_eval_write_json(const struct bd_eval_plan *plan, const char *path,
                                  double seconds);

#endif
