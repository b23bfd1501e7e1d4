/* The frames in flight: those submitted to a live separator and not received yet. There are as many
 * as the separator can take, so that decoding, separation and the making of outputs overlap. */
#ifndef BD_APP_PIPELINE_IN_FLIGHT_H
#define BD_APP_PIPELINE_IN_FLIGHT_H

#include "app/pipeline/queue.h"
#include "app/pipeline/registration.h"
#include "video/input/reader.h"
#include <backdrop/separator.h>

/* Frames that were returned and may be unreleased when the next one is asked for. */
enum { bd_in_flight_most_returned = 2 };

/* The owner sets the first four members and zeroes the rest; it keeps the objects they point to. */
struct bd_in_flight {
    struct bd_queue *queue;
    struct bd_separator *separator;
    const struct bd_reader_info *info;
    struct bd_stabiliser *stabiliser;     /* may be NULL */
    struct bd_registration *registration; /* NULL: frames are registered as they are submitted */

    /* Oldest first. */
    const struct bd_frame *submitted[bd_queue_most_held];
    struct bd_similarity motions[bd_queue_most_held]; /* of the camera, of the submitted frames */
    int submitted_count;
    bool moved;   /* with `registration`: the frame submitted last shows a relocation */
    int returned; /* by bd_in_flight_next, and not released */
    int held;     /* frames of the queue: the submitted ones, those returned, and one that failed */
    enum bd_status ended; /* BD_OK while frames come */
    char detail[bd_detail_size];
    double seconds; /* spent on submitting frames in the last call, without waiting for the queue */
};

/* The next frame, which stays until it is released, and its separation, valid as long as the
 * separator's option `results` says, which bd_stabiliser_restore has to move back by *motion. The
 * end of the stream (BD_END, or a failure of the queue or the separator) is returned after all
 * frames before it. */
enum bd_status bd_in_flight_next(struct bd_in_flight *flight, const struct bd_frame **frame,
                                 struct bd_separation *separation, struct bd_similarity *motion);

/* Frames that are not live are from now on registered ahead (registration.h); after a relocation,
 * once the new scene is learned and this is called again. The separator must not be frozen.
 * BD_ERROR_MEMORY. */
enum bd_status bd_in_flight_register_ahead(struct bd_in_flight *flight);

/* Releases the frames that were returned, but for the last `keep` of them. */
void bd_in_flight_release(struct bd_in_flight *flight, int keep);

/* Receives and drops all frames in flight, then continues at `seconds` (bd_queue_seek). */
enum bd_status bd_in_flight_seek(struct bd_in_flight *flight, double seconds);

/* Ends the threads that register frames, of which one may wait for the queue: the queue's input
 * must end soon. */
void bd_in_flight_close(struct bd_in_flight *flight);

#endif
