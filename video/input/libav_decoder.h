/* Private: the choice and set-up of a decoder for one stream, and the properties of that stream,
 * from its headers and its first frame. */
#ifndef BD_VIDEO_INPUT_LIBAV_DECODER_H
#define BD_VIDEO_INPUT_LIBAV_DECODER_H

#include <libavcodec/avcodec.h>

#include "video/input/convert.h"
#include "video/input/libav_input.h"

/* Opens the decoder of in->stream. Files get frame and slice threads, live sources slices only: a
 * frame thread is a frame of delay. `hwaccel` as in bd_reader_options; whether the hardware takes
 * this very stream shows in the first frame (hw_frames_ctx). in->options is consumed; an option
 * that is unknown is BD_ERROR_ARGUMENT, no decoder BD_ERROR_UNSUPPORTED. `surfaces` of the hardware
 * may hold frames that were received. */
enum bd_status bd_libav_decoder_open(AVCodecContext **decoder, struct bd_libav_input *in,
                                     int threads, const char *hwaccel, int surfaces);

/* Around what empties a decoder, and its first frame: one of the hardware is made then, or made
 * anew, for which all of a GPU is waited for (bd_picture_ops). `device` may be NULL. */
void bd_libav_decoder_waits(const AVCodecContext *decoder, struct bd_device *device, bool begins);

/* Nulls; accepts NULL in *decoder. */
void bd_libav_decoder_close(AVCodecContext **decoder, struct bd_device *device);

/* Copies a picture of the hardware to `to` (fresh, or from an earlier call), in system memory.
 * BD_ERROR_BACKEND. */
enum bd_status bd_libav_fetch(AVFrame *to, const AVFrame *picture, const char *name);

/* How the pictures are to be turned: by the display matrix of the first frame, or else of the
 * stream. An angle that is not made of quarter turns is logged and left out. */
struct bd_turn bd_libav_turn(const struct bd_libav_input *in, const AVFrame *first);

/* Fills in all of `info`. */
void bd_libav_describe(struct bd_reader_info *info, const struct bd_libav_input *in, AVFrame *first,
                       struct bd_turn turn);

#endif
