/* Private to video/: what all users of FFmpeg's libraries share: set-up, forwarding of their log
 * lines, and translation of their errors. */
#ifndef BD_VIDEO_LIBAV_H
#define BD_VIDEO_LIBAV_H

#include <libavutil/frame.h>

#include "video/frame.h"

/* Registers devices and the network and sends the libraries' own log lines to bd_log at
 * BD_LOG_DEBUG, once a process. Any thread, any number of times. */
void bd_libav_init(void);

/* Forgets the error line kept for the calling thread. Call before an operation whose failure is
 * described by bd_libav_reason(). */
void bd_libav_forget(void);

/* The first error line that the libraries logged in this thread since bd_libav_forget(), "" if
 * there is none. Valid until the next call of a library. */
const char *bd_libav_logged(void);

/* Why `error` (an AVERROR) happened: the first error line that the libraries logged in this thread
 * since bd_libav_forget(), which says more ("Cannot open display :7"), else the text of the code.
 * Valid until the thread's next call. */
const char *bd_libav_reason(int error);

/* FFmpeg's name of a pixel format. */
enum AVPixelFormat bd_libav_format(enum bd_pixel_format format);

/* How long a frame lasts, in units of its stream; 0 where that is not known. */
int64_t bd_libav_duration(const AVFrame *frame);

/* The status for an AVERROR: missing, refused, disconnected, … BD_ERROR_IO; unreadable
 * data BD_ERROR_FORMAT; no such demuxer, decoder or protocol BD_ERROR_UNSUPPORTED. */
enum bd_status bd_libav_status(int error);

#endif
