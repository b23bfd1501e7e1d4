/* The live separator: it splits each frame of a stationary camera at once into background and
 * moving foreground, against a basis that Robust PCA of a sliding window of frames keeps up to
 * date.
 *
 * For each frame f: the background l = B w by robust (Huber) projection on the basis B. A pixel is
 * in the mask if |f - l| is more than the threshold and more than a few times the pixel's noise,
 * and if it is not background in the shadow of an object or in other light, nor something that
 * moves in place, as leaves and water do: a value that the window's frames have had in several
 * separate visits, where foreground is in pieces. Then small components are removed, and signs and
 * screens that have flashed before. Holes are filled, mirror images cut where objects often have
 * one, and the pixels at edges that are mostly background removed. Every memory / window seconds
 * the frame enters the window: the oldest column is removed from R and the new one appended (QR
 * update). R is made from the frames again (QR for R alone) when it has drifted from the window's,
 * when a ghost has been removed and when lambda has changed; with refinements, at each slide. The
 * SVD of R gives the rank and the singular values of the new basis, and its columns but the first,
 * which comes from the basis before by a step of subspace iteration, the same on all backends.
 * Pixels that are foreground enter the window as background, until they have been foreground for
 * the memory time. The window then takes eight tenths of that time more to make them background.
 *
 * A program needs bd_backend_open, bd_separator_create, bd_separator_push for each frame, and both
 * closed at the end: examples/live_separation.c. The other functions are for files, for the best
 * start, and for more speed on a GPU.
 *
 * The start: without a look-ahead the first frames enter the window as they are, densely, within 10
 * seconds or the memory time, and the background is the stable value of each pixel in them. When
 * the window is full (or after a look-ahead) moving objects are taken out of the window, and the
 * first basis is learned. Where a pixel has two stable values, the background is the one with the
 * lower boundary contrast: an object has a contour. By the same rule a ghost is recognised and
 * removed: when an object that was taken for background has left, what it uncovered becomes
 * background within some seconds; while the window fills, within one. A program that can hold back
 * the first frames shows them all before it separates them (bd_separator_initialise_start).
 *
 * A change of light that affects all of the picture is followed in its first frame. If most of the
 * picture becomes foreground at once for another reason, and stays so for some frames, learning
 * starts again. That decision uses results from three frames before, so that no frame waits for a
 * GPU. A step back in time, or one of more than 5 seconds ahead, is a seek: what was learned stays,
 * and the step counts as one frame. */
#ifndef BACKDROP_SEPARATOR_H
#define BACKDROP_SEPARATOR_H

#include <stdbool.h>
#include <stdint.h>

#include <backdrop/backend.h>
#include <backdrop/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { bd_max_window = 1000, bd_max_rank = 8 }; /* columns of the window and of the basis */

/* In struct bd_separator_options, where 0 is the default: none of it. */
enum { BD_NONE = -1 };

/* Fields that are 0 have their defaults. */
struct bd_separator_options {
    int width, height; /* pixels of every frame */
    int channels;      /* 1 gray, 3 rgb, interleaved bytes */
    double frame_rate; /* frames a second of the source; 0: 25. How many frames small foreground
                          must last (min_area), and whether flashes are looked for, depends on it:
                          where it is too high, small objects of a slow camera are lost */
    int window;        /* columns n, 2 .. 1000; 0: 50 */
    double memory;     /* seconds that the window spans; 0: 60 */
    double lambda;     /* grey levels: what differs by more is sparse; 0: 10 */
    double threshold;  /* grey levels: the least difference that is foreground; 0: 20 */
    double
        noise_gain; /* a pixel's threshold is at least this many times its noise; 0: 3; BD_NONE */
    int refine; /* times R is made from the frames again at each slide, up to 100; 0: R is updated,
                   and made again when it has drifted; BD_NONE: R is only updated */
    int rank;   /* largest rank of the background, 1 .. 8; 0: 1 */
    int median; /* side of the median filter on the mask, odd, 1: none; 0: 5 */
    int min_area; /* components of fewer pixels are removed; those of fewer than 8 times as many
                     are until they have lasted for .15 s, up to 4 frames; 0: by the frames' size;
                     BD_NONE */
    int max_hole; /* holes of at most so many pixels are filled; 0: by the frames' size; BD_NONE */
    int shadows;  /* 0: shadows, other light and mirror images are no foreground; BD_NONE: they are
                   */
    int outputs;  /* pictures wanted, a sum of enum bd_separator_output; 0: all but the shadows */
    int results;  /* frames whose results can be in use at a time, 1 to 4; 0: 1 */
};

