/* Private: stdin and named pipes as input of libavformat, where waiting for data can be
 * interrupted.
 */
#ifndef BD_VIDEO_INPUT_PIPE_INPUT_H
#define BD_VIDEO_INPUT_PIPE_INPUT_H

#include <libavformat/avio.h>

#include <backdrop/status.h>

/* Opens PATH ("-": stdin, which stays open afterwards). `interrupt` is called ten times a
 * second while waiting for data; it must outlive the context. */
enum bd_status bd_pipe_input_open(AVIOContext **io, const char *path,
                                  const AVIOInterruptCB *interrupt);

/* Closes and nulls. Safe on NULL. */
void bd_pipe_input_close(AVIOContext **io);

#endif
