#include "app/export/tracks.h"

#include <inttypes.h>
#include <libavutil/mathematics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "app/export/output.h"
#include "app/export/text_file.h"
#include "app/pipeline/hindsight.h"

/* Of CSV and JSON lines, in this order; numbers have so many decimals. */
static const struct column {
    const char *name;
    int decimals;
} columns[] = {
    { "frame", 0 }, { "time", 6 },   { "id", 0 },    { "missing", 0 }, { "X", 1 },
    { "Y", 1 },     { "VX", 2 },     { "VY", 2 },    { "SPEED", 2 },   { "num_pixels", 0 },
    { "left", 0 },  { "top", 0 },    { "width", 0 }, { "height", 0 },  { "confidence", 4 },
    { "since", 6 }, { "parent", 0 }, { "group", 0 },
};
enum { column_count = sizeof columns / sizeof *columns };

enum form { MOT, CSV, LINES };

/* An object in a frame. */
struct sight {
    int64_t frame, time; /* time: microseconds */
    struct bd_object object;
};

struct bd_tracks {
    struct bd_text_file text;
    enum form form;
    struct bd_rational time_base;
    int64_t frames;
    struct bd_hindsight hindsight; /* a file is sorted by frames, so it waits for them */

    /* Of JSON lines: the objects that have not ended, by their numbers, as they were last seen; and
     * room for those of the next frame. */
    struct sight *present, *next;
    int present_count, capacity;
};

static enum bd_status find_form(enum form *form, const char *path)
{
    static const char *const endings[] = { [MOT] = ".txt", [CSV] = ".csv", [LINES] = ".json" };
    const char *dot = strrchr(path, '.');
    *form = LINES;
    if (strcmp(path, "-") == 0)
        return BD_OK;
    for (int i = MOT; dot && i <= LINES; i++)
        if (strcasecmp(dot, endings[i]) == 0) {
            *form = (enum form)i;
            return BD_OK;
        }
    return bd_fail(BD_ERROR_ARGUMENT, "%s: must end in .txt, .csv or .json, or be - for stdout",
                   path);
}

enum bd_status bd_tracks_open(struct bd_tracks **tracks, const char *path,
                              const struct bd_reader_info *info)
{
    enum form form;
    enum bd_status status = find_form(&form, path);
    *tracks = NULL;
    if (status)
        return status;
    struct bd_tracks *self = calloc(1, sizeof *self);
    if (!self)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for tracks");
    self->form = form;
    self->time_base = info->time_base;
    status = bd_text_file_open(&self->text, path);
    if (status) {
        free(self);
        return status;
    }
    for (int i = 0; form == CSV && i < column_count; i++)
        fprintf(self->text.file, "%s%c", columns[i].name, i + 1 < column_count ? ',' : '\n');
    *tracks = self;
    return BD_OK;
}

static int64_t power_of_ten(int exponent)
{
    int64_t power = 1;
    while (exponent-- > 0)
        power *= 10;
    return power;
}

/* The value in units of its last decimal; what no number of the file holds is cut. */
static int64_t fixed(double value, int decimals)
{
    const double most = 9e18;
    return llround(fmax(-most, fmin(most, value * (double)power_of_ten(decimals))));
}

/* Prints what `fixed` gives. Not by %f, whose decimal point is the locale's. */
static void print_fixed(FILE *file, int64_t value, int decimals)
{
    uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
    uint64_t unit = (uint64_t)power_of_ten(decimals);
    fprintf(file, "%s%" PRIu64, value < 0 ? "-" : "", size / unit);
    if (decimals > 0)
        fprintf(file, ".%0*" PRIu64, decimals, size % unit);
}

static void print_mot(FILE *file, const struct sight *sight)
{
    const struct bd_object *object = &sight->object;
    fprintf(file, "%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%d,%d,", sight->frame + 1,
            object->id, (int64_t)object->x + 1, (int64_t)object->y + 1, object->width,
            object->height);
    print_fixed(file, fixed(object->confidence, 4), 4);
    fputs(",-1,-1,-1\n", file);
}

