/* From the processing size to the size of the input. */
#ifndef BD_VIDEO_UPSCALE_H
#define BD_VIDEO_UPSCALE_H

#include "base/pool.h"
#include "video/frame.h"

/* The position of a full-size row or column among the small ones. */
struct bd_place {
    int cell;  /* the small pixel it falls into */
    int first; /* of the two that are interpolated; the other is `second` */
    int second;
    int fraction; /* of `second`, 0..256 */
};

/* Of row or column i of `count`, which stand for `small` ones. */
struct bd_place bd_upscale_place(int i, int count, int small);

struct bd_upscaler;

/* What was found at the processing size; tight rows. */
struct bd_small_result {
    int width, height, channels; /* 1 gray, 3 rgb */
    const uint8_t *background;   /* height x width x channels */
    const uint8_t *difference;   /* |f - l|, height x width */
    const uint8_t *mask;         /* 0 or 255, height x width */
    double threshold;            /* least difference that is foreground, grey levels */
};

/* Workspace for pictures of width x height that were processed at small_width x small_height, which
 * is at most as large in both directions. The work is done by the threads of `pool`, which must
 * outlive the upscaler. */
enum bd_status bd_upscaler_create(struct bd_upscaler **upscaler, struct bd_pool *pool, int width,
                                  int height, int small_width, int small_height);
void bd_upscaler_destroy(struct bd_upscaler **upscaler);

/* Fills `mask` (BD_GRAY8, width x height, created by the caller): away from the border of the small
 * mask a copy of it; along the border, in a band of one small pixel to either side, each pixel is
 * decided by its own difference between `input` (BD_GRAY8 or BD_RGB24, width x height) and the
 * enlarged background, so that the mask follows the edges of the full picture. A picture in the
 * memory of a GPU (device.h) is compared there; failures are those of that GPU. */
enum bd_status bd_upscale_mask(struct bd_upscaler *upscaler, struct bd_frame *mask,
                               const struct bd_frame *input, const struct bd_small_result *small);

#endif
