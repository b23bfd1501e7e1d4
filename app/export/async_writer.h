/* A writer of films or pictures (video/output/writer.h) with a thread of its own, so that encoding
 * overlaps with the separation of the next frames.
 *
 *   bd_async_writer_write -> bounded queue (FFmpeg's) -> thread -> bd_writer_write
 *
 * One thread writes and closes; the encoding thread alone touches the bd_writer in between. */
#ifndef BD_APP_EXPORT_ASYNC_WRITER_H
#define BD_APP_EXPORT_ASYNC_WRITER_H

#include "video/output/writer.h"

struct bd_async_writer;

/* As bd_writer_open, with its errors; BD_ERROR_MEMORY also if the thread cannot be started. */
enum bd_status bd_async_writer_open(struct bd_async_writer **writer, const char *path,
                                    const struct bd_writer_options *options);

/* Puts the frame into the queue, without a copy where its pixels are shared (bd_frame_share); waits
 * while the queue is full. An error of an earlier frame is returned here once; nothing is written
 * after it. */
enum bd_status bd_async_writer_write(struct bd_async_writer *writer, const struct bd_frame *frame);

/* As bd_writer_keep_old. */
void bd_async_writer_keep_old(struct bd_async_writer *writer);

/* Writes the waiting frames, finalises the file, ends the thread and nulls. Returns the first error
 * that has not been returned before. Safe on NULL. */
enum bd_status bd_async_writer_close(struct bd_async_writer **writer);

#endif
