/* Finds the objects of frames and hands them on, in a thread of its own, while the pictures of the
 * next frames are made and written.
 *
 *   bd_follower_give -> bounded queue (FFmpeg's) -> thread: bd_pictures_follow -> sink */
#ifndef BD_APP_PIPELINE_FOLLOWER_H
#define BD_APP_PIPELINE_FOLLOWER_H

#include "app/pipeline/pictures.h"

struct bd_follower;

/* Starts the thread, for `pictures` that were made with BD_WANT_LATER. It alone calls
 * bd_pictures_follow until the follower is closed, and then sink(user, result), for each frame, in
 * order. BD_ERROR_MEMORY. */
enum bd_status bd_follower_open(struct bd_follower **follower, struct bd_pictures *pictures,
                                bd_result_sink *sink, void *user);

/* Hands over the frame of the last bd_pictures_make; waits while the queue is full. Returns the
 * failure of an earlier frame, with its detail; nothing is done after it. */
enum bd_status bd_follower_give(struct bd_follower *follower, const struct bd_result *result);

/* Handles the waiting frames, ends the thread, frees and nulls. Returns the failure of a frame,
 * with its detail. Safe on NULL. */
enum bd_status bd_follower_close(struct bd_follower **follower);

#endif
