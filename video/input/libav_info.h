/* Private: properties of an input, from its headers and its first frame. */
#ifndef BD_VIDEO_INPUT_LIBAV_INFO_H
#define BD_VIDEO_INPUT_LIBAV_INFO_H

#include "video/input/convert.h"
#include "video/input/libav_input.h"

/* How the pictures are to be turned: by the display matrix of the first frame, or else of the
 * stream. An angle that is not made of quarter turns is logged and left out. */
struct bd_turn bd_libav_turn(const struct bd_libav_input *in, const AVFrame *first);

/* Fills in all of `info`. */
void bd_libav_describe(struct bd_reader_info *info, const struct bd_libav_input *in, AVFrame *first,
                       struct bd_turn turn);

#endif
