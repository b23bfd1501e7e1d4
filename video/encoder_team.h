/* Private: an encoder (video/encoder.h) in several contexts beside each other, for a codec whose
 * packets do not depend on each other: frame i goes to context i % count. libavcodec spreads some
 * such codecs (FFV1) only over the slices of a picture, whose threads then wait for each other at
 * every frame. A team of one is the encoder itself, without a thread. */
#ifndef BD_VIDEO_ENCODER_TEAM_H
#define BD_VIDEO_ENCODER_TEAM_H

#include "video/encoder.h"

struct bd_encoder_team;

/* How many contexts pay for this plan and size on this machine: 1 for codecs whose packets depend
 * on each other, or that libavcodec spreads well, and for small pictures. */
int bd_encoder_team_size(const struct bd_writer_plan *plan,
                         const struct bd_writer_options *options);

/* As bd_encoder_open, `count` times; with more than one, each has a thread of its own and `threads`
 * is not looked at. */
enum bd_status bd_encoder_team_open(struct bd_encoder_team **team, const char *path,
                                    const struct bd_writer_plan *plan,
                                    const struct bd_writer_options *options, bool global_header,
                                    int threads, int count);

/* For the stream's codec parameters, which are those of all contexts. */
const AVCodecContext *bd_encoder_team_context(const struct bd_encoder_team *team);

/* As bd_encoder_send. What bd_encoder_team_receive has ready must be taken before the next call. */
enum bd_status bd_encoder_team_send(struct bd_encoder_team *team, const struct bd_frame *frame,
                                    int64_t number);

/* As bd_encoder_receive: packets come in the order of the frames. Waits when every context has a
 * frame, and after the last frame. */
enum bd_status bd_encoder_team_receive(struct bd_encoder_team *team, AVPacket *packet);

/* Closes and nulls. Safe on NULL. */
void bd_encoder_team_close(struct bd_encoder_team **team);

#endif
