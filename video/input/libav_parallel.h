/* Private: more decoders for the stream of an input, so that a GPU decodes several sections of it
 * at the same time (sections.h) and keeps their frames in memory of its own (video/device.h). */
#ifndef BD_VIDEO_INPUT_LIBAV_PARALLEL_H
#define BD_VIDEO_INPUT_LIBAV_PARALLEL_H

#include "video/input/convert.h"
#include "video/input/libav_input.h"
#include "video/input/sections.h"

struct bd_libav_parallel;

struct bd_libav_parallel_options {
    struct bd_libav_input *input;
    AVCodecContext *first;       /* the decoder that the input has; stays the caller's */
    const AVDictionary *options; /* that it was opened with */
    const char *hwaccel;
    int decoders; /* wanted, the first one included */
    struct bd_converter *converter;
};

/* Starts them, where the stream and its pictures allow it: `frame` is one. NULL in *parallel where
 * not, or where more decoders cannot be had. From then on packets and frames pass through
 * bd_libav_parallel_sections, not through `first`. */
void bd_libav_parallel_start(struct bd_libav_parallel **parallel,
                             const struct bd_libav_parallel_options *options, const AVFrame *frame);

struct bd_sections *bd_libav_parallel_sections(struct bd_libav_parallel *parallel);

/* The picture of a received frame, with a reference for the caller; NULL: it is one of the decoder.
 */
struct bd_yuv *bd_libav_parallel_picture(const AVFrame *frame);

/* Safe on NULL; nulls. */
void bd_libav_parallel_close(struct bd_libav_parallel **parallel);

#endif
