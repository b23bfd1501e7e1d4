#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/export/clips/plan.h"
#include "app/export/output.h"
#include "app/export/outputs.h"
#include "app/export/own_options.h"
#include "app/interrupt.h"
#include "app/reads.h"
#include "video/input/image_pattern.h"
#include "video/output/writer.h"

/* Whether writing to `path` would replace something: for a pattern, any picture of its names. An
 * output that is no picture has a name with %03d as it is. */
static bool would_replace(const char *path)
{
    struct stat info;
    int first, beyond_gap;
    /* devices such as /dev/null are written to, not replaced */
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode))
        return true;
    return bd_image_pattern_is(path) && bd_image_pattern_find(path, &first, &beyond_gap) == BD_OK;
}

static enum bd_status ask(const struct bd_options *options, const struct bd_output_kind *kind,
                          const char *path)
{
    char file[PATH_MAX];
    const char *name = kind->name;
    bool there = kind->replaces ? kind->replaces(file, options) : would_replace(path);
    if (options->overwrite == BD_OVERWRITE_YES || !there)
        return BD_OK;
    path = kind->replaces ? file : path;
    if (options->overwrite == BD_OVERWRITE_NO || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: exists; give -y to replace it", name, path);
    char answer[16] = "";
    fprintf(stderr, "%s exists. Replace it? [y/N] ", path);
    if (!fgets(answer, sizeof answer, stdin)) /* the terminal has not ended the line */
        fputc('\n', stderr);
    if (bd_interrupted(NULL))
        return bd_fail(BD_ERROR_INTERRUPTED, "interrupted; nothing was written");
    if (answer[0] == 'y' || answer[0] == 'Y')
        return BD_OK;
    return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: not replaced", name, path);
}

/* Whether clips are written that may be encoded. */
static bool encodes_clips(const struct bd_options *options)
{
    return options->clips && options->clip_mode != BD_CLIPS_COPY && !options->scan_only;
}

/* Whether an output may be a film that is encoded. */
static bool has_film(const struct bd_options *options)
{
    bool film = options->timelapse || options->synopsis || encodes_clips(options);
    for (int i = 0; i < bd_output_kind_count; i++)
        film |= bd_output_kinds[i]->codec && bd_output_path(options, bd_output_kinds[i]);
    return film;
}

/* Options that change what an output shows or tells need that output. What is counted at lines and
 * in zones is told at the end. */
static enum bd_status check_needs(const struct bd_options *options)
{
    const char *const objects = "an output of objects, such as --events";
    const char *const events = "an output of events, such as --events";
    const struct bd_options *o = options;
    bool marks = o->lines.count > 0 || o->zones.count > 0;
    bool has_objects = bd_outputs_wants(o, &(struct bd_clip_plan){ 0 }) & BD_WANT_OBJECTS;
    bool has_events =
        has_objects && (marks || o->events || o->clips || o->scan_only || o->timelapse || o->json);
    const struct {
        const char *name;
        bool given, works;
        const char *needs;
    } rows[] = {
        { "mask-codec", o->mask_codec, o->mask, "--mask" },
        { "foreground-codec", o->foreground_codec, o->foreground, "--foreground" },
        { "background-codec", o->background_codec, o->background, "--background" },
        { "overlay-codec", o->overlay_codec, o->overlay, "--overlay" },
        { "codec", o->codec, has_film(o), "a film that is encoded" },
        { "shadows", o->shadows, o->mask, "--mask" },
        { "boxes", o->boxes, o->overlay || o->timelapse || encodes_clips(o),
          "--overlay, --timelapse, or --clips that are encoded" },
        { "line", o->lines.count > 0, has_objects, objects },
        { "zone", o->zones.count > 0, has_objects, objects },
        { "min-event-length", o->min_event_length != 0, has_events || o->synopsis, events },
        { "time-post-event", o->time_post_event != 0, has_events, events },
        { "merge-window", o->merge_window != 0, has_events, events },
        { "time-before-event", o->time_before_event != 0, o->clips, "--clips" },
        { "clip-mode", o->clip_mode != BD_CLIPS_DEFAULT, o->clips, "--clips" },
        { "timelapse-speed", o->timelapse_speed != 0, o->timelapse, "--timelapse" },
        { "length", o->length != 0, o->synopsis, "--synopsis" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].given && !rows[i].works)
            return bd_fail(BD_ERROR_ARGUMENT, "--%s: does nothing without %s", rows[i].name,
                           rows[i].needs);
    return BD_OK;
}

static enum bd_status check_codecs(const struct bd_options *options)
{
    if (options->codec && bd_writer_check_codec(options->codec))
        return bd_fail(BD_ERROR_ARGUMENT, "--codec %s", bd_error_detail());
    for (int i = 0; i < bd_output_kind_count; i++) {
        const char *codec = bd_output_codec(options, bd_output_kinds[i]);
        if (codec && bd_writer_check_codec(codec))
            return bd_fail(BD_ERROR_ARGUMENT, "--%s-codec %s", bd_output_kinds[i]->name,
                           bd_error_detail());
    }
    return BD_OK;
}

/* A list of events, and no more than lists. */
static enum bd_status check_scan(const struct bd_options *options)
{
    for (int i = 0; i < bd_output_kind_count && options->scan_only; i++) {
        const struct bd_output_kind *kind = bd_output_kinds[i];
        const char *path = bd_output_path(options, kind);
        unsigned wants = bd_output_wants(options, kind, &(struct bd_clip_plan){ 0 });
        bool shows = kind->codec || (wants & ~(unsigned)BD_WANT_OBJECTS);
        if (path && shows)
            return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: --scan-only writes no film and no picture",
                           kind->name, path);
        if (path && bd_output_is_stdout(kind, path))
            return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: --scan-only has stdout; give --%s a file",
                           kind->name, path, kind->name);
    }
    return BD_OK;
}

