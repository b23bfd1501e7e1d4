/* Similarity transforms of a picture: shift, rotation and zoom. */
#ifndef BD_VIDEO_MOTION_SIMILARITY_H
#define BD_VIDEO_MOTION_SIMILARITY_H

#include <math.h>
#include <stdbool.h>

struct bd_point {
    double x, y;
};

/* The scene at p is seen at ((1 + grow) p.x - turn p.y + x, turn p.x + (1 + grow) p.y + y). Points
 * are measured from the centre of the picture, to the right and down, pixels. A rotation by an
 * angle and a zoom by a factor have turn = factor sin(angle) and grow = factor cos(angle) - 1. All
 * zero: the scene is where it was. */
struct bd_similarity {
    double x, y, turn, grow;
};

static inline struct bd_point bd_similarity_apply(struct bd_similarity t, struct bd_point p)
{
    struct bd_point seen = { p.x + t.x + t.grow * p.x - t.turn * p.y,
                             p.y + t.y + t.turn * p.x + t.grow * p.y };
    return seen;
}

/* a after b. */
static inline struct bd_similarity bd_similarity_after(struct bd_similarity a,
                                                       struct bd_similarity b)
{
    struct bd_point from = { b.x, b.y }, at = bd_similarity_apply(a, from);
    struct bd_similarity both = { at.x, at.y, a.turn + b.turn + a.turn * b.grow + a.grow * b.turn,
                                  a.grow + b.grow + a.grow * b.grow - a.turn * b.turn };
    return both;
}

static inline struct bd_similarity bd_similarity_inverse(struct bd_similarity t)
{
    double square = (1 + t.grow) * (1 + t.grow) + t.turn * t.turn;
    struct bd_similarity back = { 0, 0, -t.turn / square, (1 + t.grow) / square - 1 };
    struct bd_point from = { t.x, t.y }, at = bd_similarity_apply(back, from);
    back.x = -at.x;
    back.y = -at.y;
    return back;
}

/* From a to b: what has happened to a picture seen under a until it is seen under b. */
static inline struct bd_similarity bd_similarity_between(struct bd_similarity a,
                                                         struct bd_similarity b)
{
    return bd_similarity_after(b, bd_similarity_inverse(a));
}

/* The larger shift of both directions. */
static inline double bd_similarity_shift(struct bd_similarity t)
{
    return fmax(fabs(t.x), fabs(t.y));
}

/* How far rotation and zoom alone move a corner of a picture, in the larger of both directions. */
static inline double bd_similarity_bend(struct bd_similarity t, int width, int height)
{
    return fmax(fabs(t.turn) * height + fabs(t.grow) * width,
                fabs(t.turn) * width + fabs(t.grow) * height) /
           2;
}

/* At most how far a pixel of a picture moves in either direction. */
static inline double bd_similarity_size(struct bd_similarity t, int width, int height)
{
    return bd_similarity_shift(t) + bd_similarity_bend(t, width, height);
}

static inline bool bd_similarity_is_none(struct bd_similarity t)
{
    return t.x == 0 && t.y == 0 && t.turn == 0 && t.grow == 0;
}

#endif
