/* Frame pacing: converts presentation times of a file to times of the clock. Pure arithmetic; all
 * times are seconds, `now` is bd_clock_seconds(). Main thread only. */
#ifndef BD_APP_VIEW_PACER_H
#define BD_APP_VIEW_PACER_H

#include <stdbool.h>

enum { BD_PACER_HISTORY = 48 };

struct bd_view_pacer {
    bool running;     /* false: the media clock is stopped (pause, seek, buffering) */
    double origin;    /* clock time at which media time 0 is due, while running */
    double last_time; /* media time of the frame shown last */
    double interval;  /* media time between the last two frames */

    /* The frames shown last, oldest overwritten, for the rates. */
    struct {
        double clock, time;
    } history[BD_PACER_HISTORY];
    int count, head;
};

/* Stops the media clock; the next frame is due at once. */
void bd_view_pacer_stop(struct bd_view_pacer *pacer);

/* Starts the media clock at the frame shown last. */
void bd_view_pacer_start(struct bd_view_pacer *pacer, double now);

/* The clock time at which a frame is due. A frame that is the first after a jump in the media (a
 * loop), or after a gap of more than ten seconds, is due one interval after its predecessor. */
double bd_view_pacer_due(const struct bd_view_pacer *pacer, double time, bool jump);

/* Records that a frame is shown. If it is late by more than a tenth of a second, because separation
 * is slower than the film, the media clock is set back by the delay; the following frames catch up
 * with smaller delays. */
void bd_view_pacer_show(struct bd_view_pacer *pacer, double time, bool jump, double now);

/* Frames shown per second, over the last 1.5 seconds; 0 while unknown. */
double bd_view_pacer_rate(const struct bd_view_pacer *pacer);

/* Seconds of film shown per second, 1 in real time; 0 while unknown. */
double bd_view_pacer_speed(const struct bd_view_pacer *pacer);

#endif
