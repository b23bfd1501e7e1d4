/* Private: bytes for gray films of more than 8 bits that span few of their levels, such as those of
 * thermal cameras, whose upper bytes are all the same.
 *
 * A tone curve maps levels to bytes. It is increasing, and steep where the first picture's levels
 * lie: a byte for the noise of a pixel, or as steep as 254 bytes allow. Away from these levels it
 * goes on as a logarithm, so that something much warmer than all that was seen still differs.
 *
 * Uncooled cameras drift, and jump when their shutter calibrates them, by the same amount in all
 * pixels. So the median difference of a picture from the first one, over some thousand pixels, is
 * subtracted before the curve. It holds for a standing camera, and does not depend on the pictures
 * between: every reader of a film gives the same bytes, wherever it starts.
 *
 * The curve stays, since the separator compares bytes of different times. It is made anew when a
 * third of the picture has been outside its steep part for tone_curve_patience pictures in a row: a
 * change of light to the separator, which then learns again. */
#ifndef BD_VIDEO_INPUT_TONE_CURVE_H
#define BD_VIDEO_INPUT_TONE_CURVE_H

#include <stdbool.h>

#include "video/frame.h"

struct AVFrame;
struct bd_tone_curve;

enum { bd_tone_curve_patience = 100 };

/* Makes the curve of a film that starts with `first`. *curve is NULL where there is nothing to
 * gain: the film has colours or 8 bits, or a curve would be less than four times as steep as the
 * usual conversion. BD_ERROR_MEMORY. */
enum bd_status bd_tone_curve_create(struct bd_tone_curve **curve, const struct AVFrame *first);
void bd_tone_curve_destroy(struct bd_tone_curve **curve);

/* Whether `src` has the size and format of the first picture: the curve is for no other. */
bool bd_tone_curve_fits(const struct bd_tone_curve *curve, const struct AVFrame *src);

/* The bytes of `src`, to all channels of `dst`, which is at least as large. */
void bd_tone_curve_run(struct bd_tone_curve *curve, struct bd_frame *dst,
                       const struct AVFrame *src);

#endif
