/* A bounded queue of decoded frames. A decoding thread fills it; further threads prepare each
 * frame, which means that they make a second picture from it, such as a smaller one.
 *
 *   reader -> [free frame] -> decoding thread -> [waiting frames] -> bd_queue_next (one consumer)
 *                                                  ^ preparing threads
 *
 * Once the queue exists, only the decoding thread uses the reader (bd_reader_get_info excepted).
 * Only the consumer uses the frames that it holds; it may be two threads, of which one takes frames
 * and the other releases them. The mutex guards everything else. Frames are reused: no memory is
 * allocated once each of them has been used. A queue may begin with more frames (`start`), which a
 * consumer can look at before it takes them (bd_queue_peek). */
#ifndef BD_APP_PIPELINE_QUEUE_H
#define BD_APP_PIPELINE_QUEUE_H

#include <stdbool.h>

#include "video/input/reader.h"

struct bd_queue;

/* Makes `picture` (all zero, or from an earlier call) from a decoded frame. Several threads call it
 * at the same time, for different frames and in any order; `thread` is 0 to threads - 1, and calls
 * that overlap have different values. */
typedef enum bd_status bd_queue_prepare(void *user, int thread, struct bd_frame *picture,
                                        const struct bd_frame *frame);

struct bd_queue_options {
    int capacity; /* frames that wait, 2 to bd_queue_most_frames; fewer of many pixels, but 2, if
                     `drop` is false */
    int start;    /* so many may wait until fewer than `capacity` do for the first time; 0: no more
                     than later; not with `drop` */
    int64_t start_bytes;   /* fewer of them, where so many would take more memory, each with
                              picture_bytes; 0: as many all the same */
    int64_t picture_bytes; /* that a prepared picture takes */
    bool drop; /* when `capacity` frames wait, the oldest is dropped and counted; else the decoder
                  waits for the consumer */
    bd_queue_prepare *prepare; /* NULL: frames are not prepared */
    int threads;               /* that prepare, 1 to bd_queue_most_threads and below `capacity` */
    void *user;                /* handed to `prepare` */
};

enum { bd_queue_most_threads = 4, bd_queue_most_frames = 4096 };

/* Starts decoding at once. `reader` stays the caller's and must outlive the queue. */
enum bd_status bd_queue_open(struct bd_queue **queue, struct bd_reader *reader,
                             const struct bd_queue_options *options);

/* Frames that the consumer may hold at a time. */
enum { bd_queue_most_held = 8 };

/* The next frame, in the reader's order; the consumer holds it until it releases it. *picture (may
 * be NULL) is the picture made from it, or the frame itself if there is no `prepare`. BD_END at the
 * end, also in further calls. Errors: the reader's, with its detail; or that of preparing this
 * frame, after which the next call returns the next frame. */
enum bd_status bd_queue_next(struct bd_queue *queue, const struct bd_frame **frame,
                             const struct bd_frame **picture);

/* Waiting frame `number`, 0 being what bd_queue_next returns next, and its picture; both stay with
 * the queue, and are valid until the next call of bd_queue_next or bd_queue_seek. Not with `drop`.
 * Waits until the frame is there. BD_END: none comes, or it has no picture; BD_ERROR_MEMORY: there
 * is no room for it before a frame is taken. */
enum bd_status bd_queue_peek(struct bd_queue *queue, int number, const struct bd_frame **frame,
                             const struct bd_frame **picture);

/* True while frames wait because of `start`. */
bool bd_queue_starting(struct bd_queue *queue);

/* Releases the oldest frame that the consumer holds. */
void bd_queue_release(struct bd_queue *queue);

/* Drops the waiting frames and lets the decoding thread seek; returns the reader's status. */
enum bd_status bd_queue_seek(struct bd_queue *queue, double seconds);

/* Frames dropped, and packets or frames that could not be decoded, so far. */
int64_t bd_queue_dropped(struct bd_queue *queue);
int64_t bd_queue_damaged(struct bd_queue *queue);

/* Stops the threads and nulls. Safe on NULL. A blocked read must return: the owner first makes the
 * reader's `interrupted` callback return true. */
void bd_queue_close(struct bd_queue **queue);

#endif
