/* Private: packets to a container file through libavformat. */
#ifndef BD_VIDEO_OUTPUT_MUXER_H
#define BD_VIDEO_OUTPUT_MUXER_H

#include "video/output/recipe.h"

struct bd_muxer;

/* When a packet's picture is shown, in options->time_base. */
struct bd_moment {
    int64_t pts, duration; /* duration 0: not known */
};

/* Creates the file and writes its header. `path` must outlive the muxer. On failure nothing is left
 * of the file. BD_ERROR_IO with a line about the path. */
enum bd_status bd_muxer_open(struct bd_muxer **muxer, const char *path,
                             const struct bd_writer_plan *plan,
                             const struct bd_writer_options *options, const AVCodecContext *codec);

/* Appends a packet shown at `shown` and decoded at `decoded` (the same but for codecs that
 * reorder). The packet is changed. BD_ERROR_IO when the disk is full. */
enum bd_status bd_muxer_write(struct bd_muxer *muxer, AVPacket *packet, struct bd_moment shown,
                              int64_t decoded);

/* Writes the trailer, closes and nulls. Safe on NULL. */
enum bd_status bd_muxer_close(struct bd_muxer **muxer);

#endif
