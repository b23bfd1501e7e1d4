/* Clips that are encoded while the input goes on, in a thread of its own. The last frames are kept,
 * so that a clip begins before its event was known, and ends where its event ended.
 *
 *   bd_clip_encoder_add -> ring of frames -> thread -> a writer for each event that goes on
 *
 * Each clip has its place in the ring. A frame stays until all clips are past it; the caller waits
 * where the ring is full and the thread is behind. */
#ifndef BD_APP_EXPORT_CLIPS_ENCODE_H
#define BD_APP_EXPORT_CLIPS_ENCODE_H

#include "app/activity/activity.h"
#include "video/output/writer.h"

struct bd_clip_encoder;

struct bd_clip_encoder_options {
    const char *folder, *stem; /* stay */
    const char *extension;     /* stays */
    struct bd_writer_options writer;
    int writers;   /* films that are written at a time; further ones wait in the ring */
    int64_t reach; /* nanoseconds of frames that are kept for events to come, */
    int64_t bytes; /* but no more than this */
};

/* Starts the thread. BD_ERROR_MEMORY. */
enum bd_status bd_clip_encoder_open(struct bd_clip_encoder **encoder,
                                    const struct bd_clip_encoder_options *options);

/* Copies the next frame of the input; `time` in nanoseconds. Its objects (`count`) are drawn on it
 * with their boxes; NULL: nothing is. Returns the failure of an earlier frame, once; nothing is
 * written after it. */
enum bd_status bd_clip_encoder_add(struct bd_clip_encoder *encoder, const struct bd_frame *frame,
                                   int64_t time, const struct bd_object *objects, int count);

/* What is known of an event after that frame: its clip has the frames `from` to `to`, more where
 * it has not ended. To be called for each event that goes on, after each frame, and when it has
 * ended. BD_ERROR_MEMORY. */
enum bd_status bd_clip_encoder_update(struct bd_clip_encoder *encoder, const struct bd_event *event,
                                      int64_t from, int64_t to);

/* As bd_writer_keep_old, for the films of events that go on; those of others will be whole. */
void bd_clip_encoder_keep_old(struct bd_clip_encoder *encoder);

/* Writes what is left, finalises the films, ends the thread and nulls. Returns a failure that was
 * not returned yet, and BD_ERROR_MEMORY where a film is missing. Safe on NULL. */
enum bd_status bd_clip_encoder_close(struct bd_clip_encoder **encoder);

#endif
