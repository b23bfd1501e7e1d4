#include "app/export/inputs.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/export/clips/names.h"
#include "video/input/image_pattern.h"

static enum bd_status no_memory(void)
{
    return bd_fail(BD_ERROR_MEMORY, "out of memory for the names of the inputs");
}

/* Whether an argument is to be expanded. Addresses and names of scenes may have a question mark. */
static bool is_pattern(const struct bd_options *options, const char *argument)
{
    return !options->input_format && strpbrk(argument, "*?[") && !strstr(argument, "://") &&
           strncmp(argument, "synth:", 6) != 0 && !bd_image_pattern_is(argument) &&
           access(argument, F_OK) != 0;
}

static enum bd_status add(struct bd_inputs *inputs, const char *const *items, size_t count)
{
    char **grown = realloc(inputs->items, ((size_t)inputs->count + count) * sizeof *grown);
    if (!grown)
        return no_memory();
    inputs->items = grown;
    for (size_t i = 0; i < count; i++) {
        grown[inputs->count] = strdup(items[i]);
        if (!grown[inputs->count])
            return no_memory();
        inputs->count++;
    }
    return BD_OK;
}

static enum bd_status expand(struct bd_inputs *inputs, const char *pattern)
{
    glob_t found = { 0 };
    int error = glob(pattern, 0, NULL, &found);
    enum bd_status status = BD_OK;
    if (error == GLOB_NOSPACE)
        status = no_memory();
    else if (error)
        status = bd_fail(BD_ERROR_IO, "no file matches '%s'", pattern);
    else if (found.gl_pathc > INT_MAX / 2 - (size_t)inputs->count)
        status = bd_fail(BD_ERROR_ARGUMENT, "'%s' matches too many files", pattern);
    else
        status = add(inputs, (const char *const *)found.gl_pathv, found.gl_pathc);
    globfree(&found);
    return status;
}

/* The name of an input, with that of its folder before it if `by_folder`. */
static char *name_of(const char *input, bool by_folder)
{
    char stem[bd_clip_stem_size], folder[bd_clip_stem_size] = "", name[2 * bd_clip_stem_size];
    const char *slash = strrchr(input, '/');
    char *path = by_folder && slash > input ? strndup(input, (size_t)(slash - input)) : NULL;
    bd_clip_stem(stem, input);
    if (path)
        bd_clip_stem(folder, path);
    free(path);
    snprintf(name, sizeof name, "%s%s%s", folder, *folder ? "-" : "", stem);
    return strdup(name);
}

struct entry {
    char **name; /* in bd_inputs.names */
    const char *input;
};

static int compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(*x->name, *y->name);
    return order ? order : (x->name > y->name) - (x->name < y->name); /* by place */
}

static enum bd_status rename_entry(const struct entry *entry, char *name)
{
    if (!name)
        return no_memory();
    free(*entry->name);
    *entry->name = name;
    return BD_OK;
}

static char *numbered(const char *name, int number)
{
    size_t size = strlen(name) + 16;
    char *text = malloc(size);
    if (text)
        snprintf(text, size, "%s-%d", name, number);
    return text;
}

/* Renames entries that have the name of others: with their folder, or all but the first with a
 * number. *any: there were such. */
static enum bd_status part(struct entry *entries, int count, bool by_folder, bool *any)
{
    enum bd_status status = BD_OK;
    *any = false;
    qsort(entries, (size_t)count, sizeof *entries, compare);
    for (int i = 0, end; i < count && !status; i = end) {
        char *name = strdup(*entries[i].name);
        if (!name)
            return no_memory();
        for (end = i + 1; end < count && strcmp(*entries[end].name, name) == 0; end++)
            ;
        for (int k = by_folder ? i : i + 1; end > i + 1 && k < end && !status; k++) {
            status = rename_entry(&entries[k], by_folder ? name_of(entries[k].input, true)
                                                         : numbered(name, k - i + 1));
            *any = true;
        }
        free(name);
    }
    return status;
}

static enum bd_status find_names(struct bd_inputs *inputs)
{
    struct entry *entries = calloc((size_t)inputs->count + 1, sizeof *entries);
    inputs->names = calloc((size_t)inputs->count + 1, sizeof *inputs->names);
    enum bd_status status = entries && inputs->names ? BD_OK : no_memory();
    for (int i = 0; i < inputs->count && !status; i++) {
        entries[i] = (struct entry){ &inputs->names[i], inputs->items[i] };
        status = rename_entry(&entries[i], name_of(inputs->items[i], false));
    }
    bool any = false;
    if (!status)
        status = part(entries, inputs->count, true, &any);
    while (any && !status)
        status = part(entries, inputs->count, false, &any);
    free(entries);
    return status;
}

enum bd_status bd_inputs_find(struct bd_inputs *inputs, const struct bd_options *options)
{
    enum bd_status status = BD_OK;
    *inputs = (struct bd_inputs){ 0 };
    for (int i = 0; i < options->argument_count && !status; i++) {
        const char *argument = options->arguments[i];
        status =
            is_pattern(options, argument) ? expand(inputs, argument) : add(inputs, &argument, 1);
    }
    if (!status)
        status = find_names(inputs);
    if (status)
        bd_inputs_free(inputs);
    return status;
}

void bd_inputs_free(struct bd_inputs *inputs)
{
    for (int i = 0; i < inputs->count; i++) {
        free(inputs->items[i]);
        if (inputs->names)
            free(inputs->names[i]);
    }
    free(inputs->items);
    free(inputs->names);
    *inputs = (struct bd_inputs){ 0 };
}
