#include "app/export/events.h"

#include <errno.h>
#include <inttypes.h>
#include <libavutil/mathematics.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "app/export/component.h"
#include "app/export/output.h"
#include "app/json.h"
#include "video/output_file.h"

static const double least_fraction = 0.0005;
static const int64_t second = 1000000000; /* times are nanoseconds: a camera's count from 1970 */

struct event {
    int64_t start, end, peak_time;
    int64_t first_frame, last_frame, frames;
    double peak_fraction, sum;
    int64_t told; /* the time at which the file was told of it, while it is in progress */
    struct bd_box box;
};

struct bd_events {
    struct bd_part *part;
    FILE *file;
    bool is_json;
    struct bd_json json;
    struct bd_rational time_base;
    bool live;
    bool keeps_old;
    bool has_utc;
    int64_t utc;                     /* of the time 0 of the input, if has_utc */
    struct bd_components components; /* of the mask at the last peak */
    bool active;
    struct event event; /* in progress, if active */
    int count;
    int64_t frames;
    int error; /* errno of the first write that failed; 0: none has */
};

enum bd_status bd_events_open(struct bd_events **events, const char *path,
                              const struct bd_reader_info *info)
{
    *events = NULL;
    const char *dot = strrchr(path, '.');
    bool csv = dot && strcasecmp(dot, ".csv") == 0, json = dot && strcasecmp(dot, ".json") == 0;
    if (!csv && !json)
        return bd_fail(BD_ERROR_ARGUMENT, "%s: must end in .csv or .json", path);
    struct bd_events *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for events");
    self->is_json = json;
    self->time_base = info->time_base;
    self->live = info->live;
    enum bd_status status = bd_part_open(&self->part, path, true);
    if (!status && !(self->file = fopen(bd_part_name(self->part), "w"))) {
        status = bd_output_fail(path, errno);
        bd_part_close(&self->part, BD_PART_NONE);
    }
    if (status) {
        free(self);
        return status;
    }
    self->json.file = self->file;
    if (json) {
        bd_json_open(&self->json, NULL, '{');
        bd_json_open(&self->json, "events", '[');
    } else {
        fputs("event,start,end,first_frame,last_frame,peak_time,peak_fraction,mean_fraction,"
              "x,y,width,height,start_utc,end_utc,peak_utc\n",
              self->file);
    }
    *events = self;
    return BD_OK;
}

static int64_t now(clockid_t clock)
{
    struct timespec time = { 0 };
    clock_gettime(clock, &time);
    return time.tv_sec * second + time.tv_nsec;
}

/* Cameras count from 1970 or, as V4L2 has it, from the start of the machine. `time` of the first
 * frame says which: the start of an export holds frames back for a minute at most. */
static void find_utc(struct bd_events *events, int64_t time)
{
    static const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC };
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks && !events->has_utc; i++) {
        int64_t age = now(clocks[i]) - time;
        events->has_utc = age > -second && age < 120 * second;
        events->utc = now(CLOCK_REALTIME) - now(clocks[i]);
    }
}

enum { utc_size = 64 };

/* ISO 8601; `text` is "" where the time is not known. */
static const char *format_utc(char text[utc_size], const struct bd_events *events, int64_t time)
{
    struct tm parts;
    time_t seconds = (time + events->utc) / second;
    size_t length = 0;
    if (events->has_utc && gmtime_r(&seconds, &parts))
        length = strftime(text, utc_size, "%Y-%m-%dT%H:%M:%S", &parts);
    text[length] = 0;
    if (length)
        snprintf(text + length, utc_size - length, ".%06dZ",
                 (int)((time + events->utc) % second / 1000));
    return text;
}

static void write_utc(struct bd_events *events, const char *name, int64_t time)
{
    char text[utc_size];
    format_utc(text, events, time);
    bd_json_text(&events->json, name, *text ? text : NULL);
}

static void write_json(struct bd_events *events, const struct event *event)
{
    struct bd_json *json = &events->json;
    bd_json_open(json, NULL, '{');
    bd_json_integer(json, "event", events->count);
    bd_json_time(json, "start", event->start);
    bd_json_time(json, "end", event->end);
    bd_json_integer(json, "first_frame", event->first_frame);
    bd_json_integer(json, "last_frame", event->last_frame);
    bd_json_time(json, "peak_time", event->peak_time);
    bd_json_number(json, "peak_fraction", event->peak_fraction, 6);
    bd_json_number(json, "mean_fraction", event->sum / (double)event->frames, 6);
    bd_json_integer(json, "x", event->box.x);
    bd_json_integer(json, "y", event->box.y);
    bd_json_integer(json, "width", event->box.width);
    bd_json_integer(json, "height", event->box.height);
    write_utc(events, "start_utc", event->start);
    write_utc(events, "end_utc", event->end);
    write_utc(events, "peak_utc", event->peak_time);
    bd_json_close(json, '}');
}

