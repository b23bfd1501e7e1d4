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

/* As avcodec_flush_buffers and avcodec_send_packet. The first packet after a flush may make a
 * decoder of the hardware anew, and that waits for all of a GPU (bd_picture_ops). *emptied: the
 * decoder got no packet since it was flushed or opened. `device` may be NULL. */
void bd_libav_decoder_flush(AVCodecContext *decoder, struct bd_device *device, bool *emptied);
int bd_libav_decoder_send(AVCodecContext *decoder, const AVPacket *packet, struct bd_device *device,
                          bool *emptied);

/* Sets a decoder of H.264 to skip, or not, the packet that it gets next (NULL: the end): it is
 * skipped where its picture is before `wanted` and no other needs it, else as `otherwise` says.
 * (With frame threads the setting is read for each packet.) H.264 marks such pictures reliably.
 * HEVC does not: a picture that no other of its temporal layer needs may be needed by the layers
 * above. Other decoders stay as they are. */
void bd_libav_decoder_leave_out(AVCodecContext *decoder, const AVPacket *packet, int64_t wanted,
                                enum AVDiscard otherwise);

/* As avcodec_free_context. */
void bd_libav_decoder_close(AVCodecContext **decoder, struct bd_device *device);

/* Copies a picture of the hardware to `to` (fresh, or from an earlier call), in system memory.
 * BD_ERROR_BACKEND. */
enum bd_status bd_libav_fetch(AVFrame *to, const AVFrame *picture, const char *name);

/* What opening returns where decoding the first frame has returned `status`. BD_END becomes
 * BD_ERROR_FORMAT: there is none, and so many packets or frames are damaged. A device that was
 * named but has not decoded the frame is BD_ERROR_UNSUPPORTED. */
enum bd_status bd_libav_check_first(enum bd_status status, const AVFrame *first,
                                    const AVCodecContext *decoder, const struct bd_libav_input *in,
                                    const char *hwaccel, int64_t damaged);

/* How the pictures are to be turned: by the display matrix of the first frame, or else of the
 * stream. An angle that is not made of quarter turns is logged and left out. */
struct bd_turn bd_libav_turn(const struct bd_libav_input *in, const AVFrame *first);

/* Fills in all of `info`. */
void bd_libav_describe(struct bd_reader_info *info, const struct bd_libav_input *in, AVFrame *first,
                       struct bd_turn turn);

#endif
