/* Who is who after two objects have met. A silhouette says where two are in one component, but not
 * which of two alike; how they moved before and after says more. */
#ifndef BD_OBJECTS_MEETINGS_H
#define BD_OBJECTS_MEETINGS_H

#include "objects/state.h"

/* Notes which objects meet and part in this frame, and exchanges the numbers of two that parted
 * bd_parting_delay ago if that explains their motion better. To be called when tracks that are gone
 * have been forgotten. */
void bd_meetings_settle(struct bd_tracker *tracker);

#endif
