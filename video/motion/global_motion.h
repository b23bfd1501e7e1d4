/* How far a camera that shakes has moved, from picture to picture.
 *
 * Blocks with texture, spread over a first picture, are looked for in others. What most of them
 * agree on is the shift; what people and cars do in between is not. Their number does not depend on
 * the size of the picture. */
#ifndef BD_VIDEO_MOTION_GLOBAL_MOTION_H
#define BD_VIDEO_MOTION_GLOBAL_MOTION_H

#include "video/frame.h"
#include "video/motion/shift.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bd_global_motion;

enum bd_global_motion_verdict {
    BD_MOTION_LOST,   /* next to none of the blocks agree: another scene, or moved too far */
    BD_MOTION_UNSURE, /* too few blocks, or too few that agree, to say */
    BD_MOTION_FOUND
};

/* For pictures of this size, BD_GRAY8 or BD_RGB24. BD_ERROR_ARGUMENT for sides below 1 and other
 * formats, BD_ERROR_MEMORY. */
enum bd_status bd_global_motion_create(struct bd_global_motion **motion, int width, int height,
                                       enum bd_pixel_format format);
void bd_global_motion_destroy(struct bd_global_motion **motion);

/* Shifts count from this picture on. */
void bd_global_motion_begin(struct bd_global_motion *motion, const struct bd_frame *frame);

/* *shift is how far what stands still has moved since the picture at the beginning, to about a
 * thirtieth of a pixel of a picture of 240 rows; 0 unless found. Shifts of up to
 * bd_global_motion_reach are found. Blocks that are not in the picture any more, or old, are
 * replaced by others while the shift is known. The pictures are those of one stream in their order;
 * the first begins where none has. */
enum bd_global_motion_verdict bd_global_motion_find(struct bd_global_motion *motion,
                                                    const struct bd_frame *frame,
                                                    struct bd_shift *shift);

/* Pixels that are one of a picture of 240 rows, a whole number. */
int bd_global_motion_scale(const struct bd_global_motion *motion);

/* Largest shift that is found, in each direction, pixels: a twentieth of 240 rows. */
double bd_global_motion_reach(const struct bd_global_motion *motion);

/* Blocks there are, and those that agreed on the last shift. */
int bd_global_motion_blocks(const struct bd_global_motion *motion);
int bd_global_motion_agreeing(const struct bd_global_motion *motion);

#ifdef __cplusplus
}
#endif
#endif