/* The output's file is not that of another one before it, nor is one of its pictures. */
static enum bd_status check_same(const struct bd_options *options, int index, const char *path)
{
    const char *name = bd_output_kinds[index]->name;
    for (int i = 0; i < index; i++) {
        const char *before = bd_output_path(options, bd_output_kinds[i]);
        if (!before || !bd_paths_meet(path, before))
            continue;
        if (bd_output_is_stdout(bd_output_kinds[i], before))
            return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: --%s has stdout; give one of them a file",
                           name, path, bd_output_kinds[i]->name);
        bool patterns = bd_image_pattern_is(path) || bd_image_pattern_is(before);
        if (strncmp(path, "/dev/", 5) != 0)
            return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: %s of --%s too", name, path,
                           patterns ? "has a name" : "is the file", bd_output_kinds[i]->name);
    }
    return BD_OK;
}

/* Nothing that is read is replaced. */
static enum bd_status check_reads(const struct bd_options *options, const struct bd_inputs *inputs,
                                  const struct bd_output_kind *kind)
{
    char file[PATH_MAX];
    const struct bd_reads reads = { .inputs = (const char *const *)inputs->items,
                                    .count = inputs->count,
                                    .roi = options->roi };
    if (kind->takes_read && kind->takes_read(file, options, &reads))
        return bd_fail(BD_ERROR_ARGUMENT,
                       "--%s %s: one of its files may be %s, which is the input itself, one of "
                       "its pictures, or the region",
                       kind->name, bd_output_path(options, kind), file);
    return bd_reads_check(&reads, kind->name, bd_output_path(options, kind));
}

/* What concerns all exports alike. */
static enum bd_status check_options(const struct bd_options *options)
{
    enum bd_status status = check_needs(options);
    if (!status)
        status = check_codecs(options);
    return status ? status : check_scan(options);
}

/* The outputs of one export. */
static enum bd_status check_outputs(const struct bd_options *options,
                                    const struct bd_inputs *inputs)
{
    enum bd_status status = BD_OK;
    for (int i = 0; i < bd_output_kind_count && !status; i++) {
        const char *name = bd_output_kinds[i]->name;
        const char *path = bd_output_path(options, bd_output_kinds[i]);
        if (!path)
            continue;
        bool file = !bd_output_is_stdout(bd_output_kinds[i], path);
        if (bd_output_kinds[i]->folder && bd_image_pattern_is(path))
            return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: only names of pictures have a number", name,
                           path);
        status = file ? check_reads(options, inputs, bd_output_kinds[i]) : BD_OK;
        if (!status)
            status = check_same(options, i, path);
        if (file && !status)
            status = ask(options, bd_output_kinds[i], path);
    }
    return status;
}

/* Paths of outputs of all exports, which go to one folder. */
struct paths {
    char **items;
    size_t count;
};

static enum bd_status remember(struct paths *paths, struct bd_own_options *own)
{
    char **grown = realloc(paths->items, (paths->count + bd_output_kind_count) * sizeof *grown);
    if (!grown)
        return bd_fail(BD_ERROR_MEMORY, "out of memory for the names of the outputs");
    paths->items = grown;
    for (int i = 0; i < bd_output_kind_count; i++)
        if (own->paths[i] && !bd_output_kinds[i]->folder) {
            grown[paths->count++] = own->paths[i];
            own->paths[i] = NULL;
        }
    return BD_OK;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of inputs differ, but a.b with the end c is a with the end b.c. */
static enum bd_status check_differ(const struct paths *paths)
{
    if (paths->count)
        qsort(paths->items, paths->count, sizeof *paths->items, compare);
    for (size_t i = 1; i < paths->count; i++)
        if (strcmp(paths->items[i - 1], paths->items[i]) == 0)
            return bd_fail(BD_ERROR_ARGUMENT, "%s: would be an output of two inputs",
                           paths->items[i]);
    return BD_OK;
}

enum bd_status bd_all_outputs_check(const struct bd_options *options,
                                    const struct bd_inputs *inputs)
{
    struct paths paths = { 0 };
    enum bd_status status = check_options(options);
    for (int i = 0; i < bd_exports_count(options, inputs) && !status; i++) {
        struct bd_own_options own;
        status = bd_own_options_make(&own, options, inputs, i);
        if (status)
            break;
        status = check_outputs(&own.options, inputs);
        if (!status)
            status = remember(&paths, &own);
        bd_own_options_free(&own);
    }
    if (!status)
        status = check_differ(&paths);
    for (size_t i = 0; i < paths.count; i++)
        free(paths.items[i]);
    free(paths.items);
    return status;
}
