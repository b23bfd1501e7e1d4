/* From INPUT to separated frames: a decoding thread, a bounded queue, and the separator.
 *
 *   decoding thread -> queue, whose threads scale -> separation, in the caller's thread -> pictures
 *   of full size: in the caller's thread (bd_pipeline_next), or in a thread of their own
 *   (bd_pipeline_run)
 *
 * The queue blocks the decoder for files; for live sources in `drop` mode it drops the oldest frame
 * and counts it. A pipeline belongs to one thread at a time. */
#ifndef BD_APP_PIPELINE_PIPELINE_H
#define BD_APP_PIPELINE_PIPELINE_H

#include <stdbool.h>

#include "app/options.h"
#include "video/input/reader.h"
#include <backdrop/separator.h>
#include <backdrop/tracker.h>

struct bd_pipeline;

/* Which pictures are to be made (bits). The mask is always made. */
enum bd_want {
    BD_WANT_BACKGROUND = 1,
    BD_WANT_FOREGROUND = 2,
    BD_WANT_OVERLAY = 4,
    BD_WANT_COLOR = 8, /* the input in colour even with --color gray; implied by the two above */
    BD_WANT_SHADOWS = 16,
    BD_WANT_INPUT = 32, /* pixels of the input; implied by foreground, overlay and colour */
    BD_WANT_DECODED =
        64, /* the input in colour, its pixels only where it cannot be had as decoded */
    BD_WANT_SMALL = 128,   /* the background in the processing size */
    BD_WANT_OBJECTS = 256, /* the objects of the mask, followed from frame to frame */
    BD_WANT_BOXES = 512,   /* on the overlay, a box around each of them, with its number */
    BD_WANT_LATER = 1024 /* of bd_pipeline_run, the objects apart from the pictures, which need not
                            wait for them; not with boxes */
};

struct bd_result {
    const struct bd_frame *input;      /* BD_RGB24 or BD_GRAY8, full size; where its pixels are not
                                          wanted it may be the decoded picture alone */
    const struct bd_frame *mask;       /* BD_GRAY8, full size, 0 or 255, follows the edges of the
                                          input */
    const struct bd_frame *labels;     /* as the mask, but 127 in shadows if those are wanted: what
                                          is written */
    const struct bd_frame *background; /* full size or that of processing, BD_RGB24, or BD_GRAY8
                                          with --color gray; NULL if not wanted */
    const struct bd_frame *foreground; /* BD_RGBA32: input where mask, alpha = mask; NULL if not
                                          wanted */
    const struct bd_frame *overlay;    /* BD_RGB24: input with the mask tinted and outlined; NULL if
                                          not wanted */
    const struct bd_object *objects;   /* of the mask, in pixels of it; NULL if not wanted */
    int object_count;
    const struct bd_past *past; /* what this frame shows of earlier ones, as bd_tracker_past */
    int past_count;
    double time; /* seconds: pts x time base */
    int rank, columns;
    bool learned;
    int64_t dropped; /* live frames dropped so far */
    double seconds;  /* spent on this frame without waiting for decoding and scaling; of
                        bd_pipeline_run, without registration that goes ahead of it */
};

/* Opens the input, the backend and the separator as the options say, and starts the decoder.
 * `drop`: live sources may drop frames. `interrupted` as in bd_reader_options. BD_ERROR_IO or
 * BD_ERROR_FORMAT if the input cannot be read (whatever the reader's own code), other codes if
 * something else is wrong; bd_open_exit_status distinguishes them. `options` must stay. */
enum bd_status bd_pipeline_open(struct bd_pipeline **pipeline, const struct bd_options *options,
                                bool drop, unsigned wants, bool (*interrupted)(void *), void *user);

/* The exit status of the program when bd_pipeline_open failed: 2 input, 4 interrupted, 1 others. */
int bd_open_exit_status(enum bd_status status);

/* The next frame, separated; the pictures stay valid until the next call. BD_END at the end. The
 * first call initialises the background of a live separator from frames of the first seconds. A
 * seekable file is read a second time for that; frames of other sources are held back for
 * --start-delay seconds or 512 MiB, unless the pipeline may drop frames. */
enum bd_status bd_pipeline_next(struct bd_pipeline *pipeline, struct bd_result *result);

/* The first frame, before it is separated, for a window to show while the look-ahead goes on, or a
 * batch is collected. Call it before bd_pipeline_next, until which the frame is valid. BD_END where
 * the first result comes at once, or there is no frame. */
enum bd_status bd_pipeline_first_frame(struct bd_pipeline *pipeline, const struct bd_frame **frame);

/* A part of the look-ahead that the first bd_pipeline_next would wait for, so that a window can say
 * how much is done, 0 to 1. BD_END: bd_pipeline_next waits for no more of it. Failures are returned
 * by bd_pipeline_next too. */
enum bd_status bd_pipeline_look_ahead(struct bd_pipeline *pipeline, double *share);

/* True while frames that were held back at the start wait. After an interruption they can still be
 * had. */
bool bd_pipeline_starting(const struct bd_pipeline *pipeline);

/* Receives a separated frame, whose pictures and objects are valid during the call. To keep mask or
 * labels longer, bd_frame_share takes a reference, to be gone before the pipeline is closed. */
typedef enum bd_status bd_result_sink(void *user, const struct bd_result *result);

/* Each frame goes to `pictures`, then to `objects`. Both get all that is wanted. But with
 * BD_WANT_LATER `pictures` gets no objects; `objects` gets the mask alone of the pictures, and is
 * called by a thread of its own, while the next frames go to `pictures`. */
struct bd_sinks {
    bd_result_sink *pictures, *objects;
    void *user;
};

/* Separates all frames that are left, at most `limit` (0: no limit), and hands them to the sinks,
 * in order, from other threads: pictures are made and handed on while the next two are separated.
 * Ends at the first failure, of bd_pipeline_next or of a sink, and returns it (that of a sink when
 * further frames have been separated); BD_END at the end of the input; BD_OK at the limit, or,
 * after the frames that were held back at the start, when `interrupted` returns true, but
 * BD_ERROR_INTERRUPTED if no frame came then. All frames before have reached both sinks. */
enum bd_status bd_pipeline_run(struct bd_pipeline *pipeline, int64_t limit,
                               const struct bd_sinks *sinks);

const struct bd_reader_info *bd_pipeline_info(const struct bd_pipeline *pipeline);
/* Number of frames that --start and --duration leave; 0 where unknown. */
int64_t bd_pipeline_frame_count(const struct bd_pipeline *pipeline);
const char *bd_pipeline_backend(const struct bd_pipeline *pipeline); /* description, one line */
int64_t bd_pipeline_damaged(const struct bd_pipeline *pipeline);

/* The settings in use, defaults filled in. */
struct bd_separator_options bd_pipeline_settings(const struct bd_pipeline *pipeline);

/* For freeze, reset, lambda and threshold of the live solver. NULL with the batch solver. */
struct bd_separator *bd_pipeline_separator(struct bd_pipeline *pipeline);

/* Files: continues at `seconds` from the beginning; the learned background stays. */
enum bd_status bd_pipeline_seek(struct bd_pipeline *pipeline, double seconds);

void bd_pipeline_close(struct bd_pipeline **pipeline);

#endif
