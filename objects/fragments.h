/* Pieces of the mask that nobody holds: fragments of an object, or something new. */
#ifndef BD_OBJECTS_FRAGMENTS_H
#define BD_OBJECTS_FRAGMENTS_H

#include "objects/state.h"

/* Gives each free piece to a track that is close to it or begins a candidate with it, and forgets
 * candidates that have come back to an object. */
void bd_fragments_share(struct bd_tracker *tracker);

#endif
