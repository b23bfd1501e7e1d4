/* Rendered scenes with exact truth masks, for tests, the demo and benchmarks. Seeded and
 * deterministic: the same name, size, seed and frame index give the same bytes everywhere. */
#ifndef BD_VIDEO_SYNTH_SYNTH_H
#define BD_VIDEO_SYNTH_SYNTH_H

#include <stdbool.h>

#include "video/frame.h"

/* Where a scene is. */
enum bd_synth_place {
    BD_SYNTH_STREET, /* houses, pavements and a road */
    BD_SYNTH_PARK,   /* a road between meadows under the sky, and a crown before the camera */
    BD_SYNTH_RIVER   /* houses beyond a river, seen from a quay */
};

/* What a scene contains; any combination. */
struct bd_synth_scene {
    const char *name;        /* as in synth:NAME */
    const char *description; /* one line for `backdrop info` and --help */
    int width, height;
    int frame_count;
    int fps;
    double noise;           /* standard deviation of the sensor noise, grey levels */
    int objects;            /* moving objects at a time */
    bool shadows;           /* objects cast soft shadows (not foreground in the truth) */
    bool sun;               /* these are dark and bluish: only the sky lights them */
    double light_drift;     /* amplitude of the slow change of light, fraction of brightness */
    bool sway;              /* a region of foliage that moves without being foreground */
    int stop_from, stop_to; /* frames between which one object stops; 0,0: none */
    int light_switch;       /* frame at which the light changes suddenly; 0: never */
    double shake;           /* amplitude of the camera's motion, pixels of a picture of 240 rows;
                               0: none */
    double roll;            /* amplitude of its rotation, degrees; needs exposure */
    double exposure;        /* share of a frame's time for which its shutter is open; needs shake */
    enum bd_synth_place place;
    bool rain;  /* falling drops, and a wet ground that mirrors */
    bool night; /* dark but for lamps, head lights, which move over a wet road, and a screen */
    bool crowd; /* people who cross each other's ways, in place of the street's people and cars */
};

/* The table of scenes; ends with name == NULL. */
extern const struct bd_synth_scene bd_synth_scenes[];

/* NULL if there is no such scene. */
const struct bd_synth_scene *bd_synth_find(const char *name);

/* Renders frame `index` (>= 0, may exceed frame_count) at any width and height (0: the scene's
 * own). `picture` (BD_RGB24) and `truth` (BD_GRAY8; 255 moving object, 50 its shadow, 0 background,
 * as in CDnet) are made to fit; either may be NULL. pts = index, in units of 1/fps.
 * BD_ERROR_ARGUMENT for an index outside 0..INT32_MAX or a side above 32768. */
enum bd_status bd_synth_render(const struct bd_synth_scene *scene, int width, int height,
                               uint64_t seed, int64_t index, struct bd_frame *picture,
                               struct bd_frame *truth);

enum { BD_SYNTH_MOST_OBJECTS = 8 /* in a frame */ };

/* An object of a rendered frame. */
struct bd_synth_object {
    int64_t number;          /* from 1; its own from where it enters the picture to where it leaves,
                                also while something hides it */
    int x, y, width, height; /* the box of its visible pixels */
    int64_t visible;         /* pixels of the truth that are its own, at least 1 */
    int64_t whole;           /* pixels that it would have if nothing hid it */
};

/* The objects of frame `index`, from far to near, by the arguments of bd_synth_render. Each pixel
 * that is 255 in the truth belongs to one object: to the one that covers most of it, as painted
 * over by what is nearer, and seen by the camera; of equal ones to the nearest. So the visible
 * pixels add up to those of the truth. `owners` (BD_GRAY8; NULL: not wanted) is made to fit: 0, or
 * 1 + the place of the owner in `objects`. BD_ERROR_ARGUMENT as above; BD_ERROR_MEMORY. */
enum bd_status bd_synth_find_objects(const struct bd_synth_scene *scene, int width, int height,
                                     uint64_t seed, int64_t index,
                                     struct bd_synth_object objects[BD_SYNTH_MOST_OBJECTS],
                                     int *count, struct bd_frame *owners);

#endif
