/* Private: the interface of sources. A source decodes frames; the reader does what is common to all
 * sources: start and duration, seeking to an exact time, strictly increasing times. */
#ifndef BD_VIDEO_INPUT_SOURCE_H
#define BD_VIDEO_INPUT_SOURCE_H

#include "video/input/reader.h"

struct bd_source;

struct bd_source_ops {
    /* Whether INPUT is of this kind (NULL: any is, the last of the table); the first such source
     * of the table opens it. */
    bool (*claims)(const char *input, const struct bd_reader_options *options);

    /* Opens INPUT, decodes its first frame (the first `next` delivers it) and fills in all of
     * `info`. On failure *source is NULL. `options` live as long as the source. */
    enum bd_status (*open)(struct bd_source **source, const char *input,
                           const struct bd_reader_options *options, struct bd_reader_info *info);

    /* Goes to the next frame in presentation order and returns its time and duration in units of
     * info.time_base, without converting it to a picture: frames before a seek target are cheap.
     * Frames with a pts before `wanted` may be left out; INT64_MIN: none. BD_END at the end, also
     * in further calls. */
    enum bd_status (*next)(struct bd_source *source, int64_t wanted, int64_t *pts,
                           int64_t *duration);

    /* The time of a frame that needs no other to be decoded, the last one from `earliest` to
     * *wanted, replaces *wanted, where one is known. NULL: none ever is. */
    enum bd_status (*start)(struct bd_source *source, int64_t earliest, int64_t *wanted);

    /* Converts the frame that `next` went to; reallocates `frame` only if it does not fit, and
     * leaves its times and index alone. */
    enum bd_status (*picture)(struct bd_source *source, struct bd_frame *frame);

    /* Goes to a place from which `next` delivers a frame with pts <= target, or the first frame
     * of all; the nearer the better. INT64_MIN: the first frame of all, also where others have its
     * time. Only called when info.seekable. */
    enum bd_status (*seek)(struct bd_source *source, int64_t target);

    /* Whether the clock starts anew within the input, so that a time may be there twice, as far as
     * that can be known without a reading of all. A seek must follow. Only called when
     * info.seekable. NULL: it is never known. */
    bool (*restarts)(struct bd_source *source);

    /* NULL: nothing ever is. */
    int64_t (*damaged)(const struct bd_source *source);

    /* At the end: whether the demuxer found the input cut off. NULL: it never is. */
    bool (*cut)(const struct bd_source *source);

    /* Continues with the levels of `before`, a source of the same film and kind: takes its tone
     * curve. NULL: there is none. */
    void (*inherit)(struct bd_source *source, struct bd_source *before);

    void (*close)(struct bd_source **source);
};

/* The first member of every source. */
struct bd_source {
    const struct bd_source_ops *ops;
};

extern const struct bd_source_ops bd_source_joined; /* options->pieces, as one film */
extern const struct bd_source_ops bd_source_synth;  /* synth:NAME?... */
extern const struct bd_source_ops bd_source_libav;  /* everything else */

/* The kind of source that opens INPUT. */
const struct bd_source_ops *bd_source_for(const char *input,
                                          const struct bd_reader_options *options);

/* At the end of a source that states `stated` seconds (0: none): whether it ended before. `seen`:
 * seconds that were there; `interval`: seconds from a frame to the next, on average. */
bool bd_source_ends_early(const struct bd_source *source, double stated, double seen,
                          double interval);

#endif
