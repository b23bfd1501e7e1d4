/* Private: the file that copied packets go to. */
#ifndef BD_VIDEO_OUTPUT_CUT_FILE_H
#define BD_VIDEO_OUTPUT_CUT_FILE_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include <backdrop/status.h>

/* A picture's and a sound's stream. */
enum { bd_cut_most_streams = 2 };

struct bd_cut_file;

/* Creates the file, with a stream for each of the `count` streams of an input. What is shown at
 * `origin`, in the time base of the first one, comes at time 0. BD_ERROR_IO with a line that names
 * the path. */
enum bd_status bd_cut_file_open(struct bd_cut_file **file, const char *path, bool overwrite,
                                const AVOutputFormat *muxer, const AVStream *const *streams,
                                int count, int64_t origin);

/* Appends a packet of streams[number], with the times of its input. It is blank afterwards. */
enum bd_status bd_cut_file_write(struct bd_cut_file *file, AVPacket *packet, int number);

/* Ends the file and nulls; unless `whole`, nothing is left of it. Safe on NULL. */
enum bd_status bd_cut_file_close(struct bd_cut_file **file, bool whole);

#endif
