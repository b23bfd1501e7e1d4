/* Progress on stderr: a bar on a terminal, a plain line every few seconds elsewhere. */
#ifndef BD_APP_PROGRESS_H
#define BD_APP_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "app/options.h"

struct bd_meter {
    enum bd_progress mode; /* never BD_PROGRESS_AUTO with `bar` false on a terminal */
    bool bar;
    bool shown; /* there is a bar in the current line of the terminal */
    const char *label;
    int64_t total; /* frames; 0: unknown */
    double start, last;
};

/* `label` names the work ("" for none) and must stay. */
void bd_meter_begin(struct bd_meter *meter, const struct bd_options *options, const char *label,
                    int64_t total);

/* Draws, unless it has drawn a moment ago. */
void bd_meter_update(struct bd_meter *meter, int64_t frames);

/* Clears the line of the bar. */
void bd_meter_end(struct bd_meter *meter);

/* Seconds since bd_meter_begin. */
double bd_meter_seconds(const struct bd_meter *meter);

#endif
