/* Frames of a queue that a live separator has, as many at a time as it takes, so that decoding,
 * separation and what is made of the results go on side by side. */
#ifndef BD_APP_PIPELINE_IN_FLIGHT_H
#define BD_APP_PIPELINE_IN_FLIGHT_H

#include "app/pipeline/queue.h"
#include "app/pipeline/stabilise.h"
#include "video/input/reader.h"
#include <backdrop/separator.h>

/* The first four are the owner's, who sets them and has all the rest 0; they stay the owner's. */
struct bd_in_flight {
    struct bd_queue *queue;
    struct bd_separator *separator;
    const struct bd_reader_info *info;
    struct bd_stabiliser *steady; /* may be NULL */

    /* Frames that the separator has and that have not been returned, oldest first. */
    const struct bd_frame *flying[bd_queue_most_held];
    struct bd_shift shifts[bd_queue_most_held]; /* theirs, as registered */
    int flying_count;
    int held;             /* frames of the queue: those, and one that the caller may look at */
    enum bd_status ended; /* BD_OK while frames come */
    char detail[bd_detail_size];
    double
        seconds; /* spent on handing over frames in the last call, without waiting for the queue */
};

/* Seconds from the beginning of the input. */
double bd_in_flight_time(const struct bd_in_flight *flight, const struct bd_frame *frame);

/* The next frame and its separation, valid until the next call. What ended the stream is told when
 * the frames before it have been returned: BD_END, or the queue's or the separator's failure. */
enum bd_status bd_in_flight_next(struct bd_in_flight *flight, const struct bd_frame **frame,
                                 struct bd_separation *separation);

/* Takes back all frames and lets the queue go on at `seconds` (bd_queue_seek). */
enum bd_status bd_in_flight_seek(struct bd_in_flight *flight, double seconds);

#endif
