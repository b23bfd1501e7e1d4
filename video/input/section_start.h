/* Private: where sections of a film start (sections.h). */
#ifndef BD_VIDEO_INPUT_SECTION_START_H
#define BD_VIDEO_INPUT_SECTION_START_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>

/* Whether it is known where sections of a codec (enum AVCodecID) start. */
bool bd_sections_known(enum AVCodecID codec);

/* Whether a packet of the stream, of such a codec, starts a section. */
bool bd_sections_start(const AVCodecContext *decoder, const AVPacket *packet);

/* Whether a packet of the stream brings parameters. They hold for later sections too, until one
 * brings its own. */
bool bd_sections_parameters(const AVCodecContext *decoder, const AVPacket *packet);

#endif