enum bd_separator_output {
    BD_SEPARATOR_MASK = 1,
    BD_SEPARATOR_BACKGROUND = 2,
    BD_SEPARATOR_DIFFERENCE = 4,
    BD_SEPARATOR_SHADOW = 8
};

/* The pictures are NULL where options.outputs leaves them out. */
struct bd_separation {
    const uint8_t *background; /* l, as the frame: height x width x channels, tight rows */
    const uint8_t *difference; /* |f - l|, maximum over channels: height x width, tight rows */
    const uint8_t *mask;       /* 0 or 255: height x width, tight rows */
    const uint8_t *shadow;     /* the same for shadows, other light and mirror images, no part
                                  of the mask */
    int64_t foreground;        /* pixels of the mask that are 255 */
    int64_t ghost_pixels;      /* pixels that became background after the frame before, by ghost
                              removal */
    int64_t changed;           /* pixels that differ from the background by more than the threshold:
                                  foreground, shadows and other light before the clean-up */
    int rank;                  /* of the background */
    int columns;               /* frames in the window */
    double drift; /* of R from the window's at the slide before, as a share of sigma(1);
                     by default R is made from the frames again after more than .002 */
    bool learned; /* this frame entered the window */
};

struct bd_separator;

/* The options with every 0 replaced by its default; what bd_separator_create would use.
 * NULL: all of them are 0. */
BD_API struct bd_separator_options
bd_separator_defaults(const struct bd_separator_options *options);

/* BD_ERROR_ARGUMENT for options out of range, BD_ERROR_MEMORY. All memory of the per-frame path is
 * taken here. */
BD_API enum bd_status bd_separator_create(struct bd_separator **separator,
                                          struct bd_backend *backend,
                                          const struct bd_separator_options *options);
BD_API void bd_separator_destroy(struct bd_separator **separator);

/* A look-ahead into a file: shows the separator frames before separation starts, any number, best
 * spread over the time that the window spans. bd_separator_initialise then learns a first
 * background from the last `window` of them, up to the first sudden change of light among those.
 * Without a look-ahead the first background is the first frame and improves quickly.
 * `picture` and `stride` are as for bd_separator_submit.
 * BD_ERROR_ARGUMENT once separation has started (a reset allows it again), while a frame is in
 * flight, and for bd_separator_initialise without a frame. */
BD_API enum bd_status bd_separator_look_ahead(struct bd_separator *separator,
                                              const uint8_t *picture, int64_t stride);
BD_API enum bd_status bd_separator_initialise(struct bd_separator *separator);

/* The same for a source of which only the first `seconds` are known, whose frames were
 * shown. If that is less than three quarters of the time in which a window is filled (10 seconds or
 * the memory time), it goes on filling after these. */
BD_API enum bd_status bd_separator_initialise_start(struct bd_separator *separator, double seconds);

/* After one of these: shows the frame that comes just after frame `number` of the look-ahead (0:
 * the first that was shown). From both the separator learns which way things go: what goes one way,
 * as traffic does, is no leaf, though its colours come back. Without it that takes ten seconds.
 * Show those of frames all over the look-ahead, twelve or more. Does nothing where frame `number`
 * is not in the window any more, and while the window goes on filling. Arguments and errors are
 * those of bd_separator_look_ahead. */
BD_API enum bd_status bd_separator_look_after(struct bd_separator *separator, int number,
                                              const uint8_t *picture, int64_t stride);

