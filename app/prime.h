/* The look ahead: a live separator starts with a background learned from the first seconds. */
#ifndef BD_APP_PRIME_H
#define BD_APP_PRIME_H

#include "linalg/separator.h"
#include "video/reader.h"

/* Opens `input` once more, shows the separator at most `window` frames spread over the first
 * seconds (as many as it remembers, at most 60), and lets it learn from them. `format` and the
 * separator's size say what it wants. Inputs of very few frames are left alone. */
enum bd_status bd_prime(struct bd_separator *separator, const char *input,
                        const struct bd_reader_options *options, enum bd_pixel_format format);

#endif
