/* Undoes similarity transforms of pictures and masks. */
#ifndef BD_VIDEO_MOTION_WARP_H
#define BD_VIDEO_MOTION_WARP_H

#include <stdint.h>

#include "video/motion/similarity.h"
#include <backdrop/status.h>

/* Values outside of the input picture. */
enum bd_warp_border {
    BD_WARP_REPLICATE, /* the nearest row or column of the input */
    BD_WARP_KEEP       /* the output keeps its old values there */
};

struct bd_warper;

/* For pictures of width x height with 1 to 4 interleaved channels; `threads` (from 1 on) share a
 * picture. BD_ERROR_ARGUMENT for sizes below 1 and other channels, BD_ERROR_MEMORY. */
enum bd_status bd_warper_create(struct bd_warper **warper, int width, int height, int channels,
                                int threads);
void bd_warper_destroy(struct bd_warper **warper);

/* Undoes a transform: out(p) = in(where the scene at p is seen), by a cubic through four pixels,
 * first along columns, then along rows (Catmull-Rom; Keys 1981; two passes as in Catmull and Smith
 * 1980), to about 1/64 of a pixel's place. `in` and `out`: height rows, `stride` bytes apart, of
 * width x channels bytes, at most as many channels as at the creation; not the same memory. A shift
 * by more than the picture's sides is one by the sides; `turn` and `grow` are limited to 1/16.
 * Pixels are mixed in integers. */
void bd_warp_picture(struct bd_warper *warper, uint8_t *out, int64_t out_stride, const uint8_t *in,
                     int64_t in_stride, int channels, struct bd_similarity by,
                     enum bd_warp_border border);

/* The same for masks (one channel, 0 or 255): 255 where half of what is interpolated between the
 * four nearest is set. Replicates. */
void bd_warp_mask(struct bd_warper *warper, uint8_t *out, int64_t out_stride, const uint8_t *in,
                  int64_t in_stride, struct bd_similarity by);

#endif
