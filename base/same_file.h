/* Whether two paths name the same file. */
#ifndef BD_BASE_SAME_FILE_H
#define BD_BASE_SAME_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

/* Whether both are there and the same file or folder, under whatever names. */
static inline bool bd_same_file(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

#endif
