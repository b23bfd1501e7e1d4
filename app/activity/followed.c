#include "app/activity/followed.h"

#include <math.h>

struct bd_followed *bd_followed_find(struct bd_followed_list *list, int64_t id)
{
    for (int i = 0; i < list->count; i++)
        if (list->items[i].id == id)
            return &list->items[i];
    return NULL;
}

/* Pixels between two boxes; 0 where they touch. */
static double gap_between(struct bd_box a, struct bd_box b)
{
    double across = fmax(a.x, b.x) - fmin(a.x + a.width, b.x + b.width);
    double down = fmax(a.y, b.y) - fmin(a.y + a.height, b.y + b.height);
    return hypot(fmax(across, 0), fmax(down, 0));
}

static double larger_side(struct bd_box box)
{
    return fmax(box.width, box.height);
}

struct bd_visit *bd_followed_lost(const struct bd_followed_list *list, struct bd_box box,
                                  int64_t since, int64_t now, int64_t window)
{
    struct bd_visit *visit = NULL;
    double least = INFINITY;
    for (int i = 0; i < list->count; i++) {
        const struct bd_followed *lost = &list->items[i];
        const double gap = gap_between(box, lost->box);
        const bool near = gap <= fmax(larger_side(box), larger_side(lost->box));
        const bool in_time = lost->last < now && lost->last <= since && now - lost->last <= window;
        if (!near || !in_time || gap >= least)
            continue;
        least = gap;
        visit = lost->visit;
    }
    return visit;
}

struct bd_visit *bd_followed_nearest(const struct bd_followed_list *list, struct bd_box box)
{
    struct bd_visit *visit = NULL;
    double least = INFINITY;
    for (int i = 0; i < list->count; i++) {
        const double gap = gap_between(box, list->items[i].box);
        if (gap >= least)
            continue;
        least = gap;
        visit = list->items[i].visit;
    }
    return visit;
}
