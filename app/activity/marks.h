/* The lines and zones of the options, and where an object is with regard to them.
 *
 * The foot of an object decides. It has crossed a line when it was clearly on one side and then is
 * clearly on the other: by a tenth of its height, and by 2 pixels at least. So one who stands on
 * the line is counted once. In a group the foot is an estimate, and a third of the height is asked
 * for: on vtest.avi, at x = 350, one who stands behind another was counted three times with a
 * tenth. The last time that the foot changed sides must have been between the ends of the line. A
 * zone is entered with the first frame in which the foot is inside, and left when the foot is
 * outside by as much as a line asks for, or when the object has gone.
 */
#ifndef BD_APP_ACTIVITY_MARKS_H
#define BD_APP_ACTIVITY_MARKS_H

#include "app/activity/activity.h"
#include "app/shapes.h"

enum { bd_mark_name_size = 64, bd_marks_most = 2 * bd_max_texts };

struct bd_mark_shape {
    char name[bd_mark_name_size];
    struct bd_polygon polygon; /* a line has two points */
};

struct bd_marks {
    struct bd_mark_shape shapes[bd_marks_most]; /* lines, then zones */
    struct bd_mark_total totals[bd_marks_most]; /* of these */
    int lines, count;
};

/* Of an object: all zero at first. */
struct bd_mark_state {
    bool begun;
    struct bd_point foot; /* where it was seen last */
    struct {
        int8_t side;    /* -1, 1: where it clearly was last; 0: nowhere yet */
        int8_t nearest; /* -1, 1: the side on which it was seen last */
        bool met;       /* it came there between the ends of the line */
    } lines[bd_max_texts];
    struct {
        bool inside;
        int64_t since;
    } zones[bd_max_texts];
};

/* Reads --line and --zone for pictures of this size. BD_ERROR_ARGUMENT with the option and name. */
enum bd_status bd_marks_read(struct bd_marks *marks, const struct bd_options *options, int width,
                             int height);

/* The object is seen at `time`. Writes what it crossed, entered and left, at most one for each line
 * and zone, and returns the number; object, frame and time are left to the caller. */
int bd_marks_see(const struct bd_marks *marks, struct bd_mark_state *state,
                 struct bd_mark out[bd_marks_most], const struct bd_object *object, int64_t time);

/* The object has gone; it was seen last at `time`. As bd_marks_see: the zones that it leaves. */
int bd_marks_lose(const struct bd_marks *marks, struct bd_mark_state *state,
                  struct bd_mark out[bd_marks_most], int64_t time);

/* Counts a mark in the totals. */
void bd_marks_total(struct bd_marks *marks, const struct bd_mark *mark);

#endif
