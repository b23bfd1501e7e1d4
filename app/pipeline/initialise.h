/* The look ahead: a live separator starts with a background learned from the first seconds.
 *
 *   input, opened once more -> threads: decode, scale -> [waiting pictures] ->
 * bd_initialiser_finish
 *
 * The threads work while the backend is opened. A decoder hands from frame to frame what takes half
 * a millisecond, whatever its threads: so a film may be looked through in several parts at a time,
 * each by a reader of its own. */
#ifndef BD_APP_PIPELINE_INITIALISE_H
#define BD_APP_PIPELINE_INITIALISE_H

#include "app/pipeline/stabilise.h"
#include "video/input/reader.h"
#include <backdrop/separator.h>

struct bd_initialiser;

/* A minute of footage shows most of what stands behind moving objects, and decoding it takes a
 * second or so. */
enum { bd_initialiser_most_parts = 4, bd_initialiser_most_seconds = 60 };

/* Starts `parts` threads (1 to bd_initialiser_most_parts), which read at most `window` frames
 * spread over the first seconds (as many as the separator remembers, at most 60) and scale them to
 * what the separator wants: `settings`, defaults filled in, and `format`. `input` must stay, as
 * must what `options` points to; its `interrupted` is called from those threads. More than one part
 * is for films that can be sought in, where the pictures are at least two frames apart: they are
 * then the same as those of one. */
enum bd_status bd_initialiser_start(struct bd_initialiser **prime, const char *input,
                                    const struct bd_reader_options *options,
                                    const struct bd_separator_options *settings,
                                    enum bd_pixel_format format, int parts);

/* Shows the separator the pictures in their order, registered by `steady` (NULL: as they are),
 * waiting for those to come, lets it learn from them, and closes. Inputs of very few frames are
 * left alone, and so is what breaks off on the way. Errors: those of the reader before the first
 * picture, and BD_ERROR_INTERRUPTED. */
enum bd_status bd_initialiser_finish(struct bd_initialiser **prime, struct bd_separator *separator,
                                     struct bd_stabiliser *steady);

/* Ends the threads, wherever they are, and nulls. Safe on NULL. */
void bd_initialiser_close(struct bd_initialiser **prime);

#endif
