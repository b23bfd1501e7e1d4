/* What happens before the camera: the visits of objects (backdrop/tracker.h), the lines they cross
 * and the zones they are in.
 *
 *   frame's objects -> bd_activity_add -> happenings of this frame -> events file, clips, summaries
 *
 * An event is a visit: it begins when an object comes and ends when it has gone. Objects that came
 * out of one another, and one that comes back where another was lost a moment before, belong to
 * the same visit; objects that merely cross do not.
 *
 * Memory is bounded: 128 events at a time, each with its first 256 tracks, 64 newest marks and a
 * path of 256 points. When 128 go on, a new object joins the event of the nearest one. */
#ifndef BD_APP_ACTIVITY_ACTIVITY_H
#define BD_APP_ACTIVITY_ACTIVITY_H

#include "app/options.h"
#include "app/pipeline/pipeline.h"

struct bd_box {
    int x, y, width, height; /* pixels */
};

/* Where the foot of an object was: the middle of its box's lower side. */
struct bd_path_point {
    int64_t time; /* nanoseconds */
    int x, y;     /* pixels */
};

enum bd_happening_kind {
    BD_EVENT_BEGAN,
    BD_EVENT_CHANGED, /* while it goes on: once a second, and when an object comes or goes */
    BD_EVENT_ENDED,
    BD_LINE_CROSSED,
    BD_ZONE_ENTERED,
    BD_ZONE_LEFT
};

/* An object has crossed a line, or entered or left a zone. */
struct bd_mark {
    enum bd_happening_kind kind; /* one of the last three */
    int64_t time, frame;         /* of the frame that showed it */
    int64_t object;
    const char *name; /* of the line or zone; valid as long as the activity */
    int direction;    /* as in struct bd_happening */
    int64_t stay;     /* likewise */
};

/* Times are nanoseconds of the input's clock; frames are counted from 0 in the input. */
struct bd_event {
    int64_t number; /* from 1, in the order in which events are long enough to be such */
    int64_t start, end, peak_time;
    int64_t first_frame, last_frame, peak_frame;
    int64_t frames;              /* in which one of its objects was seen */
    double peak_fraction, total; /* the largest share of the picture, and the sum of the shares */
    int objects;                 /* most at the same time */
    struct bd_box box;           /* of the largest object at the peak */
    struct bd_box extent;        /* around all places where an object was */
    const int64_t *tracks;       /* numbers of its objects, in the order of their coming */
    int track_count;
    const struct bd_path_point *path; /* of its first object that is seen, thinned where long */
    int path_count;                   /* the last point is the newest */
    const struct bd_mark *marks;      /* what its objects crossed, entered and left, in order */
    int mark_count;
    bool ended;
};

struct bd_happening {
    enum bd_happening_kind kind;
    int64_t time, frame;          /* of the frame that showed it; what comes before its event is
                                     known to be one is told then, with its own time */
    const struct bd_event *event; /* valid while the happening is */
    int64_t object;               /* that crosses, enters or leaves; 0: of no single one */
    const char *name;             /* of the line or zone; NULL: none */
    int direction;                /* of a crossing: 1 from the left of the line, as seen from its
                                     first point to its second, to the right; -1 back */
    int64_t stay;                 /* nanoseconds between entering and leaving, of BD_ZONE_LEFT */
};

struct bd_activity;

/* For an input; `options` (with the lines, zones and times of events) must stay. BD_ERROR_ARGUMENT
 * for a line or zone that is none or not in the picture. */
enum bd_status bd_activity_create(struct bd_activity **activity, const struct bd_options *options,
                                  const struct bd_reader_info *info);
void bd_activity_destroy(struct bd_activity **activity);

/* Takes in the objects of the next frame. Its happenings replace those of the frame before. */
enum bd_status bd_activity_add(struct bd_activity *activity, const struct bd_result *result);

/* No frame comes any more: all events end. */
enum bd_status bd_activity_finish(struct bd_activity *activity);

/* What the last call of the two above has found, in order; valid until the next. */
const struct bd_happening *bd_activity_happenings(const struct bd_activity *activity, int *count);

/* The events that go on, by their numbers. Valid until the next bd_activity_add. */
const struct bd_event *const *bd_activity_events(const struct bd_activity *activity, int *count);

/* What happened at a line or in a zone so far. */
struct bd_mark_total {
    const char *name;
    bool zone;
    int64_t right, left;  /* crossings by direction, of a line */
    int64_t entered, out; /* objects that entered and left, of a zone */
    int64_t stay;         /* nanoseconds inside of those which left, together; at most INT64_MAX */
};

/* One for each line and then each zone, in the order of the options. */
const struct bd_mark_total *bd_activity_totals(const struct bd_activity *activity, int *count);

/* Nanoseconds: the time of the last frame. */
int64_t bd_activity_time(const struct bd_activity *activity);

/* How many events there were so far. */
int64_t bd_activity_event_count(const struct bd_activity *activity);

#endif
