/* Private: packets that are read before they are decoded, to find those that need not be decoded.
 * No picture of a section refers to one before it (section_start.h). So all sections before that of
 * a wanted picture are passed over. The plain way sends every packet to the decoder. For pictures
 * 1.2 s apart, of a minute of H.264 in 1920x1080 on two cores, that takes 8.6 s of processor time,
 * and this 5.4 s, where a section has 30 frames; 7.9 and 5.4 s where it has 60, 8.1 and 7.2 s where
 * it has up to 250. These are medians of five. */
#ifndef BD_VIDEO_INPUT_PACKETS_AHEAD_H
#define BD_VIDEO_INPUT_PACKETS_AHEAD_H

#include <libavcodec/avcodec.h>

#include "video/input/libav_input.h"

/* Most packets that wait, and their bytes, but for the last packet. Where they do not reach the
 * wanted picture, all that follows up to it is decoded. */
enum { bd_packets_most = 1024, bd_packets_most_bytes = 64 << 20 };

/* Starts of sections that are remembered: more than a decoder holds frames back. */
enum { bd_packets_starts = 64 };

/* To be cleared before the first use. */
struct bd_packets_ahead {
    AVPacket *packets[bd_packets_most]; /* a ring */
    int first, count;
    int64_t bytes;
    int64_t wanted;                    /* pts that was searched for last */
    int64_t last_dts;                  /* of the packets read so far */
    int64_t latest;                    /* pts of these, whether they wait or not */
    bool untimed;                      /* one of them had none */
    int64_t starts[bd_packets_starts]; /* a ring: pts of the last sections that were read */
    int start_count;                   /* of all that were read */
    bool uneven;                       /* times went back: no packet is passed over any more */
};

/* As bd_libav_input_read, for the decoder of the input. Packets that no picture with a pts of at
 * least `wanted` needs may be left out; INT64_MIN: none. After input->end is reached, packets may
 * still follow: the end is where there is no packet. BD_ERROR_MEMORY too. */
enum bd_status bd_packets_ahead_read(struct bd_packets_ahead *ahead, AVPacket *packet,
                                     struct bd_libav_input *input, const AVCodecContext *decoder,
                                     int64_t wanted, struct bd_libav_damage *damage);

/* The time at which the last section starts between `earliest` and *wanted replaces *wanted, where
 * there is one and the search reaches *wanted: that picture needs no other. Of picture codecs none
 * does, and *wanted stays. Which packets the decoder has already makes no difference.
 * BD_ERROR_MEMORY, and the errors of bd_libav_input_read. */
enum bd_status bd_packets_ahead_start(struct bd_packets_ahead *ahead, struct bd_libav_input *input,
                                      const AVCodecContext *decoder, int64_t earliest,
                                      int64_t *wanted, struct bd_libav_damage *damage);

/* Drops all that waits: when the input is opened, after a seek, and for good. */
void bd_packets_ahead_clear(struct bd_packets_ahead *ahead);

#endif
