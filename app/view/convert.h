/* Converts frames to the format of textures: 32 bits a pixel, 0xAARRGGBB in machine order. */
#ifndef BD_APP_VIEW_CONVERT_H
#define BD_APP_VIEW_CONVERT_H

#include <stdbool.h>

#include "video/frame.h"

/* Sides of `src` divided by `factor` (>= 1), rounded up. */
int bd_view_reduced(int side, int factor);

/* Converts `src`, averaging blocks of factor x factor pixels into one: sampling a texture at less
 * than half its size would flicker. `dst` has bd_view_reduced(height) rows, `pitch` bytes apart, of
 * bd_view_reduced(width) pixels. Colours of BD_RGBA32 are averaged by their alpha. With `binary`
 * (masks) a block is 255 if half of it or more is, else 0. */
void bd_view_convert(void *dst, int pitch, const struct bd_frame *src, int factor, bool binary);

#endif
