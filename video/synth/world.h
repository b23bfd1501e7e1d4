/* The contents of synth scenes: the static street, and the actors that move in it; and a shaking
 * camera that sees them. Private to video/synth. */
#ifndef BD_VIDEO_SYNTH_WORLD_H
#define BD_VIDEO_SYNTH_WORLD_H

#include "video/synth/paint.h"
#include "video/synth/synth.h"

/* Paints houses, pavements, road and a tree over the whole picture. The leaves of the tree move
 * with `index` if the scene sways. */
void bd_synth_paint_world(const struct bd_synth_canvas *canvas, const struct bd_synth_scene *scene,
                          uint32_t seed, int64_t index);

/* Paints the scene's people and cars, and their shadows where it has them, as at frame `index`. */
void bd_synth_paint_actors(const struct bd_synth_canvas *canvas, const struct bd_synth_scene *scene,
                           uint32_t seed, int64_t index);

/* One walker: feet at `feet`, `height` px8 high, `phase` turns/65536 of its stride, `swing` 0..256
 * of its full length (0 stands). Looks follow from `look`; `direction` is 1 (to the right) or -1.
 */
struct bd_synth_walker {
    struct bd_synth_point feet;
    int32_t height;
    int direction;
    int64_t phase;
    int swing;
    uint32_t look;
    bool bright_ground; /* seen against something lighter than the road: dressed darker */
};

void bd_synth_paint_walker(const struct bd_synth_canvas *canvas,
                           const struct bd_synth_walker *walker);

/* One car: `rear` is the point under its rear end on the ground, `length` in px8. */
void bd_synth_paint_car(const struct bd_synth_canvas *canvas, struct bd_synth_point rear,
                        int32_t length, int direction, uint32_t look);

/* The world that a shaking camera sees, painted at twice the resolution with a margin around the
 * camera's view. Each pixel of the camera is a weighted mean of the world within one pixel of its
 * centre. */
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
