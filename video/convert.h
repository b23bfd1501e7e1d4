/* Decoded pictures (yuv.h) become gray or RGB of the same size, a pixel a sample of luma: what
 * area.h makes of them too, in less than half of the time. */
#ifndef BD_VIDEO_CONVERT_H
#define BD_VIDEO_CONVERT_H

#include <stdbool.h>

#include "video/frame.h"

/* Whether `src` has a decoded picture that bd_convert takes, and `dst` is of its size, gray or RGB.
 */
bool bd_convert_suits(const struct bd_frame *dst, const struct bd_frame *src);

/* Fills the pixels of `dst` from src->yuv, whose samples have been fetched; its times are left
 * alone. */
void bd_convert(struct bd_frame *dst, const struct bd_frame *src);

#endif
