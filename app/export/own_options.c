#include "app/export/own_options.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "video/input/image_pattern.h"

int bd_exports_count(const struct bd_options *options, const struct bd_inputs *inputs)
{
    return options->join ? 1 : inputs->count;
}

/* The path of an output whose value is `value`. The caller frees it. */
static char *path_of(const char *folder, const char *name, const char *value)
{
    const char *point = !*name || strchr("._-", *value) ? "" : ".";
    const char *slash = folder[strlen(folder) - 1] == '/' ? "" : "/";
    size_t size = strlen(folder) + strlen(name) + strlen(value) + 3;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s%s%s%s%s", folder, slash, name, point, value);
    return path;
}

enum bd_status bd_own_options_make(struct bd_own_options *own, const struct bd_options *options,
                                   const struct bd_inputs *inputs, int number)
{
    *own = (struct bd_own_options){ .options = *options };
    own->options.arguments[0] = inputs->items[number];
    own->options.argument_count = 1;
    own->options.name = inputs->names[number];
    if (options->join) {
        own->options.pieces = (const char *const *)inputs->items;
        own->options.piece_count = inputs->count;
    }
    for (int i = 0; options->output_dir && i < bd_output_kind_count; i++) {
        const struct bd_output_kind *kind = bd_output_kinds[i];
        const char *value = bd_output_path(options, kind);
        if (!value || bd_output_is_stdout(kind, value) || (kind->folder && value[0] == '/'))
            continue;
        own->paths[i] =
            path_of(options->output_dir, kind->folder ? "" : inputs->names[number], value);
        if (!own->paths[i]) {
            bd_own_options_free(own);
            return bd_fail(BD_ERROR_MEMORY, "out of memory for the names of the outputs");
        }
        *(const char **)((char *)&own->options + kind->option) = own->paths[i];
    }
    return BD_OK;
}

void bd_own_options_free(struct bd_own_options *own)
{
    for (int i = 0; i < bd_output_kind_count; i++)
        free(own->paths[i]);
    *own = (struct bd_own_options){ 0 };
}

/* The values of outputs are the ends of names, and stdout is for one input. */
static enum bd_status check_values(const struct bd_options *options, int exports)
{
    for (int i = 0; i < bd_output_kind_count; i++) {
        const struct bd_output_kind *kind = bd_output_kinds[i];
        const char *value = bd_output_path(options, kind);
        if (!value || kind->folder)
            continue;
        if (bd_output_is_stdout(kind, value) && exports > 1)
            return bd_fail(BD_ERROR_ARGUMENT, "--%s -: stdout is for one input, and these are %d",
                           kind->name, exports);
        if (strchr(value, '/'))
            return bd_fail(BD_ERROR_ARGUMENT,
                           "--%s %s: with --output-dir it is the end of a name, as in mask.mkv, "
                           "without folders",
                           kind->name, value);
    }
    return BD_OK;
}

enum bd_status bd_inputs_check(const struct bd_options *options, const struct bd_inputs *inputs)
{
    int exports = bd_exports_count(options, inputs);
    const char *hwaccel = options->hwaccel;
    if (exports > 1 && !options->output_dir)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "%d inputs: give --output-dir DIR to export each, or --join to export them "
                       "as one film",
                       exports);
    if (options->output_dir && bd_image_pattern_is(options->output_dir))
        return bd_fail(BD_ERROR_ARGUMENT, "--output-dir %s: only names of pictures have a number",
                       options->output_dir);
    if (exports > 1 && options->scan_only)
        return bd_fail(BD_ERROR_ARGUMENT, "--scan-only: lists one input, and these are %d",
                       exports);
    if (options->join && options->jobs)
        return bd_fail(BD_ERROR_ARGUMENT, "--jobs: belongs to several inputs; --join makes one");
    if (options->join && inputs->count > 1 && hwaccel && strcmp(hwaccel, "none") != 0 &&
        strcmp(hwaccel, "auto") != 0)
        return bd_fail(BD_ERROR_ARGUMENT,
                       "--hwaccel %s: not with --join, whose pieces are decoded "
                       "by threads",
                       hwaccel);
    return options->output_dir ? check_values(options, exports) : BD_OK;
}

enum bd_status bd_output_dir_make(const struct bd_options *options)
{
    char path[PATH_MAX];
    struct stat info;
    const char *folder = options->output_dir;
    if (snprintf(path, sizeof path, "%s", folder) >= (int)sizeof path)
        return bd_fail(BD_ERROR_IO, "--output-dir %s: the path is too long", folder);
    for (char *slash = path; slash;) {
        slash = strchr(slash + 1, '/');
        if (slash)
            *slash = 0;
        if (mkdir(path, 0777) && errno != EEXIST)
            return bd_fail(BD_ERROR_IO, "--output-dir %s: %s", path, strerror(errno));
        if (slash)
            *slash = '/';
    }
    if (stat(folder, &info) || !S_ISDIR(info.st_mode))
        return bd_fail(BD_ERROR_IO, "--output-dir %s: is no folder", folder);
    if (access(folder, W_OK | X_OK))
        return bd_fail(BD_ERROR_IO, "--output-dir %s: %s", folder, strerror(errno));
    return BD_OK;
}
