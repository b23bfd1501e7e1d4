/* How often objects cross: two boxes overlap, and when they do no more, each is on the other's side
 * of before. */
#ifndef BD_APP_EVAL_CROSSINGS_H
#define BD_APP_EVAL_CROSSINGS_H

#include "app/eval/tracking.h"

struct bd_crossings;

/* BD_ERROR_MEMORY. */
enum bd_status bd_crossings_create(struct bd_crossings **crossings);
void bd_crossings_destroy(struct bd_crossings **crossings);

/* The boxes of the next frame. BD_ERROR_MEMORY. */
enum bd_status bd_crossings_add(struct bd_crossings *crossings, const struct bd_track_box *boxes,
                                int count);
int64_t bd_crossings_count(const struct bd_crossings *crossings);

#endif
