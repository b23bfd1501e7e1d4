/* A temporary file that has no name: it is gone when it is closed, or when the program ends. */
#ifndef BD_APP_SUMMARY_SCRATCH_H
#define BD_APP_SUMMARY_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

#include <backdrop/status.h>

struct bd_scratch {
    int file;         /* descriptor; -1: not open */
    char *folder;     /* owned, for messages */
    const char *path; /* what it is for, for messages; not owned */
    int64_t size;     /* bytes written */
};

/* Opens it in the folder that the environment variable TMPDIR names, else in that of the file
 * `path`, which must stay. BD_ERROR_IO. On failure nothing stays open. */
enum bd_status bd_scratch_open(struct bd_scratch *scratch, const char *path);

/* Writes at the end; *offset (may be NULL) is where that was. BD_ERROR_IO on a full disk. */
enum bd_status bd_scratch_append(struct bd_scratch *scratch, const void *data, size_t size,
                                 int64_t *offset);

/* Replaces bytes that were written. */
enum bd_status bd_scratch_replace(struct bd_scratch *scratch, int64_t offset, const void *data,
                                  size_t size);

/* Reads bytes that were written. */
enum bd_status bd_scratch_read(const struct bd_scratch *scratch, int64_t offset, void *data,
                               size_t size);

/* Safe on one that is not open. */
void bd_scratch_close(struct bd_scratch *scratch);

#endif