/* Prints all columns; `type`: of a JSON line, NULL: in CSV. */
static void print_columns(FILE *file, const struct sight *sight, const char *type)
{
    const struct bd_object *o = &sight->object;
    const int64_t values[] = {
        sight->frame,
        sight->time,
        o->id,
        !o->seen,
        10 * (int64_t)o->x + 5 * (int64_t)o->width,
        10 * (int64_t)o->y + 5 * (int64_t)o->height,
        fixed(o->vx, 2),
        fixed(o->vy, 2),
        fixed(hypot(o->vx, o->vy), 2),
        o->area,
        o->x,
        o->y,
        o->width,
        o->height,
        fixed(o->confidence, 4),
        fixed(o->since, 6),
        o->parent,
        o->group,
    };
    _Static_assert(sizeof values / sizeof *values == column_count, "a value for each column");
    if (type)
        fprintf(file, "{\"type\":\"%s\",", type);
    for (int i = 0; i < column_count; i++) {
        if (type)
            fprintf(file, "\"%s\":", columns[i].name);
        print_fixed(file, values[i], columns[i].decimals);
        if (i + 1 < column_count)
            fputc(',', file);
    }
    fputs(type ? "}\n" : "\n", file);
}

/* Room for `count` objects in both lists. */
static enum bd_status reserve(struct bd_tracks *tracks, int count)
{
    struct sight **lists[] = { &tracks->present, &tracks->next };
    if (count <= tracks->capacity)
        return BD_OK;
    for (int i = 0; i < 2; i++) {
        struct sight *larger = realloc(*lists[i], (size_t)count * sizeof *larger);
        if (!larger)
            return bd_fail(BD_ERROR_MEMORY, "out of memory for tracks");
        *lists[i] = larger;
    }
    tracks->capacity = count;
    return BD_OK;
}

/* Microseconds. What no clock says before 2065, as of a broken file, is cut, as in events. */
static int64_t time_of(const struct bd_tracks *tracks, const struct bd_held_frame *frame)
{
    const int64_t most = 3000000000, unit = 1000000;
    if (fabs(frame->time) > (double)most)
        return frame->time < 0 ? -most * unit : most * unit;
    return av_rescale(frame->pts, tracks->time_base.num * unit, tracks->time_base.den);
}

/* Prints where a new object was before; false: nothing is known of it. */
static bool print_past(struct bd_tracks *tracks, int64_t id, const struct bd_result *result)
{
    bool begun = false;
    for (int i = 0; result && i < result->past_count; i++) {
        const struct bd_past *past = &result->past[i];
        const struct bd_held_frame *frame = bd_hindsight_ago(&tracks->hindsight, past->ago);
        if (past->object.id != id || !frame)
            continue;
        const struct sight sight = { frame->index, time_of(tracks, frame), past->object };
        print_columns(tracks->text.file, &sight, begun ? "update" : "begin");
        begun = true;
    }
    return begun;
}

/* Ends the objects from *at on whose number is below `id`. */
static void end_before(struct bd_tracks *tracks, int *at, int64_t id)
{
    for (; *at < tracks->present_count && tracks->present[*at].object.id < id; ++*at)
        print_columns(tracks->text.file, &tracks->present[*at], "end");
}

/* The lines of a frame. Both lists of objects are in the order of their numbers. `result`: of a
 * stream, where new objects were before is printed now; else NULL. */
