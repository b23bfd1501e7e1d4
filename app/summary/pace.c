#include "app/summary/pace.h"

#include <math.h>

void bd_pace_begin(struct bd_pace *pace, double speed, double step)
{
    *pace = (struct bd_pace){ .speed = speed, .step = step, .still = INFINITY };
}

/* A frame of a still stretch is shown when the film has waited for a step. What it has waited
 * beyond that counts for the next one, but no more than a step: after a gap frames do not bunch. */
static bool pass(struct bd_pace *pace, double seconds)
{
    const double rounding = 1e-6; /* of sums of times */
    pace->waited += seconds / fmin(pace->speed, exp2(pace->still));
    pace->still += seconds;
    if (pace->waited < pace->step * (1 - rounding))
        return false;
    pace->time += pace->step;
    pace->waited = fmin(pace->waited - pace->step, pace->step);
    return true;
}

bool bd_pace_next(struct bd_pace *pace, double seconds, bool event)
{
    bool first = !pace->begun;
    pace->begun = true;
    if (!event && !first)
        return pass(pace, seconds);
    if (event)
        pace->still = pace->waited = 0;
    pace->time += first ? 0 : seconds;
    return true;
}
