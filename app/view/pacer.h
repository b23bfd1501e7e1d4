/* When to show which frame: presentation times of files turned into moments of the clock. Pure
 * arithmetic; all times are seconds, `now` is bd_clock_seconds(). Main thread only. */
#ifndef BD_APP_VIEW_PACER_H
#define BD_APP_VIEW_PACER_H

#include <stdbool.h>

enum { BD_PACER_HISTORY = 48 };

struct bd_view_pacer {
    bool running;     /* false: the media clock stands (pause, seek, buffering) */
    double origin;    /* clock time at which media time 0 is due, while running */
    double last_time; /* media time of the frame shown last */
    double interval;  /* media time between the last two frames */

    /* The frames shown last, oldest overwritten, for the rates. */
    struct {
        double clock, time;
    } history[BD_PACER_HISTORY];
    int count, head;
};

/* Makes the media clock stand; the next frame is due at once. */
void bd_view_pacer_stop(struct bd_view_pacer *pacer);

/* Makes the media clock go on from the frame shown last. */
void bd_view_pacer_start(struct bd_view_pacer *pacer, double now);

/* The clock time at which a frame is due. A frame that is the first after a jump in the media (a
 * loop) is due one interval after its predecessor. */
double bd_view_pacer_due(const struct bd_view_pacer *pacer, double time, bool jump);

/* Notes that a frame is shown. One that comes late by more than a tenth of a second, because
 * separation is slower than the media, moves the media clock with it; smaller delays are made up
 * for by the following frames. */
void bd_view_pacer_show(struct bd_view_pacer *pacer, double time, bool jump, double now);

/* Frames shown a second, over the last second or so; 0 while not known. */
double bd_view_pacer_rate(const struct bd_view_pacer *pacer);

/* Seconds of media shown a second, 1 in real time; 0 while not known. */
double bd_view_pacer_speed(const struct bd_view_pacer *pacer);

#endif
