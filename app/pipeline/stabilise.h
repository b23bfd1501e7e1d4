/* Stabilisation: a separator sees the frames of a shaking camera as if the camera were at rest, and
 * its results are moved back to where each frame was.
 *
 *   frame -> bd_stabiliser_register -> registered picture -> separator -> bd_stabiliser_restore
 *
 * The motion of the camera (shift, rotation and zoom) is estimated for every frame
 * (video/motion/global_motion.h). Frames are passed on unchanged unless the camera has shaken
 * recently. Motion is measured from an origin,
 * which is the first picture; the origin follows the camera, at most as fast as the background
 * model can follow. If nothing has been at its old position for some seconds, the camera has been
 * relocated: the separator then learns a new background from the frames since that time
 * (relocation.h). */
#ifndef BD_APP_PIPELINE_STABILISE_H
#define BD_APP_PIPELINE_STABILISE_H

#include <stdbool.h>

#include "video/frame.h"
#include "video/motion/similarity.h"
#include <backdrop/separator.h>

enum bd_stabilise_mode {
    BD_STABILISE_AUTO, /* frames are registered while the camera shakes */
    BD_STABILISE_ON,
    BD_STABILISE_OFF
};

struct bd_stabiliser;

/* For a separator with these settings (defaults filled in); its pictures are of `format`, and
 * `threads` (from 1 on) move one. All memory is allocated here. *stabiliser is NULL for
 * BD_STABILISE_OFF; all functions accept NULL and then pass everything on unchanged. */
enum bd_status bd_stabiliser_create(struct bd_stabiliser **stabiliser, enum bd_stabilise_mode mode,
                                    const struct bd_separator_options *settings,
                                    enum bd_pixel_format format, int threads);
void bd_stabiliser_destroy(struct bd_stabiliser **stabiliser);

/* Registers a frame: *registered is what the separator must see instead of `picture`. It is
 * `picture` itself if *motion is none, else a copy with *motion undone, valid until the next call.
 * Parts of the scene that are outside of `picture` keep the values that were seen there last.
 * `time` in seconds, not decreasing; frames of the look-ahead, which come before the first frame of
 * the separation, have the time bd_stabiliser_ahead. */
#define bd_stabiliser_ahead (-1.0)
void bd_stabiliser_register(struct bd_stabiliser *stabiliser, const struct bd_frame *picture,
                            double time, const struct bd_frame **registered,
                            struct bd_similarity *motion);

/* How the camera stood when it took a frame. */
struct bd_camera {
    bool shakes;                 /* frames are registered; else there is no motion */
    struct bd_similarity motion; /* none where it is too small to be undone */
};

/* The same in two steps, for frames in order: a thread may move one while another thread measures
 * later ones. bd_stabiliser_move returns the registered picture, valid until its next call. */
void bd_stabiliser_measure(struct bd_stabiliser *stabiliser, const struct bd_frame *picture,
                           double time, struct bd_camera *camera);
const struct bd_frame *bd_stabiliser_move(struct bd_stabiliser *stabiliser,
                                          const struct bd_frame *picture,
                                          const struct bd_camera *camera);

/* Moves the pictures of a separation back to where the frame was. `motion` is what
 * bd_stabiliser_register returned for this frame. The pictures are valid until the next call. May
 * be called while another thread registers a later frame. At
 * the sides, where the frame shows parts of the scene that the background does not hold, the
 * nearest column or row is repeated. */
void bd_stabiliser_restore(struct bd_stabiliser *stabiliser, struct bd_similarity motion,
                           struct bd_separation *separation);

/* True if the camera has been relocated. bd_stabiliser_learn then lets the separator learn the new
 * scene; no frame may be in flight. */
bool bd_stabiliser_moved(const struct bd_stabiliser *stabiliser);
enum bd_status bd_stabiliser_learn(struct bd_stabiliser *stabiliser,
                                   struct bd_separator *separator);

/* While the separator is frozen, the origin does not follow the camera and no relocation is
 * reported. */
void bd_stabiliser_freeze(struct bd_stabiliser *stabiliser, bool frozen);

/* The next frame does not follow the last one in time. */
void bd_stabiliser_seek(struct bd_stabiliser *stabiliser);

#endif
