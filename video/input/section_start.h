/* Private: where sections of a film start (sections.h). */
#ifndef BD_VIDEO_INPUT_SECTION_START_H
#define BD_VIDEO_INPUT_SECTION_START_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>

/* Whether it is known where sections of a codec (enum AVCodecID) start. */
bool bd_sections_known(enum AVCodecID codec);

/* Whether a packet of the stream, of such a codec, starts a section. */
bool bd_sections_start(const AVCodecContext *decoder, const AVPacket *packet);

/* The parameters that a packet brings. They hold for later sections too, until one brings all of
 * its own. */
enum bd_parameters { BD_PARAMETERS_NONE, BD_PARAMETERS_SOME, BD_PARAMETERS_ALL };

/* Those of a packet of the stream. */
enum bd_parameters bd_sections_parameters(const AVCodecContext *decoder, const AVPacket *packet);

#endif
