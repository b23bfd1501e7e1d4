/* Full-size pictures made from the input and its mask. All frames have the same size; the results
 * must have been created with their format, and get index and times of the input. */
#ifndef BD_APP_PIPELINE_OVERLAY_H
#define BD_APP_PIPELINE_OVERLAY_H

#include "video/frame.h"

/* `foreground` (BD_RGBA32): the input (BD_RGB24 or BD_GRAY8) where `mask` is 255, alpha = mask; all
 * zero elsewhere. */
void bd_foreground_draw(struct bd_frame *foreground, const struct bd_frame *input,
                        const struct bd_frame *mask);

/* Changes the RGB of foreground pixel (x, y) to that of the overlay: tinted, or the line of the
 * border. In `mask` (BD_GRAY8), 128 and more are foreground. */
void bd_overlay_tint(uint8_t *pixel, const struct bd_frame *mask, int x, int y);

/* `overlay` (BD_RGB24): the input with the mask tinted and its border drawn. */
void bd_overlay_draw(struct bd_frame *overlay, const struct bd_frame *input,
                     const struct bd_frame *mask);

#endif
