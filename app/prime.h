/* The look ahead: a live separator starts with a background learned from the first seconds.
 *
 *   input, opened once more -> thread: decodes, scales -> [waiting pictures] -> bd_prime_finish
 *
 * The thread works while the backend is opened, which takes a GPU as long. */
#ifndef BD_APP_PRIME_H
#define BD_APP_PRIME_H

#include "linalg/separator.h"
#include "video/reader.h"

struct bd_prime;

/* Starts the thread, which reads at most `window` frames spread over the first seconds (as many as
 * the separator remembers, at most 60) and scales them to what the separator wants: `settings`,
 * defaults filled in, and `format`. `input` must stay, as must what `options` points to; its
 * `interrupted` is called from that thread. */
enum bd_status bd_prime_start(struct bd_prime **prime, const char *input,
                              const struct bd_reader_options *options,
                              const struct bd_separator_options *settings,
                              enum bd_pixel_format format);

/* Shows the separator the pictures in their order, waiting for those to come, lets it learn from
 * them, and closes. Inputs of very few frames are left alone, and so is what breaks off on the way.
 * Errors: those of the reader before the first picture, and BD_ERROR_INTERRUPTED. */
enum bd_status bd_prime_finish(struct bd_prime **prime, struct bd_separator *separator);

/* Ends the thread, wherever it is, and nulls. Safe on NULL. */
void bd_prime_close(struct bd_prime **prime);

#endif
