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

/* For `results` averages over `length` pixels, of which a sample covers 2^shift; the weights of
 * each are `whole` together. False: no memory; destroy it nevertheless. */
bool bd_axis_create(struct bd_axis *axis, int results, int length, int shift, int whole);
void bd_axis_destroy(struct bd_axis *axis);

#ifdef __cplusplus
}
#endif
#endif
