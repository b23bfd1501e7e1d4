#include "app/reads.h"

#include <libavformat/avformat.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/same_file.h"
#include "video/input/image_pattern.h"

/* The first file of a path: %06d becomes 000001. */
static void first_file(char *file, const char *path)
{
    if (av_get_frame_filename(file, PATH_MAX, path, 1))
        snprintf(file, PATH_MAX, "%s", path);
}

/* Devices, which others may write to as well, are the same by their names alone. */
static bool is_one(const char *a, const char *b)
{
    struct stat info;
    return strcmp(a, b) == 0 ||
           (bd_same_file(a, b) && stat(a, &info) == 0 && S_ISREG(info.st_mode));
}

/* Whether one is a picture of the other, or both have one. */
static bool share_picture(const char *a, const char *b)
{
    bool is_a = bd_image_pattern_is(a), is_b = bd_image_pattern_is(b);
    if (is_a && is_b)
        return bd_image_patterns_meet(a, b);
    return (is_a && bd_image_pattern_holds(a, b)) || (is_b && bd_image_pattern_holds(b, a));
}

bool bd_paths_meet(const char *a, const char *b)
{
    char first_a[PATH_MAX], first_b[PATH_MAX];
    first_file(first_a, a);
    first_file(first_b, b);
    return is_one(first_a, first_b) || is_one(a, b) || share_picture(a, b);
}

bool bd_reads_hold(const struct bd_reads *reads, const char *path)
{
    for (int i = 0; i < reads->count; i++)
        if (bd_paths_meet(path, reads->inputs[i]))
            return true;
    return reads->roi && bd_paths_meet(path, reads->roi);
}

enum bd_status bd_reads_check(const struct bd_reads *reads, const char *option, const char *path)
{
    static const char what[] = "is the input itself, one of its pictures, or the region";
    char part[PATH_MAX];
    if (bd_reads_hold(reads, path))
        return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: %s", option, path, what);
    if (snprintf(part, sizeof part, "%s.part", path) < (int)sizeof part &&
        bd_reads_hold(reads, part))
        return bd_fail(BD_ERROR_ARGUMENT, "--%s %s: %s, as which it is written, %s", option, path,
                       part, what);
    return BD_OK;
}
