/* Registers the frames of a queue ahead of their separation, in two threads: while one frame is
 * separated, the next one is moved, and the motion of the one after it measured.
 *
 *   bd_queue_next -> bd_stabiliser_measure -> bd_stabiliser_move -> bd_registration_next
 *
 * After a frame that shows that the camera has been relocated the threads wait until the new scene
 * has been learned. */
#ifndef BD_APP_PIPELINE_REGISTRATION_H
#define BD_APP_PIPELINE_REGISTRATION_H

#include "app/pipeline/queue.h"
#include "app/pipeline/stabilise.h"

struct bd_registration;

/* Frames of the queue that the threads hold at most: one is measured, one waits, one is moved. */
enum { bd_registration_frames = 3 };

struct bd_registered {
    const struct bd_frame *frame, *picture; /* as decoded; as the separator must see it */
    struct bd_similarity motion;            /* undone in `picture` */
    bool moved;                             /* this frame shows a relocation */
};

/* Starts the threads. Until they are closed they alone take frames from the queue, and use the
 * stabiliser but for bd_stabiliser_restore; `time_base` is the frames'. BD_ERROR_MEMORY. */
enum bd_status bd_registration_open(struct bd_registration **registration, struct bd_queue *queue,
                                    struct bd_stabiliser *stabiliser, struct bd_rational time_base);

/* Waits for the next frame, which the caller holds as after bd_queue_next. The picture stays until
 * bd_registration_taken. The end and failures are those of bd_queue_next, and the last ones. */
enum bd_status bd_registration_next(struct bd_registration *registration,
                                    struct bd_registered *registered);
void bd_registration_taken(struct bd_registration *registration);

/* After a frame that was `moved`: until bd_registration_go_on the caller may use the stabiliser. */
void bd_registration_go_on(struct bd_registration *registration);

/* Ends the threads, of which one may wait for the queue, frees and nulls. Returns how many frames
 * of the queue are held that bd_registration_next has not returned. Safe on NULL. */
int bd_registration_close(struct bd_registration **registration);

#endif
