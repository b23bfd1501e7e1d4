/* Connected components of a picture of two values, as a mask, on the CPU. They are found on
 * horizontal runs of equal pixels. */
#ifndef BACKDROP_COMPONENTS_H
#define BACKDROP_COMPONENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <backdrop/api.h>
#include <backdrop/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A horizontal run of equal pixels, and its place in a union-find forest. */
struct bd_run {
    int32_t y, from, to; /* row and columns, `to` exclusive */
    int32_t parent;      /* run of the same component; itself at the root, its first run */
    /* At the root, of the component, whose first row is y: */
    int32_t area;                /* pixels */
    int32_t left, right, bottom; /* inclusive */
};

struct bd_components {
    int width, height;
    struct bd_run *runs; /* bd_components_most, row by row */
    int32_t count;       /* of them */
};

/* The most runs that a picture can have. */
static inline size_t bd_components_most(int width, int height)
{
    return ((size_t)width + 1) / 2 * (size_t)height;
}

/* Room for pictures of that size, sides 1 to 32768. BD_ERROR_ARGUMENT, BD_ERROR_MEMORY: *components
 * is empty then. */
BD_API enum bd_status bd_components_create(struct bd_components *components, int width, int height);

/* Leaves *components empty. NULL and empty ones are no error. */
BD_API void bd_components_destroy(struct bd_components *components);

/* Finds the components of pixels equal to `value`, which touch at sides, or also at corners. The
 * picture has the rows and columns of *components, its rows `stride` bytes apart, at least a row's
 * width. All its other pixels are equal to `other`, which differs from `value`: a pixel that is
 * neither belongs to the run that it follows, or to none. Nothing is found where *components is
 * NULL or empty, `picture` is NULL or the two values are the same. Takes time in proportion to the
 * pixels and allocates nothing. */
BD_API void bd_components_find(struct bd_components *components, const uint8_t *picture,
                               int64_t stride, uint8_t value, uint8_t other, bool corners);

/* The root of the component of run i; 0 where there is no such run. The components of a picture are
 * those runs i whose root is i. */
BD_API int32_t bd_components_root(struct bd_components *components, int32_t i);

#ifdef __cplusplus
}
#endif

#endif
