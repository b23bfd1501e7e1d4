#include "app/summary/schedule.h"

#include <math.h>
#include <stdlib.h>

#include "app/summary/placement.h"

/* Two tubes whose objects were together. */
struct pair {
    int a, b, frames; /* numbers of showings, and how often they were */
};

/* Tubes that keep their distance in time: the showings whose `bundles` is the same number, that of
 * the first of them. */
struct bundle {
    double first, last; /* seconds of the film */
};

struct schedule {
    const struct bd_tubes *tubes;
    const struct bd_schedule_options *options;
    struct bd_showing *items;
    int count;
    int *bundle_of;         /* for each showing: another of its bundle, or itself */
    struct bundle *bundles; /* for those that are their own */
    struct bd_visit *visits;
    int *visitors; /* for each visit, its bundle */
    int visit_count;
    struct bd_visit_box *boxes;
    int box_count, box_room;
};

static enum bd_status no_memory(void)
{
    return bd_fail(BD_ERROR_MEMORY, "out of memory to place the objects of the synopsis");
}

static void release(struct schedule *s)
{
    free(s->bundle_of);
    free(s->bundles);
    free(s->visits);
    free(s->visitors);
    free(s->boxes);
}

/* The tubes that are long enough, each a bundle of its own. */
static enum bd_status choose(struct schedule *s)
{
    size_t room = (size_t)s->tubes->count + 1;
    s->items = calloc(room, sizeof *s->items);
    s->bundle_of = calloc(room, sizeof *s->bundle_of);
    s->bundles = calloc(room, sizeof *s->bundles);
    s->visits = calloc(room, sizeof *s->visits);
    s->visitors = calloc(room, sizeof *s->visitors);
    if (!s->items || !s->bundle_of || !s->bundles || !s->visits || !s->visitors)
        return no_memory();
    for (int i = 0; i < s->tubes->count; i++) {
        const struct bd_tube *tube = &s->tubes->items[i];
        if (tube->patches == 0 || tube->last - tube->first < s->options->least)
            continue;
        s->items[s->count].tube = tube;
        s->bundles[s->count] = (struct bundle){ tube->first, tube->last };
        s->bundle_of[s->count] = s->count;
        s->count++;
    }
    return BD_OK;
}

static int bundle_of(const struct schedule *s, int i)
{
    while (s->bundle_of[i] != i)
        i = s->bundle_of[i] = s->bundle_of[s->bundle_of[i]];
    return i;
}

/* The showing of an object; -1: it has none. Showings are in the order of the tubes. */
static int find_showing(const struct schedule *s, int64_t id)
{
    int from = 0, to = s->count;
    while (from < to) {
        int middle = from + (to - from) / 2;
        if (s->items[middle].tube->id < id)
            from = middle + 1;
        else
            to = middle;
    }
    return from < s->count && s->items[from].tube->id == id ? from : -1;
}

static int by_frames(const void *a, const void *b)
{
    const struct pair *first = a, *second = b;
    if (first->frames != second->frames)
        return first->frames < second->frames ? 1 : -1;
    return first->a != second->a ? first->a - second->a : first->b - second->b;
}

/* Makes one bundle of two, unless it would be too long. */
static void join(struct schedule *s, int a, int b)
{
    a = bundle_of(s, a);
    b = bundle_of(s, b);
    struct bundle both = { fmin(s->bundles[a].first, s->bundles[b].first),
                           fmax(s->bundles[a].last, s->bundles[b].last) };
    if (a == b || both.last - both.first > s->options->length / 2)
        return;
    int first = a < b ? a : b;
    s->bundle_of[a] = s->bundle_of[b] = first;
    s->bundles[first] = both;
}

/* Bundles those that were together, the longest together first. */
static enum bd_status bundle(struct schedule *s)
{
    struct pair *pairs = calloc((size_t)s->count * bd_tube_partners + 1, sizeof *pairs);
    int count = 0;
    if (!pairs)
        return no_memory();
    for (int i = 0; i < s->count; i++)
        for (int j = 0; j < bd_tube_partners; j++) {
            int64_t id = s->items[i].tube->partners[j].id;
            int other = id ? find_showing(s, id) : -1;
            if (other >= 0)
                pairs[count++] = (struct pair){ i, other, s->items[i].tube->partners[j].frames };
        }
    qsort(pairs, (size_t)count, sizeof *pairs, by_frames);
    for (int i = 0; i < count; i++)
        join(s, pairs[i].a, pairs[i].b);
    free(pairs);
    return BD_OK;
}

