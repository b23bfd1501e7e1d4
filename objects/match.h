/* Which piece of the mask is which object, where one is one. */
#ifndef BD_OBJECTS_MATCH_H
#define BD_OBJECTS_MATCH_H

#include "objects/state.h"

/* Pairs tracks with pieces. A track gets one piece or none, a piece one track or none. */
void bd_match(struct bd_tracker *tracker);

/* How badly a piece fits a track: 0 for its predicted box, up to bd_match_limit; more: not at all.
 */
extern const double bd_match_limit;
double bd_match_cost(const struct bd_tracker *tracker, const struct bd_track *track,
                     const struct bd_piece *piece);

#endif
