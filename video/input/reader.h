/* Decoded frames from a file, URL, image pattern, camera, capture device, or stdin. */
#ifndef BD_VIDEO_INPUT_READER_H
#define BD_VIDEO_INPUT_READER_H

#include <stdbool.h>

#include "video/frame.h"

struct bd_device; /* video/device.h */
struct bd_pieces; /* video/input/pieces.h */
struct bd_reader;

struct bd_key_value {
    const char *key, *value;
};

/* Pictures as pixels of a format, as they were decoded (frame.yuv), or both. Not every picture can
 * be had as it was decoded: others have pixels always. */
enum bd_reader_pictures { BD_PICTURES_CONVERTED, BD_PICTURES_BOTH, BD_PICTURES_DECODED };

struct bd_reader_options {
    const char *input_format; /* libavformat/-device name, as ffmpeg -f; NULL: guess */
    const struct bd_key_value *input_options; /* as ffmpeg's -KEY VALUE before -i; NULL if none */
    int input_option_count;
    /* Files that are read as one film, one behind the other; INPUT is the first of them. NULL:
     * INPUT alone. They must outlive the reader. */
    const struct bd_pieces *pieces;
    enum bd_pixel_format format; /* of the frames delivered: BD_GRAY8 or BD_RGB24 */
    enum bd_reader_pictures pictures;
    /* Gray of more than 8 bits that spans few levels gets a tone curve, so that these levels fill
     * the bytes. Without it, pictures have the upper 8 bits. */
    bool tone_curve;
    double start;    /* seconds from the beginning at which to start; 0 */
    double duration; /* seconds to deliver; 0: to the end */
    int threads;     /* decoder threads; 0: one a core */
    /* Hardware decoding: NULL: none; "auto": a device that is present, else threads; or a
     * device type of FFmpeg ("cuda", "vaapi"), which fails if it is absent or cannot decode this
     * input.
     */
    const char *hwaccel;
    /* Where pictures of a GPU's decoder are copied to; NULL: nowhere. It must outlive the reader
     * and its frames. Only for BD_PICTURES_DECODED. */
    struct bd_device *device;
    /* Decoders of that GPU which help with a long film, once its first frames are decoded, if it
     * knows the codec; 0: none. */
    int decoders;
    /* Level of the messages about faults of the input: BD_LOG_WARNING, or BD_LOG_DEBUG where
     * another reader reads the same input and tells them. */
    enum bd_log_level faults;
    /* Called between packets and during blocking I/O; true makes the call in progress return
     * BD_ERROR_INTERRUPTED. May be NULL. Called from the thread that reads. */
    bool (*interrupted)(void *user);
    void *user;
};

struct bd_reader_info {
    int width, height;               /* pixels, after rotation: the size of every frame delivered */
    struct bd_rational time_base;    /* seconds a unit of frame.pts */
    struct bd_rational frame_rate;   /* average; 0/1 where unknown */
    struct bd_rational pixel_aspect; /* 1/1 where unknown */
    /* Of the whole input, independent of `start` and `duration` of the options. */
    int64_t frame_count; /* 0 where unknown (an estimate where the container only has a duration) */
    bool frames_stated;  /* frame_count is the container's own number */
    double duration;     /* seconds; 0 where unknown */
    /* Seconds of video, from the first frame on, that the container itself states, whatever its
     * data hold; 0 where it states none. */
    double stated_duration;
    /* Seconds that the container states before the first frame that could be decoded, as in a film
     * that was cut between key frames; 0: no more than one. `duration` lacks them, and
     * `frame_count` where it is an estimate.
     */
    double lost_start;
    bool live; /* a camera or capture device: frames come in real time, whether they are read or not
                */
    bool seekable;
    bool tone_curve; /* used */
    bool helped;     /* decoders of a GPU help, once the first frames are decoded */
    char codec[32], container[32];
};

/* Opens INPUT: a path, a URL, a printf-like image pattern (in%06d.jpg, any first number), a V4L2
 * device (/dev/video0), "-" for stdin, a device of libavdevice when input_format names one, or
 * synth:NAME[?size=WxH&seed=N&frames=N], a rendered scene of video/synth/synth.h.
 * The first frame is decoded here, so that whatever cannot be decoded fails now. `options` may be
 * freed afterwards. Errors: BD_ERROR_IO (missing, directory, permission, no such camera or scene,
 * lost connection), BD_ERROR_FORMAT (not a video, empty), BD_ERROR_UNSUPPORTED (unknown codec,
 * format name or hardware), BD_ERROR_ARGUMENT (an option out of range, or one that nobody knows, a
 * start behind the end), BD_ERROR_INTERRUPTED, with a one-line detail. */
enum bd_status bd_reader_open(struct bd_reader **reader, const char *input,
                              const struct bd_reader_options *options);

/* Valid until the reader is closed. */
const struct bd_reader_info *bd_reader_get_info(const struct bd_reader *reader);

/* The next frame in presentation order; `frame` must be all zero or from an earlier call, and is
 * reallocated only when it does not fit. Corrupt packets and frames are skipped (logged once,
 * counted). pts is the input's own timestamp, unshifted; where two are equal or go back, the later
 * frame gets the least larger number (logged once). index counts from the first frame of the input;
 * after a seek, or a start in a file, it follows from the time and info.frame_rate and is exact at
 * a constant rate. Where times go back by more than a quarter of a second the sender has started
 * anew: its times then go on from the last frame (logged once). Where that is known, a seek or a
 * start reads from the beginning, and index is exact. BD_END at the end; BD_ERROR_IO if the source
 * broke off, or if a file lacks some of the length that it states. One thread at a time. */
enum bd_status bd_reader_read(struct bd_reader *reader, struct bd_frame *frame);

/* As bd_reader_read, for the next frame whose pts is at least `pts`. The frames before it are not
 * converted to pictures, which is most of the work with hardware decoding. Those that no
 * later frame needs are mostly not decoded either: all frames of picture codecs (JPEG, PNG); with
 * H.264, HEVC, VP8 and VP9 those before the last key frame that starts anew; of H.264 some more.
 * What is damaged in frames that are not decoded is not counted. index follows from the time, as
 * after a seek. Where the times of packets differ from those of their frames, the frame may be a
 * few later than the first such one. */
enum bd_status bd_reader_read_from(struct bd_reader *reader, int64_t pts, struct bd_frame *frame);

/* As bd_reader_read_from, or in its place the last frame from `earliest` to `pts` that needs no
 * other to be decoded, where such key frames are known. They are with H.264, HEVC, VP8 and VP9.
 * Which frame that is depends on the film alone, unless it is behind the next one already. */
enum bd_status bd_reader_read_near(struct bd_reader *reader, int64_t earliest, int64_t pts,
                                   struct bd_frame *frame);

/* Continues at the first frame with a time >= `seconds` from the first frame's; behind the end the
 * next read is BD_END. Exact: decodes from the key frame before. Where info.seekable is false
 * frames are read and dropped up to there, and going back is BD_ERROR_UNSUPPORTED. */
enum bd_status bd_reader_seek(struct bd_reader *reader, double seconds);

/* Packets or frames that could not be decoded so far. */
int64_t bd_reader_damaged(const struct bd_reader *reader);

/* Closes and nulls. Safe on NULL. */
void bd_reader_close(struct bd_reader **reader);

#endif
