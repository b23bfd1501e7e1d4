/* Private: FFV1 (RFC 9043), version 3, of gray pictures: each a key frame of one slice, Golomb-Rice
 * coded. libavcodec's encoder takes as long for a flat picture as for any, some 5 ns a pixel; this
 * one passes over what is flat, and a mask is flat but for the outlines. It also does without its
 * packet buffer, which is 140 bytes a pixel, zeroed with the first picture. */
#ifndef BD_VIDEO_FFV1_H
#define BD_VIDEO_FFV1_H

#include <stddef.h>

#include "video/frame.h"

struct bd_ffv1;

/* For pictures of width x height, both 1 to 65535, BD_GRAY8. `aspect`: of a pixel; 0/1 where
 * unknown. */
enum bd_status bd_ffv1_create(struct bd_ffv1 **ffv1, int width, int height,
                              struct bd_rational aspect);

/* The configuration record, which the container holds as the codec's private data; `size` bytes,
 * valid until the encoder is gone. */
const uint8_t *bd_ffv1_record(const struct bd_ffv1 *ffv1, size_t *size);

/* Encodes a picture of the agreed size and format: `size` bytes, valid until the next call. Takes
 * no memory. */
const uint8_t *bd_ffv1_encode(struct bd_ffv1 *ffv1, const struct bd_frame *frame, size_t *size);

/* Frees and nulls. Safe on NULL. */
void bd_ffv1_destroy(struct bd_ffv1 **ffv1);

#endif
