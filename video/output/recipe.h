/* Private: the container, encoder and pixel format for a file's extension. */
#ifndef BD_VIDEO_OUTPUT_RECIPE_H
#define BD_VIDEO_OUTPUT_RECIPE_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <stdbool.h>

#include "video/output/writer.h"

/* How time is kept by a container. */
enum bd_writer_clock {
    BD_CLOCK_ANY,   /* the stream's own time base, or the nearest tick of the container's */
    BD_CLOCK_SCALE, /* any time scale, by the muxer's option (mp4, mov) */
    BD_CLOCK_FIXED  /* a constant frame rate (avi, y4m, raw) */
};

/* One way to encode. */
struct bd_writer_recipe {
    const char *encoder;
    enum AVPixelFormat pixels;
    const char *settings; /* options of libavcodec, "key=value;key=value"; NULL for none */
    bool even;            /* both sides must be even */
    int least;            /* smallest side; 0: any */
    bool full_range;      /* luma 0..255; meaningful for YUV only */
};

/* The choice for a file. */
struct bd_writer_plan {
    const AVOutputFormat *muxer; /* NULL for pictures: the encoder's packet is the file */
    const AVCodec *codec;
    struct bd_writer_recipe recipe; /* .encoder is codec->name */
    enum bd_writer_clock clock;
    bool pictures;    /* one file a frame */
    bool alpha;       /* the pixel format holds it */
    int most_threads; /* with more the encoder takes memory and is no faster; 0: no such limit */
};

/* Chooses by the extension of `path`, the format and size of the frames, options->lossless,
 * options->codec and options->film_codec; passes over encoders that this build of FFmpeg lacks.
 * BD_ERROR_UNSUPPORTED for an unknown extension (the line lists the known ones), an unknown or
 * unfit codec, or nothing that could keep every pixel. */
enum bd_status bd_writer_plan_make(struct bd_writer_plan *plan, const char *path,
                                   const struct bd_writer_options *options);

#endif
