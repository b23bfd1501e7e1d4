#include "app/export/events.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "app/export/component.h"
#include "app/json.h"

static const double least_fraction = 0.0005, gap_seconds = 1;

struct event {
    double start, end;
    int64_t first_frame, last_frame, frames;
    double peak_time, peak_fraction, sum;
    struct bd_box box;
};

struct bd_events {
    char path[PATH_MAX];
    FILE *file;
    bool is_json;
    struct bd_json json;
    struct bd_components components; /* of the mask at the last peak */
    bool active;
    struct event event; /* in progress, if active */
    int count;
    int64_t frames;
};

enum bd_status bd_events_open(struct bd_events **events, const char *path)
{
    *events = NULL;
    const char *dot = strrchr(path, '.');
    bool csv = dot && strcasecmp(dot, ".csv") == 0, json = dot && strcasecmp(dot, ".json") == 0;
    if (!csv && !json)
        return bd_fail(BD_ERROR_ARGUMENT, "--events %s: must end in .csv or .json", path);
    struct bd_events *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for events");
    snprintf(self->path, sizeof self->path, "%s", path);
    self->is_json = json;
    self->file = fopen(path, "w");
    if (!self->file) {
        enum bd_status status = bd_fail(BD_ERROR_IO, "%s: %s", path, strerror(errno));
        free(self);
        return status;
    }
    self->json.file = self->file;
    if (json) {
        bd_json_open(&self->json, NULL, '{');
        bd_json_open(&self->json, "events", '[');
    } else {
        fputs("event,start,end,first_frame,last_frame,peak_time,peak_fraction,mean_fraction,"
              "x,y,width,height\n",
              self->file);
    }
    *events = self;
    return BD_OK;
}

static void write_json(struct bd_events *events, const struct event *event)
{
    struct bd_json *json = &events->json;
    bd_json_open(json, NULL, '{');
    bd_json_integer(json, "event", events->count);
    bd_json_number(json, "start", event->start, 9);
    bd_json_number(json, "end", event->end, 9);
    bd_json_integer(json, "first_frame", event->first_frame);
    bd_json_integer(json, "last_frame", event->last_frame);
    bd_json_number(json, "peak_time", event->peak_time, 9);
    bd_json_number(json, "peak_fraction", event->peak_fraction, 6);
    bd_json_number(json, "mean_fraction", event->sum / (double)event->frames, 6);
    bd_json_integer(json, "x", event->box.x);
    bd_json_integer(json, "y", event->box.y);
    bd_json_integer(json, "width", event->box.width);
    bd_json_integer(json, "height", event->box.height);
    bd_json_close(json, '}');
}

static void end_event(struct bd_events *events)
{
    const struct event *event = &events->event;
    if (!events->active)
        return;
    events->active = false;
    events->count++;
    if (events->is_json)
        write_json(events, event);
    else
        fprintf(events->file, "%d,%.6f,%.6f,%" PRId64 ",%" PRId64 ",%.6f,%.6f,%.6f,%d,%d,%d,%d\n",
                events->count, event->start, event->end, event->first_frame, event->last_frame,
                event->peak_time, event->peak_fraction, event->sum / (double)event->frames,
                event->box.x, event->box.y, event->box.width, event->box.height);
}

enum bd_status bd_events_add(struct bd_events *events, const struct bd_result *result)
{
    struct event *event = &events->event;
    const struct bd_frame *mask = result->mask;
    double fraction =
        (double)result->foreground_pixels / ((double)mask->width * (double)mask->height);
    enum bd_status status = BD_OK;
    events->frames++;
    if (events->active && result->time - event->end > gap_seconds)
        end_event(events);
    if (fraction >= least_fraction) {
        if (!events->active)
            *event = (struct event){ .start = result->time, .first_frame = mask->index };
        events->active = true;
        event->end = result->time;
        event->last_frame = mask->index;
        event->frames++;
        event->sum += fraction;
        if (fraction > event->peak_fraction) {
            event->peak_fraction = fraction;
            event->peak_time = result->time;
            status = bd_component_largest(&events->components, &event->box, mask);
        }
    }
    if (!status && ferror(events->file))
        status = bd_fail(BD_ERROR_IO, "%s: %s", events->path, strerror(errno));
    return status;
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
    bool failed = fflush(self->file) || ferror(self->file);
    if (fclose(self->file) || failed)
        status = bd_fail(BD_ERROR_IO, "%s: %s", self->path, strerror(errno));
    if (count)
        *count = self->count;
    bd_components_destroy(&self->components);
    free(self);
    *events = NULL;
    return status;
}
