/* Objects that share one component of the mask. */
#ifndef BD_OBJECTS_GROUPS_H
#define BD_OBJECTS_GROUPS_H

#include "objects/state.h"

/* Tracks that have no piece join the one that covers them, if it is another's. */
void bd_groups_join(struct bd_tracker *tracker);

/* The boxes of the tracks that are in this piece, two or more. */
void bd_groups_fit(struct bd_tracker *tracker, int piece);

/* Lowers the certainty of objects that have just left a group, as far as others of it could be in
 * their places. `group` and `piece` of all tracks are those of the last and of this frame. */
void bd_groups_doubt(struct bd_tracker *tracker);

#endif
