/* The silhouette of a group: how well boxes of its members cover the pixels of its component. */
#ifndef BD_OBJECTS_SILHOUETTE_H
#define BD_OBJECTS_SILHOUETTE_H

#include "objects/state.h"

/* Exchanges the places of two members of a group along an axis where they then fit the component
 * clearly better. */
void bd_silhouette_arrange(struct bd_tracker *tracker, int piece);

#endif
