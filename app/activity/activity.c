#include "app/activity/activity.h"

#include <libavutil/mathematics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/activity/followed.h"

enum { most_visits = 128, most_frames = 256 };
static const int64_t second = 1000000000;
static const double least_peak = .0005; /* share of the picture */

struct bd_activity {
    struct bd_rational time_base;
    double picture;                            /* pixels */
    int64_t min_length, merge_window, waiting; /* `waiting`: for objects to come back */
    struct bd_marks marks;
    struct bd_visit *visits[2 * most_visits]; /* that go on, and those that this frame has ended */
    int visit_count;
    struct bd_followed_list followed;
    int64_t newest; /* the largest number of an object so far */
    /* Of the last frames, at number % most_frames, so that the frame in which an object was seen
     * first is known when it is confirmed. */
    struct {
        double seconds;
        int64_t time, index;
    } frames[most_frames];
    int64_t frame_count;
    int64_t oldest;      /* the number of the first since time last went back */
    int64_t time, frame; /* of the last one */
    int64_t event_count;
    const struct bd_event *events[most_visits]; /* that go on, by their numbers */
    int open_count;
    struct bd_happening *happenings;
    int happening_count, happening_room;
    bool out_of_memory;
};

static int64_t nanoseconds(double seconds)
{
    return (int64_t)(seconds * (double)second);
}

enum bd_status bd_activity_create(struct bd_activity **activity, const struct bd_options *options,
                                  const struct bd_reader_info *info)
{
    struct bd_activity *self = calloc(1, sizeof *self);
    *activity = NULL;
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for events");
    enum bd_status status = bd_marks_read(&self->marks, options, info->width, info->height);
    if (status) {
        free(self);
        return status;
    }
    const int64_t post = nanoseconds(bd_time_post_event(options));
    self->time_base = info->time_base;
    self->picture = (double)info->width * info->height;
    self->min_length = nanoseconds(bd_min_event_length(options));
    self->merge_window = nanoseconds(bd_merge_window(options));
    self->waiting = post > self->merge_window ? post : self->merge_window;
    *activity = self;
    return BD_OK;
}

void bd_activity_destroy(struct bd_activity **activity)
{
    struct bd_activity *self = *activity;
    if (!self)
        return;
    for (int i = 0; i < self->visit_count; i++)
        free(self->visits[i]);
    free(self->happenings);
    free(self);
    *activity = NULL;
}

static void tell(struct bd_activity *self, const struct bd_visit *visit,
                 struct bd_happening happening)
{
    if (self->happening_count == self->happening_room) {
        const int room = 2 * self->happening_room + 16;
        struct bd_happening *more = realloc(self->happenings, (size_t)room * sizeof *more);
        if (!more) {
            self->out_of_memory = true;
            return;
        }
        self->happenings = more;
        self->happening_room = room;
    }
    happening.event = &visit->event;
    self->happenings[self->happening_count++] = happening;
}

static void tell_event(struct bd_activity *self, struct bd_visit *visit,
                       enum bd_happening_kind kind)
{
    visit->told = visit->event.end;
    visit->changed = false;
    tell(self, visit,
         (struct bd_happening){ .kind = kind, .time = self->time, .frame = self->frame });
}

/* Tells the marks of an event that have not been told. */
static void tell_marks(struct bd_activity *self, struct bd_visit *visit)
{
    while (visit->told_marks < visit->event.mark_count) {
        const struct bd_mark *mark = &visit->marks[visit->told_marks++];
        tell(self, visit,
             (struct bd_happening){ .kind = mark->kind,
                                    .time = mark->time,
                                    .frame = mark->frame,
                                    .object = mark->object,
                                    .name = mark->name,
                                    .direction = mark->direction,
                                    .stay = mark->stay });
        bd_marks_total(&self->marks, mark);
    }
}

/* What an object has done at lines and zones belongs to its visit. */
static void note_marks(struct bd_activity *self, const struct bd_followed *object,
                       struct bd_mark *marks, int count)
{
    for (int i = 0; i < count; i++) {
        marks[i].object = object->id;
        marks[i].time = self->time;
        marks[i].frame = self->frame;
        bd_visit_mark(object->visit, &marks[i]);
        if (object->visit->event.number)
            tell_marks(self, object->visit);
    }
}

/* The tracker no longer waits for the object. */
static void lose(struct bd_activity *self, struct bd_followed *object)
{
    struct bd_mark marks[bd_marks_most];
    if (!object->listed)
        return;
    object->listed = false;
    object->visit->changed = true;
    note_marks(self, object, marks,
               bd_marks_lose(&self->marks, &object->marks, marks, object->last));
}

