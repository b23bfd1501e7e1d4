#include "app/eval/crossings.h"

#include <stdlib.h>

/* Two objects whose boxes have overlapped and have not been seen apart since. */
struct encounter {
    int64_t a, b;
    bool a_left; /* a was on the left when they met */
};

struct bd_crossings {
    struct encounter *open;
    int open_count;
    int64_t count;
};

enum bd_status bd_crossings_create(struct bd_crossings **crossings)
{
    *crossings = calloc(1, sizeof **crossings);
    return *crossings ? BD_OK : bd_fail(BD_ERROR_MEMORY, "out of memory for crossings");
}

void bd_crossings_destroy(struct bd_crossings **crossings)
{
    if (*crossings)
        free((*crossings)->open);
    free(*crossings);
    *crossings = NULL;
}

static bool on_the_left(const struct bd_track_box *a, const struct bd_track_box *b)
{
    return 2 * a->x + a->width < 2 * b->x + b->width;
}

/* The open encounter of the two; NULL: there is none. */
static struct encounter *find(struct bd_crossings *crossings, int64_t a, int64_t b)
{
    for (int i = 0; i < crossings->open_count; i++)
        if (crossings->open[i].a == a && crossings->open[i].b == b)
            return &crossings->open[i];
    return NULL;
}

static enum bd_status begin(struct bd_crossings *crossings, struct encounter encounter)
{
    struct encounter *more =
        realloc(crossings->open, ((size_t)crossings->open_count + 1) * sizeof *more);
    if (!more)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for crossings");
    crossings->open = more;
    more[crossings->open_count++] = encounter;
    return BD_OK;
}

static enum bd_status look_at(struct bd_crossings *crossings, const struct bd_track_box *a,
                              const struct bd_track_box *b)
{
    struct encounter *open = find(crossings, a->id, b->id);
    bool a_left = on_the_left(a, b), meet = bd_track_overlap(a, b) > 0;
    if (meet && !open)
        return begin(crossings, (struct encounter){ a->id, b->id, a_left });
    if (!meet && open) {
        crossings->count += open->a_left != a_left;
        *open = crossings->open[--crossings->open_count];
    }
    return BD_OK;
}

enum bd_status bd_crossings_add(struct bd_crossings *crossings, const struct bd_track_box *boxes,
                                int count)
{
    enum bd_status status = BD_OK;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count && !status; j++)
            if (boxes[i].id < boxes[j].id)
                status = look_at(crossings, &boxes[i], &boxes[j]);
    return status;
}

int64_t bd_crossings_count(const struct bd_crossings *crossings)
{
    return crossings->count;
}
