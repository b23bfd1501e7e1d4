/* Private: quarter turns and mirrors, which make pictures upright. */
#ifndef BD_VIDEO_INPUT_TURN_H
#define BD_VIDEO_INPUT_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "video/frame.h"

/* How to turn a stored picture upright: first x and y are exchanged if `transpose`, then columns
 * and rows are reversed. */
struct bd_turn {
    bool transpose, flip_x, flip_y;
};

/* Reads a 3 x 3 display matrix (9 fixed-point numbers, AVDisplayMatrix; NULL is upright). Returns
 * false if it is not made of quarter turns and mirrors; *turn is then upright. */
bool bd_turn_from_matrix(struct bd_turn *turn, const int32_t *matrix);

/* Turns `src` into `dst`, whose sides are already exchanged if need be. */
void bd_turn_picture(struct bd_frame *dst, const struct bd_frame *src, struct bd_turn turn);

#endif
