/* A camera that does not stand still, for synth scenes. Private to synth*.c.
 *
 * The world is painted twice as fine and with a margin around what the camera sees; each pixel of
 * the camera is then a mean of what lies within a pixel of its middle, wherever that is. */
#ifndef BD_VIDEO_SYNTH_CAMERA_H
#define BD_VIDEO_SYNTH_CAMERA_H

#include "video/synth/paint.h"
#include "video/synth/synth.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a camera's pictures are made of. */
struct bd_synth_camera {
    struct bd_frame picture, truth; /* the world; either may be empty */
    struct bd_synth_canvas canvas;  /* on which it is painted */
    int32_t *row;                   /* scratch */
    struct bd_synth_point at;       /* its corner in the camera's picture, in px8 of the world */
};

/* How far the scene has moved in the picture of frame `index`, in 1/256 pixels of a picture of
 * `height`: at most the scene's `shake` in either direction. Three swings of different speed, in
 * gusts. */
struct bd_synth_point bd_synth_shake(const struct bd_synth_scene *scene, int height, int64_t index);

/* A canvas for what a camera with pictures of width x height sees, and more, at frame `index`; its
 * truth is cleared. BD_ERROR_MEMORY. */
enum bd_status bd_synth_camera_open(struct bd_synth_camera *camera,
                                    const struct bd_synth_scene *scene, int width, int height,
                                    int64_t index, bool picture, bool truth);

/* Takes the picture (BD_RGB24) and the truth (BD_GRAY8, as painting leaves it; see
 * bd_synth_finish_truth). Either may be NULL, as at the opening. */
void bd_synth_camera_take(const struct bd_synth_camera *camera, struct bd_frame *picture,
                          struct bd_frame *truth);
void bd_synth_camera_close(struct bd_synth_camera *camera);

#ifdef __cplusplus
}
#endif
#endif
