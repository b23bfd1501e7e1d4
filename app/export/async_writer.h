/* A writer of film or pictures (video/output/writer.h) with a thread of its own, so that encoding
 * goes on while the next frames are separated.
 *
 *   bd_async_writer_write -> bounded queue of copies -> thread -> bd_writer_write
 *
 * One thread writes and closes; the encoding thread alone touches the bd_writer in between. */
#ifndef BD_APP_EXPORT_ASYNC_WRITER_H
#define BD_APP_EXPORT_ASYNC_WRITER_H

#include "video/output/writer.h"

struct bd_async_writer;

/* As bd_writer_open; all that can be found wrong at once is found here. */
enum bd_status bd_async_writer_open(struct bd_async_writer **writer, const char *path,
                                    const struct bd_writer_options *options);

/* Takes a copy of the frame; waits while the encoder is behind. A failure is that of a frame taken
 * earlier, told once; nothing is written after it. */
enum bd_status bd_async_writer_write(struct bd_async_writer *writer, const struct bd_frame *frame);

/* Writes what waits, finalises the file, ends the thread and nulls. Returns the first failure that
 * bd_async_writer_write has not told. Safe on NULL. */
enum bd_status bd_async_writer_close(struct bd_async_writer **writer);

#endif
