/* A decoding thread that fills a bounded queue of reused frames, and threads that make of each what
 * its consumer wants besides.
 *
 *   reader -> [free frame] -> thread -> [waiting frames] -> bd_queue_next (one consumer)
 *                                         ^ prepared by threads of their own
 *
 * The decoding thread alone touches the reader once the queue exists, apart from what
 * bd_reader_get_info returns. The consumer alone touches the frames it holds. Everything else in
 * the struct is guarded by its mutex. No frame is allocated after each of them has been used once.
 */
#ifndef BD_APP_PIPELINE_QUEUE_H
#define BD_APP_PIPELINE_QUEUE_H

#include <stdbool.h>

#include "video/input/reader.h"

struct bd_queue;

/* Makes `picture` (all zero, or what an earlier call left in it) of a decoded frame. Several
 * threads call it at a time, for different frames, in any order; `thread` is 0 to threads - 1 and
 * never the same in two calls that overlap. */
typedef enum bd_status bd_queue_prepare(void *user, int thread, struct bd_frame *picture,
                                        const struct bd_frame *frame);

struct bd_queue_options {
    int capacity; /* frames that wait, >= 2 */
    bool drop; /* when all `capacity` frames wait, the oldest is overwritten and counted; else the
                  decoder waits for the consumer */
    bd_queue_prepare *prepare; /* NULL: nothing is made of frames */
    int threads;               /* that prepare, 1 to bd_queue_most_threads and below `capacity` */
    void *user;                /* handed to `prepare` */
};

enum { bd_queue_most_threads = 4 };

/* Starts decoding at once. `reader` stays the caller's and must outlive the queue. */
enum bd_status bd_queue_open(struct bd_queue **queue, struct bd_reader *reader,
                             const struct bd_queue_options *options);

/* Frames that the consumer may hold at a time. */
enum { bd_queue_most_held = 4 };

/* The next frame, in the reader's order, which is the consumer's until it gives it back; *picture
 * (may be NULL) is what was made of it, the frame itself where nothing was. BD_END at the end, and
 * again in further calls; the reader's failure with its detail, or that of preparing this frame,
 * after which the next call goes on with the next. */
enum bd_status bd_queue_next(struct bd_queue *queue, const struct bd_frame **frame,
                             const struct bd_frame **picture);

/* Gives back the frame that the consumer has held for longest. */
void bd_queue_release(struct bd_queue *queue);

/* Forgets what waits and lets the thread seek; returns the reader's answer. */
enum bd_status bd_queue_seek(struct bd_queue *queue, double seconds);

/* Frames dropped, and packets or frames that could not be decoded, so far. */
int64_t bd_queue_dropped(struct bd_queue *queue);
int64_t bd_queue_damaged(struct bd_queue *queue);

/* Stops the threads and nulls. Safe on NULL. The reader must be able to return: a blocking read
 * ends by its `interrupted` callback, which is why the pipeline makes that true first. */
void bd_queue_close(struct bd_queue **queue);

#endif
