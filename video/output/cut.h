/* Stretches of a film as films of their own, copied packet by packet: nothing is decoded, nothing
 * encoded again. A stretch begins at the key frame before. */
#ifndef BD_VIDEO_OUTPUT_CUT_H
#define BD_VIDEO_OUTPUT_CUT_H

#include "video/input/reader.h"

struct bd_cutter;

/* Opens the film and chooses what its stretches are written as: .mp4, .mkv where .mp4 does not hold
 * the codec, else the film's own container. Of `options` only those of the input are used.
 * BD_ERROR_UNSUPPORTED for what cannot be copied: no file, or one whose packets have no times or
 * whose clock starts anew within it; the line says why. To know that, a container that allows it
 * (.ts, .mpg) is read to its end. Else errors as bd_reader_open. */
enum bd_status bd_cutter_open(struct bd_cutter **cutter, const char *input,
                              const struct bd_reader_options *options);

/* The extension of the files that bd_cutter_cut writes, without its dot. */
const char *bd_cutter_extension(const struct bd_cutter *cutter);

/* The codec of the pictures, and that of a sound which the container does not hold and which is
 * left out (NULL: none is). */
const char *bd_cutter_codec(const struct bd_cutter *cutter);
const char *bd_cutter_lost_sound(const struct bd_cutter *cutter);

/* What was copied. Times are nanoseconds of the input's clock, as pts x time base. */
struct bd_cut {
    int64_t start, end; /* of the first and of the last picture */
    int64_t pictures;
};

/* Copies the pictures from the key frame at or before `from` to `to`, both nanoseconds of the
 * input's clock, and the sound with them, to the file `path`, whose times begin at 0. Where the
 * film begins after `from` its first key frame is the start. BD_END where no picture is in between;
 * BD_ERROR_IO and BD_ERROR_FORMAT name the file that failed. On failure no file is left. */
enum bd_status bd_cutter_cut(struct bd_cutter *cutter, const char *path, bool overwrite,
                             int64_t from, int64_t to, struct bd_cut *cut);

/* Closes and nulls. Safe on NULL. */
void bd_cutter_close(struct bd_cutter **cutter);

#endif
