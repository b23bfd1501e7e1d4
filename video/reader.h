/* Decoded frames from a file, URL, image pattern, camera, capture device, or stdin. */
#ifndef BD_VIDEO_READER_H
#define BD_VIDEO_READER_H

#include <stdbool.h>

#include "video/frame.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bd_reader;

struct bd_key_value {
    const char *key, *value;
};

struct bd_reader_options {
    const char *input_format;                  /* libavformat/-device name, as ffmpeg -f; NULL: guess */
    const struct bd_key_value *input_options;  /* as ffmpeg's -KEY VALUE before -i; NULL if none */
    int input_option_count;
    enum bd_pixel_format format; /* of the frames delivered: BD_GRAY8 or BD_RGB24 */
    double start;                /* seconds from the beginning at which to start; 0 */
    double duration;             /* seconds to deliver; 0: to the end */
    int threads;                 /* decoder threads; 0: one a core */
    /* Asked between packets and during blocking I/O; true makes the call in progress return
     * BD_ERROR_INTERRUPTED. May be NULL. Called from the thread that reads. */
    bool (*interrupted)(void *user);
    void *user;
};

struct bd_reader_info {
    int width, height;              /* pixels, after rotation: the size of every frame delivered */
    struct bd_rational time_base;   /* seconds a unit of frame.pts */
    struct bd_rational frame_rate;  /* average; 0/1 where unknown */
    struct bd_rational pixel_aspect; /* 1/1 where unknown */
    int64_t frame_count;            /* 0 where unknown (an estimate where the container only has a duration) */
    double duration;                /* seconds; 0 where unknown */
    bool live;                      /* a camera or capture device: frames come at their own pace */
    bool seekable;
    char codec[32], container[32];
};

/* Opens INPUT: a path, a URL, a printf-like image pattern (in%06d.jpg, any first number), a V4L2
 * device (/dev/video0), "-" for stdin, or a device of libavdevice when input_format names one.
 * The first frame is decoded here, so that whatever cannot be decoded fails now. Errors:
 * BD_ERROR_IO (missing, directory, permission, no such camera), BD_ERROR_FORMAT (not a video, empty),
 * BD_ERROR_UNSUPPORTED (unknown codec or format name), with a one-line detail. */
enum bd_status bd_reader_open(struct bd_reader **reader, const char *input,
                              const struct bd_reader_options *options);

/* Valid until the reader is closed. */
const struct bd_reader_info *bd_reader_get_info(const struct bd_reader *reader);

/* The next frame in presentation order; `frame` must be all zero or from an earlier call, and is
 * reallocated only when it does not fit. Corrupt packets are skipped (logged, counted); pts never
 * repeats or goes back. BD_END at the end. One thread at a time. */
enum bd_status bd_reader_read(struct bd_reader *reader, struct bd_frame *frame);

/* Continues at the first frame with a time >= `seconds` from the beginning. Files only. */
enum bd_status bd_reader_seek(struct bd_reader *reader, double seconds);

/* Packets or frames that could not be decoded so far. */
int64_t bd_reader_damaged(const struct bd_reader *reader);

/* Closes and nulls. Safe on NULL. */
void bd_reader_close(struct bd_reader **reader);

#ifdef __cplusplus
}
#endif
#endif
