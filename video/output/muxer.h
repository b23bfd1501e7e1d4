/* Private: packets to a container file through libavformat. */
#ifndef BD_VIDEO_OUTPUT_MUXER_H
#define BD_VIDEO_OUTPUT_MUXER_H

#include "video/output/recipe.h"
#include "video/output_file.h"

struct bd_muxer;

/* When a packet's picture is shown, in options->time_base. */
struct bd_moment {
    int64_t pts, duration; /* duration 0: not known */
};

/* Writes the header. `part` must outlive the muxer. BD_ERROR_IO with a line about the path.
 * Films with an index (mp4, mov) are written in fragments of a second, each of which plays by
 * itself: what was written before a fault is never lost. */
enum bd_status bd_muxer_open(struct bd_muxer **muxer, struct bd_part *part,
                             const struct bd_writer_plan *plan,
                             const struct bd_writer_options *options, const AVCodecContext *codec);

/* Appends a packet shown at `shown` and decoded at `decoded` (the same but for codecs that
 * reorder). The packet is changed. BD_ERROR_IO when the disk is full. */
enum bd_status bd_muxer_write(struct bd_muxer *muxer, AVPacket *packet, struct bd_moment shown,
                              int64_t decoded);

/* Writes the trailer, closes and nulls. `whole`: nothing has failed, and fragments become an
 * ordinary film with one index, which more programs can edit. `*plays` is false where something has
 * failed and the file holds not one whole picture. Safe on NULL. */
enum bd_status bd_muxer_close(struct bd_muxer **muxer, bool whole, bool *plays);

#endif
