/* Private: the choice and set-up of a decoder for one stream. */
#ifndef BD_VIDEO_INPUT_LIBAV_DECODER_H
#define BD_VIDEO_INPUT_LIBAV_DECODER_H

#include <libavcodec/avcodec.h>

#include "video/input/libav_input.h"

/* Opens the decoder of in->stream. Files get frame and slice threads, live sources slices only: a
 * frame thread is a frame of delay. `hwaccel` as in bd_reader_options; whether the hardware takes
 * this very stream shows in the first frame (hw_frames_ctx). in->options is consumed; an option
 * that is unknown is BD_ERROR_ARGUMENT, no decoder BD_ERROR_UNSUPPORTED. */
enum bd_status bd_libav_decoder_open(AVCodecContext **decoder, struct bd_libav_input *in,
                                     int threads, const char *hwaccel);

#endif
