/* Global motion: shift, rotation and zoom of a shaking camera, estimated for each picture by
 * block matching.
 *
 * Blocks with texture, spread over a first picture, are searched for in later pictures. The motion
 * that most blocks agree on is that of the camera; blocks on moving people and cars disagree with
 * it. It is a shift where this explains as much. The number of blocks does not depend on the size
 * of the picture. */
#ifndef BD_VIDEO_MOTION_GLOBAL_MOTION_H
#define BD_VIDEO_MOTION_GLOBAL_MOTION_H

#include "video/frame.h"
#include "video/motion/similarity.h"

struct bd_global_motion;

enum bd_global_motion_verdict {
    BD_MOTION_LOST,   /* almost no blocks agree: another scene, or too large a motion */
    BD_MOTION_UNSURE, /* too few blocks, or too few that agree, for a decision */
    BD_MOTION_FOUND
};

/* For pictures of this size, BD_GRAY8 or BD_RGB24. BD_ERROR_ARGUMENT for sides below 1 and other
 * formats, BD_ERROR_MEMORY. */
enum bd_status bd_global_motion_create(struct bd_global_motion **motion, int width, int height,
                                       enum bd_pixel_format format);
void bd_global_motion_destroy(struct bd_global_motion **motion);

/* Motion is measured from this picture on. */
void bd_global_motion_begin(struct bd_global_motion *motion, const struct bd_frame *frame);

/* *found is the motion of the static scene since the picture at the beginning, to about a thirtieth
 * of a pixel of a picture of 240 rows; none unless found. Shifts of up to bd_global_motion_reach
 * are found. While the motion is known, old blocks and blocks that have left the picture are
 * replaced. The pictures are those of one stream in their order; the first one begins if
 * bd_global_motion_begin was not called. */
enum bd_global_motion_verdict bd_global_motion_find(struct bd_global_motion *motion,
                                                    const struct bd_frame *frame,
                                                    struct bd_similarity *found);

/* How many pixels correspond to one pixel of a picture of 240 rows: a whole number. */
int bd_global_motion_scale(const struct bd_global_motion *motion);

/* Largest shift that is found, in each direction, pixels: a twentieth of 240 rows. */
double bd_global_motion_reach(const struct bd_global_motion *motion);

/* The number of blocks, and of those that agreed on the last motion. */
int bd_global_motion_blocks(const struct bd_global_motion *motion);
int bd_global_motion_agreeing(const struct bd_global_motion *motion);

#endif
