/* Private: whether the times of a file start anew within it. */
#ifndef BD_VIDEO_INPUT_LIBAV_CLOCK_H
#define BD_VIDEO_INPUT_LIBAV_CLOCK_H

#include <stdbool.h>

struct bd_libav_input;

/* Whether IN is of a format whose files can be put one behind the other, byte by byte. A time may
 * then be there twice: only the first byte is a place that is sure. */
bool bd_libav_clock_may_restart(const struct bd_libav_input *in);

/* Whether the clock of a file of such a format starts anew, as a few packets show. False for what
 * is not a file of this machine. Reads at up to sixteen places, and leaves the demuxer at one of
 * them: a seek must follow. */
bool bd_libav_clock_restarts(struct bd_libav_input *in);

#endif
