/* A decoding thread that fills a bounded queue of reused frames.
 *
 *   reader -> [free frame] -> thread -> [waiting frames] -> bd_queue_next (one consumer)
 *
 * The thread alone touches the reader once the queue exists, apart from what bd_reader_get_info
 * returns. The consumer alone touches the frames it holds. Everything else in the struct is
 * guarded by its mutex. No frame is allocated after each of them has been used once. */
#ifndef BD_APP_QUEUE_H
#define BD_APP_QUEUE_H

#include <stdbool.h>

#include "video/reader.h"

struct bd_queue;

/* Starts decoding at once. `drop`: when all `capacity` (>= 2) frames wait, the oldest is
 * overwritten and counted; else the thread waits for the consumer. `reader` stays the caller's and
 * must outlive the queue. */
enum bd_status bd_queue_open(struct bd_queue **queue, struct bd_reader *reader, int capacity,
                             bool drop);

/* Frames that the consumer may hold at a time. */
enum { bd_queue_most_held = 4 };

/* The next frame, which is the consumer's until it gives it back. BD_END at the end, and again in
 * further calls; the reader's failure with its detail. */
enum bd_status bd_queue_next(struct bd_queue *queue, const struct bd_frame **frame);

/* Gives back the frame that the consumer has held for longest. */
void bd_queue_release(struct bd_queue *queue);

/* Forgets what waits and lets the thread seek; returns the reader's answer. */
enum bd_status bd_queue_seek(struct bd_queue *queue, double seconds);

/* Frames dropped, and packets or frames that could not be decoded, so far. */
int64_t bd_queue_dropped(struct bd_queue *queue);
int64_t bd_queue_damaged(struct bd_queue *queue);

/* Stops the thread and nulls. Safe on NULL. The reader must be able to return: a blocking read ends
 * by its `interrupted` callback, which is why the pipeline makes that true first. */
void bd_queue_close(struct bd_queue **queue);

#endif
