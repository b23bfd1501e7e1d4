/* Private: bd_frames to encoded packets: colour conversion and libavcodec. */
#ifndef BD_VIDEO_OUTPUT_ENCODER_H
#define BD_VIDEO_OUTPUT_ENCODER_H

#include <libavcodec/avcodec.h>

#include "video/output/recipe.h"

struct bd_encoder;

/* Opens the planned encoder for frames as in `options`. `path` is for messages, and must outlive
 * the encoder; `threads` as in libavcodec (0: one a core). BD_ERROR_UNSUPPORTED if the encoder
 * refuses the size. */
enum bd_status bd_encoder_open(struct bd_encoder **encoder, const char *path,
                               const struct bd_writer_plan *plan,
                               const struct bd_writer_options *options, int threads);

/* For the stream's codec parameters. */
const AVCodecContext *bd_encoder_context(const struct bd_encoder *encoder);

/* Converts a frame, which is not kept. Where there is nothing to convert and its pixels are shared
 * (video/frame_pool.h), the encoder keeps a reference to them instead. Its packet will carry
 * `number` as its pts: numbers go up by one. */
enum bd_status bd_encoder_take(struct bd_encoder *encoder, const struct bd_frame *frame,
                               int64_t number);

/* Encodes the frame that was taken. */
enum bd_status bd_encoder_send(struct bd_encoder *encoder);

/* Says that no more frames will come. */
enum bd_status bd_encoder_end(struct bd_encoder *encoder);

/* The next packet, or BD_END when the encoder has none now. */
enum bd_status bd_encoder_receive(struct bd_encoder *encoder, AVPacket *packet);

/* Closes and nulls. Safe on NULL. */
void bd_encoder_close(struct bd_encoder **encoder);

#endif
