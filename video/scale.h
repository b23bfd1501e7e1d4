/* Scaling and colour conversion between frames: averages of areas by area.h, all else by
 * libswscale.
 */
#ifndef BD_VIDEO_SCALE_H
#define BD_VIDEO_SCALE_H

#include "video/frame.h"

struct bd_scaler; /* for one pair of sizes and formats at a time; one thread at a time */

enum bd_scale_filter {
    BD_SCALE_AREA,     /* for making pictures smaller */
    BD_SCALE_BILINEAR, /* for making them larger */
    BD_SCALE_NEAREST
};

/* Makes a scaler of `threads` threads; 0: one a core for large pictures. */
enum bd_status bd_scaler_create(struct bd_scaler **scaler, int threads);

/* Scales `src` into `dst` (created by the caller: its size and format say what is wanted), copying
 * index and times. BD_SCALE_AREA takes the decoded picture of `src` where it has one; the others
 * need its pixels. `*scaler` is created on the first call where it is NULL, of 0 threads, and
 * remade when sizes or formats change; same size and format is a plain copy. */
enum bd_status bd_scale(struct bd_scaler **scaler, struct bd_frame *dst, const struct bd_frame *src,
                        enum bd_scale_filter filter);

void bd_scaler_destroy(struct bd_scaler **scaler);

#endif
