/* An event as text: a row of CSV or the keys of a JSON object. events.h has the columns. */
#ifndef BD_APP_EXPORT_EVENT_TEXT_H
#define BD_APP_EXPORT_EVENT_TEXT_H

#include "app/activity/activity.h"
#include "app/json.h"

/* What the times of an input are in UTC. */
struct bd_event_clock {
    bool known;
    int64_t utc; /* nanoseconds: of the input's time 0 */
};

/* Finds it out for a camera, the time of whose first frame, which has just come, is `time`. */
void bd_event_clock_find(struct bd_event_clock *clock, int64_t time);

void bd_event_print_header(FILE *file);
void bd_event_print_row(FILE *file, const struct bd_event *event,
                        const struct bd_event_clock *clock);

/* Writes the keys into an open object; `whole`: also where it went and what it crossed. */
void bd_event_write_keys(struct bd_json *json, const struct bd_event *event,
                         const struct bd_event_clock *clock, bool whole);

/* One happening as an object: a line of its own where the JSON is compact and at its top. */
void bd_event_write_happening(struct bd_json *json, const struct bd_happening *happening,
                              const struct bd_event_clock *clock);

/* The counts of lines and of zones, as arrays of these names, where there are any. */
void bd_event_write_totals(struct bd_json *json, const struct bd_activity *activity);

#endif
