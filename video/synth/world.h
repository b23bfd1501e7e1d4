/* The contents of synth scenes: the static street, and the actors that move in it. Private to
 * video/synth. */
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

#endif
