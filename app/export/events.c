#include "app/export/events.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "app/export/event_text.h"
#include "app/export/output.h"
#include "app/export/text_file.h"

static const int64_t second = 1000000000;

enum form { CSV, JSON, LINES };

struct bd_events {
    struct bd_text_file text;
    enum form form;
    struct bd_json json;
    bool live;
    struct bd_event_clock clock;
    int64_t told; /* the time at which the file was told of the events in progress */
    int64_t frames;
};

static enum bd_status find_form(enum form *form, const char *path)
{
    const char *dot = strrchr(path, '.');
    bool csv = dot && strcasecmp(dot, ".csv") == 0, json = dot && strcasecmp(dot, ".json") == 0;
    bool is_stdout = strcmp(path, "-") == 0;
    *form = is_stdout ? LINES : json ? JSON : CSV;
    return csv || json || is_stdout
               ? BD_OK
               : bd_fail(BD_ERROR_ARGUMENT, "%s: must end in .csv or .json, or be - for stdout",
                         path);
}

enum bd_status bd_events_open(struct bd_events **events, const char *path,
                              const struct bd_reader_info *info)
{
    enum form form;
    enum bd_status status = find_form(&form, path);
    *events = NULL;
    if (status)
        return status;
    struct bd_events *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for events");
    self->form = form;
    self->live = info->live;
    status = bd_text_file_open(&self->text, path);
    if (status) {
        free(self);
        return status;
    }
    self->json.file = self->text.file;
    self->json.compact = form == LINES;
    if (form == JSON) {
        bd_json_open(&self->json, NULL, '{');
        bd_json_open(&self->json, "events", '[');
    } else if (form == CSV) {
        bd_event_print_header(self->text.file);
    }
    *events = self;
    return BD_OK;
}

static void write_event(struct bd_events *events, const struct bd_event *event)
{
    if (events->form == CSV) {
        bd_event_print_row(events->text.file, event, &events->clock);
        return;
    }
    bd_json_open(&events->json, NULL, '{');
    bd_event_write_keys(&events->json, event, &events->clock, true);
    bd_json_close(&events->json, '}');
}

/* Writes to the file what is to be in it. Nothing that was there before is left behind that. */
static enum bd_status flush(struct bd_events *events)
{
    enum bd_status status = bd_text_file_flush(&events->text);
    off_t end = events->form == LINES ? -1 : ftello(events->text.file);
    if (end >= 0 && ftruncate(fileno(events->text.file), end) != 0)
        return status; /* a device has no length */
    return status;
}

/* A program that is killed has told of the events in progress. What comes next replaces them; a
 * pipe cannot take anything back. */
static enum bd_status tell_of_events(struct bd_events *events, const struct bd_activity *activity)
{
    int count;
    const struct bd_event *const *list = bd_activity_events(activity, &count);
    const struct bd_json json = events->json;
    const off_t at = ftello(events->text.file);
    for (int i = 0; i < count && at >= 0; i++)
        write_event(events, list[i]);
    enum bd_status status = flush(events);
    events->json = json;
    if (at >= 0)
        fseeko(events->text.file, at, SEEK_SET);
    return status;
}

/* Writes what has happened. Returns whether there is anything new in the file. */
static bool write_happenings(struct bd_events *events, const struct bd_activity *activity)
{
    int count;
    const struct bd_happening *happenings = bd_activity_happenings(activity, &count);
    bool wrote = false;
    for (int i = 0; i < count; i++) {
        if (events->form == LINES)
            bd_event_write_happening(&events->json, &happenings[i], &events->clock);
        else if (happenings[i].kind == BD_EVENT_ENDED)
            write_event(events, happenings[i].event);
        else
            continue;
        wrote = true;
    }
    return wrote;
}

enum bd_status bd_events_add(struct bd_events *events, const struct bd_activity *activity)
{
    const int64_t time = bd_activity_time(activity);
    if (events->frames++ == 0) {
        events->told = time;
        if (events->live)
            bd_event_clock_find(&events->clock, time);
    }
    bool wrote = write_happenings(events, activity);
    if (events->form == LINES)
        return wrote ? flush(events) : BD_OK;
    if (!wrote && time - events->told < second && time >= events->told)
        return BD_OK;
    events->told = time;
    return tell_of_events(events, activity);
}

void bd_events_keep_old(struct bd_events *events)
{
    events->text.keeps_old = true;
}

enum bd_status bd_events_close(struct bd_events **events, const struct bd_activity *activity)
{
    struct bd_events *self = *events;
    enum bd_status status = BD_OK;
    if (!self)
        return BD_OK;
    if (activity)
        write_happenings(self, activity);
    if (self->form == JSON) {
        bd_json_close(&self->json, ']');
        bd_json_integer(&self->json, "frames", self->frames);
        if (activity)
            bd_event_write_totals(&self->json, activity);
        bd_json_close(&self->json, '}');
    }
    status = bd_text_file_close(&self->text, flush(self), self->frames == 0);
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
    (void)result;
    return bd_events_add(output, activity);
}

static void keep_old_events(void *output)
{
    bd_events_keep_old(output);
}

static enum bd_status close_events(void **output, const struct bd_activity *activity)
{
    struct bd_events *events = *output;
    *output = NULL;
    return bd_events_close(&events, activity);
}

const struct bd_output_kind bd_events_output = { .name = "events",
                                                 .option = offsetof(struct bd_options, events),
                                                 .wants = BD_WANT_OBJECTS,
                                                 .streams = true,
                                                 .open = open_events,
                                                 .write = write_events,
                                                 .keep_old = keep_old_events,
                                                 .close = close_events };