static void end_visit(struct bd_activity *self, struct bd_visit *visit)
{
    int kept = 0;
    for (int i = 0; i < self->followed.count; i++) {
        if (self->followed.items[i].visit == visit)
            lose(self, &self->followed.items[i]);
        else
            self->followed.items[kept++] = self->followed.items[i];
    }
    self->followed.count = kept;
    visit->event.ended = true;
    if (visit->event.number)
        tell_event(self, visit, BD_EVENT_ENDED);
}

/* The visit of the object that is nearest to a box, or any that goes on. */
static struct bd_visit *find_nearest(const struct bd_activity *self, struct bd_box box)
{
    struct bd_visit *visit = bd_followed_nearest(&self->followed, box);
    for (int i = 0; i < self->visit_count && !visit; i++)
        visit = self->visits[i]->event.ended ? NULL : self->visits[i];
    return visit;
}

/* A visit that goes on and has had this track, which may be gone for long, or be one that the event
 * does not name. */
static struct bd_visit *find_parent(struct bd_activity *self, int64_t track)
{
    const struct bd_followed *parent = bd_followed_find(&self->followed, track);
    if (parent)
        return parent->visit;
    for (int i = 0; i < self->visit_count; i++)
        if (!self->visits[i]->event.ended && bd_visit_find(self->visits[i], track) >= 0)
            return self->visits[i];
    return NULL;
}

/* The number among the last frames of that in which an object was seen first. One that came back
 * after its visit ended comes now. */
static int64_t find_first_frame(const struct bd_activity *self, const struct bd_object *object)
{
    int64_t number = self->frame_count - 1;
    if (object->id <= self->newest)
        return number;
    while (number > self->oldest && self->frame_count - number < most_frames &&
           self->frames[number % most_frames].seconds > object->since)
        number--;
    return number;
}

static int count_open(const struct bd_activity *self)
{
    int count = 0;
    for (int i = 0; i < self->visit_count; i++)
        count += !self->visits[i]->event.ended;
    return count;
}

/* The visit to which a new object belongs; NULL: out of memory. */
static struct bd_visit *choose_visit(struct bd_activity *self, const struct bd_object *object)
{
    const struct bd_box box = { object->x, object->y, object->width, object->height };
    const int64_t first = find_first_frame(self, object) % most_frames;
    struct bd_visit *visit = object->parent ? find_parent(self, object->parent) : NULL;
    if (!visit)
        visit = bd_followed_lost(&self->followed, box, self->frames[first].time, self->time,
                                 self->merge_window);
    if (!visit && count_open(self) == most_visits)
        visit = find_nearest(self, box);
    if (visit)
        return visit;
    visit = bd_visit_create(self->frames[first].time, self->frames[first].index);
    if (visit)
        self->visits[self->visit_count++] = visit;
    return visit;
}

/* Room for one more object: the one that was lost longest ago is forgotten. */
static struct bd_followed *add_followed(struct bd_activity *self)
{
    int oldest = 0;
    if (self->followed.count < bd_most_followed)
        return &self->followed.items[self->followed.count++];
    for (int i = 1; i < bd_most_followed; i++)
        if (self->followed.items[i].last < self->followed.items[oldest].last)
            oldest = i;
    lose(self, &self->followed.items[oldest]);
    return &self->followed.items[oldest];
}

static void see(struct bd_activity *self, struct bd_followed *followed,
                const struct bd_object *object)
{
    struct bd_mark marks[bd_marks_most];
    followed->listed = followed->found = true;
    if (!object->seen)
        return;
    followed->box = (struct bd_box){ object->x, object->y, object->width, object->height };
    followed->last = self->time;
    bd_visit_see(followed->visit, object);
    note_marks(self, followed, marks,
               bd_marks_see(&self->marks, &followed->marks, marks, object, self->time));
}

/* Those that are known come first, so that none of them counts as lost where a new one comes. */
static enum bd_status see_all(struct bd_activity *self, const struct bd_object *objects, int count)
{
    for (int i = 0; i < count; i++) {
        struct bd_followed *followed = bd_followed_find(&self->followed, objects[i].id);
        if (followed)
            see(self, followed, &objects[i]);
    }
    for (int i = 0; i < count; i++) {
        if (!objects[i].seen || bd_followed_find(&self->followed, objects[i].id))
            continue;
        struct bd_visit *visit = choose_visit(self, &objects[i]);
        if (!visit)
            return bd_fail(BD_ERROR_MEMORY, "out of memory for an event");
        struct bd_followed *followed = add_followed(self);
        *followed = (struct bd_followed){ .id = objects[i].id, .visit = visit };
        bd_visit_join(visit, objects[i].id);
        see(self, followed, &objects[i]);
    }
    for (int i = 0; i < count; i++)
        if (objects[i].id > self->newest)
            self->newest = objects[i].id;
    return BD_OK;
}