static enum bd_status print_lines(struct bd_tracks *tracks, const struct sight *now,
                                  const struct bd_object *objects, int count,
                                  const struct bd_result *result)
{
    enum bd_status status = reserve(tracks, count);
    int at = 0;
    if (status)
        return status;
    for (int i = 0; i < count; i++) {
        struct sight sight = { now->frame, now->time, objects[i] };
        end_before(tracks, &at, objects[i].id);
        bool known = at < tracks->present_count && tracks->present[at].object.id == objects[i].id;
        bool begun = known || print_past(tracks, objects[i].id, result);
        print_columns(tracks->text.file, &sight, begun ? "update" : "begin");
        tracks->next[i] = known && !objects[i].seen ? tracks->present[at] : sight;
        at += known;
    }
    end_before(tracks, &at, INT64_MAX);
    struct sight *list = tracks->present;
    tracks->present = tracks->next;
    tracks->next = list;
    tracks->present_count = count;
    return BD_OK;
}

static enum bd_status print_frame(struct bd_tracks *tracks, const struct bd_held_frame *frame)
{
    struct sight sight = { .frame = frame->index, .time = time_of(tracks, frame) };
    if (tracks->form == LINES)
        return print_lines(tracks, &sight, frame->objects, frame->count, NULL);
    for (int i = 0; i < frame->count; i++) {
        sight.object = frame->objects[i];
        if (tracks->form == CSV)
            print_columns(tracks->text.file, &sight, NULL);
        else if (sight.object.seen)
            print_mot(tracks->text.file, &sight);
    }
    return BD_OK;
}

/* Prints the held frames of which all objects are known; `all`: the others, too. A stream has
 * printed them. */
static enum bd_status print_held(struct bd_tracks *tracks, bool all)
{
    enum bd_status status = BD_OK;
    const struct bd_held_frame *frame;
    while (!status && (frame = bd_hindsight_next(&tracks->hindsight, all)))
        if (tracks->text.part)
            status = print_frame(tracks, frame);
    return status;
}

enum bd_status bd_tracks_add(struct bd_tracks *tracks, const struct bd_result *result)
{
    enum bd_status status = bd_hindsight_add(&tracks->hindsight, result);
    tracks->frames++;
    if (!status && !tracks->text.part) {
        const struct bd_held_frame *now = bd_hindsight_ago(&tracks->hindsight, 0);
        const struct sight sight = { .frame = now->index, .time = time_of(tracks, now) };
        status = print_lines(tracks, &sight, result->objects, result->object_count, result);
    }
    if (!status)
        status = print_held(tracks, false);
    return status ? status : bd_text_file_flush(&tracks->text);
}

void bd_tracks_keep_old(struct bd_tracks *tracks)
{
    tracks->text.keeps_old = true;
}

enum bd_status bd_tracks_close(struct bd_tracks **tracks)
{
    struct bd_tracks *self = *tracks;
    int at = 0;
    if (!self)
        return BD_OK;
    enum bd_status status = print_held(self, true);
    end_before(self, &at, INT64_MAX);
    status = bd_text_file_close(&self->text, status, self->frames == 0);
    bd_hindsight_free(&self->hindsight);
    free(self->present);
    free(self->next);
    free(self);
    *tracks = NULL;
    return status;
}

static enum bd_status open_tracks(void **output, const char *path,
                                  const struct bd_output_setup *setup)
{
    struct bd_tracks *tracks;
    enum bd_status status = bd_tracks_open(&tracks, path, setup->info);
    *output = tracks;
    return status;
}

static enum bd_status write_tracks(void *output, const struct bd_result *result,
                                   const struct bd_activity *activity)
{
    (void)activity;
    return bd_tracks_add(output, result);
}

static void keep_old_tracks(void *output)
{
    bd_tracks_keep_old(output);
}

static enum bd_status close_tracks(void **output, const struct bd_activity *activity)
{
    (void)activity;
    struct bd_tracks *tracks = *output;
    *output = NULL;
    return bd_tracks_close(&tracks);
}

const struct bd_output_kind bd_tracks_output = { .name = "tracks",
                                                 .option = offsetof(struct bd_options, tracks),
                                                 .wants = BD_WANT_OBJECTS,
                                                 .streams = true,
                                                 .open = open_tracks,
                                                 .write = write_tracks,
                                                 .keep_old = keep_old_tracks,
                                                 .close = close_tracks };
