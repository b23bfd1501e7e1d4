#include <libavformat/avformat.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/export/clips/plan.h"
#include "app/export/output.h"
#include "app/export/outputs.h"
#include "app/interrupt.h"
#include "video/input/image_pattern.h"
#include "video/output/writer.h"

/* The first file of a path: %06d becomes 000001. */
static void first_file(char *file, const char *path)
{
    if (av_get_frame_filename(file, PATH_MAX, path, 1))
        snprintf(file, PATH_MAX, "%s", path);
}

static bool same_file(const char *a, const char *b)
{
    struct stat info_a, info_b;
    if (strcmp(a, b) == 0)
        return true;
    return stat(a, &info_a) == 0 && stat(b, &info_b) == 0 && S_ISREG(info_a.st_mode) &&
           info_a.st_dev == info_b.st_dev && info_a.st_ino == info_b.st_ino;
}

/* Whether an output would replace what is read: the input, one of its pictures, or the region. */
static bool is_read(const struct bd_options *options, const char *path)
{
    char file[PATH_MAX], input[PATH_MAX];
    const char *pattern = options->arguments[0];
    first_file(file, path);
    first_file(input, pattern);
    if (same_file(file, input) || same_file(path, pattern) ||
        (options->roi && (same_file(file, options->roi) || same_file(path, options->roi))))
        return true;
    if (!bd_image_pattern_is(pattern))
        return false;
    /* Of a pattern, names with any count of digits. */
    for (int number = 1; number < 1000000000; number *= 10) {
        if (av_get_frame_filename(file, sizeof file, path, number))
            return bd_image_pattern_holds(pattern, path);
        if (bd_image_pattern_holds(pattern, file))
            return true;
    }
    return false;
}

/* Whether writing to `path` would replace something: for a pattern, any picture of its names. */
static bool would_replace(const char *path)
{
    struct stat info;
    int first, beyond_gap;
    if (bd_image_pattern_is(path))
        return bd_image_pattern_find(path, &first, &beyond_gap) == BD_OK;
    /* devices such as /dev/null are written to, not replaced */
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
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

/* Codecs must exist, and an output with a codec of its own must be asked for. */
static enum bd_status check_codecs(const struct bd_options *options)
{
    if (options->codec && bd_writer_check_codec(options->codec))
        return bd_fail(BD_ERROR_ARGUMENT, "--codec %s", bd_error_detail());
    for (int i = 0; i < bd_output_kind_count; i++) {
        const char *codec = bd_output_codec(options, bd_output_kinds[i]);
        const char *name = bd_output_kinds[i]->name;
        if (codec && !bd_output_path(options, bd_output_kinds[i]))
            return bd_fail(BD_ERROR_ARGUMENT, "--%s-codec %s: --%s is not given", name, codec,
                           name);
        if (codec && bd_writer_check_codec(codec))
            return bd_fail(BD_ERROR_ARGUMENT, "--%s-codec %s", name, bd_error_detail());
    }
    return BD_OK;
}

/* A speed needs the film that has it. */
static enum bd_status check_timelapse(const struct bd_options *options)
{
    if (options->timelapse_speed == 0 || options->timelapse)
        return BD_OK;
    return bd_fail(BD_ERROR_ARGUMENT, "--timelapse-speed %g: --timelapse is not given",
                   options->timelapse_speed);
}

/* A length needs the film that has it. */
static enum bd_status check_synopsis(const struct bd_options *options)
{
    if (options->length == 0 || options->synopsis)
        return BD_OK;
    return bd_fail(BD_ERROR_ARGUMENT, "--length %g: --synopsis is not given", options->length);
}

/* --boxes has something to be drawn on. */
static enum bd_status check_boxes(const struct bd_options *options)
{
    bool on_clips = options->clips && options->clip_mode != BD_CLIPS_COPY && !options->scan_only;
    if (!options->boxes || options->overlay || options->timelapse || on_clips)
        return BD_OK;
    if (options->clips && options->clip_mode == BD_CLIPS_COPY)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "--boxes: cannot be drawn on copies; --clip-mode encode has boxes");
    return bd_fail(BD_ERROR_ARGUMENT,
                   "--boxes: is drawn on --overlay, --timelapse or --clips, and none of them is "
                   "given");
}

/* A list of events, and no more than lists. */
static enum bd_status check_scan(const struct bd_options *options)
{
    if (options->clip_mode != BD_CLIPS_AUTO && !options->clips)
        return bd_fail(BD_ERROR_ARGUMENT, "--clip-mode: belongs to --clips, which is not given");
    for (int i = 0; i < bd_output_kind_count && options->scan_only; i++) {
        const struct bd_output_kind *kind = bd_output_kinds[i];
        const char *path = bd_output_path(options, kind);
        bool shows = kind->codec || (kind->wants & ~(unsigned)BD_WANT_OBJECTS);
        if (path && shows)
            return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: --scan-only writes no film and no picture",
                           kind->name, path);
        if (path && bd_output_is_stdout(kind, path))
            return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: --scan-only has stdout; give --%s a file",
                           kind->name, path, kind->name);
    }
    return BD_OK;
}

/* The output's file is not that of another one before it. */
static enum bd_status check_same(const struct bd_options *options, int index, const char *path)
{
    char file[PATH_MAX], other[PATH_MAX];
    const char *name = bd_output_kinds[index]->name;
    first_file(file, path);
    for (int i = 0; i < index; i++) {
        const char *before = bd_output_path(options, bd_output_kinds[i]);
        if (!before)
            continue;
        first_file(other, before);
        if (same_file(file, other) && bd_output_is_stdout(bd_output_kinds[i], before))
            return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: --%s has stdout; give one of them a file",
                           name, path, bd_output_kinds[i]->name);
        if (same_file(file, other) && strncmp(file, "/dev/", 5) != 0)
            return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: is the file of --%s too", name, path,
                           bd_output_kinds[i]->name);
    }
    return BD_OK;
}

enum bd_status bd_outputs_check(const struct bd_options *options)
{
    enum bd_status status = check_codecs(options);
    if (!status)
        status = check_boxes(options);
    if (!status)
        status = check_timelapse(options);
    if (!status)
        status = check_synopsis(options);
    if (!status)
        status = check_scan(options);
    for (int i = 0; i < bd_output_kind_count && !status; i++) {
        const char *name = bd_output_kinds[i]->name;
        const char *path = bd_output_path(options, bd_output_kinds[i]);
        if (!path)
            continue;
        bool file = !bd_output_is_stdout(bd_output_kinds[i], path);
        if (file && is_read(options, path))
            return bd_fail(BD_ERROR_ARGUMENT,
                           "--%s %s: is the input itself, one of its pictures, or the region", name,
                           path);
        status = check_same(options, i, path);
        if (file && !status)
            status = ask(options, bd_output_kinds[i], path);
    }
    return status;
}
