#include "app/eval/numbered.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <libavformat/avformat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { most_digits = 17 }; /* so that strtoll can read the number */

/* A file name taken apart: prefix, digits, extension. */
struct parts {
    int prefix, digits; /* lengths */
    int64_t number;
};

/* The pictures of a folder that share prefix and extension. */
struct kind {
    char model[NAME_MAX + 1]; /* the name of one of them */
    int prefix;
    int digits; /* of the shortest number */
    int64_t first, last, count;
};

static bool is_picture(const char *extension)
{
    static const char *const extensions[] = { "png", "jpg", "jpeg", "bmp", "tif",  "tiff", "ppm",
                                              "pgm", "pbm", "pnm",  "tga", "webp", "jp2" };
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++)
        if (strcasecmp(extension + 1, extensions[i]) == 0)
            return true;
    return false;
}

/* Returns false unless the name is like in000001.jpg. */
static bool take_apart(const char *name, struct parts *parts)
{
    const char *dot = strrchr(name, '.');
    if (*name == '.' || !dot || dot == name || !isdigit((unsigned char)dot[-1]) || !is_picture(dot))
        return false;
    const char *digits = dot;
    while (digits > name && isdigit((unsigned char)digits[-1]))
        digits--;
    parts->prefix = (int)(digits - name);
    parts->digits = (int)(dot - digits);
    parts->number = strtoll(digits, NULL, 10);
    return parts->digits <= most_digits && parts->number <= INT_MAX; /* FFmpeg's limit */
}

/* The kind of a name, a new one where it is the first of its kind. NULL: out of memory. */
static struct kind *kind_of(struct kind **kinds, int *count, const char *name,
                            const struct parts *parts)
{
    const char *extension = name + parts->prefix + parts->digits;
    for (int i = 0; i < *count; i++) {
        struct kind *kind = &(*kinds)[i];
        if (kind->prefix == parts->prefix &&
            strncmp(kind->model, name, (size_t)parts->prefix) == 0 &&
            strcmp(strrchr(kind->model, '.'), extension) == 0)
            return kind;
    }
    struct kind *more = realloc(*kinds, ((size_t)*count + 1) * sizeof *more);
    if (!more)
        return NULL;
    *kinds = more;
    struct kind *kind = &more[(*count)++];
    *kind = (struct kind){ .prefix = parts->prefix,
                           .digits = parts->digits,
                           .first = parts->number,
                           .last = parts->number };
    snprintf(kind->model, sizeof kind->model, "%s", name);
    return kind;
}

/* The kind with most pictures; equal ones by name, since the order of a folder is arbitrary. */
static const struct kind *largest(const struct kind *kinds, int count)
{
    const struct kind *best = kinds;
    for (int i = 1; i < count; i++)
        if (kinds[i].count > best->count ||
            (kinds[i].count == best->count && strcmp(kinds[i].model, best->model) < 0))
            best = &kinds[i];
    return best;
}

/* A literal % in a path is written twice in an image pattern. */
static bool append_literal(char *pattern, const char *text, size_t length)
{
    size_t used = strlen(pattern);
    for (size_t i = 0; i < length; i++) {
        if (used + 3 > PATH_MAX)
            return false;
        if (text[i] == '%')
            pattern[used++] = '%';
        pattern[used++] = text[i];
    }
    pattern[used] = 0;
    return true;
}

static enum bd_status make_pattern(char *pattern, const char *folder, const struct kind *kind)
{
    char number[16] = "%d";
    const char *extension = strrchr(kind->model, '.');
    if (kind->digits > 1)
        snprintf(number, sizeof number, "%%0%dd", kind->digits);
    *pattern = 0;
    bool fits = append_literal(pattern, folder, strlen(folder)) &&
                append_literal(pattern, "/", 1) &&
                append_literal(pattern, kind->model, (size_t)kind->prefix);
    size_t used = strlen(pattern);
    fits = fits && snprintf(pattern + used, PATH_MAX - used, "%s", number) < (int)(PATH_MAX - used);
    if (!fits || !append_literal(pattern, extension, strlen(extension)))
        return bd_fail(BD_ERROR_IO, "%s: the path is too long", folder);
    return BD_OK;
}

static enum bd_status list(struct kind **kinds, int *count, DIR *folder, const char *name)
{
    struct parts parts;
    for (struct dirent *entry; errno = 0, (entry = readdir(folder));) {
        if (!take_apart(entry->d_name, &parts))
            continue;
        struct kind *kind = kind_of(kinds, count, entry->d_name, &parts);
        if (!kind)
            return bd_fail(BD_ERROR_MEMORY, "out of memory for a list of pictures");
        kind->count++;
        if (parts.digits < kind->digits)
            kind->digits = parts.digits;
        if (parts.number < kind->first)
            kind->first = parts.number;
        if (parts.number > kind->last)
            kind->last = parts.number;
    }
    return errno ? bd_fail(BD_ERROR_IO, "%s: cannot be read: %s", name, strerror(errno)) : BD_OK;
}

bool bd_subfolder(char *path, const char *folder, const char *name)
{
    struct stat info;
    return snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX && stat(path, &info) == 0 &&
           S_ISDIR(info.st_mode);
}

enum bd_status bd_numbered_find(struct bd_numbered *numbered, const char *folder)
{
    struct kind *kinds = NULL;
    int count = 0;
    DIR *dir = opendir(folder);
    if (!dir)
        return bd_fail(BD_ERROR_IO, "%s: %s", folder, strerror(errno));
    enum bd_status status = list(&kinds, &count, dir, folder);
    closedir(dir);
    if (!status && count == 0)
        status = bd_fail(BD_ERROR_FORMAT, "%s: no numbered pictures such as in000001.jpg", folder);
    if (!status) {
        const struct kind *kind = largest(kinds, count);
        status = make_pattern(numbered->pattern, folder, kind);
        numbered->first = kind->first;
        numbered->last = kind->last;
        numbered->count = kind->count;
    }
    free(kinds);
    return status;
}

void bd_numbered_path(const struct bd_numbered *numbered, int64_t number, char *path)
{
    if (av_get_frame_filename(path, PATH_MAX, numbered->pattern, (int)number))
        *path = 0;
}

int64_t bd_numbered_gap(const struct bd_numbered *numbered)
{
    char path[PATH_MAX];
    int64_t number = numbered->first;
    do
        bd_numbered_path(numbered, ++number, path);
    while (access(path, F_OK) == 0);
    return number;
}
