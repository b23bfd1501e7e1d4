/* How an export went, for --json: times, processor time and memory. The latter two are those of the
 * program, with all exports that it runs. Memory of the statistics themselves does not grow with
 * the run. */
#ifndef BD_APP_EXPORT_STATISTICS_H
#define BD_APP_EXPORT_STATISTICS_H

#include <stdint.h>

#include <backdrop/status.h>

struct bd_activity;

/* Times between frames are counted in classes, each 1 % wider than the one before, from a
 * microsecond to a quarter of an hour. The moments of frames 0, step, 2 step, ... are kept; the
 * step doubles when there is no more room. */
enum { bd_time_classes = 2080, bd_time_moments = 1024 };

struct bd_statistics {
    double begin, last; /* seconds: of the run, and when the last frame was done */
    double first;       /* seconds until the first frame was done */
    double longest;     /* seconds between two frames */
    int64_t frames;
    int64_t classes[bd_time_classes];
    double moments[bd_time_moments];
    int64_t step;
};

/* The run begins now. */
void bd_statistics_begin(struct bd_statistics *statistics);

/* A frame is done. */
void bd_statistics_add(struct bd_statistics *statistics);

/* The run has ended: writes one JSON object. `backend`: its description. `activity`, with its
 * events and counts of lines and zones, may be NULL. Errors as bd_output_write. */
enum bd_status bd_statistics_write(const struct bd_statistics *statistics, const char *path,
                                   const char *backend, const struct bd_activity *activity);

#endif
