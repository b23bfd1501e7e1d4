#include "app/export/event_text.h"

#include <inttypes.h>
#include <time.h>

static const int64_t second = 1000000000; /* times are nanoseconds: a camera's count from 1970 */

static int64_t now(clockid_t clock)
{
    struct timespec time = { 0 };
    clock_gettime(clock, &time);
    return time.tv_sec * second + time.tv_nsec;
}

/* Cameras count from 1970 or, as V4L2 has it, from the start of the machine. The time of the first
 * frame says which: the start of an export holds frames back for a minute at most. */
void bd_event_clock_find(struct bd_event_clock *clock, int64_t time)
{
    static const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC };
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks && !clock->known; i++) {
        int64_t age = now(clocks[i]) - time;
        clock->known = age > -second && age < 120 * second;
        clock->utc = now(CLOCK_REALTIME) - now(clocks[i]);
    }
}

enum { utc_size = 64 };

/* ISO 8601; `text` is "" where the time is not known. */
static const char *format_utc(char text[utc_size], const struct bd_event_clock *clock, int64_t time)
{
    struct tm parts;
    time_t seconds = clock->known ? (time + clock->utc) / second : 0;
    size_t length = 0;
    if (clock->known && gmtime_r(&seconds, &parts))
        length = strftime(text, utc_size, "%Y-%m-%dT%H:%M:%S", &parts);
    text[length] = 0;
    if (length)
        snprintf(text + length, utc_size - length, ".%06dZ",
                 (int)((time + clock->utc) % second / 1000));
    return text;
}

static void write_utc(struct bd_json *json, const char *name, const struct bd_event_clock *clock,
                      int64_t time)
{
    char text[utc_size];
    format_utc(text, clock, time);
    bd_json_text(json, name, *text ? text : NULL);
}

static const char *direction_name(int direction)
{
    return direction > 0 ? "right" : "left";
}

static double mean_fraction(const struct bd_event *event)
{
    return event->frames > 0 ? event->total / (double)event->frames : 0;
}

static double seconds_of(int64_t time)
{
    return (double)time / (double)second;
}

void bd_event_print_header(FILE *file)
{
    fputs("event,start,end,first_frame,last_frame,peak_time,peak_fraction,mean_fraction,"
          "x,y,width,height,start_utc,end_utc,peak_utc,objects,tracks,path,crossings,zones\n",
          file);
}

/* The stay in a zone that began with the mark at `at`; negative: it has not ended. */
static int64_t find_stay(const struct bd_event *event, int at)
{
    const struct bd_mark *entered = &event->marks[at];
    for (int i = at + 1; i < event->mark_count; i++) {
        const struct bd_mark *mark = &event->marks[i];
        if (mark->kind == BD_ZONE_LEFT && mark->object == entered->object &&
            mark->name == entered->name)
            return mark->stay;
    }
    return -1;
}

/* "gate:right;gate:left" */
static void print_crossings(FILE *file, const struct bd_event *event)
{
    const char *separator = "";
    for (int i = 0; i < event->mark_count; i++) {
        const struct bd_mark *mark = &event->marks[i];
        if (mark->kind != BD_LINE_CROSSED)
            continue;
        fprintf(file, "%s%s:%s", separator, mark->name, direction_name(mark->direction));
        separator = ";";
    }
}

/* "yard:12.400000;door:1.200000", without seconds for who is still there. */
static void print_zones(FILE *file, const struct bd_event *event)
{
    const char *separator = "";
    for (int i = 0; i < event->mark_count; i++) {
        const struct bd_mark *mark = &event->marks[i];
        if (mark->kind != BD_ZONE_ENTERED)
            continue;
        const int64_t stay = find_stay(event, i);
        fprintf(file, "%s%s", separator, mark->name);
        if (stay >= 0)
            fprintf(file, ":%.6f", seconds_of(stay));
        separator = ";";
    }
}

void bd_event_print_row(FILE *file, const struct bd_event *event,
                        const struct bd_event_clock *clock)
{
    char start[utc_size], end[utc_size], peak[utc_size];
    fprintf(file,
            "%" PRId64 ",%.6f,%.6f,%" PRId64 ",%" PRId64 ",%.6f,%.6f,%.6f,%d,%d,%d,%d,%s,%s,%s,%d,",
            event->number, seconds_of(event->start), seconds_of(event->end), event->first_frame,
            event->last_frame, seconds_of(event->peak_time), event->peak_fraction,
            mean_fraction(event), event->box.x, event->box.y, event->box.width, event->box.height,
            format_utc(start, clock, event->start), format_utc(end, clock, event->end),
            format_utc(peak, clock, event->peak_time), event->objects);
    for (int i = 0; i < event->track_count; i++)
        fprintf(file, "%s%" PRId64, i ? ";" : "", event->tracks[i]);
    fputc(',', file);
    for (int i = 0; i < event->path_count; i++)
        fprintf(file, "%s%.6f %d %d", i ? ";" : "", seconds_of(event->path[i].time),
                event->path[i].x, event->path[i].y);
    fputc(',', file);
    print_crossings(file, event);
    fputc(',', file);
    print_zones(file, event);
    fputc('\n', file);
}

static void write_crossings(struct bd_json *json, const struct bd_event *event)
{
    for (int i = 0; i < event->mark_count; i++) {
        const struct bd_mark *mark = &event->marks[i];
        if (mark->kind != BD_LINE_CROSSED)
            continue;
        bd_json_open(json, NULL, '{');
        bd_json_text(json, "line", mark->name);
        bd_json_text(json, "direction", direction_name(mark->direction));
        bd_json_time(json, "time", mark->time);
        bd_json_integer(json, "object", mark->object);
        bd_json_close(json, '}');
    }
}

