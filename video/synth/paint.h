/* Integer drawing for video/synth: hashed noise, and antialiased shapes that are composited onto a
 * picture and, for moving objects, counted into a truth mask. Private to video/synth.
 *
 * Everything is integer arithmetic, so that the same call gives the same bytes on every machine.
 * Shapes are placed in pixels with 8 fractional bits ("px8"), textures in scene units with 8
 * fractional bits ("u8"): a picture is always BD_SYNTH_UNITS units high, whatever its pixels. */
#ifndef BD_VIDEO_SYNTH_PAINT_H
#define BD_VIDEO_SYNTH_PAINT_H

#include <stdbool.h>

#include "video/frame.h"

#define BD_SYNTH_UNITS 240

/* A wet surface: shapes are painted upside down below `axis`, and its ripples move each row to a
 * side. */
struct bd_synth_mirror {
    int32_t axis;   /* px8: the row that stays in place */
    int32_t wobble; /* px8: most that a row moves */
    int64_t time;   /* 65536 is a second */
};

/* What is painted on. While painting, a byte of `truth` holds the coverage by objects (0..127) in
 * its upper seven bits and "in a shadow" in the lowest; bd_synth_finish_truth turns it into 0, 50
 * and 255. Either frame may be NULL. */
struct bd_synth_canvas {
    struct bd_frame *picture;             /* BD_RGB24 */
    struct bd_frame *truth;               /* BD_GRAY8 */
    int width, height;                    /* pixels, of both */
    int transparency;                     /* 0..256, of all that is painted; 0 is opaque */
    const struct bd_synth_mirror *mirror; /* NULL: none */
    int only;    /* number of the one actor that counts into the truth; those that are nearer take
                    from it what they hide; 0: all count */
    bool alone;  /* with `only`: nothing hides that actor */
    bool covers; /* objects hide in the truth what is behind them, and do not count */
};

struct bd_synth_point {
    int32_t x, y; /* px8 */
};

struct bd_synth_color {
    uint8_t r, g, b;
};

/* A sample of a colour, from any number. */
static inline uint8_t bd_synth_byte(int64_t value)
{
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* How a shape is filled. */
struct bd_synth_ink {
    struct bd_synth_color color;
    int grain;     /* amplitude of the texture, grey levels */
    int slope;     /* levels darker at the bottom and lighter at the top of the shape */
    bool object;   /* counts into the truth mask */
    bool hides;    /* takes the objects behind it out of the truth mask */
    uint32_t seed; /* of the texture */
    struct bd_synth_point anchor; /* the texture moves with this point */
};

/* A well mixed 32-bit hash of three numbers. */
uint32_t bd_synth_hash(uint32_t a, uint32_t b, uint32_t c);

/* 64 mixed bits of a counter. */
static inline uint64_t bd_synth_mix64(uint64_t h)
{
    h = (h ^ (h >> 31)) * UINT64_C(0xd6e8feb86659fd93);
    h = (h ^ (h >> 29)) * UINT64_C(0xa0761d6478bd642f);
    return h ^ (h >> 32);
}

/* What looks and places follow from, for the seed of a film. */
static inline uint32_t bd_synth_look(uint64_t seed)
{
    return (uint32_t)(bd_synth_mix64(seed) >> 32);
}

/* Smooth value noise, 0..255, on a lattice of 2^shift u8 (shift 8 is one unit). */
int bd_synth_noise(int64_t x, int64_t y, int shift, uint32_t seed);

/* sin(2 pi turn / 65536) in units of 1/16384, to 0.2 %. */
int bd_synth_sin(int64_t turn);

/* The u8 at the middle of pixel x (or y), and the px8 of a length in u8. */
int64_t bd_synth_unit(const struct bd_synth_canvas *canvas, int64_t pixel);
int32_t bd_synth_px8(const struct bd_synth_canvas *canvas, int64_t u8);

/* Width of the picture in u8. */
int64_t bd_synth_width(const struct bd_synth_canvas *canvas);

/* An upright rectangle; sides in px8, x0 <= x1 and y0 <= y1. */
void bd_synth_rect(const struct bd_synth_canvas *canvas, int32_t x0, int32_t y0, int32_t x1,
                   int32_t y1, const struct bd_synth_ink *ink);

/* A line with round ends whose radius (px8) goes from ra to rb; a == b is a disc. */
void bd_synth_capsule(const struct bd_synth_canvas *canvas, struct bd_synth_point a, int32_t ra,
                      struct bd_synth_point b, int32_t rb, const struct bd_synth_ink *ink);

enum { BD_SYNTH_MAX_CORNERS = 12 };

/* A convex polygon of count <= BD_SYNTH_MAX_CORNERS corners, in either direction of rotation. */
void bd_synth_polygon(const struct bd_synth_canvas *canvas, const struct bd_synth_point *corners,
                      int count, const struct bd_synth_ink *ink);

/* Darkens the ground along a line: a capsule of radius r, three times flatter than wide, with soft
 * edges. depth: how much light its middle takes, of 256, in red, green and blue. Marked as shadow
 * in the truth where more than a quarter of its full depth. */
void bd_synth_shadow(const struct bd_synth_canvas *canvas, struct bd_synth_point a,
                     struct bd_synth_point b, int32_t r, const uint8_t depth[3]);

/* Turns what painting left in the truth frame into 255 (coverage of half or more), 50 and 0. */
void bd_synth_finish_truth(const struct bd_synth_canvas *canvas);

#endif
