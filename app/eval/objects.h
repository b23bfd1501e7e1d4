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

/* Adds the next picture; `counts`: it is scored, by the objects that are seen in it, with those
 * that later pictures confirm. The errors of bd_tracking_add and bd_object_truth_get. */
enum bd_status bd_eval_objects_add(struct bd_eval_objects *objects, const struct bd_result *result,
                                   bool counts);

/* The scores of all pictures; no more are added. The errors of bd_eval_objects_add. */
enum bd_status bd_eval_objects_scores(struct bd_track_scores *scores,
                                      struct bd_eval_objects *objects);

#endif
