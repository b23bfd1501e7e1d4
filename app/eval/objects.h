/* The objects of one sequence of `backdrop eval --objects`: the true ones, and how well those that
 * the pipeline found agree with them. */
#ifndef BD_APP_EVAL_OBJECTS_H
#define BD_APP_EVAL_OBJECTS_H

#include "app/eval/cdnet.h"
#include "app/eval/tracking.h"
#include "app/pipeline/pipeline.h"

struct bd_eval_objects;

/* As bd_object_truth_open, BD_END too. `sequence` must stay. */
enum bd_status bd_eval_objects_open(struct bd_eval_objects **objects,
                                    const struct bd_sequence *sequence);
void bd_eval_objects_close(struct bd_eval_objects **objects);

/* Scores picture `index`, from 0: those of the result's objects that are seen in it. The errors of
 * bd_tracking_add and bd_object_truth_get. */
enum bd_status bd_eval_objects_add(struct bd_eval_objects *objects, int64_t index,
                                   const struct bd_result *result);

/* The scores of the pictures so far. BD_ERROR_MEMORY. */
enum bd_status bd_eval_objects_scores(struct bd_track_scores *scores,
                                      const struct bd_eval_objects *objects);

#endif
