/* Private to sections.c: a decoder that decodes sections in a thread of its own. */
#ifndef BD_VIDEO_INPUT_SECTION_LANE_H
#define BD_VIDEO_INPUT_SECTION_LANE_H

#include <pthread.h>

#include "video/input/sections.h"

enum {
    /* Packets of a lane, and their bytes: a section with more is not decoded ahead whole, nor
     * again by another decoder. */
    bd_lane_packets = 1024,
    bd_lane_bytes = 64 << 20,
    /* Packets of the sections after a lane's own which it may get, to bring out the frames that its
     * decoder holds back: no codec here reorders more frames. */
    bd_lane_after = 16,
    /* Frames of the section that is being received which may wait in any case. */
    bd_lane_frames = 4
};

/* Times that no film has. */
static const int64_t bd_lane_first_mark = INT64_MIN + 1;
enum { bd_lane_marks = 1 << 20 };

static inline bool bd_lane_is_mark(int64_t pts)
{
    return pts >= bd_lane_first_mark && pts < bd_lane_first_mark + bd_lane_marks;
}

/* A frame, or why there is none. */
struct bd_decoded {
    AVFrame *frame;
    int error;
};

/* It is free, or it has a section, until that is received. */
struct bd_lane {
    struct bd_sections *sections;
    AVCodecContext *decoder;
    pthread_t thread;
    bool started;

    /* Guarded by the mutex: */
    bool taken;    /* it has a section */
    bool complete; /* whose packets are all here */
    bool done;     /* and decoded */
    bool busy;     /* its thread is decoding, without the mutex */
    bool whole;    /* `packets` has all of the section so far, also those that are decoded */
    bool replaced; /* its decoder failed, and another one has its place */
    AVPacket *packets[bd_lane_packets];
    int first_packet, packet_count;
    int decoded_count; /* of these, from the first on */
    int64_t packet_bytes;
    AVPacket *after[bd_lane_after]; /* with the lane's mark in place of their times */
    int after_count, after_used;
    int64_t mark; /* by which frames of these packets are known; another one for each section */
    struct bd_decoded *frames; /* a ring of `room` */
    int first_frame, frame_count;

    /* The thread's while it is busy: frames of the section that were decoded, and how many of them
     * are still to come again from the decoder that has the place of another one. And whether a
     * frame of a later section has come: all of the own section came before. */
    int frames_made, frames_known;
    bool after_seen;
    bool emptied; /* see bd_libav_decoder_send */
};

/* Empties the decoder of a lane. */
void bd_lane_flush(struct bd_lane *lane);

struct bd_sections {
    struct bd_sections_options options;
    struct bd_lane *lanes;
    int room; /* frames that one lane can hold */
    pthread_mutex_t mutex;
    pthread_cond_t work;  /* something that a lane may wait for */
    pthread_cond_t ready; /* something that the caller may wait for */

    /* Guarded by the mutex: */
    int in, out;      /* the lanes that are sent to and received from */
    int waiting;      /* frames in all lanes */
    bool start_waits; /* the packet that was refused last starts a section: no lane was free */
    bool splits;      /* all packets so far have times, and none changes the parameters of others */
    bool ended;       /* there are no more packets */
    bool stop, flush;
};

/* Gives a free lane a section, whose first packet is the next one that is added. With the mutex. */
void bd_lane_take(struct bd_lane *lane);

/* Whether there is room for another packet. With the mutex. */
bool bd_lane_has_room(const struct bd_lane *lane);

/* Adds a packet, whose reference it takes over, of the lane's section. With the mutex.
 * AVERROR(ENOMEM). */
int bd_lane_add(struct bd_lane *lane, AVPacket *packet);

/* Frees the lane: packets, frames and section are gone. With the mutex; it is not busy. */
void bd_lane_empty(struct bd_lane *lane);

/* The thread of a lane (`user`), until sections->stop. */
void *bd_lane_run(void *user);

#endif
