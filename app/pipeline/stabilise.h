/* Frames of a camera that shakes, shown to a separator as if it stood still, and the separator's
 * answers moved to where each frame had been.
 *
 *   frame -> bd_stabiliser_take -> registered picture -> separator -> bd_stabiliser_give -> as the
 * frame
 *
 * The camera's place is found for every frame (video/motion/global_motion.h). Unless shake has been
 * seen lately frames go through untouched. Places count from the first picture, but follow the
 * camera as slowly as the background can. A camera that has been moved for good is noticed after
 * some seconds in which nothing is where it was; then the separator learns anew, from what has been
 * seen since. */
#ifndef BD_APP_PIPELINE_STABILISE_H
#define BD_APP_PIPELINE_STABILISE_H

#include <stdbool.h>

#include "video/frame.h"
#include "video/motion/shift.h"
#include <backdrop/separator.h>

enum bd_stabilise_mode {
    BD_STABILISE_AUTO, /* frames are registered while the camera shakes */
    BD_STABILISE_ON,
    BD_STABILISE_OFF
};

struct bd_stabiliser;

/* For a separator with these settings (defaults filled in); its pictures are of `format`. All
 * memory is taken here. *steady is NULL for BD_STABILISE_OFF; all functions take that for a camera
 * that stands still. */
enum bd_status bd_stabiliser_create(struct bd_stabiliser **steady, enum bd_stabilise_mode mode,
                                    const struct bd_separator_options *settings,
                                    enum bd_pixel_format format);
void bd_stabiliser_destroy(struct bd_stabiliser **steady);

/* *registered is what the separator is to be shown for `picture`: the picture itself, if *shift is
 * 0, or its content moved back by *shift, valid until the next call. What has left the picture is
 * as it was seen last. `time` in seconds, not decreasing; a frame before separation starts (a look
 * ahead) has bd_stabiliser_ahead. */
#define bd_stabiliser_ahead (-1.0)
void bd_stabiliser_take(struct bd_stabiliser *steady, const struct bd_frame *picture, double time,
                        const struct bd_frame **registered, struct bd_shift *shift);

/* Moves the pictures of a separation to where the frame was, of which bd_stabiliser_take said
 * *shift; they are then valid until the next call. Along the sides, where the frame sees what the
 * background does not hold, they are as beside it. */
void bd_stabiliser_give(struct bd_stabiliser *steady, struct bd_shift shift,
                        struct bd_separation *separation);

/* True if the camera has been moved for good: bd_stabiliser_learn, while no frame is in flight,
 * lets the separator learn the new scene. */
bool bd_stabiliser_moved(const struct bd_stabiliser *steady);
enum bd_status bd_stabiliser_learn(struct bd_stabiliser *steady, struct bd_separator *separator);

/* While the separator is frozen, nothing follows the camera for good. */
void bd_stabiliser_freeze(struct bd_stabiliser *steady, bool frozen);

/* The next frame is from another time. */
void bd_stabiliser_seek(struct bd_stabiliser *steady);

#endif
