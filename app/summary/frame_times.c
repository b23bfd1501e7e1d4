#include "app/summary/frame_times.h"

#include <math.h>

void bd_frame_times_begin(struct bd_frame_times *times, const struct bd_reader_info *info)
{
    const double fallback = 1 / 25.0, gap = 5, longest = 86400;
    const struct bd_rational rate = info->frame_rate;
    bool known = rate.num > 0 && rate.den > 0;
    *times = (struct bd_frame_times){ .time_base = info->time_base };
    times->usual = known ? fmin((double)rate.den / (double)rate.num, longest) : fallback;
    times->most = fmax(gap, 2 * times->usual);
}

double bd_frame_times_next(struct bd_frame_times *times, int64_t pts)
{
    const struct bd_rational base = times->time_base;
    double units = (double)pts - (double)times->pts;
    double seconds = units * (double)base.num / (double)base.den;
    bool begun = times->begun;
    times->begun = true;
    times->pts = pts;
    if (!begun)
        return 0;
    return seconds > 0 && seconds <= times->most ? seconds : times->usual;
}
