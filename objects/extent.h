/* Boxes: rectangles in pixels, with real edges. */
#ifndef BD_OBJECTS_EXTENT_H
#define BD_OBJECTS_EXTENT_H

#include <math.h>

struct bd_extent {
    double left, top, right, bottom;
};

static inline double bd_extent_width(const struct bd_extent *a)
{
    return a->right - a->left;
}

static inline double bd_extent_height(const struct bd_extent *a)
{
    return a->bottom - a->top;
}

static inline double bd_extent_area(const struct bd_extent *a)
{
    return bd_extent_width(a) * bd_extent_height(a);
}

/* Pixels between the two from side to side (_x) and from above to below (_y); negative: how far
 * they overlap. */
static inline double bd_extent_gap_x(const struct bd_extent *a, const struct bd_extent *b)
{
    return fmax(a->left, b->left) - fmin(a->right, b->right);
}

static inline double bd_extent_gap_y(const struct bd_extent *a, const struct bd_extent *b)
{
    return fmax(a->top, b->top) - fmin(a->bottom, b->bottom);
}

/* Pixels that both cover. */
static inline double bd_extent_shared(const struct bd_extent *a, const struct bd_extent *b)
{
    const double x = -bd_extent_gap_x(a, b), y = -bd_extent_gap_y(a, b);
    return x > 0 && y > 0 ? x * y : 0;
}

/* The smallest box around both. */
static inline struct bd_extent bd_extent_union(const struct bd_extent *a, const struct bd_extent *b)
{
    return (struct bd_extent){ fmin(a->left, b->left), fmin(a->top, b->top),
                               fmax(a->right, b->right), fmax(a->bottom, b->bottom) };
}

#endif
