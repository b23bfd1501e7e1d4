/* The contents of synth scenes: the static street, and the actors that move in it; and a shaking
 * camera that sees them. Private to video/synth. */
#ifndef BD_VIDEO_SYNTH_WORLD_H
#define BD_VIDEO_SYNTH_WORLD_H

#include "video/synth/paint.h"
#include "video/synth/synth.h"

enum { BD_SYNTH_QUAY = 224 /* units from the top: where the river's near bank begins */ };

/* Paints all that is in the scene at frame `index`, but for what bd_synth_render adds to each pixel
 * (the change of light and noise). */
void bd_synth_paint_scene(const struct bd_synth_canvas *canvas, const struct bd_synth_scene *scene,
                          uint32_t seed, int64_t index);

/* Paints it, and renders it with a shaking camera if the scene has one. The truth is left as
 * painting leaves it (see bd_synth_finish_truth). BD_ERROR_MEMORY. */
enum bd_status bd_synth_paint_view(const struct bd_synth_canvas *canvas,
                                   const struct bd_synth_scene *scene, uint32_t seed,
                                   int64_t index);

/* Paints what stands behind all objects over the whole picture: houses, pavements, road and a tree,
 * whose leaves move with `index` if the scene sways; or what the scene's place has instead. */
void bd_synth_paint_world(const struct bd_synth_canvas *canvas, const struct bd_synth_scene *scene,
                          uint32_t seed, int64_t index);

/* The water of a river; it mirrors what is painted above it. */
void bd_synth_paint_river(const struct bd_synth_canvas *canvas, const struct bd_synth_scene *scene,
                          uint32_t seed, int64_t index);

/* Makes the ground mirror, in ripples, what is painted above it. */
void bd_synth_paint_wet_ground(const struct bd_synth_canvas *canvas,
                               const struct bd_synth_scene *scene, uint32_t seed, int64_t index);

/* Paints the people, cars and boats whose feet are from `top` to below `bottom` units from the top,
 * with shadows, or reflections on wet ground and water, as at frame `index`. */
void bd_synth_paint_actors(const struct bd_synth_canvas *canvas, const struct bd_synth_scene *scene,
                           uint32_t seed, int64_t index, int top, int bottom);

/* The number of the passage that the actor `only` (1 to BD_SYNTH_MOST_OBJECTS) is on in a picture
 * `width` u8 wide, as in struct bd_synth_object; 0: it takes no part in the scene. */
int64_t bd_synth_passage(const struct bd_synth_scene *scene, int only, int64_t index,
                         int64_t width);

/* A car as its lamps need it. */
struct bd_synth_car {
    int64_t front;          /* u8 from the left */
    int64_t ground, length; /* u8 */
    int direction;
};

/* The cars at frame `index` of a picture `width` u8 wide, also those outside of it; their number,
 * at most `most`. */
int bd_synth_find_cars(const struct bd_synth_scene *scene, uint32_t seed, int64_t index,
                       int64_t width, struct bd_synth_car *cars, int most);

/* A crown before the camera: it hides what is painted so far. */
void bd_synth_paint_crown(const struct bd_synth_canvas *canvas, const struct bd_synth_scene *scene,
                          uint32_t seed, int64_t index);

/* Falling drops, where they hit the ground, and veils of them. */
void bd_synth_paint_rain(const struct bd_synth_canvas *canvas, const struct bd_synth_scene *scene,
                         uint32_t seed, int64_t index);

/* Takes the daylight away, and lights what lamps, head lights and a screen reach. */
void bd_synth_paint_night(const struct bd_synth_canvas *canvas, const struct bd_synth_scene *scene,
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

/* A rowing boat with two people: `stern` is its rear end at the water, `length` in px8; `stroke` is
 * the turn/65536 of the oars. */
void bd_synth_paint_boat(const struct bd_synth_canvas *canvas, struct bd_synth_point stern,
                         int32_t length, int direction, int64_t stroke, uint32_t look);

/* The world that a shaking camera sees, painted with a margin around the camera's view: at twice
 * the resolution, where each pixel of the camera is a weighted mean of the world within one pixel
 * of its centre; or, for an open shutter, at the camera's own (see handheld.c). */
struct bd_synth_camera {
    struct bd_frame picture, truth; /* the world; either may be empty */
    struct bd_synth_canvas canvas;  /* for painting it */
    int32_t *row;                   /* scratch */
    struct bd_synth_point at;       /* corner of the camera's view, in px8 of the world */
};

/* The shift of the scene in frame `index`, in 1/256 pixels of a picture of `height`: at most the
 * scene's `shake` in either direction. It is a sum of three sines with gusts. */
struct bd_synth_point bd_synth_shake(const struct bd_synth_scene *scene, int height, int64_t index);

/* Where a camera held by hand points: the shift of the scene as in bd_synth_shake, and its rotation
 * about the middle of the picture, radians/65536. */
struct bd_synth_pose {
    struct bd_synth_point shift;
    int32_t roll;
};

/* The pose at `time` (65536 is a second): at most the scene's `shake` in either direction, and its
 * `roll`. The hand wanders, and trembles at times. */
struct bd_synth_pose bd_synth_pose(const struct bd_synth_scene *scene, int height, int64_t time);

/* Pixels of margin that the scene's roll needs. */
int bd_synth_roll_margin(const struct bd_synth_scene *scene, int width, int height);

/* bd_synth_camera_expose for a scene with an open shutter: the mean over the exposure that begins
 * at frame `index`. */
void bd_synth_handheld_expose(const struct bd_synth_camera *camera,
                              const struct bd_synth_scene *scene, int64_t index,
                              struct bd_frame *picture, struct bd_frame *truth);

/* Width in u8 of what is painted for a picture of width x height: with the margin of a camera that
 * shakes. */
int64_t bd_synth_painted_width(const struct bd_synth_scene *scene, int width, int height);

/* Makes the canvas for frame `index` of a camera with pictures of width x height; its truth is
 * cleared. BD_ERROR_MEMORY. */
enum bd_status bd_synth_camera_open(struct bd_synth_camera *camera,
                                    const struct bd_synth_scene *scene, int width, int height,
                                    int64_t index, bool picture, bool truth);

/* Computes the picture (BD_RGB24) and the truth (BD_GRAY8, as painting leaves it; see
 * bd_synth_finish_truth) of a scene whose shutter is open for no time. Either may be NULL, as at
 * the opening. */
void bd_synth_camera_expose(const struct bd_synth_camera *camera, struct bd_frame *picture,
                            struct bd_frame *truth);
void bd_synth_camera_close(struct bd_synth_camera *camera);

#endif
