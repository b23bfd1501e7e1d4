/* Which tubes a synopsis shows, when, and how fast. */
#ifndef BD_APP_SUMMARY_SCHEDULE_H
#define BD_APP_SUMMARY_SCHEDULE_H

#include "app/summary/tubes.h"

/* A tube in the synopsis. */
struct bd_showing {
    const struct bd_tube *tube;
    double at;      /* seconds from the synopsis' start: when its object comes */
    double seconds; /* how long it is shown */
    double speed;   /* seconds of the film in a second of the synopsis, 1 or more */
};

struct bd_schedule {
    struct bd_showing *items;
    int count;
    double end; /* seconds: the length of the synopsis */
};

struct bd_schedule_options {
    double length;     /* seconds: the longest synopsis */
    double least;      /* seconds: objects that were seen for less are not shown */
    double period;     /* seconds of a frame of the film */
    int width, height; /* of its frames */
};

/* Places each tube of at least options->least seconds, once. Tubes whose objects were together keep
 * their distance in time, as long as they do not take more than half of the length. What is longer
 * than the length is shown faster, so that it takes the length. `tubes` must stay; the caller calls
 * bd_schedule_release. BD_ERROR_MEMORY, BD_ERROR_IO. */
enum bd_status bd_schedule_make(struct bd_schedule *schedule, const struct bd_tubes *tubes,
                                const struct bd_schedule_options *options);

void bd_schedule_release(struct bd_schedule *schedule);

#endif