static void write_csv(struct bd_events *events, const struct event *event)
{
    char start[utc_size], end[utc_size], peak[utc_size];
    fprintf(
        events->file, "%d,%.6f,%.6f,%" PRId64 ",%" PRId64 ",%.6f,%.6f,%.6f,%d,%d,%d,%d,%s,%s,%s\n",
        events->count, (double)event->start / (double)second, (double)event->end / (double)second,
        event->first_frame, event->last_frame, (double)event->peak_time / (double)second,
        event->peak_fraction, event->sum / (double)event->frames, event->box.x, event->box.y,
        event->box.width, event->box.height, format_utc(start, events, event->start),
        format_utc(end, events, event->end), format_utc(peak, events, event->peak_time));
}

static void write_event(struct bd_events *events)
{
    events->count++;
    if (events->is_json)
        write_json(events, &events->event);
    else
        write_csv(events, &events->event);
}

/* Writes to the file what is to be in it. Nothing of the event in progress is left behind that. */
static void flush(struct bd_events *events)
{
    if ((fflush(events->file) || ferror(events->file)) && !events->error)
        events->error = errno ? errno : EIO;
    off_t end = ftello(events->file);
    if (end >= 0 && ftruncate(fileno(events->file), end) != 0)
        return; /* a device has no length */
}

/* A program that is killed has told of the event in progress. What comes next replaces that; a pipe
 * cannot take anything back. */
static void tell_of_event(struct bd_events *events)
{
    const struct bd_json json = events->json;
    const off_t at = ftello(events->file);
    if (at < 0)
        return;
    write_event(events);
    flush(events);
    events->count--;
    events->json = json;
    fseeko(events->file, at, SEEK_SET);
}

static void end_event(struct bd_events *events)
{
    if (!events->active)
        return;
    events->active = false;
    write_event(events);
    flush(events);
}

/* Nanoseconds. What no clock says before 2065, as of a broken file, is cut, so that differences do
 * not overflow. */
static int64_t time_of(const struct bd_events *events, const struct bd_result *result)
{
    const int64_t most = 3000000000;
    if (fabs(result->time) > (double)most)
        return result->time < 0 ? -most * second : most * second;
    return av_rescale(result->mask->pts, events->time_base.num * second, events->time_base.den);
}

enum bd_status bd_events_add(struct bd_events *events, const struct bd_result *result)
{
    struct event *event = &events->event;
    const struct bd_frame *mask = result->mask;
    double fraction =
        (double)result->foreground_pixels / ((double)mask->width * (double)mask->height);
    int64_t time = time_of(events, result);
    enum bd_status status = BD_OK;
    if (events->frames++ == 0 && events->live)
        find_utc(events, time);
    if (events->active && time - event->end > second)
        end_event(events);
    if (fraction >= least_fraction) {
        if (!events->active)
            *event = (struct event){ .start = time, .told = time, .first_frame = mask->index };
        events->active = true;
        event->end = time;
        event->last_frame = mask->index;
        event->frames++;
        event->sum += fraction;
        if (fraction > event->peak_fraction) {
            event->peak_fraction = fraction;
            event->peak_time = time;
            status = bd_component_largest(&events->components, &event->box, mask);
        }
    }
    if (events->active && time - event->told >= second) {
        event->told = time;
        tell_of_event(events);
    }
    if (!status && events->error)
        status = bd_output_fail(bd_part_path(events->part), events->error);
    return status;
}

void bd_events_keep_old(struct bd_events *events)
{
    events->keeps_old = true;
}

enum bd_status bd_events_close(struct bd_events **events, int *count)
{
    struct bd_events *self = *events;
    enum bd_status status = BD_OK;
    if (!self)
        return BD_OK;
    end_event(self);
    if (self->is_json) {
        bd_json_close(&self->json, ']');
        bd_json_integer(&self->json, "frames", self->frames);
        bd_json_close(&self->json, '}');
    }
    flush(self);
    if (fclose(self->file) && !self->error)
        self->error = errno;
    if (self->error)
        status = bd_output_fail(bd_part_path(self->part), self->error);
    enum bd_part_end end = self->frames == 0           ? BD_PART_NONE
                           : status || self->keeps_old ? BD_PART_BROKEN
                                                       : BD_PART_WHOLE;
    enum bd_status named = bd_part_close(&self->part, end);
    status = status ? status : named;
    if (count)
        *count = self->count;
    bd_components_destroy(&self->components);
    free(self);
    *events = NULL;
    return status;
}

static enum bd_status open_events(void **output, const char *path,
                                  const struct bd_output_setup *setup)
{
    struct bd_events *events;
    enum bd_status status = bd_events_open(&events, path, setup->info);
    *output = events;
    return status;
}

static enum bd_status write_events(void *output, const struct bd_result *result,
                                   const struct bd_activity *activity)
{
    (void)activity;
    return bd_events_add(output, result);
}

static void keep_old_events(void *output)
{
    bd_events_keep_old(output);
}

static enum bd_status close_events(void **output, const struct bd_activity *activity)
{
    (void)activity;
    struct bd_events *events = *output;
    *output = NULL;
    return bd_events_close(&events, NULL);
}

const struct bd_output_kind bd_events_output = { .name = "events",
                                                 .option = offsetof(struct bd_options, events),
                                                 .open = open_events,
                                                 .write = write_events,
                                                 .keep_old = keep_old_events,
                                                 .close = close_events };
