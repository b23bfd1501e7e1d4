#include <libavformat/avformat.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/export/output.h"
#include "app/export/outputs.h"
#include "app/export/own_options.h"
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

/* Whether an output is a picture of a pattern that is read: of names with any count of digits. */
static bool is_picture(const char *path, const char *pattern)
{
    char file[PATH_MAX];
    if (!bd_image_pattern_is(pattern))
        return false;
    for (int number = 1; number < 1000000000; number *= 10) {
        if (av_get_frame_filename(file, sizeof file, path, number))
            return bd_image_pattern_holds(pattern, path);
        if (bd_image_pattern_holds(pattern, file))
            return true;
    }
    return false;
}

/* Whether an output would replace what is read: an input, one of its pictures, or the region. */
static bool is_read(const struct bd_options *options, const struct bd_inputs *inputs,
                    const char *path)
{
    char file[PATH_MAX], first[PATH_MAX];
    first_file(file, path);
    bool there = access(file, F_OK) == 0 || access(path, F_OK) == 0;
    for (int i = 0; i < inputs->count; i++) {
        const char *input = inputs->items[i];
        first_file(first, input);
        if (strcmp(file, first) == 0 || strcmp(path, input) == 0 ||
            (there && (same_file(file, first) || same_file(path, input))) ||
            is_picture(path, input))
            return true;
    }
    return options->roi && (same_file(file, options->roi) || same_file(path, options->roi));
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

static enum bd_status ask(const struct bd_options *options, const char *name, const char *path)
{
    if (options->overwrite == BD_OVERWRITE_YES || !would_replace(path))
        return BD_OK;
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

/* The outputs of one export. */
static enum bd_status check_outputs(const struct bd_options *options,
                                    const struct bd_inputs *inputs)
{
    char file[PATH_MAX], other[PATH_MAX];
    for (int i = 0; i < bd_output_kind_count; i++) {
        const char *name = bd_output_kinds[i]->name;
        const char *path = bd_output_path(options, bd_output_kinds[i]);
        if (!path)
            continue;
        first_file(file, path);
        if (is_read(options, inputs, path))
            return bd_fail(BD_ERROR_ARGUMENT,
                           "--%s %s: is the input itself, one of its pictures, or the region", name,
                           path);
        for (int j = 0; j < i; j++) {
            const char *before = bd_output_path(options, bd_output_kinds[j]);
            if (!before)
                continue;
            first_file(other, before);
            if (same_file(file, other) && strncmp(file, "/dev/", 5) != 0)
                return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: is the file of --%s too", name, path,
                               bd_output_kinds[j]->name);
        }
        enum bd_status status = ask(options, name, path);
        if (status)
            return status;
    }
    return BD_OK;
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
        if (own->paths[i]) {
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
    enum bd_status status = check_codecs(options);
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
