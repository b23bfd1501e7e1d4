/* Frames to a video file or an image sequence; container and codec by the name's extension. */
#ifndef BD_VIDEO_OUTPUT_WRITER_H
#define BD_VIDEO_OUTPUT_WRITER_H

#include <stdbool.h>

#include "video/frame.h"

struct bd_writer;

struct bd_writer_options {
    int width, height;
    enum bd_pixel_format format;   /* of the frames that will come */
    struct bd_rational time_base;  /* seconds a unit of frame.pts */
    struct bd_rational frame_rate; /* average, 0/1 where unknown: a hint */
    struct bd_rational pixel_aspect;
    bool lossless;     /* every pixel is kept exactly (masks) */
    bool overwrite;    /* replace an existing file; else BD_ERROR_IO */
    bool many;         /* more than one frame is sure to come: a name that holds one is refused */
    bool whole_only;   /* a film that is not whole stays PATH.part in any case */
    int threads;       /* of encoders that take much memory for each; 0: one a core, or eight */
    const char *codec; /* libavcodec encoder name; NULL: by extension and `lossless` */
    const char *film_codec; /* the same where `codec` is NULL, but nothing to pictures */
};

/* BD_ERROR_UNSUPPORTED if this FFmpeg has no video encoder of that name. */
enum bd_status bd_writer_check_codec(const char *codec);

/* Opens PATH, which is written as PATH.part until it is whole: what was there before stays until
 * then. A picture's name with one %d or %06d is an image sequence whose number is
 * frame.index + 1; a single .png, .jpg, … name holds one picture. Alpha (BD_RGBA32) is kept where
 * the codec holds it, else the picture is put on black and a warning logged once. Odd sizes are
 * kept as they are. Nothing is left of a file that could not be opened. Errors name the path:
 * BD_ERROR_IO (folder missing, not writable, exists, container refuses, another program is writing
 * it), BD_ERROR_UNSUPPORTED
 * (unknown extension, no encoder, size the codec refuses, format that cannot be lossless),
 * BD_ERROR_ARGUMENT (a size below 1, two numbers in a name, or none where there are many). */
enum bd_status bd_writer_open(struct bd_writer **writer, const char *path,
                              const struct bd_writer_options *options);

/* Appends a frame of the agreed size and format; in a film its pts must be above the last one's.
 * Times are exact in .mp4, .mov and .nut, to the millisecond in .mkv and .webm, and on a constant
 * rate that starts at zero in .avi and .y4m (a warning is logged once where that moves a frame).
 * BD_ERROR_IO on a full disk: what was written before plays once the writer is closed, as PATH, or
 * as PATH.part where there was a file before; where not one picture fitted, nothing is left, and a
 * warning says so. BD_ERROR_ARGUMENT for a frame that does not fit; the
 * writer goes on with the next. */
enum bd_status bd_writer_write(struct bd_writer *writer, const struct bd_frame *frame);

/* The two halves of bd_writer_write. The first one is done with the frame when it returns, so that
 * another can be put in its place during the second one, which must follow unless the first one
 * failed; but shared pixels are not to be written to (bd_frame_share). Errors as above. */
enum bd_status bd_writer_take(struct bd_writer *writer, const struct bd_frame *frame);
enum bd_status bd_writer_encode(struct bd_writer *writer);

/* The frames that come are not all that was asked for: closing leaves what was there before as it
 * is, as after a full disk. Any thread, while another one writes. */
void bd_writer_keep_old(struct bd_writer *writer);

/* Drains the encoder, writes the trailer, closes and nulls. Nothing is left of an output without a
 * frame. Returns the first error of the whole
 * life of the writer that was not returned yet (a failed flush is a lost picture). Safe on NULL. */
enum bd_status bd_writer_close(struct bd_writer **writer);

/* Writes one picture to PATH (.png, .jpg, .bmp, …), replacing what is there. */
enum bd_status bd_picture_write(const char *path, const struct bd_frame *frame);

/* Reads one picture, recognised by its content, as `format`; frame must be all zero or created.
 * BD_ERROR_IO if it cannot be opened, BD_ERROR_FORMAT if it is not a picture. */
enum bd_status bd_picture_read(const char *path, enum bd_pixel_format format,
                               struct bd_frame *frame);

#endif
