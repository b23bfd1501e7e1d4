/* Private: decodes a film in sections, several at the same time, each by a decoder of its own. A
 * section starts at a key frame: no frame from there on refers to one before it. This is for
 * hardware whose engines work side by side: one decoder keeps one engine busy. */
#ifndef BD_VIDEO_INPUT_SECTIONS_H
#define BD_VIDEO_INPUT_SECTIONS_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>

#include "video/device.h"
#include <backdrop/status.h>

struct bd_sections;

enum { bd_sections_most_decoders = 8 };

struct bd_sections_options {
    /* Opened decoders of the same stream, 2 or more, which outlive the sections. The first may be
     * in the middle of one. */
    AVCodecContext *const *decoders;
    int count;
    bool first_once; /* the first one is left when it has decoded the section that it is in */
    int most_frames; /* decoded frames that may wait; at least 1 */
    /* Puts what needs no surface of the hardware in the place of a decoded frame. Called by several
     * threads. */
    enum bd_status (*keep)(void *user, AVFrame *frame);
    /* Opens a decoder that takes the place of one that has failed, decodes its section again, and
     * goes on. It outlives the sections. NULL where there is none: then frames are lost. NULL in
     * place of the function: there never is one. Called by several threads. */
    AVCodecContext *(*replace)(void *user);
    void *user;
    struct bd_device *device; /* of the GPU, for bd_libav_decoder_send; NULL: none */
};

/* BD_ERROR_MEMORY. */
enum bd_status bd_sections_open(struct bd_sections **sections,
                                const struct bd_sections_options *options);

/* As avcodec_send_packet; takes the reference over. NULL: there are no more packets.
 * AVERROR(EAGAIN): frames must be received first. */
int bd_sections_send(struct bd_sections *sections, AVPacket *packet);

/* As avcodec_receive_frame: the next frame in order. It waits for it only when no more packets can
 * be sent: AVERROR(EAGAIN) asks for packets, as many as decoders can be kept busy with. */
int bd_sections_receive(struct bd_sections *sections, AVFrame *frame);

/* As avcodec_flush_buffers: all that was sent is forgotten. */
void bd_sections_flush(struct bd_sections *sections);

/* Safe on NULL; nulls. */
void bd_sections_close(struct bd_sections **sections);

#endif
