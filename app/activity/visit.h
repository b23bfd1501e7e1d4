/* One visit: what its objects did, as the event of it that others read. */
#ifndef BD_APP_ACTIVITY_VISIT_H
#define BD_APP_ACTIVITY_VISIT_H

#include "app/activity/activity.h"

enum { bd_visit_tracks = 256, bd_visit_points = 256, bd_visit_marks = 64 };

struct bd_visit {
    struct bd_event event; /* its arrays are those below; `number` is 0 until it is an event */
    int64_t tracks[bd_visit_tracks];
    struct bd_path_point path[bd_visit_points];
    int64_t path_steps;  /* points that came */
    int64_t path_stride; /* every so many-th is kept, and the newest */
    struct bd_mark marks[bd_visit_marks];
    int told_marks; /* of the marks: those that have been told */
    int64_t told;   /* the time at which others were last told of it */
    bool changed;   /* an object has come or gone since */

    /* What this frame shows of it. */
    int64_t area, largest_area; /* pixels of all its objects, and of the largest */
    struct bd_box largest;
    int seen;                   /* objects */
    int first;                  /* of these, the place in `tracks` of the first */
    struct bd_path_point point; /* where that one's foot is */
};

/* NULL: out of memory. `time` and `frame`: when its first object came. */
struct bd_visit *bd_visit_create(int64_t time, int64_t frame);

/* Its place in `tracks`; -1: not there. */
int bd_visit_find(const struct bd_visit *visit, int64_t track);

/* A new object belongs to it. */
void bd_visit_join(struct bd_visit *visit, int64_t track);

/* This frame shows `object`, which is one of its tracks. */
void bd_visit_see(struct bd_visit *visit, const struct bd_object *object);

/* The frame is over: takes in what it showed. `picture` is its number of pixels. */
void bd_visit_end_frame(struct bd_visit *visit, int64_t time, int64_t frame, double picture);

/* Notes what one of its objects did at a line or zone. The oldest that was told makes room. */
void bd_visit_mark(struct bd_visit *visit, const struct bd_mark *mark);

/* Where the foot of an object is. */
static inline struct bd_path_point bd_visit_foot(const struct bd_object *object, int64_t time)
{
    return (struct bd_path_point){ time, object->x + object->width / 2,
                                   object->y + object->height - 1 };
}

#endif
