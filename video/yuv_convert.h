/* Decoded pictures (yuv.h) become gray or RGB of the same size, a pixel a sample of luma: what
 * area.h makes of them too, in less than half of the time. */
#ifndef BD_VIDEO_YUV_CONVERT_H
#define BD_VIDEO_YUV_CONVERT_H

#include <stdbool.h>

#include "video/frame.h"
#include "video/yuv_rgb.h"

/* Whether `src` has a decoded picture that bd_yuv_convert takes, and `dst` is of its size, gray or
 * RGB. */
bool bd_yuv_convert_suits(const struct bd_frame *dst, const struct bd_frame *src);

/* Fills the pixels of `dst` from src->yuv, whose samples have been fetched; its times are left
 * alone. */
void bd_yuv_convert(struct bd_frame *dst, const struct bd_frame *src);

/* `count` values of luma, and of U and V, in units of 1/128 (bd_yuv_unit), to bytes. */
void bd_yuv_make_gray(uint8_t *out, const int16_t *y, int count, struct bd_yuv_matrix m);
void bd_yuv_make_colours(uint8_t *red, uint8_t *green, uint8_t *blue, const int16_t *y,
                         const int16_t *u, const int16_t *v, int count, struct bd_yuv_matrix m);

#endif
