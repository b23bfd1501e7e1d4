/* The shapes of objects, and where they are in a component that several share. */
#ifndef BD_OBJECTS_SHAPE_H
#define BD_OBJECTS_SHAPE_H

#include <stdbool.h>

struct bd_tracker;

enum { bd_shape_rows = 24, bd_shape_columns = 12 };

/* How often each part of an object's box was in the mask. */
struct bd_shape {
    bool known;
    float share[bd_shape_rows * bd_shape_columns]; /* 0..1, row by row */
};

/* Learns the shape of a track from its piece, which it has for itself. */
void bd_shape_learn(struct bd_tracker *tracker, int t);

/* Corrects the filters of the tracks in a piece: each is where their shapes together explain the
 * piece best, and not far from where it was predicted. */
void bd_shape_fit(struct bd_tracker *tracker, int piece);

#endif
