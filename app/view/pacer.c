#include "app/view/pacer.h"

/* Seconds. A larger delay is visible; with less, jitter of the scheduler would slow the film down.
 */
static const double late = 0.1;

/* Seconds: a longer gap between frames is a clock that was set, or a camera that was away. */
static const double longest_gap = 10;

/* Seconds: long enough for a stable figure, short enough to follow a change. */
static const double rate_span = 1.5;

void bd_view_pacer_stop(struct bd_view_pacer *pacer)
{
    pacer->running = false;
    pacer->count = 0;
}

void bd_view_pacer_start(struct bd_view_pacer *pacer, double now)
{
    pacer->running = true;
    pacer->origin = now - pacer->last_time;
}

double bd_view_pacer_due(const struct bd_view_pacer *pacer, double time, bool jump)
{
    if (!pacer->running)
        return 0;
    bool gap = jump || time - pacer->last_time > longest_gap;
    return pacer->origin + (gap ? pacer->last_time + pacer->interval : time);
}

void bd_view_pacer_show(struct bd_view_pacer *pacer, double time, bool jump, double now)
{
    if (pacer->running) {
        double due = bd_view_pacer_due(pacer, time, jump);
        pacer->origin = (now - due > late ? now : due) - time;
    }
    if (jump)
        pacer->count = 0;
    else if (time > pacer->last_time)
        pacer->interval = time - pacer->last_time;
    pacer->last_time = time;
    pacer->head = (pacer->head + 1) % BD_PACER_HISTORY;
    pacer->history[pacer->head].clock = now;
    pacer->history[pacer->head].time = time;
    if (pacer->count < BD_PACER_HISTORY)
        pacer->count++;
}

/* How many intervals of the history lie within the span. */
static int span(const struct bd_view_pacer *pacer, double *clock, double *time)
{
    int n = 0;
    *clock = *time = 0;
    while (n + 1 < pacer->count && *clock < rate_span) {
        n++;
        int i = (pacer->head - n + BD_PACER_HISTORY) % BD_PACER_HISTORY;
        *clock = pacer->history[pacer->head].clock - pacer->history[i].clock;
        *time = pacer->history[pacer->head].time - pacer->history[i].time;
    }
    return n;
}

double bd_view_pacer_rate(const struct bd_view_pacer *pacer)
{
    double clock, time;
    int n = span(pacer, &clock, &time);
    return n > 1 && clock > 0 ? n / clock : 0;
}

double bd_view_pacer_speed(const struct bd_view_pacer *pacer)
{
    double clock, time;
    int n = span(pacer, &clock, &time);
    return n > 1 && clock > 0 ? time / clock : 0;
}