/* Separates a frame (height rows of width x channels bytes, `stride` bytes apart, no less
 * than a row has, copied before this returns). `picture` is in the host's memory or in that of the
 * backend, as bd_matrix_create or cudaMalloc give it; what writes it must be done. From a GPU's
 * memory, and from page-locked memory (cudaMallocHost), the GPU copies, not the host. `time` is the
 * frame's presentation time in seconds, finite, and decides when frames enter the window. Results
 * are fetched by bd_separator_receive, in the order of the frames. Up to bd_separator_depth frames
 * may be in flight; BD_ERROR_ARGUMENT for one more. What happens to one frame never depends on when
 * the results of another are fetched. Allocates nothing. */
BD_API enum bd_status bd_separator_submit(struct bd_separator *separator, const uint8_t *picture,
                                          int64_t stride, double time);

/* Submits a frame to each of `count` separators, all different and of one backend: frame i, of
 * pictures[i], strides[i] and times[i], to separators[i], with the results that bd_separator_submit
 * gives. On a GPU small frames of several cameras take much less time together than one after
 * another: threads copy the pictures and enqueue the work side by side, a frame with its transfers
 * is one launch, and the work of the separators overlaps, as it does between calls of
 * bd_separator_submit. Log messages may come from these threads, one at a time. A picture
 * is copied by one thread here, by several there: few large frames are better submitted one by one.
 * BD_ERROR_ARGUMENT where bd_separator_submit would refuse one of the frames, and then none is
 * submitted. Another error is of one or some of the separators, the last of them that failed; the
 * others' frames are submitted all the same, and bd_separator_in_flight tells which. Allocates
 * nothing. */
BD_API enum bd_status bd_separator_submit_all(struct bd_separator *const *separators, int count,
                                              const uint8_t *const *pictures,
                                              const int64_t *strides, const double *times);

/* The results of the oldest frame in flight, which it waits for. The pointers in `out` are valid
 * until options.results more frames have begun to be submitted or pushed, by default the next one;
 * frames that are shown count as one. BD_ERROR_ARGUMENT if no frame is in flight. */
BD_API enum bd_status bd_separator_receive(struct bd_separator *separator,
                                           struct bd_separation *out);

/* Frames that may be in flight: 1 on the cpu, which has finished with a frame when submit returns;
 * 3 on a GPU. bd_separator_in_flight: frames that are. */
BD_API int bd_separator_depth(const struct bd_separator *separator);
BD_API int bd_separator_in_flight(const struct bd_separator *separator);

/* bd_separator_submit and bd_separator_receive, with no frame in flight before. */
BD_API enum bd_status bd_separator_push(struct bd_separator *separator, const uint8_t *picture,
                                        int64_t stride, double time, struct bd_separation *out);

/* As bd_separator_push, but with the background of the frame (tight rows) from another solver, such
 * as bd_rpca on the whole window. Only the mask is made, and noise levels are learned. */
BD_API enum bd_status bd_separator_push_known(struct bd_separator *separator,
                                              const uint8_t *picture, int64_t stride,
                                              const uint8_t *background, double time,
                                              struct bd_separation *out);

/* While frozen nothing is learned (except the first frame, if there is none yet): window, basis,
 * noise levels and ages stay as they are. */
BD_API void bd_separator_freeze(struct bd_separator *separator, bool frozen);
BD_API bool bd_separator_frozen(const struct bd_separator *separator);

/* Forgets all that was learned. Options and the frozen state stay; in a frozen separator only the
 * next frame is learned. Frames in flight are still to be received. */
BD_API enum bd_status bd_separator_reset(struct bd_separator *separator);

/* Changes lambda and the threshold (grey levels, > 0) from the next frame on. */
BD_API enum bd_status bd_separator_set_lambda(struct bd_separator *separator, double lambda);
BD_API enum bd_status bd_separator_set_threshold(struct bd_separator *separator, double threshold);
BD_API const struct bd_separator_options *
bd_separator_options(const struct bd_separator *separator);

#ifdef __cplusplus
}
#endif
#endif