static struct bd_visit_box *append_box(struct schedule *s)
{
    if (s->box_count == s->box_room) {
        int room = s->box_room ? 2 * s->box_room : 256;
        struct bd_visit_box *boxes = realloc(s->boxes, (size_t)room * sizeof *boxes);
        if (!boxes)
            return NULL;
        s->boxes = boxes;
        s->box_room = room;
    }
    return &s->boxes[s->box_count++];
}

/* Where a tube is in each step of the placement. Its times are from the start of its bundle. */
static enum bd_status sample(struct schedule *s, const struct bd_showing *showing, double start)
{
    double step = bd_place_step(s->options->length), next = -1;
    struct bd_patch_head head;
    for (int64_t offset = showing->tube->begin; offset >= 0; offset = head.next) {
        enum bd_status status = bd_tubes_head(s->tubes, &head, offset);
        if (status)
            return status;
        double time = (head.time - start) / showing->speed;
        if (time < next)
            continue;
        struct bd_visit_box *box = append_box(s);
        if (!box)
            return no_memory();
        double area = (double)head.box.width * head.box.height;
        *box = (struct bd_visit_box){ time, step, head.box,
                                      area > 0 ? fmin((double)head.area / area, 1) : 0 };
        next = (floor(time / step + 1e-6) + 1) * step - 1e-6;
    }
    return BD_OK;
}

static int by_start(const void *a, const void *b)
{
    const struct bd_visit *first = a, *second = b;
    if (first->start != second->start)
        return first->start < second->start ? -1 : 1;
    return first->count - second->count;
}

/* A visit for each bundle, in the order of their starts. Its bundle is in `count` at first. */
static void make_visits(struct schedule *s)
{
    for (int i = 0; i < s->count; i++) {
        if (bundle_of(s, i) != i)
            continue;
        double span = s->bundles[i].last - s->bundles[i].first + s->options->period;
        s->visits[s->visit_count++] = (struct bd_visit){ .start = s->bundles[i].first,
                                                         .seconds = fmin(span, s->options->length),
                                                         .count = i };
    }
    qsort(s->visits, (size_t)s->visit_count, sizeof *s->visits, by_start);
    for (int v = 0; v < s->visit_count; v++)
        s->visitors[v] = s->visits[v].count;
}

/* The speeds of the tubes of visit `v`, and where they are in each step. */
static enum bd_status fill_visit(struct schedule *s, int v)
{
    struct bd_visit *visit = &s->visits[v];
    const struct bundle *bundle = &s->bundles[s->visitors[v]];
    int first = s->box_count;
    enum bd_status status = BD_OK;
    for (int i = 0; i < s->count && !status; i++) {
        struct bd_showing *showing = &s->items[i];
        if (bundle_of(s, i) != s->visitors[v])
            continue;
        showing->speed = (bundle->last - bundle->first + s->options->period) / visit->seconds;
        showing->seconds =
            (showing->tube->last - showing->tube->first + s->options->period) / showing->speed;
        status = sample(s, showing, bundle->first);
    }
    visit->count = s->box_count - first;
    return status;
}

static enum bd_status place(struct schedule *s, double *end)
{
    enum bd_status status = BD_OK;
    make_visits(s);
    for (int v = 0; v < s->visit_count && !status; v++)
        status = fill_visit(s, v);
    const struct bd_visit_box *boxes = s->boxes; /* which moved while it grew */
    for (int v = 0; v < s->visit_count && !status; boxes += s->visits[v].count, v++)
        s->visits[v].boxes = boxes;
    if (!status)
        status = bd_place_visits(s->visits, s->visit_count, s->options->length, s->options->width,
                                 s->options->height, end);
    for (int v = 0; v < s->visit_count; v++)
        for (int i = 0; i < s->count; i++) {
            struct bd_showing *showing = &s->items[i];
            if (bundle_of(s, i) == s->visitors[v])
                showing->at =
                    s->visits[v].at + (showing->tube->first - s->visits[v].start) / showing->speed;
        }
    return status;
}

enum bd_status bd_schedule_make(struct bd_schedule *schedule, const struct bd_tubes *tubes,
                                const struct bd_schedule_options *options)
{
    struct schedule s = { .tubes = tubes, .options = options };
    *schedule = (struct bd_schedule){ 0 };
    enum bd_status status = choose(&s);
    if (!status)
        status = bundle(&s);
    if (!status)
        status = place(&s, &schedule->end);
    schedule->items = s.items;
    schedule->count = s.count;
    release(&s);
    if (status)
        bd_schedule_release(schedule);
    return status;
}

void bd_schedule_release(struct bd_schedule *schedule)
{
    free(schedule->items);
    *schedule = (struct bd_schedule){ 0 };
}
