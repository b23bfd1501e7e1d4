/* Averages of areas along one axis of a picture: which samples, with which weights. Private to
 * area.c and to what does the same on a GPU. */
#ifndef BD_VIDEO_AXIS_H
#define BD_VIDEO_AXIS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Weights of a sum: of samples in a column, which then are 16 bits, and of those in a row. */
enum { bd_axis_whole_column = 256, bd_axis_whole_row = 32768 };

/* Result i is the sum of `count[i]` samples from `first[i]` on, times `weights` from `at[i]` on. */
struct bd_axis {
    int results;
    int most; /* of all counts, or more: weights has results x most elements */
    int *first, *count, *at;
    uint16_t *weights;
};

/* Those of a picture: of its pixels, or luma, and of its chroma. */
enum bd_axis_kind {
    bd_axis_columns,
    bd_axis_rows,
    bd_axis_chroma_columns,
    bd_axis_chroma_rows,
    bd_axis_kinds
};

/* From one size of picture to another one. A chroma sample covers 2^shift_x x 2^shift_y pixels. */
struct bd_axis_plan {
    int width, height, small_width, small_height;
    int shift_x, shift_y;
};

/* False: no memory; destroy them nevertheless. */
bool bd_axes_create(struct bd_axis axes[bd_axis_kinds], const struct bd_axis_plan *plan);
void bd_axes_destroy(struct bd_axis axes[bd_axis_kinds]);

#ifdef __cplusplus
}
#endif
#endif
