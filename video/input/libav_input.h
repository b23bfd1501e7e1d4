/* Private: from the INPUT of the command line to an opened AVFormatContext with one video stream
 * chosen, or a line that says what is wrong with it. */
#ifndef BD_VIDEO_INPUT_LIBAV_INPUT_H
#define BD_VIDEO_INPUT_LIBAV_INPUT_H

#include <libavformat/avformat.h>

#include "video/input/reader.h"

/* Where packets end, and why. */
struct bd_libav_end {
    bool reached;          /* there are no more packets */
    bool cut;              /* because the file ends in the middle of something */
    enum bd_status status; /* BD_END, or an error, to be returned after the frames before it */
    char detail[300];
};

/* What was passed over between two packets. */
struct bd_libav_damage {
    int count;
    int error; /* of FFmpeg, for the last one */
};

struct bd_libav_input {
    char *name;              /* INPUT as given, for messages */
    AVFormatContext *format; /* every stream but the chosen one is discarded */
    AVIOContext *pipe;       /* stdin or a named pipe; NULL for anything else */
    AVStream *stream;
    AVDictionary
        *options; /* given options that the demuxer did not use: the decoder gets them next */
    bool live;    /* frames come in real time */
    bool seekable;
    bool gap; /* an image sequence lacks a number: it ends there */
    bool (*interrupted)(void *user);
    void *user;
    bool began;               /* a packet was read */
    enum bd_log_level faults; /* as in bd_reader_options */
    bool was_interrupted;     /* `interrupted` returned true: the cause of later failures */
    struct bd_libav_end end;
};

/* Fills in `in` (any content before), which must stay where it is until closed. On failure it is
 * closed already. Errors as bd_reader_open. */
enum bd_status bd_libav_input_open(struct bd_libav_input *in, const char *input,
                                   const struct bd_reader_options *options);

/* Whether the caller's `interrupted` has ever returned true. */
bool bd_libav_input_interrupted(struct bd_libav_input *in);

/* The next packet of the video stream; at the end of the packets, or after an error, none, and
 * in->end says why. BD_ERROR_INTERRUPTED. */
enum bd_status bd_libav_input_read(struct bd_libav_input *in, AVPacket *packet,
                                   struct bd_libav_damage *damage);

/* At the end: whether this is a film of MP4 or MOV whose index comes after its pictures, by a pipe,
 * which cannot go back to them. */
bool bd_libav_input_index_is_late(const struct bd_libav_input *in);

/* Frames a second, as the container states them or counted them; its `num` is 0 where neither is.
 */
AVRational bd_libav_rate(const AVStream *stream);

/* To be called after a seek: packets may follow again. */
void bd_libav_input_moved(struct bd_libav_input *in);

void bd_libav_input_close(struct bd_libav_input *in);

#endif
