/* Private to the CPU backend: connected components of a binary picture (height x width bytes of 0
 * and 1, tight rows), found on horizontal runs of equal pixels. */
#ifndef BD_SEPARATION_CPU_COMPONENTS_H
#define BD_SEPARATION_CPU_COMPONENTS_H

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
    int32_t *row_first;  /* height + 1 */
};

enum bd_status bd_components_create(struct bd_components *components, int width, int height);
void bd_components_destroy(struct bd_components *components);

/* Finds the components of pixels equal to `value`, which touch at sides, or also at corners. */
void bd_components_find(struct bd_components *components, const uint8_t *picture, uint8_t value,
                        bool corners);

/* The run that stands for the component of run i. */
int32_t bd_components_root(struct bd_components *components, int32_t i);

#endif
