/* How long each frame of the input was shown, from the times of the frames. */
#ifndef BD_APP_SUMMARY_FRAME_TIMES_H
#define BD_APP_SUMMARY_FRAME_TIMES_H

#include <stdbool.h>

#include "video/input/reader.h"

struct bd_frame_times {
    struct bd_rational time_base;
    double usual; /* seconds: of a frame at the average rate of the input */
    double most;  /* seconds between two frames; more is a gap of the recording */
    bool begun;
    int64_t pts; /* of the last frame */
};

/* For an input. Where it does not tell its frame rate, a frame usually takes 1/25 s; a day at
 * most, whatever it tells. A frame is shown for 5 s at most, or for two usual frames where these
 * take longer. */
void bd_frame_times_begin(struct bd_frame_times *times, const struct bd_reader_info *info);

/* The next frame, of time `pts`. Returns the seconds since the frame before it, which is how long
 * that one was shown; of a gap, and where time goes back, those of a usual frame. The first frame
 * gets 0. */
double bd_frame_times_next(struct bd_frame_times *times, int64_t pts);

#endif
