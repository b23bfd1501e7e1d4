/* Background initialisation by look-ahead: a live separator starts with a background learned from
 * the first seconds of the film.
 *
 *   input, opened a second time -> threads: decode, scale -> pictures -> bd_initialiser_finish
 *
 * The frame after a picture shows which way things go (bd_separator_look_after).
 *
 * The threads work while the backend is opened. A decoder spends half a millisecond a frame in
 * serial code, whatever its number of threads. A film may therefore be read in several parts at the
 * same time, each with a reader of its own. */
#ifndef BD_APP_PIPELINE_INITIALISE_H
#define BD_APP_PIPELINE_INITIALISE_H

#include "app/pipeline/queue.h"
#include "app/pipeline/stabilise.h"
#include "video/input/reader.h"
#include <backdrop/separator.h>

struct bd_initialiser;

/* A minute of film shows most of what is behind moving objects. One of 1920x1080 takes 1 to 3
 * seconds of processor time to decode, the less, the closer its key frames are: a key frame is
 * taken in place of the frames up to a step less three frames after it, and frames before the last
 * key frame on the way to a picture are left out (bd_reader_read_near). */
enum { bd_initialiser_most_parts = 4, bd_initialiser_most_seconds = 60 };

/* Starts `parts` threads (1 to bd_initialiser_most_parts). They read at most `window` frames,
 * spread over the first seconds (the separator's memory, at most 60) evenly but for key frames, and
 * the frames after them, and scale all to the size of `settings` (defaults filled in) and to
 * `format`. `input` and what `options` points to must stay; `options->interrupted` is called from
 * the threads. Several parts need a seekable film and pictures that are at least two frames apart;
 * at a constant rate the pictures are then the same as with one part.
 */
enum bd_status bd_initialiser_start(struct bd_initialiser **initialiser, const char *input,
                                    const struct bd_reader_options *options,
                                    const struct bd_separator_options *settings,
                                    enum bd_pixel_format format, int parts);

/* Gives the separator the next picture, registered by `stabiliser` (NULL: unchanged), and says
 * which share of the pictures it has. Waits for a picture that is not there yet. BD_END: there are
 * no more. Errors: those of bd_initialiser_finish, which has to be called in any case. */
enum bd_status bd_initialiser_next(struct bd_initialiser *initialiser,
                                   struct bd_separator *separator, struct bd_stabiliser *stabiliser,
                                   double *share);

/* Gives the separator the pictures that are left, initialises its background, and closes. The
 * background is not initialised if there are very few frames or if reading fails on the way.
 * Errors: those of the reader before the first picture, the separator's, and
 * BD_ERROR_INTERRUPTED. */
enum bd_status bd_initialiser_finish(struct bd_initialiser **initialiser,
                                     struct bd_separator *separator,
                                     struct bd_stabiliser *stabiliser);

/* The same without a look-ahead: initialises the background from the frames of the first `seconds`
 * that wait in the queue, of which it takes none. Waits until they are there, all that have room,
 * or the last. Nothing is learned from very few. Call it before any frame is taken. */
enum bd_status bd_initialise_from_queue(struct bd_queue *queue, struct bd_rational time_base,
                                        double seconds, struct bd_separator *separator,
                                        struct bd_stabiliser *stabiliser);

/* Ends the threads, wherever they are, and nulls. Safe on NULL. */
void bd_initialiser_close(struct bd_initialiser **initialiser);

#endif