/* Objects that are no longer listed have gone; they are forgotten when they cannot come back. */
static void lose_objects(struct bd_activity *self)
{
    int kept = 0;
    for (int i = 0; i < self->followed.count; i++) {
        struct bd_followed *object = &self->followed.items[i];
        if (!object->found)
            lose(self, object);
        object->found = false;
        if (object->listed || self->time - object->last <= self->merge_window)
            self->followed.items[kept++] = *object;
    }
    self->followed.count = kept;
}

/* Tells what a visit has become by this frame. */
static void update_visit(struct bd_activity *self, struct bd_visit *visit)
{
    struct bd_event *event = &visit->event;
    bd_visit_end_frame(visit, self->time, self->frame, self->picture);
    if (!event->number && event->end - event->start >= self->min_length &&
        event->peak_fraction >= least_peak) {
        event->number = ++self->event_count;
        tell_event(self, visit, BD_EVENT_BEGAN);
        tell_marks(self, visit);
    }
    if (self->time - event->end > self->waiting)
        end_visit(self, visit);
    else if (event->number && (visit->changed || event->end - visit->told >= second))
        tell_event(self, visit, BD_EVENT_CHANGED);
}

static void list_events(struct bd_activity *self)
{
    self->open_count = 0;
    for (int i = 0; i < self->visit_count; i++) {
        const struct bd_event *event = &self->visits[i]->event;
        if (!event->number || event->ended)
            continue;
        int place = self->open_count++;
        for (; place > 0 && self->events[place - 1]->number > event->number; place--)
            self->events[place] = self->events[place - 1];
        self->events[place] = event;
    }
}

static void end_all(struct bd_activity *self)
{
    for (int i = 0; i < self->visit_count; i++)
        if (!self->visits[i]->event.ended)
            end_visit(self, self->visits[i]);
}

/* Forgets what was told with the frame before. */
static void begin_frame(struct bd_activity *self)
{
    int kept = 0;
    for (int i = 0; i < self->visit_count; i++) {
        if (self->visits[i]->event.ended)
            free(self->visits[i]);
        else
            self->visits[kept++] = self->visits[i];
    }
    self->visit_count = kept;
    self->happening_count = 0;
}

/* Nanoseconds. What no clock says before 2065, as of a broken file, is cut, so that differences do
 * not overflow. */
static int64_t time_of(const struct bd_activity *self, const struct bd_result *result)
{
    const int64_t most = 3000000000;
    if (fabs(result->time) > (double)most)
        return result->time < 0 ? -most * second : most * second;
    return av_rescale(result->mask->pts, self->time_base.num * second, self->time_base.den);
}

enum bd_status bd_activity_add(struct bd_activity *activity, const struct bd_result *result)
{
    const int64_t time = time_of(activity, result);
    begin_frame(activity);
    if (activity->frame_count > 0 && time < activity->time) {
        end_all(activity);
        activity->oldest = activity->frame_count;
    }
    activity->time = time;
    activity->frame = result->mask->index;
    const int64_t place = activity->frame_count++ % most_frames;
    activity->frames[place].seconds = result->time;
    activity->frames[place].time = time;
    activity->frames[place].index = activity->frame;
    enum bd_status status = see_all(activity, result->objects, result->object_count);
    lose_objects(activity);
    for (int i = 0; i < activity->visit_count; i++)
        if (!activity->visits[i]->event.ended)
            update_visit(activity, activity->visits[i]);
    list_events(activity);
    if (!status && activity->out_of_memory)
        status = bd_fail(BD_ERROR_MEMORY, "out of memory for what happens");
    return status;
}

enum bd_status bd_activity_finish(struct bd_activity *activity)
{
    begin_frame(activity);
    end_all(activity);
    list_events(activity);
    return activity->out_of_memory ? bd_fail(BD_ERROR_MEMORY, "out of memory for what happens")
                                   : BD_OK;
}

const struct bd_happening *bd_activity_happenings(const struct bd_activity *activity, int *count)
{
    *count = activity->happening_count;
    return activity->happenings;
}

const struct bd_event *const *bd_activity_events(const struct bd_activity *activity, int *count)
{
    *count = activity->open_count;
    return activity->events;
}

const struct bd_mark_total *bd_activity_totals(const struct bd_activity *activity, int *count)
{
    *count = activity->marks.count;
    return activity->marks.totals;
}

int64_t bd_activity_time(const struct bd_activity *activity)
{
    return activity->time;
}

int64_t bd_activity_event_count(const struct bd_activity *activity)
{
    return activity->event_count;
}
