/* The pieces of a mask: its largest components. */
#ifndef BD_OBJECTS_PIECES_H
#define BD_OBJECTS_PIECES_H

#include <backdrop/components.h>

#include "objects/extent.h"

enum { bd_most_pieces = 256 };

struct bd_piece {
    struct bd_extent box;
    int64_t area;  /* pixels */
    int32_t first; /* its first run, which orders pieces of the same area */
};

/* The components of at least `least` pixels, the largest first, at most bd_most_pieces. Returns how
 * many. */
int bd_pieces_take(struct bd_piece *pieces, const struct bd_components *components, int64_t least);

#endif
