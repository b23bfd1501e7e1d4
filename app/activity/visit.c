#include "app/activity/visit.h"

#include <stdlib.h>
#include <string.h>

struct bd_visit *bd_visit_create(int64_t time, int64_t frame)
{
    struct bd_visit *visit = calloc(1, sizeof *visit);
    if (!visit)
        return NULL;
    visit->path_stride = 1;
    visit->first = bd_visit_tracks;
    visit->event = (struct bd_event){ .start = time,
                                      .end = time,
                                      .peak_time = time,
                                      .first_frame = frame,
                                      .last_frame = frame,
                                      .peak_frame = frame,
                                      .tracks = visit->tracks,
                                      .path = visit->path,
                                      .marks = visit->marks };
    return visit;
}

int bd_visit_find(const struct bd_visit *visit, int64_t track)
{
    for (int i = 0; i < visit->event.track_count; i++)
        if (visit->tracks[i] == track)
            return i;
    return -1;
}

void bd_visit_join(struct bd_visit *visit, int64_t track)
{
    if (visit->event.track_count < bd_visit_tracks && bd_visit_find(visit, track) < 0)
        visit->tracks[visit->event.track_count++] = track;
    visit->changed = true;
}

static struct bd_box join_boxes(struct bd_box a, struct bd_box b)
{
    int right = a.x + a.width > b.x + b.width ? a.x + a.width : b.x + b.width;
    int bottom = a.y + a.height > b.y + b.height ? a.y + a.height : b.y + b.height;
    int x = a.x < b.x ? a.x : b.x, y = a.y < b.y ? a.y : b.y;
    return (struct bd_box){ x, y, right - x, bottom - y };
}

void bd_visit_see(struct bd_visit *visit, const struct bd_object *object)
{
    struct bd_event *event = &visit->event;
    struct bd_box box = { object->x, object->y, object->width, object->height };
    event->extent = event->frames || visit->seen ? join_boxes(event->extent, box) : box;
    visit->area += object->area;
    visit->seen++;
    if (object->area > visit->largest_area || visit->seen == 1) {
        visit->largest_area = object->area;
        visit->largest = box;
    }
    int place = bd_visit_find(visit, object->id);
    if (place < 0)
        place = bd_visit_tracks; /* it has more tracks than it can name */
    if (place < visit->first || visit->seen == 1) {
        visit->first = place;
        visit->point = bd_visit_foot(object, 0);
    }
}

/* The points 0, stride, 2 stride, ... and the newest are kept. A full path loses every second of
 * them and has twice the stride. */
static void extend_path(struct bd_visit *visit, struct bd_path_point point)
{
    int *count = &visit->event.path_count;
    bool keep = visit->path_steps == 0 || (visit->path_steps - 1) % visit->path_stride == 0;
    if (keep && *count == bd_visit_points) {
        for (int i = 0; 2 * i < bd_visit_points; i++)
            visit->path[i] = visit->path[2 * i];
        *count = bd_visit_points / 2;
        visit->path_stride *= 2;
    }
    visit->path[keep ? (*count)++ : *count - 1] = point;
    visit->path_steps++;
}

void bd_visit_end_frame(struct bd_visit *visit, int64_t time, int64_t frame, double picture)
{
    struct bd_event *event = &visit->event;
    if (visit->seen == 0)
        return;
    double fraction = (double)visit->area / picture;
    event->end = time;
    event->last_frame = frame;
    event->frames++;
    event->total += fraction;
    if (visit->seen > event->objects)
        event->objects = visit->seen;
    if (fraction > event->peak_fraction || event->frames == 1) {
        event->peak_fraction = fraction;
        event->peak_time = time;
        event->peak_frame = frame;
        event->box = visit->largest;
    }
    visit->point.time = time;
    extend_path(visit, visit->point);
    visit->seen = 0;
    visit->area = visit->largest_area = 0;
}

void bd_visit_mark(struct bd_visit *visit, const struct bd_mark *mark)
{
    int *count = &visit->event.mark_count;
    if (*count == bd_visit_marks && visit->told_marks > 0) {
        memmove(visit->marks, visit->marks + 1, (bd_visit_marks - 1) * sizeof *visit->marks);
        (*count)--;
        visit->told_marks--;
    }
    if (*count < bd_visit_marks)
        visit->marks[(*count)++] = *mark;
}
