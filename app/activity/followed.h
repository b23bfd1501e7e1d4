/* The objects that belong to visits, until they can no longer come back. */
#ifndef BD_APP_ACTIVITY_FOLLOWED_H
#define BD_APP_ACTIVITY_FOLLOWED_H

#include "app/activity/marks.h"
#include "app/activity/visit.h"

enum { bd_most_followed = 512 };

struct bd_followed {
    int64_t id;
    struct bd_visit *visit;
    struct bd_box box; /* where it was seen last */
    int64_t last;      /* and when */
    bool listed;       /* the tracker knows it still */
    bool found;        /* in the list of this frame */
    struct bd_mark_state marks;
};

struct bd_followed_list {
    struct bd_followed items[bd_most_followed];
    int count;
};

/* NULL: none has this number. */
struct bd_followed *bd_followed_find(struct bd_followed_list *list, int64_t id);

/* The visit of the object that was lost nearest to a box within `window` before `now`, no farther
 * than the larger side of both boxes. It must have been lost before the new one came, `since`.
 * NULL: none. */
struct bd_visit *bd_followed_lost(const struct bd_followed_list *list, struct bd_box box,
                                  int64_t since, int64_t now, int64_t window);

/* The visit of the object that was seen last nearest to a box; NULL: there is none. */
struct bd_visit *bd_followed_nearest(const struct bd_followed_list *list, struct bd_box box);

#endif
