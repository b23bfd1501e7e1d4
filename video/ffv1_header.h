/* Private: the range-coded parts of an FFV1 stream (RFC 9043) as video/ffv1.h makes it. */
#ifndef BD_VIDEO_FFV1_HEADER_H
#define BD_VIDEO_FFV1_HEADER_H

#include <stddef.h>

#include "video/frame.h"

/* Room for either. */
enum { bd_ffv1_header_most = 128 };

/* The configuration record (section 4.3): version 3, Golomb-Rice, 8-bit gray, one slice, key frames
 * alone, checksums; one set of quantisation tables, in which the differences to the left, above and
 * to the upper right count by their sign: 14 contexts. Returns its size. */
size_t bd_ffv1_write_record(uint8_t *to);

/* What a key frame begins with (sections 4.4, 4.6): the mark of a key frame and the header of its
 * slice, ended as the Golomb-Rice coded bits want it (section 3.8.1.1.1). Returns its size. */
size_t bd_ffv1_write_header(uint8_t *to, struct bd_rational aspect);

#endif
