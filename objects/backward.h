/* Several objects that come as one component are known only when they part. Then the tracker runs
 * backwards over the last masks, from the objects that it knows now, and so says where each of them
 * was. A group of known objects is better explained from both its ends, too. In filters this is
 * fixed-lag smoothing. */
#ifndef BD_OBJECTS_BACKWARD_H
#define BD_OBJECTS_BACKWARD_H

#include <stdint.h>

#include <backdrop/status.h>

struct bd_tracker;

/* A tracker that can run backwards, with the memory of its own state. BD_ERROR_MEMORY. */
enum bd_status bd_backward_create(struct bd_tracker **backward);
void bd_backward_destroy(struct bd_tracker **backward);

/* Adds to the past that the tracker tells: objects whose numbers are `first` or above have been
 * confirmed in this frame. */
void bd_backward_tell(struct bd_tracker *tracker, int64_t first);

#endif
