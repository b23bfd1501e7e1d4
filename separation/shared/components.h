/* Connected components of a picture of two values, on the CPU. They are found on horizontal runs of
 * equal pixels. */
#ifndef BD_SEPARATION_SHARED_COMPONENTS_H
#define BD_SEPARATION_SHARED_COMPONENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <backdrop/status.h>

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

/* BD_ERROR_MEMORY leaves *components empty. */
enum bd_status bd_components_create(struct bd_components *components, int width, int height);
void bd_components_destroy(struct bd_components *components);

/* Finds the components of pixels equal to `value`, which touch at sides, or also at corners. All
 * other pixels of the picture (height rows, `stride` bytes apart) are equal to `other`. */
void bd_components_find(struct bd_components *components, const uint8_t *picture, int64_t stride,
                        uint8_t value, uint8_t other, bool corners);

/* The root of the component of run i. */
int32_t bd_components_root(struct bd_components *components, int32_t i);

#endif
