/* Connected components of a picture of two values, on the CPU. They are found on horizontal runs of
 * equal pixels. */
#ifndef BD_SEPARATION_SHARED_COMPONENTS_H
#define BD_SEPARATION_SHARED_COMPONENTS_H

#include <stdbool.h>
#include <stdint.h>

#include <backdrop/status.h>

/* A horizontal run of equal pixels, and its place in a union-find forest. */
struct bd_run {
    int32_t from, to; /* columns, `to` exclusive */
    int32_t parent;   /* run of the same component; itself at the root */
    int32_t area;     /* at the root: pixels of the component */
    bool border;      /* at the root: the component touches the picture's border */
};

struct bd_components {
    int width, height;
    struct bd_run *runs; /* (width + 1) / 2 * height; those of row y are row_first[y] and on */
    int32_t *row_first;  /* height + 1; the last one is the number of runs */
};

/* BD_ERROR_MEMORY leaves *components empty. */
enum bd_status bd_components_create(struct bd_components *components, int width, int height);
void bd_components_destroy(struct bd_components *components);

/* Finds the components of pixels equal to `value`, which touch at sides, or also at corners. All
 * other pixels of the picture (height rows, `stride` bytes apart) are equal to `other`. */
void bd_components_find(struct bd_components *components, const uint8_t *picture, int64_t stride,
                        uint8_t value, uint8_t other, bool corners);

/* The root of the component of run i: its first run. */
int32_t bd_components_root(struct bd_components *components, int32_t i);

#endif