static void write_zones(struct bd_json *json, const struct bd_event *event)
{
    for (int i = 0; i < event->mark_count; i++) {
        const struct bd_mark *mark = &event->marks[i];
        if (mark->kind != BD_ZONE_ENTERED)
            continue;
        const int64_t stay = find_stay(event, i);
        bd_json_open(json, NULL, '{');
        bd_json_text(json, "zone", mark->name);
        bd_json_time(json, "time", mark->time);
        if (stay >= 0)
            bd_json_time(json, "stay", stay);
        else
            bd_json_text(json, "stay", NULL);
        bd_json_integer(json, "object", mark->object);
        bd_json_close(json, '}');
    }
}

static void write_path(struct bd_json *json, const struct bd_event *event)
{
    for (int i = 0; i < event->path_count; i++) {
        bd_json_open(json, NULL, '[');
        bd_json_time(json, NULL, event->path[i].time);
        bd_json_integer(json, NULL, event->path[i].x);
        bd_json_integer(json, NULL, event->path[i].y);
        bd_json_close(json, ']');
    }
}

static void write_tracks(struct bd_json *json, const struct bd_event *event)
{
    for (int i = 0; i < event->track_count; i++)
        bd_json_integer(json, NULL, event->tracks[i]);
}

/* Lists are long: each is on one line. */
static void write_list(struct bd_json *json, const char *name, const struct bd_event *event,
                       void (*write)(struct bd_json *json, const struct bd_event *event))
{
    const bool compact = json->compact;
    bd_json_open(json, name, '[');
    json->compact = true;
    write(json, event);
    bd_json_close(json, ']');
    json->compact = compact;
}

void bd_event_write_keys(struct bd_json *json, const struct bd_event *event,
                         const struct bd_event_clock *clock, bool whole)
{
    bd_json_integer(json, "event", event->number);
    bd_json_time(json, "start", event->start);
    bd_json_time(json, "end", event->end);
    bd_json_integer(json, "first_frame", event->first_frame);
    bd_json_integer(json, "last_frame", event->last_frame);
    bd_json_time(json, "peak_time", event->peak_time);
    bd_json_number(json, "peak_fraction", event->peak_fraction, 6);
    bd_json_number(json, "mean_fraction", mean_fraction(event), 6);
    bd_json_integer(json, "x", event->box.x);
    bd_json_integer(json, "y", event->box.y);
    bd_json_integer(json, "width", event->box.width);
    bd_json_integer(json, "height", event->box.height);
    write_utc(json, "start_utc", clock, event->start);
    write_utc(json, "end_utc", clock, event->end);
    write_utc(json, "peak_utc", clock, event->peak_time);
    bd_json_integer(json, "objects", event->objects);
    write_list(json, "tracks", event, write_tracks);
    if (!whole)
        return;
    write_list(json, "path", event, write_path);
    write_list(json, "crossings", event, write_crossings);
    write_list(json, "zones", event, write_zones);
}

static void write_mark(struct bd_json *json, const struct bd_happening *happening,
                       const struct bd_event_clock *clock)
{
    write_utc(json, "utc", clock, happening->time);
    bd_json_integer(json, "event", happening->event->number);
    bd_json_integer(json, "object", happening->object);
    bd_json_text(json, happening->kind == BD_LINE_CROSSED ? "line" : "zone", happening->name);
    if (happening->kind == BD_LINE_CROSSED)
        bd_json_text(json, "direction", direction_name(happening->direction));
    if (happening->kind == BD_ZONE_LEFT)
        bd_json_time(json, "stay", happening->stay);
}

void bd_event_write_happening(struct bd_json *json, const struct bd_happening *happening,
                              const struct bd_event_clock *clock)
{
    static const char *const types[] = {
        [BD_EVENT_BEGAN] = "begin",  [BD_EVENT_CHANGED] = "change", [BD_EVENT_ENDED] = "end",
        [BD_LINE_CROSSED] = "cross", [BD_ZONE_ENTERED] = "enter",   [BD_ZONE_LEFT] = "leave"
    };
    bd_json_open(json, NULL, '{');
    bd_json_text(json, "type", types[happening->kind]);
    bd_json_time(json, "time", happening->time);
    bd_json_integer(json, "frame", happening->frame);
    if (happening->kind > BD_EVENT_ENDED)
        write_mark(json, happening, clock);
    else
        bd_event_write_keys(json, happening->event, clock, happening->kind == BD_EVENT_ENDED);
    bd_json_close(json, '}');
}

static void write_total(struct bd_json *json, const struct bd_mark_total *total)
{
    bd_json_open(json, NULL, '{');
    bd_json_text(json, "name", total->name);
    if (total->zone) {
        bd_json_integer(json, "entered", total->entered);
        bd_json_integer(json, "left", total->out);
        bd_json_time(json, "stay", total->stay);
    } else {
        bd_json_integer(json, "right", total->right);
        bd_json_integer(json, "left", total->left);
    }
    bd_json_close(json, '}');
}

void bd_event_write_totals(struct bd_json *json, const struct bd_activity *activity)
{
    int count;
    const struct bd_mark_total *totals = bd_activity_totals(activity, &count);
    for (int zone = 0; zone < 2; zone++) {
        bool any = false;
        for (int i = 0; i < count; i++) {
            if (totals[i].zone != zone)
                continue;
            if (!any)
                bd_json_open(json, zone ? "zones" : "lines", '[');
            any = true;
            write_total(json, &totals[i]);
        }
        if (any)
            bd_json_close(json, ']');
    }
}
