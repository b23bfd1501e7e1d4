/* What a command reads, which none of its outputs may replace. */
#ifndef BD_APP_READS_H
#define BD_APP_READS_H

#include <stdbool.h>

#include <backdrop/status.h>

struct bd_reads {
    const char *const *inputs; /* files, patterns of pictures, addresses */
    int count;
    const char *roi; /* the picture of the region; NULL: none. Polygons name no file. */
};

/* Whether two paths stand for the same file, under whatever name if it is there, or, where they are
 * patterns of pictures, for one of the same name, there or not. */
bool bd_paths_meet(const char *a, const char *b);

/* Whether writing to `path`, which may be a pattern of pictures, would replace something that is
 * read: an input, one of its pictures, or the region. */
bool bd_reads_hold(const struct bd_reads *reads, const char *path);

/* Checks the output of --OPTION, also under the name that it has while it is written
 * (video/output_file.h). BD_ERROR_ARGUMENT. */
enum bd_status bd_reads_check(const struct bd_reads *reads, const char *option, const char *path);

#endif
