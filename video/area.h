/* Makes pictures smaller: each pixel becomes the average of the area that it covers. Integers
 * alone, so that the same picture gives the same bytes on every machine. Decoded pictures (yuv.h)
 * are averaged before they become RGB: no RGB picture of full size is made. */
#ifndef BD_VIDEO_AREA_H
#define BD_VIDEO_AREA_H

#include <stdbool.h>

#include "video/frame.h"

struct bd_area; /* for one pair of sizes and formats; one thread at a time */

/* Makes one for pictures such as `src` and `dst`: from src->yuv, or where that is NULL from gray or
 * RGB pixels, to gray or RGB of at most that size. NULL in *area where it is another pair.
 * BD_ERROR_MEMORY. */
enum bd_status bd_area_create(struct bd_area **area, const struct bd_frame *dst,
                              const struct bd_frame *src);

/* Whether it was made for such pictures. */
bool bd_area_suits(const struct bd_area *area, const struct bd_frame *dst,
                   const struct bd_frame *src);

/* Fills the pixels of `dst`; its times are left alone. Errors are at most 1.5
 * levels, 0.4 in the root mean square (of which rounding is 0.29). */
void bd_area_average(struct bd_area *area, struct bd_frame *dst, const struct bd_frame *src);

void bd_area_destroy(struct bd_area **area);

#endif
