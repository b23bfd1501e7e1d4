/* Which frames a time-lapse film shows, and when: all frames of events at their own pace; of still
 * stretches as many as pass at the speed that is asked for. */
#ifndef BD_APP_SUMMARY_PACE_H
#define BD_APP_SUMMARY_PACE_H

#include <stdbool.h>

struct bd_pace {
    double speed; /* of still stretches: seconds of the input in a second of the film */
    double step;  /* seconds between two frames of a still stretch in the film */
    bool begun;
    double still;  /* seconds of the input since the last event */
    double waited; /* seconds of the film since the last frame shown */
    double time;   /* seconds: of the last frame shown */
};

void bd_pace_begin(struct bd_pace *pace, double speed, double step);

/* The next frame of the input, `seconds` after the one before it. `event`: one goes on. Returns
 * whether the film shows the frame; pace->time is when. The first frame is shown, at 0. After an
 * event the speed doubles each second until it is that of still stretches. */
bool bd_pace_next(struct bd_pace *pace, double seconds, bool event);

#endif
