#include "video/input/image_pattern.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/same_file.h"

/* A pattern taken apart. Digits: at least `width`, filled with zeros on the left. */
struct pattern {
    const char *prefix, *suffix; /* of the file name, around the conversion */
    size_t prefix_length;
    int width;
};

/* The conversion in `text`, NULL if there is none; *end is behind it. */
static const char *find_conversion(const char *text, const char **end, int *width)
{
    for (const char *at = strchr(text, '%'); at; at = strchr(at + 1, '%')) {
        const char *p = at + 1;
        int w = 0;
        while (isdigit((unsigned char)*p) && w < 1000)
            w = w * 10 + (*p++ - '0');
        if (*p == 'd') {
            *end = p + 1;
            *width = w;
            return at;
        }
        if (*p == '%')
            at = p;
    }
    return NULL;
}

bool bd_image_pattern_is(const char *path)
{
    const char *end;
    int width;
    return find_conversion(path, &end, &width) != NULL;
}

/* Whether the first `count` letters are digits. */
static bool are_digits(const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isdigit((unsigned char)text[i]))
            return false;
    return true;
}

/* The number in a file name, -1 if the name is not of the pattern. */
static long number_of(const struct pattern *p, const char *name)
{
    if (strncmp(name, p->prefix, p->prefix_length) != 0)
        return -1;
    const char *digits = name + p->prefix_length;
    size_t length = strlen(digits), behind = strlen(p->suffix);
    size_t count = length > behind ? length - behind : 0; /* the suffix may have digits too */
    if (count == 0 || !are_digits(digits, count) || strcmp(digits + count, p->suffix) != 0)
        return -1;
    /* As printf writes it: a number longer than the width has no leading zeros. */
    size_t width = (size_t)p->width;
    if (count < width || (count > width && count > 1 && digits[0] == '0'))
        return -1;
    long number = 0;
    for (size_t i = 0; i < count && number <= INT_MAX; i++)
        number = 10 * number + digits[i] - '0';
    return number > INT_MAX ? -1 : number;
}

/* Takes a pattern apart; false if its file name has no conversion. */
static bool take_apart(struct pattern *p, const char *pattern)
{
    const char *slash = strrchr(pattern, '/');
    p->prefix = slash ? slash + 1 : pattern;
    const char *conversion = find_conversion(p->prefix, &p->suffix, &p->width);
    if (conversion)
        p->prefix_length = (size_t)(conversion - p->prefix);
    return conversion != NULL;
}

/* The folder of a path, "." if it names none. */
static void folder_of(char folder[PATH_MAX], const char *path)
{
    const char *slash = strrchr(path, '/');
    int length = !slash || slash == path ? 1 : (int)(slash - path);
    snprintf(folder, PATH_MAX, "%.*s", length, slash ? path : ".");
}

/* Whether the folders of two paths are the same one. */
static bool share_folder(const char *a, const char *b)
{
    char folder[PATH_MAX], other[PATH_MAX];
    folder_of(folder, a);
    folder_of(other, b);
    return strcmp(folder, other) == 0 || bd_same_file(folder, other);
}

bool bd_image_pattern_holds(const char *pattern, const char *path)
{
    struct pattern p;
    char target[PATH_MAX];
    const char *real = realpath(path, target) ? target : path;
    const char *slash = strrchr(real, '/');
    if (!take_apart(&p, pattern) || number_of(&p, slash ? slash + 1 : real) < 0)
        return false;
    return share_folder(pattern, real);
}

/* Whether one of two prefixes is the other and digits, which are part of the number there. */
static bool prefixes_meet(const struct pattern *a, const struct pattern *b)
{
    const struct pattern *longer = a->prefix_length > b->prefix_length ? a : b;
    size_t common = longer == a ? b->prefix_length : a->prefix_length;
    return memcmp(a->prefix, b->prefix, common) == 0 &&
           are_digits(longer->prefix + common, longer->prefix_length - common);
}

/* The same of suffixes: digits and the other one. */
static bool suffixes_meet(const struct pattern *a, const struct pattern *b)
{
    size_t length = strlen(a->suffix), other = strlen(b->suffix);
    const char *longer = length > other ? a->suffix : b->suffix;
    const char *shorter = length > other ? b->suffix : a->suffix;
    size_t more = length > other ? length - other : other - length;
    return are_digits(longer, more) && strcmp(longer + more, shorter) == 0;
}

bool bd_image_patterns_meet(const char *a, const char *b)
{
    struct pattern p, q;
    return take_apart(&p, a) && take_apart(&q, b) && prefixes_meet(&p, &q) &&
           suffixes_meet(&p, &q) && share_folder(a, b);
}

static int compare_numbers(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* All numbers of the pattern in the folder; the caller frees. */
static enum bd_status list_numbers(const struct pattern *p, DIR *folder, int **numbers,
                                   size_t *count)
{
    size_t room = 0;
    struct dirent *entry;
    while (errno = 0, (entry = readdir(folder))) {
        long number = number_of(p, entry->d_name);
        if (number < 0)
            continue;
        if (*count == room) {
            room = room ? 2 * room : 256;
            int *more = realloc(*numbers, room * sizeof *more);
            if (!more)
                return bd_fail(BD_ERROR_MEMORY, "no memory for a list of %zu pictures", room);
            *numbers = more;
        }
        (*numbers)[(*count)++] = (int)number;
    }
    return errno ? bd_fail(BD_ERROR_IO, "cannot read the folder of '%s': %s", p->prefix,
                           strerror(errno))
                 : BD_OK;
}

enum bd_status bd_image_pattern_find(const char *path, int *first, int *beyond_gap)
{
    char folder_name[PATH_MAX];
    struct pattern p;
    folder_of(folder_name, path);
    if (!take_apart(&p, path))
        return bd_fail(BD_ERROR_ARGUMENT,
                       "'%s': the number (%%d) must be in the file's name, not in a folder's",
                       path);
    const char *name = p.prefix;
    DIR *folder = opendir(folder_name);
    if (!folder)
        return bd_fail(BD_ERROR_IO, "cannot read folder '%s' of image pattern '%s': %s",
                       folder_name, name, strerror(errno));
    int *numbers = NULL;
    size_t count = 0;
    enum bd_status status = list_numbers(&p, folder, &numbers, &count);
    closedir(folder);
    if (status == BD_OK && count == 0)
        status =
            bd_fail(BD_ERROR_IO, "no file in '%s' matches image pattern '%s'", folder_name, name);
    if (status == BD_OK) {
        qsort(numbers, count, sizeof *numbers, compare_numbers);
        size_t run = 1;
        while (run < count && numbers[run] - numbers[run - 1] <= 1)
            run++;
        *first = numbers[0];
        *beyond_gap = (int)(count - run);
    }
    free(numbers);
    return status;
}
