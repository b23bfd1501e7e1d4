/* A shaking camera, for synth scenes. Private to video/synth.
 *
 * The world is painted at twice the resolution, with a margin around the view of the camera. Each
 * pixel of the camera is a weighted mean of the world within one pixel of its centre. */
#ifndef BD_VIDEO_SYNTH_CAMERA_H
#define BD_VIDEO_SYNTH_CAMERA_H

#include "video/synth/paint.h"
#include "video/synth/synth.h"

/* The world that a camera sees. */
struct bd_synth_camera {
    struct bd_frame picture, truth; /* the world; either may be empty */
    struct bd_synth_canvas canvas;  /* for painting it */
    int32_t *row;                   /* scratch */
    struct bd_synth_point at;       /* corner of the camera's view, in px8 of the world */
};

/* The shift of the scene in frame `index`, in 1/256 pixels of a picture of `height`: at most the
 * scene's `shake` in either direction. It is a sum of three sines with gusts. */
struct bd_synth_point bd_synth_shake(const struct bd_synth_scene *scene, int height, int64_t index);

/* Makes the canvas for frame `index` of a camera with pictures of width x height; its truth is
 * cleared. BD_ERROR_MEMORY. */
enum bd_status bd_synth_camera_open(struct bd_synth_camera *camera,
                                    const struct bd_synth_scene *scene, int width, int height,
                                    int64_t index, bool picture, bool truth);

/* Computes the picture (BD_RGB24) and the truth (BD_GRAY8, as painting leaves it; see
 * bd_synth_finish_truth). Either may be NULL, as at the opening. */
void bd_synth_camera_expose(const struct bd_synth_camera *camera, struct bd_frame *picture,
                            struct bd_frame *truth);
void bd_synth_camera_close(struct bd_synth_camera *camera);

#endif
